// SPDX-License-Identifier: GPL-2.0-only
/* The files in debugfs memorizer/, and the links to them. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "access.h"
#include "calls.h"
#include "files.h"
#include "memorizer.h"

/* === Data ================================================================================= */

static struct dentry *directory;
static struct dentry *root_links[4];

/* === Files ================================================================================ */

static ssize_t enabled_read(struct file *file, char __user *ubuf, size_t count, loff_t *ppos)
{
	char buf[96];

	return simple_read_from_buffer(ubuf, count, ppos, buf, mz_mode_show(buf, sizeof(buf)));
}

static ssize_t enabled_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	int value, err;

	if (kstrtoint_from_user(ubuf, count, 10, &value))
		return -EINVAL;
	err = mz_mode_set(value);
	return err ?: count;
}

static const struct file_operations enabled_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = enabled_read,
	.write = enabled_write,
	.llseek = default_llseek,
};

static int set_log_access(bool value)
{
	mutex_lock(&mz.control);
	WRITE_ONCE(mz.log_access, value);
	mz_access_update();
	mutex_unlock(&mz.control);
	return 0;
}

static struct mz_flag log_access = {
	.value = &mz.log_access,
	.set = set_log_access,
	.texts = { "N\n", "Y\n" },
};

static int set_print_live(bool value)
{
	WRITE_ONCE(mz.print_live, value);
	return 0;
}

static struct mz_flag print_live = {
	.value = &mz.print_live,
	.set = set_print_live,
	.texts = { "N\n", "Y\n" },
};

/* A file that acts on any write, whatever is written. */
typedef int (*action)(void);

static ssize_t action_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	action *act = file->private_data;
	int err = (*act)();

	return err ?: count;
}

static const struct file_operations action_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = action_write,
	.llseek = default_llseek,
};

static action clear_dead = mz_clear_dead;
static action clear_printed = mz_clear_printed;
static action clear_live = mz_clear_live;

DEFINE_SHOW_ATTRIBUTE(mz_stats);

static const struct {
	const char *name;
	umode_t mode;
	void *data;
	const struct file_operations *fops;
} files[] = {
	{ "memorizer_enabled", 0600, NULL, &enabled_fops },
	{ "memorizer_log_access", 0600, &log_access, &mz_flag_fops },
	{ "print_live_obj", 0600, &print_live, &mz_flag_fops },
	{ "show_stats", 0400, NULL, &mz_stats_fops },
	{ "kmap", 0400, NULL, &mz_kmap_fops },
	{ "kmap_bin", 0400, NULL, &mz_kmap_bin_fops },
	{ "allocations", 0400, NULL, &mz_allocations_fops },
	{ "accesses", 0400, NULL, &mz_accesses_fops },
	{ "clear_dead_objects", 0200, &clear_dead, &action_fops },
	{ "clear_printed_list", 0200, &clear_printed, &action_fops },
	{ "clear_live_objects", 0200, &clear_live, &action_fops },
};

/* Names that other versions of the ancestor have for these files. */
static const struct {
	const char *name;
	const char *target;
} aliases[] = {
	{ "clear_object_list", "clear_dead_objects" },
	{ "clear_dead_objs", "clear_dead_objects" },
	{ "log_accesses_enabled", "memorizer_log_access" },
	{ "log_live_enabled", "print_live_obj" },
	{ "stats", "show_stats" },
	{ "allocs", "allocations" },
};

/* The ancestor's documentation has these files in the root of debugfs. */
static const char *const in_root[] = {
	"memorizer_enabled",
	"memorizer_log_access",
	"clear_object_list",
	"clear_dead_objects",
};
static_assert(ARRAY_SIZE(in_root) == ARRAY_SIZE(root_links));

/* === Public =============================================================================== */

void mz_control_init(void)
{
	char target[64];
	unsigned int i;

	directory = debugfs_create_dir("memorizer", NULL);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_file(files[i].name, files[i].mode, directory, files[i].data,
				    files[i].fops);
	/*
	 * The proxy of debugfs does not support splice. It protects against the removal of a file
	 * that is open, which can't happen here: an open file keeps the module from being
	 * unloaded.
	 */
	debugfs_create_file_unsafe("kmap_stream", 0400, directory, NULL, &mz_stream_text_fops);
	debugfs_create_file_unsafe("kmap_stream_bin", 0400, directory, NULL, &mz_stream_bin_fops);

	mz_globals_publish(directory);
	mz_calls_publish(directory);

	for (i = 0; i < ARRAY_SIZE(aliases); i++)
		debugfs_create_symlink(aliases[i].name, directory, aliases[i].target);
	for (i = 0; i < ARRAY_SIZE(in_root); i++) {
		scnprintf(target, sizeof(target), "memorizer/%s", in_root[i]);
		root_links[i] = debugfs_create_symlink(in_root[i], NULL, target);
	}
}

void mz_control_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(root_links); i++)
		debugfs_remove(root_links[i]);
	debugfs_remove_recursive(directory);
}
