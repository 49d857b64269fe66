// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level 3: adds up all that is allocated and freed, by rows, and keeps each object in a table whose buckets are one cache
 * line. An entry belongs to whoever changes its address from 0, or back to 0, by a compare-and-exchange.
 */
#include "live-common.h"

/* === Data ================================================================================= */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ks_bpf_bucket);
} objects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KS_LIVE_CELLS);
	__type(key, u32);
	__type(value, struct ks_bpf_cell);
} cells SEC(".maps");

/* A row for each cell and CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ks_bpf_sum);
} sums SEC(".maps");

u64 clock_ticks, clock_ns;

/* Some object is, or was, in its second bucket. As long as none is, nobody needs to look there. */
u32 seconds_used;

const volatile u32 bucket_mask;
const volatile u32 by_process, by_cgroup, by_stack;

enum { CELL_TRIES = 8, NO_CELL = KS_LIVE_CELLS };

/* === Internals ============================================================================ */

static __always_inline u64 mix(u64 x)
{
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 32;
}

static __always_inline struct ks_bpf_sum *sum_of(u32 cell)
{
	u32 at = bpf_get_smp_processor_id() * KS_LIVE_CELLS + cell;

	return bpf_map_lookup_elem(&sums, &at);
}

/* A row to be, or that is there already. */
struct row {
	u64 tag, site, ptr, cache;
	u64 cgroup;
	u32 size, pid, others;
	int stack;
	u32 first; /* where it may be, and in the places behind that */
};

static __always_inline u32 claim(const struct row *row)
{
	u32 i, at;

	for (i = 0; i < CELL_TRIES; i++) {
		struct ks_bpf_cell *cell;
		u64 old;

		at = (row->first + i) & (KS_LIVE_CELLS - 1);
		cell = bpf_map_lookup_elem(&cells, &at);
		if (!cell)
			return NO_CELL;
		if (cell->tag == row->tag)
			return at;
		if (cell->tag)
			continue;
		old = __sync_val_compare_and_swap(&cell->tag, 0, row->tag);
		if (old == row->tag)
			return at;
		if (old)
			continue;
		cell->site = row->site;
		cell->cache = row->cache;
		cell->example = row->ptr;
		cell->size = row->size;
		cell->task.pid = row->pid;
		cell->task.cgroup = row->cgroup;
		cell->task.stack = row->stack;
		if (row->others)
			__builtin_memcpy(cell->task.comm, KS_LIVE_OTHERS_COMM,
					 sizeof(KS_LIVE_OTHERS_COMM));
		else if (by_process)
			bpf_get_current_comm(cell->task.comm, sizeof(cell->task.comm));
		return at;
	}
	return NO_CELL;
}

/* The number of the row, new or old. Where there is no room for more processes, that of all others together. */
static __always_inline u32 cell_of(void *ctx, u64 site, u64 ptr, u64 cache, u32 size,
				   struct ks_bpf_counts *c)
{
	struct row row = { .site = site, .ptr = ptr, .size = size, .stack = -1 };
	volatile u64 *scratch = &c->scratch;
	u64 tag;
	u32 at;

	/* The verifier lets nobody calculate with a pointer, but it does not know one that was stored. */
	*scratch = cache;
	row.cache = *scratch;
	tag = mix(site ^ mix(row.cache + size));
	row.tag = tag;
	if (by_process) {
		row.pid = bpf_get_current_pid_tgid() >> 32;
		row.tag = mix(row.tag + row.pid);
	}
	if (by_cgroup) {
		row.cgroup = bpf_get_current_cgroup_id();
		row.tag = mix(row.tag ^ row.cgroup);
	}
	if (by_stack) {
		row.stack = (int)bpf_get_stackid(ctx, &stacks, 0);
		c->stacks++;
		c->no_stack += row.stack < 0;
		row.tag = mix(row.tag + (u32)row.stack);
	}
	row.tag |= 1;
	row.first = (u32)(((row.tag >> 20 & 0xffffffff) * KS_LIVE_OTHERS) >> 32);
	at = claim(&row);
	if (at != NO_CELL || !by_process)
		return at;
	row.tag = tag | 1;
	row.others = 1;
	row.pid = 0;
	row.cgroup = 0;
	row.stack = -1;
	row.first = KS_LIVE_OTHERS + ((u32)(tag >> 20) & (KS_LIVE_CELLS - KS_LIVE_OTHERS - 1));
	return claim(&row);
}

/* What is in this bucket under this address ends. */
static __always_inline int take(struct ks_bpf_bucket *bucket, u64 ptr)
{
	u32 i;

#pragma unroll
	for (i = 0; i < KS_LIVE_WAYS; i++) {
		struct ks_bpf_object *object = &bucket->objects[i];
		struct ks_bpf_sum *sum;
		u64 what;

		if (object->addr != ptr)
			continue;
		what = object->what;
		if (__sync_val_compare_and_swap(&object->addr, ptr, 0) != ptr)
			return 0;
		sum = sum_of(what & (KS_LIVE_CELLS - 1));
		if (sum) {
			sum->objects--;
			sum->ticks -= what >> KS_LIVE_CELL_BITS;
		}
		return 1;
	}
	return 0;
}

static __always_inline int put(struct ks_bpf_bucket *bucket, u64 ptr, u64 what)
{
	u32 i;

#pragma unroll
	for (i = 0; i < KS_LIVE_WAYS; i++) {
		struct ks_bpf_object *object = &bucket->objects[i];

		if (object->addr || __sync_val_compare_and_swap(&object->addr, 0, ptr))
			continue;
		object->what = what;
		return 1;
	}
	return 0;
}

/* Each address has two buckets; nearly all objects are in their first. */
static __always_inline struct ks_bpf_bucket *bucket_of(u64 ptr, u32 second)
{
	u64 hash = mix(ptr >> 3);
	u32 at = (u32)(second ? hash >> 40 ^ hash * 5 : hash) & bucket_mask;

	return bpf_map_lookup_elem(&objects, &at);
}

static __always_inline void gone(u64 ptr)
{
	struct ks_bpf_bucket *bucket = bucket_of(ptr, 0);
	struct ks_bpf_counts *c;

	if (bucket && take(bucket, ptr))
		return;
	bucket = seconds_used ? bucket_of(ptr, 1) : 0;
	if (bucket && take(bucket, ptr))
		return;
	c = my_counts();
	if (c)
		c->unknown_frees++;
}

static __always_inline void made(void *ctx, u64 site, u64 ptr, u64 cache, u32 size)
{
	struct ks_bpf_counts *c = my_counts();
	struct ks_bpf_bucket *bucket = bucket_of(ptr, 0), *other;
	struct ks_bpf_sum *sum;
	u64 ticks, what;
	u32 cell;

	if (!c || !bucket)
		return;
	c->events++;
	/* One that had this address has ended unseen. */
	if (take(bucket, ptr))
		c->replaced++;
	cell = cell_of(ctx, site, ptr, cache, size, c);
	sum = cell == NO_CELL ? 0 : sum_of(cell);
	ticks = bpf_jiffies64(); /* of all clocks the only one that costs nothing */
	what = ticks << KS_LIVE_CELL_BITS | (cell & (KS_LIVE_CELLS - 1));
	if (!sum) {
		c->no_room++;
		return;
	}
	if (!put(bucket, ptr, what)) {
		if (!seconds_used)
			seconds_used = 1;
		other = bucket_of(ptr, 1);
		if (!other || !put(other, ptr, what)) {
			c->no_room++;
			return;
		}
	}
	sum->objects++;
	sum->made++;
	sum->ticks += ticks;
}

#include "live-events.h"

/* Run on request: what time it is by ticks. */
SEC("syscall")
int tell_time(void *ctx)
{
	clock_ticks = bpf_jiffies64();
	clock_ns = bpf_ktime_get_ns();
	return 0;
}
