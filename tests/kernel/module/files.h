/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The debugfs files of a test module: writing the name of a pattern to "run" runs it; "expect" then
 * lists what a tracer must have seen.
 */
#ifndef MZTEST_FILES_H
#define MZTEST_FILES_H

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

struct test_pattern {
	const char *name;
	void (*run)(void);
};

struct test_files {
	const char *directory;
	const struct test_pattern *patterns;
	unsigned int nr_patterns;
	void (*show_expected)(struct seq_file *m);
	/* Of the functions below. */
	struct mutex lock; /* a pattern runs alone, and not while its results are shown */
	struct dentry *dentry;
};

static ssize_t run_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	struct test_files *files = file->private_data;
	char name[16];
	unsigned int i;

	if (count >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, ubuf, count))
		return -EFAULT;
	name[count] = '\0';
	strim(name);
	for (i = 0; i < files->nr_patterns; i++) {
		if (!strcmp(name, files->patterns[i].name)) {
			mutex_lock(&files->lock);
			files->patterns[i].run();
			mutex_unlock(&files->lock);
			return count;
		}
	}
	return -EINVAL;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int expect_show(struct seq_file *m, void *unused)
{
	struct test_files *files = m->private;

	mutex_lock(&files->lock);
	files->show_expected(m);
	mutex_unlock(&files->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(expect);

static void test_files_create(struct test_files *files)
{
	mutex_init(&files->lock);
	files->dentry = debugfs_create_dir(files->directory, NULL);
	debugfs_create_file("run", 0200, files->dentry, files, &run_fops);
	debugfs_create_file("expect", 0400, files->dentry, files, &expect_fops);
}

static void test_files_remove(struct test_files *files)
{
	debugfs_remove_recursive(files->dentry);
}

#endif /* MZTEST_FILES_H */
