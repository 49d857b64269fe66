// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmemtrace/: the log of every slab allocation and free, as relay channels with a file for each
 * processor, in the layout of ABI version 1 (include/uapi/memorizer.h).
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/relay.h>
#include <linux/seq_file.h>

#include "events.h"
#include "files.h"
#include "kmemtrace.h"

/* Built in, the parameters are kmemtrace.enable and kmemtrace.subbufs. */
#ifndef MODULE
#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "kmemtrace."
#endif

/* === Data ================================================================================= */

/* No power of two is a multiple of both record sizes, so the ends of sub-buffers are padded. */
#define SUBBUF_SIZE (512 * 1024)

static unsigned int subbufs = 20;
module_param(subbufs, uint, 0444);
MODULE_PARM_DESC(subbufs, "kmemtrace: sub-buffers of 512 KiB for each processor");

static char *enable = "no";
module_param(enable, charp, 0444);
MODULE_PARM_DESC(enable, "kmemtrace: \"yes\" to log from the start");

static struct dentry *directory;
static struct rchan *channel; /* opened at the first start, closed when the module is unloaded */
static bool on;
static atomic_t sequence = ATOMIC_INIT(0);
static atomic_t overruns = ATOMIC_INIT(0);
static u32 abi_version = KMEMTRACE_ABI_VERSION;

/* === Internals: the channel =============================================================== */

static struct dentry *create_buf_file(const char *filename, struct dentry *parent, umode_t mode,
				      struct rchan_buf *buf, int *is_global)
{
	return debugfs_create_file(filename, 0400, parent, buf, &relay_file_operations);
}

static int remove_buf_file(struct dentry *dentry)
{
	debugfs_remove(dentry);
	return 0;
}

/* Without subbuf_start() the oldest records are kept; a record that finds no room is dropped. */
static const struct rchan_callbacks callbacks = {
	.create_buf_file = create_buf_file,
	.remove_buf_file = remove_buf_file,
};

/*
 * Room for a record on this processor, with its common part filled in; NULL if there is none. The
 * sequence number is taken first: if the record is dropped its number is missing from the log.
 * Interrupts are off, so that the numbers of a processor only rise.
 */
static void *reserve(u8 event_id, enum memorizer_kind kind, size_t size, unsigned long ip,
		     unsigned long addr)
{
	int number = atomic_inc_return(&sequence);
	struct kmemtrace_event *event = relay_reserve(channel, size);

	if (!event) {
		atomic_inc(&overruns);
		return NULL;
	}
	*event = (struct kmemtrace_event){
		.event_id = event_id,
		.type_id = kind == MEMORIZER_KMALLOC ? KMEMTRACE_TYPE_KMALLOC
						     : KMEMTRACE_TYPE_CACHE,
		.event_size = size,
		.sequence = number,
		.call_site = ip,
		.ptr = addr,
	};
	return event;
}

static int set_enabled(bool value)
{
	int err = 0;

	mutex_lock(&mz.control);
	if (value && !channel) {
		channel = relay_open("cpu", directory, SUBBUF_SIZE, subbufs, &callbacks, NULL);
		if (!channel)
			err = -ENOMEM;
	}
	if (!err && value != on) {
		/* Pairs with smp_load_acquire() in kmemtrace_is_on(). */
		smp_store_release(&on, value);
		err = mz_events_update();
		if (err)
			WRITE_ONCE(on, false);
		else if (!value)
			relay_flush(channel);
	}
	mutex_unlock(&mz.control);
	return err;
}

/* === Files ================================================================================ */

static struct mz_flag enabled = {
	.value = &on,
	.set = set_enabled,
	.texts = { "0\n", "1\n" },
};

static int overruns_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%u\n", (unsigned int)atomic_read(&overruns));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(overruns);

/* === Public =============================================================================== */

bool kmemtrace_is_on(void)
{
	/* Pairs with smp_store_release() in set_enabled(): who sees it on sees the channel. */
	return smp_load_acquire(&on);
}

void kmemtrace_log_alloc(const struct mz_alloc *alloc)
{
	struct kmemtrace_alloc *record;
	unsigned long flags;

	local_irq_save(flags);
	record = reserve(KMEMTRACE_EVENT_ALLOC, alloc->kind, sizeof(*record), alloc->ip,
			 alloc->addr);
	if (record) {
		record->bytes_req = alloc->bytes_req;
		record->bytes_alloc = alloc->bytes_alloc;
		record->gfp_flags = (__force u32)alloc->gfp;
		record->node = alloc->node;
	}
	local_irq_restore(flags);
}

void kmemtrace_log_free(enum memorizer_kind kind, unsigned long ip, unsigned long addr)
{
	unsigned long flags;

	local_irq_save(flags);
	reserve(KMEMTRACE_EVENT_FREE, kind, sizeof(struct kmemtrace_event), ip, addr);
	local_irq_restore(flags);
}

int kmemtrace_init(void)
{
	bool at_start = !strcmp(enable, "yes");
	int err = 0;

	if ((!at_start && strcmp(enable, "no")) || subbufs < 2)
		return -EINVAL;
	directory = debugfs_create_dir("kmemtrace", NULL);
	if (at_start)
		err = set_enabled(true);
	if (err) {
		kmemtrace_exit();
		return err;
	}
	debugfs_create_file("enabled", 0600, directory, &enabled, &mz_flag_fops);
	debugfs_create_file("total_overruns", 0400, directory, NULL, &overruns_fops);
	debugfs_create_u32("abi_version", 0400, directory, &abi_version);
	return 0;
}

/* The probes must have been detached. */
void kmemtrace_exit(void)
{
	if (channel)
		relay_close(channel);
	debugfs_remove_recursive(directory);
}
