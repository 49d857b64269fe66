// SPDX-License-Identifier: GPL-2.0-only
/* /proc/PID/memorizer_enabled: whether a process is marked, so that modes 2 and 3 record it. */
#include <linux/kstrtox.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "../../../fs/proc/internal.h"
#include "hooks.h"
#include "memorizer.h"

/* === Files ================================================================================ */

static ssize_t marked_read(struct file *file, char __user *ubuf, size_t count, loff_t *ppos)
{
	struct task_struct *task = get_proc_task(file_inode(file));
	char text[] = "0\n";

	if (!task)
		return -ESRCH;
	if (mz_marked(task))
		text[0] = '1';
	put_task_struct(task);
	return simple_read_from_buffer(ubuf, count, ppos, text, strlen(text));
}

static ssize_t marked_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	bool mark;
	int err;

	if (kstrtobool_from_user(ubuf, count, &mark))
		return -EINVAL;
	err = mz_process_mark(proc_pid(file_inode(file)), mark);
	return err ?: count;
}

const struct file_operations memorizer_proc_operations = {
	.read = marked_read,
	.write = marked_write,
	.llseek = default_llseek,
};
