/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The DB file (kmemscope-ksdb(5)): every event of a capture with what it means for the objects, in
 * compressed columns that can be read one by one, and a ready summary. Events refer to objects by
 * slot number, so that reading them back needs no search by address.
 *
 * A block repeats few combinations of kind, site, sizes, cache and so on: its events are numbers
 * into a table of these "shapes", so a filter or a grouping is worked out once a shape.
 */
#ifndef KS_DB_KSDB_H
#define KS_DB_KSDB_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "trace/helper-caller.h"
#include "trace/event.h"
#include "trace/host.h"
#include "trace/names.h"
#include "trace/slab-census.h"

/* What an event does to the objects. */
enum ks_op {
	KS_OP_NOTHING,	      /* a void free, a loss, a record that cannot be true */
	KS_OP_ALLOC,	      /* begins the object in the slot, and ends one that is still there */
	KS_OP_FREE,	      /* ends the object in the slot */
	KS_OP_ALLOC_FAILED,   /* returned NULL */
	KS_OP_ALLOC_UNPAIRED, /* of an object that cannot be followed */
	KS_OP_FREE_BEFORE,    /* of an object that was not seen allocated */
	KS_OP_FREE_AGAIN,     /* of an address that was freed last */
	KS_OPS
};

struct ks_match {
	u8 op;
	u8 level; /* which of the two numberings the slot belongs to */
	bool reused;
	u32 slot; /* of KS_OP_ALLOC and KS_OP_FREE */
};

enum { KS_DB_LEVELS = 2, KS_DB_BLOCK_EVENTS = 65536, KS_DB_SLACK = 16 };

struct ks_db_shape {
	u8 kind, op, level, flags;
	u32 site, cache, gfp, stack;
	s32 node;
	u64 bytes_req, bytes_alloc; /* of KS_LOST, bytes_req is the number of lost events */
};

struct ks_db_task {
	u32 pid, comm;
	u32 cpu;
};

/* Which columns of a block to read. Shapes are always read. */
enum { KS_DB_TASKS = 1 << 0, KS_DB_TIMES = 1 << 1, KS_DB_SLOTS = 1 << 2, KS_DB_PTRS = 1 << 3 };

/*
 * A block, decoded. shape_of, task_of and ts have an entry for every event; slots has one for each
 * KS_OP_ALLOC and KS_OP_FREE, ptrs one for each event but KS_OP_FREE and losses, in order. KS_DB_SLACK
 * entries behind the last of slots and ptrs can be read, whatever they hold.
 */
struct ks_db_block {
	u32 count;
	struct ks_db_shape *shapes;
	u32 shapes_len;
	struct ks_db_task *tasks;
	u32 tasks_len;
	const u16 *shape_of;
	const u16 *task_of;
	const u64 *ts;
	const u32 *slots;
	const u64 *ptrs;
	u32 slots_len, ptrs_len;
	struct ks_db_buffers *buffers;
};

/* Event @i of the block, which must have times and tasks; the address is in another column. */
static inline struct ks_event ks_db_event(const struct ks_db_block *block, u32 i, u64 ptr)
{
	const struct ks_db_shape *shape = &block->shapes[block->shape_of[i]];
	const struct ks_db_task *task = &block->tasks[block->task_of[i]];

	return (struct ks_event){
		.ts = block->ts[i],
		.ptr = ptr,
		.bytes_req = shape->bytes_req,
		.bytes_alloc = shape->bytes_alloc,
		.site = shape->site,
		.cache = shape->cache,
		.comm = task->comm,
		.gfp = shape->gfp,
		.stack = shape->stack,
		.pid = task->pid,
		.node = shape->node,
		.cpu = (u16)task->cpu,
		.kind = shape->kind,
		.flags = shape->flags,
	};
}

struct ks_db_block_info {
	u64 offset;
	u32 count;
	u64 min_ts, max_ts;
};

/* === Writing ============================================================================== */

struct ks_db_writer;

int ks_db_writer_new(const char *path, struct ks_db_writer **ret_writer, struct ks_diag *diag);

/* Removes the unfinished file unless finish succeeded. */
void ks_db_writer_free(struct ks_db_writer *writer);

int ks_db_writer_add(struct ks_db_writer *writer, const struct ks_event *ev,
		     const struct ks_match *match, struct ks_diag *diag);

/* The NUMA node of each CPU, by number; they have to stay until finish. */
void ks_db_writer_set_nodes(struct ks_db_writer *writer, const u16 *nodes, size_t len);

/* What the kernel had of slabs, each of which may be NULL; they have to stay until finish. */
void ks_db_writer_set_census(struct ks_db_writer *writer,
			     const struct ks_slab_census *const census[KS_CENSUS_WHENS]);

/* Writes names, summary, index, host, stacks, nodes and census, and gives the file its name. */
int ks_db_writer_finish(struct ks_db_writer *writer, const struct ks_names *names,
			const struct ks_host *host, const struct ks_strbuf *summary,
			struct ks_diag *diag);

/* === Reading ============================================================================== */

struct ks_db;

/*
 * Reads and checks everything but the blocks of a DB of @size bytes, which @fd can read at random. The
 * descriptor and @names, which get the DB's names and are empty before, must outlive the DB. @path is
 * for messages.
 */
int ks_db_open(int fd, u64 size, const char *path, struct ks_names *names, struct ks_db **ret_db,
	       struct ks_diag *diag);
void ks_db_free(struct ks_db *db);

const char *ks_db_path(const struct ks_db *db);

/* Of the file's format. */
u32 ks_db_version(const struct ks_db *db);

/* May be added to, as ks_helper_caller() does. */
struct ks_names *ks_db_names(struct ks_db *db);
const struct ks_host *ks_db_host(const struct ks_db *db);
const void *ks_db_summary(const struct ks_db *db, size_t *ret_len);

/* The NUMA node of each CPU, by number; none where the DB does not tell. */
const u16 *ks_db_nodes(const struct ks_db *db, size_t *ret_len);
u64 ks_db_events(const struct ks_db *db);

/* What the kernel had of slabs; NULL where the DB does not tell. */
const struct ks_slab_census *ks_db_census(const struct ks_db *db, enum ks_census_when when);

/* Every slot number of either level is below this. */
u32 ks_db_slots(const struct ks_db *db);
size_t ks_db_blocks(const struct ks_db *db);
struct ks_db_block_info ks_db_block_info(const struct ks_db *db, size_t i);

/* @block keeps its memory from call to call: zero it before the first, deinit it after the last. */
int ks_db_block_read(struct ks_db *db, size_t i, unsigned int columns, struct ks_db_block *block,
		     struct ks_diag *diag);
void ks_db_block_deinit(struct ks_db_block *block);

/*
 * Gives each shape whose site the filter skips the site of the first caller, by its stack trace, that
 * the filter does not skip. 0 or -ENOMEM.
 */
int ks_db_skip_helpers(const struct ks_frame_filter *filter, struct ks_names *names,
		       struct ks_db_shape *shapes, u32 len);

#endif
