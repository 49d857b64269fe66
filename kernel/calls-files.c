// SPDX-License-Identifier: GPL-2.0-only
/* memorizer/function_calls and its like: which function was called from where, and how often. */
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "calls.h"
#include "files.h"
#include "memorizer.h"

/* === Internals ============================================================================ */

static int compare_calls(const void *a, const void *b)
{
	const struct memorizer_call *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return 0;
}

/* Leaves what was called or returned, without gaps. */
static size_t close_gaps(struct memorizer_call *calls, size_t nr)
{
	size_t i, used = 0;

	for (i = 0; i < nr; i++) {
		if (calls[i].calls || calls[i].returns)
			calls[used++] = calls[i];
	}
	return used;
}

/* === Public =============================================================================== */

int mz_call_list_make(struct mz_call_list *list)
{
	/* Twice what there is, and some for what is called meanwhile. */
	size_t nr = roundup_pow_of_two(2 * mz_calls_most() + 1024);
	long pages = DIV_ROUND_UP(nr * sizeof(*list->calls), PAGE_SIZE);

	*list = (struct mz_call_list){ 0 };
	if (!mz_snapshot_set_aside(pages))
		return -ENOMEM;
	list->calls = kvcalloc(nr, sizeof(*list->calls), GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (!list->calls) {
		mz_snapshot_put_back(pages);
		return -ENOMEM;
	}
	list->pages = pages;
	mz_calls_gather(list->calls, nr - 1);
	list->nr = close_gaps(list->calls, nr);
	sort(list->calls, list->nr, sizeof(*list->calls), compare_calls, NULL);
	return 0;
}

void mz_call_list_free(struct mz_call_list *list)
{
	kvfree(list->calls);
	mz_snapshot_put_back(list->pages);
	*list = (struct mz_call_list){ 0 };
}

/* === Files ================================================================================ */

static void *calls_start(struct seq_file *m, loff_t *pos)
{
	struct mz_call_list *list = m->private;

	return *pos < list->nr ? &list->calls[*pos] : NULL;
}

static void *calls_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return calls_start(m, pos);
}

static void calls_stop(struct seq_file *m, void *v)
{
}

/* What the ancestor's file has: from where, to where, how often. */
static int show_calls(struct seq_file *m, void *v)
{
	const struct memorizer_call *call = v;

	if (call->calls)
		seq_printf(m, "%llx %llx %llu\n", call->site, call->function, call->calls);
	return 0;
}

/* The same for the way back. */
static int show_returns(struct seq_file *m, void *v)
{
	const struct memorizer_call *call = v;

	if (call->returns)
		seq_printf(m, "%llx %llx %llu\n", call->function, call->site, call->returns);
	return 0;
}

static const struct seq_operations calls_ops = {
	.start = calls_start,
	.next = calls_next,
	.stop = calls_stop,
	.show = show_calls,
};

static const struct seq_operations returns_ops = {
	.start = calls_start,
	.next = calls_next,
	.stop = calls_stop,
	.show = show_returns,
};

static int list_open(struct file *file, const struct seq_operations *ops)
{
	struct mz_call_list *list;
	int err;

	list = __seq_open_private(file, ops, sizeof(*list));
	if (!list)
		return -ENOMEM;
	err = mz_call_list_make(list);
	if (err)
		seq_release_private(file_inode(file), file);
	return err;
}

static int calls_open(struct inode *inode, struct file *file)
{
	return list_open(file, &calls_ops);
}

static int returns_open(struct inode *inode, struct file *file)
{
	return list_open(file, &returns_ops);
}

static int list_release(struct inode *inode, struct file *file)
{
	mz_call_list_free(((struct seq_file *)file->private_data)->private);
	return seq_release_private(inode, file);
}

/* Whatever is written. */
static ssize_t clear_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	int err = mz_calls_clear();

	return err ?: count;
}

static const struct file_operations calls_fops = {
	.owner = THIS_MODULE,
	.open = calls_open,
	.read = seq_read,
	.write = clear_write,
	.llseek = seq_lseek,
	.release = list_release,
};

static const struct file_operations returns_fops = {
	.owner = THIS_MODULE,
	.open = returns_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = list_release,
};

static const struct file_operations clear_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = clear_write,
	.llseek = default_llseek,
};

static int set_log_calls(bool value)
{
	mutex_lock(&mz.control);
	WRITE_ONCE(mz.log_calls, value);
	mz_calls_update();
	mutex_unlock(&mz.control);
	return 0;
}

static struct mz_flag log_calls = {
	.value = &mz.log_calls,
	.set = set_log_calls,
	.texts = { "N\n", "Y\n" },
};

/* The files of calls, and what older versions of the ancestor called them. */
void mz_calls_publish(struct dentry *directory)
{
	debugfs_create_file("log_calls_enabled", 0600, directory, &log_calls, &mz_flag_fops);
	debugfs_create_file("function_calls", 0400, directory, NULL, &calls_fops);
	debugfs_create_file("function_returns", 0400, directory, NULL, &returns_fops);
	debugfs_create_file("clear_function_calls", 0200, directory, NULL, &clear_fops);
	/* Of the older names, one could be written to, which cleared it. */
	debugfs_create_file("cfgmap", 0600, directory, NULL, &calls_fops);
	debugfs_create_symlink("cfg_log_on", directory, "log_calls_enabled");
}
