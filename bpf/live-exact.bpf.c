// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level 3: adds up all that is allocated and freed, by rows, and keeps each object in a table whose buckets are one cache
 * line. An entry belongs to whoever changes its address from 0 by a compare-and-exchange.
 */
#include "live-common.h"

#include <bpf/bpf_core_read.h>

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

/* One for each cell and CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ks_bpf_sum);
} sums SEC(".maps");

/* For each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} known SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KS_LIVE_CELLS);
	__type(key, u32);
	__type(value, struct ks_bpf_ended);
} ended SEC(".maps");

u64 clock_ticks;

/* How many places objects were ever put into, beside their first ones: nobody needs to look further. */
u32 deepest;

const volatile u32 groups;
const volatile u32 by_process, by_cgroup, by_stack;

enum { CELL_TRIES = 8, NO_CELL = KS_LIVE_CELLS };

/* === Internals: rows ====================================================================== */

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
	u64 others_tag; /* of the row that all processes share */
	u32 size, pid, others;
	int stack;
	u32 first; /* where it may be, and in the places behind that */
};

/* Of caches the size is looked up only here, once for each row. */
static __always_inline void fill(struct ks_bpf_cell *cell, const struct row *row)
{
	const struct kmem_cache *cache = (const struct kmem_cache *)row->cache;
	u32 size = row->size;

	if (cache)
		bpf_core_read(&size, sizeof(size), &cache->size);
	cell->site = row->site;
	cell->cache = row->cache;
	cell->example = row->ptr;
	cell->task.pid = row->pid;
	cell->task.cgroup = row->cgroup;
	cell->task.stack = row->stack;
	if (row->others)
		__builtin_memcpy(cell->task.comm, KS_LIVE_OTHERS_COMM, sizeof(KS_LIVE_OTHERS_COMM));
	else if (by_process)
		bpf_get_current_comm(cell->task.comm, sizeof(cell->task.comm));
	cell->size = size;
}

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
		fill(cell, row);
		return at;
	}
	return NO_CELL;
}

/* Where there is no room for more processes, the row is that of all others together. */
static __noinline u32 claim_some(struct row *row)
{
	u32 at;

	if (!row)
		return NO_CELL;
	at = claim(row);
	if (at != NO_CELL || !by_process)
		return at;
	row->tag = row->others_tag | 1ull << 63;
	row->others = 1;
	row->pid = 0;
	row->cgroup = 0;
	row->stack = -1;
	row->first = KS_LIVE_OTHERS +
		     ((u32)(row->others_tag >> 20) & (KS_LIVE_CELLS - KS_LIVE_OTHERS - 1));
	return claim(row);
}

/* Who allocates, as a hash; what it is made of is only needed for a row that this CPU does not know yet. */
struct who {
	u64 cgroup;
	u32 pid;
	int stack;
};

static __always_inline u64 tag_of(void *ctx, u64 others_tag, struct who *who)
{
	u64 tag = others_tag;

	if (by_process) {
		who->pid = bpf_get_current_pid_tgid() >> 32;
		tag = mix(tag + who->pid);
	}
	if (by_cgroup) {
		who->cgroup = bpf_get_current_cgroup_id();
		tag = mix(tag ^ who->cgroup);
	}
	if (by_stack) {
		struct ks_bpf_counts *c = my_counts();

		who->stack = (int)bpf_get_stackid(ctx, &stacks, 0);
		if (c) {
			c->stacks++;
			c->no_stack += who->stack < 0;
		}
		tag = mix(tag + (u32)who->stack);
	}
	return tag | 1ull << 63;
}

/*
 * The number of the row, new or old. Nearly all are known to this CPU. Processes come and go by the thousand, so the table of
 * rows is often full: to look through it each time would cost more than all the rest.
 */
static __always_inline u32 cell_of(void *ctx, u64 site, u64 ptr, u64 cache, u32 size)
{
	u64 others_tag = mix(site ^ mix(cache + size));
	struct who who = { .stack = -1 };
	u64 tag = tag_of(ctx, others_tag, &who), *mine, seen;
	u32 at = bpf_get_smp_processor_id() * KS_LIVE_KNOWN + ks_live_known_of(tag);

	mine = bpf_map_lookup_elem(&known, &at);
	if (!mine)
		return NO_CELL;
	seen = *(volatile u64 *)mine;
	if ((seen ^ tag) >> KS_LIVE_CELL_BITS) {
		struct row row = { .tag = tag,
				   .site = site,
				   .ptr = ptr,
				   .cache = cache,
				   .cgroup = who.cgroup,
				   .others_tag = others_tag,
				   .size = size,
				   .pid = who.pid,
				   .stack = who.stack };

		row.first = (u32)(((tag >> 20 & 0xffffffff) * KS_LIVE_OTHERS) >> 32);
		at = claim_some(&row);
		if (at != NO_CELL)
			*(volatile u64 *)mine = tag >> KS_LIVE_CELL_BITS << KS_LIVE_CELL_BITS | at;
		return at;
	}
	return seen & (KS_LIVE_CELLS - 1);
}

/* === Internals: objects =================================================================== */

/*
 * What is in this bucket under this address ends: what it was, or 0. Nobody else ends it at the same time: the kernel frees it
 * once, and gives the address to others after that.
 */
static __always_inline u64 take(struct ks_bpf_bucket *bucket, u64 ptr)
{
	struct ks_bpf_object *object;
	u64 what;
	u32 way;

#pragma unroll
	for (way = 0; way < KS_LIVE_WAYS; way++)
		if (bucket->objects[way].addr == ptr)
			break;
	if (way == KS_LIVE_WAYS)
		return 0;
	object = &bucket->objects[way & (KS_LIVE_WAYS - 1)];
	what = object->what;
	*(volatile u64 *)&object->addr = 0;
	return what;
}

/* The address comes last: who sees it sees what it is of. */
static __always_inline int put(struct ks_bpf_bucket *bucket, u64 ptr, u64 what)
{
	u32 i;

#pragma unroll
	for (i = 0; i < KS_LIVE_WAYS; i++) {
		struct ks_bpf_object *object = &bucket->objects[i];

		if (object->addr || __sync_val_compare_and_swap(&object->addr, 0, KS_LIVE_RESERVED))
			continue;
		*(volatile u64 *)&object->what = what;
		*(volatile u64 *)&object->addr = ptr;
		return 1;
	}
	return 0;
}

static __always_inline struct ks_bpf_bucket *bucket_of(u64 ptr, u32 place)
{
	u32 at = ks_live_bucket_of(ptr, place, groups);

	return bpf_map_lookup_elem(&objects, &at);
}

static __noinline u64 take_elsewhere(u64 ptr)
{
	u32 place;

	for (place = 1; place < KS_LIVE_PLACES && place <= deepest; place++) {
		struct ks_bpf_bucket *bucket = bucket_of(ptr, place);
		u64 what = bucket ? take(bucket, ptr) : 0;

		if (what)
			return what;
	}
	return 0;
}

/* Not inlined: nothing of it may cost objects that find room at once. */
static __noinline int put_elsewhere(u64 ptr, u64 what)
{
	u32 place, before, i;

	for (place = 1; place < KS_LIVE_PLACES; place++) {
		struct ks_bpf_bucket *bucket = bucket_of(ptr, place);

		/* First it is said that somebody may be there. */
		for (i = 0; i < 4 && (before = deepest) < place; i++)
			__sync_val_compare_and_swap(&deepest, before, place);
		if (bucket && put(bucket, ptr, what))
			return 1;
	}
	return 0;
}

static __noinline int count_end(u64 what)
{
	u32 cell = what & (KS_LIVE_CELLS - 1);
	struct ks_bpf_ended *sum = bpf_map_lookup_elem(&ended, &cell);

	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->objects, 1);
	__sync_fetch_and_add(&sum->ticks, what >> KS_LIVE_CELL_BITS);
	return 0;
}

static __always_inline void gone(u64 ptr, u32 by)
{
	struct ks_bpf_bucket *bucket = bucket_of(ptr, 0);
	u64 what = bucket ? take(bucket, ptr) : 0;
	struct ks_bpf_counts *c;
	struct ks_bpf_sum *sum;

	if (!what && deepest)
		what = take_elsewhere(ptr);
	if (!what) {
		c = my_counts();
		if (c)
			c->unknown_frees++;
		return;
	}
	if (by == KS_LIVE_BY_OTHERS) {
		count_end(what);
		return;
	}
	sum = sum_of(what & (KS_LIVE_CELLS - 1));
	if (sum) {
		sum->ended[by]++;
		sum->died[by] += what >> KS_LIVE_CELL_BITS;
	}
}

/* An object that had this address has ended unseen. */
static __noinline int count_replaced(u64 what)
{
	struct ks_bpf_counts *c = my_counts();

	if (c)
		c->replaced++;
	return count_end(what);
}

static __noinline int count_no_room(void)
{
	struct ks_bpf_counts *c = my_counts();

	if (c)
		c->no_room++;
	return 0;
}

/*
 * How many there were, the sums tell: nothing else is counted here. These are read before the object is put into its place,
 * which waits for all reads that follow.
 */
static __always_inline void made(void *ctx, u64 site, u64 ptr, u64 cache, u32 size)
{
	struct ks_bpf_bucket *bucket = bucket_of(ptr, 0);
	u32 cell = cell_of(ctx, site, ptr, cache, size);
	struct ks_bpf_sum *sum = cell == NO_CELL ? 0 : sum_of(cell);
	u64 ticks = bpf_jiffies64(); /* of all clocks the only one that costs nothing */
	u64 what, objects, born;

	if (!bucket)
		return;
	what = take(bucket, ptr);
	if (what)
		count_replaced(what);
	if (!sum) {
		count_no_room();
		return;
	}
	objects = *(volatile u64 *)&sum->made;
	born = *(volatile u64 *)&sum->born;
	what = ticks << KS_LIVE_CELL_BITS | (cell & (KS_LIVE_CELLS - 1));
	if (!put(bucket, ptr, what) && !put_elsewhere(ptr, what)) {
		count_no_room();
		return;
	}
	sum->made = objects + 1;
	sum->born = born + ticks;
}

#include "live-events.h"

SEC("raw_tp/kmem_cache_alloc")
int on_cache_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	u64 ptr = ctx->args[1], cache = ctx->args[2];

	if (ptr && wanted(ctx->args[0], cache, 0))
		made(ctx, ctx->args[0], ptr, cache, 0);
	return 0;
}

/* Run on request: what time it is by ticks. */
SEC("syscall")
int tell_time(void *ctx)
{
	clock_ticks = bpf_jiffies64();
	return 0;
}
