// SPDX-License-Identifier: GPL-2.0-only
/* Files in debugfs that hold one flag. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "files.h"

/* === Files ================================================================================ */

static ssize_t flag_read(struct file *file, char __user *ubuf, size_t count, loff_t *ppos)
{
	const struct mz_flag *flag = file->private_data;
	const char *text = flag->texts[READ_ONCE(*flag->value)];

	return simple_read_from_buffer(ubuf, count, ppos, text, strlen(text));
}

/* Unlike with debugfs_create_bool(), a write that is neither yes nor no fails. */
static ssize_t flag_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	const struct mz_flag *flag = file->private_data;
	bool value;
	int err;

	if (kstrtobool_from_user(ubuf, count, &value))
		return -EINVAL;
	err = flag->set(value);
	return err ?: count;
}

const struct file_operations mz_flag_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = flag_read,
	.write = flag_write,
	.llseek = default_llseek,
};
