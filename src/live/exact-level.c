// SPDX-License-Identifier: LGPL-2.1-only
/* Level 3: all that is allocated and freed, added up in the kernel; here rows are read, and unseen ends are found. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "live/exact.h"

/* === Data ================================================================================= */

enum {
	OBJECTS_MIN = 1 << 18,
	MEMORY_SHARE = 64, /* the share of all memory: one in this number of bytes */
};

static const u64 tombstone = 1; /* as the tag of a row that is given up: nobody finds or takes it */

/* What a row has now. */
struct row_sum {
	s64 objects, ticks;
	u64 made;
};

/* === Internals: attaching ================================================================= */

/* How many objects there are by the kernel's counters; 0 where it does not say. */
static u64 objects_now(void)
{
	struct ks_counters counters;
	struct ks_diag ignored;
	u64 objects = 0;
	size_t i;

	if (ks_counters_init(&counters))
		return 0;
	if (!ks_counters_read(&counters, &ignored))
		for (i = 0; i < counters.items.len; i++)
			objects += counters.items.items[i].active;
	ks_counters_deinit(&counters);
	return objects;
}

/*
 * What is followed is made from now on: room for a quarter of what there is. Two in five places more than that, or
 * too many would be full. Of few caches or of one process there are fewer.
 */
static u32 groups_for(const struct ks_live_opts *opts)
{
	u64 memory = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE);
	const struct ks_live_filter *filter = &opts->filter;
	u64 objects = opts->max_objects, slots;

	if (!objects && !filter->pid && !filter->cgroup && !filter->nr_caches && !filter->nr_sites)
		objects = objects_now() / 4;
	slots = ks_min(objects / 5 * 7, memory / MEMORY_SHARE / sizeof(struct ks_bpf_object));
	slots = ks_max(slots, (u64)OBJECTS_MIN);
	return (u32)(slots / KS_LIVE_WAYS / KS_EXACT_GROUP);
}

static void *map_memory(const struct bpf_map *map, size_t *ret_len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = ((size_t)bpf_map__max_entries(map) * bpf_map__value_size(map) + page - 1) &
		     ~(page - 1);
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return NULL;
	*ret_len = len;
	return at;
}

static int map_all(struct ks_exact *e)
{
	e->objects = map_memory(e->program->maps.objects, &e->objects_len);
	e->cells = map_memory(e->program->maps.cells, &e->cells_len);
	e->sums = map_memory(e->program->maps.sums, &e->sums_len);
	e->ended = map_memory(e->program->maps.ended, &e->ended_len);
	e->known = map_memory(e->program->maps.known, &e->known_len);
	return e->objects && e->cells && e->sums && e->ended && e->known ? 0 : -ENOMEM;
}

static void unload(struct ks_exact *e)
{
	if (e->objects)
		munmap(e->objects, e->objects_len);
	if (e->cells)
		munmap(e->cells, e->cells_len);
	if (e->sums)
		munmap(e->sums, e->sums_len);
	if (e->ended)
		munmap((void *)e->ended, e->ended_len);
	if (e->known)
		munmap(e->known, e->known_len);
	e->objects = NULL;
	e->known = NULL;
	e->ended = NULL;
	e->cells = NULL;
	e->sums = NULL;
	live_exact_bpf__destroy(e->program);
	e->program = NULL;
}

static int load(void *level, const struct ks_live_filter *filter, bool hooks, struct ks_diag *diag)
{
	struct ks_exact *e = level;
	struct live_exact_bpf *program = live_exact_bpf__open();
	int err;

	if (!program)
		return -errno;
	e->program = program;
	err = ks_tracing_filter(&e->tracing, filter, (struct ks_bpf_filter *)&program->rodata->only,
				diag);
	program->rodata->groups = e->groups;
	program->rodata->by_process = e->by_process;
	program->rodata->by_cgroup = e->by_cgroup;
	program->rodata->by_stack = e->by_stack;
	bpf_map__set_max_entries(program->maps.objects, e->groups * KS_EXACT_GROUP);
	bpf_map__set_max_entries(program->maps.sums, e->cpus * KS_LIVE_CELLS);
	bpf_map__set_max_entries(program->maps.known, e->cpus * KS_LIVE_KNOWN);
	bpf_map__set_max_entries(program->maps.stacks, e->by_stack ? KS_LIVE_STACKS : 1);
	bpf_program__set_autoload(program->progs.on_free_bulk, hooks);
	bpf_program__set_autoload(program->progs.on_free_rcu,
				  hooks && ks_tracing_has_free_rcu(&e->tracing));
	if (!err)
		err = live_exact_bpf__load(program);
	if (!err)
		err = map_all(e);
	if (!err)
		err = live_exact_bpf__attach(program);
	if (err)
		unload(e);
	e->hooks = hooks;
	return err;
}

static int attach(struct ks_exact *e, const struct ks_live_filter *filter, struct ks_diag *diag)
{
	int err = ks_tracing_attach(load, e, filter, diag);

	if (!err)
		ks_tracing_loaded(&e->tracing, e->program->obj);
	return err;
}

/* === Internals: a look ==================================================================== */

/* How long a tick is: clocks that move with it say so. */
static u32 ticks_per_second(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec || tick.tv_nsec < 1)
		return 0;
	return (u32)((1000000000 + tick.tv_nsec / 2) / tick.tv_nsec);
}

static struct row_sum sum_of(const struct ks_exact *e, u32 number)
{
	struct row_sum sum = { .objects = -e->fewer_objects[number],
			       .ticks = -e->fewer_ticks[number] };
	const struct ks_bpf_ended *ended = &e->ended[number];
	u32 cpu;

	sum.objects -= (s64)ended->objects;
	sum.ticks -= (s64)ended->ticks;
	for (cpu = 0; cpu < e->cpus; cpu++) {
		const struct ks_bpf_sum *from = &e->sums[(size_t)cpu * KS_LIVE_CELLS + number];

		sum.made += from->made;
		sum.objects += (s64)(from->made - from->ended[0] - from->ended[1]);
		sum.ticks += (s64)(from->born - from->died[0] - from->died[1]);
	}
	return sum;
}

static int add_cell(struct ks_exact *e, struct ks_live_snapshot *s, u32 number)
{
	struct ks_bpf_cell from = e->cells[number];
	struct row_sum sum = sum_of(e, number);
	s64 objects = sum.objects, births;
	struct ks_live_cell *cell;
	const char *cache;

	/* A look may come between two CPUs that hand an object on. */
	if (objects <= 0 || !from.size)
		return 0;
	cache = from.cache
			? ks_census_level_cache(e->tracing.census, from.cache)
			: ks_tracing_kmalloc_cache(&e->tracing, from.site, from.size, from.example);
	if (!e->by_stack)
		from.task.stack = -1;
	cell = ks_tracing_cell(&e->tracing, s, cache ? cache : "unknown", &from.task, from.site);
	if (!cell)
		return -ENOMEM;
	cell->objects += (u64)objects;
	cell->example = from.example;
	cell->bytes += (u64)objects * from.size;
	if (!e->hz)
		return 0;
	births = (s64)e->boot_ms * objects - ((s64)e->ticks * objects - sum.ticks) * 1000 / e->hz;
	cell->births_ms += births > 0 ? (u64)births : 0;
	return 0;
}

/* Nothing is left of it, and nothing was made since it was looked at before. */
static bool is_idle(struct ks_exact *e, u32 number)
{
	struct row_sum sum = sum_of(e, number);
	u64 before = e->made[number];

	e->made[number] = sum.made;
	return !sum.objects && sum.made == before;
}

/* Both have no program: a process that has ended, and a thread of the kernel. */
static bool has_no_program(u32 pid)
{
	char path[32], program[8];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return readlink(path, program, sizeof(program)) < 0;
}

/* Each process has rows of its own. Those that have no object any more and whose process has ended make room. */
static bool is_done_with(struct ks_exact *e, u32 number, u32 *asked, bool *ended)
{
	const struct ks_bpf_cell *cell = &e->cells[number];

	/* Without a size it is being made. That of all others stays: many tags lead to it. */
	if (!cell->tag || !cell->size || !is_idle(e, number) ||
	    !strcmp(cell->task.comm, KS_LIVE_OTHERS_COMM))
		return false;
	if (!*asked || cell->task.pid != *asked) {
		*asked = cell->task.pid;
		*ended = has_no_program(*asked);
	}
	return *ended;
}

/* CPUs look for it anew, and do not find it. */
static void forget_row(struct ks_exact *e, u64 tag)
{
	u32 cpu;

	for (cpu = 0; cpu < e->cpus; cpu++) {
		u64 *known = &e->known[(size_t)cpu * KS_LIVE_KNOWN + ks_live_known_of(tag)];
		u64 mine = __atomic_load_n(known, __ATOMIC_RELAXED);

		if (mine >> KS_LIVE_CELL_BITS == tag >> KS_LIVE_CELL_BITS)
			__atomic_compare_exchange_n(known, &mine, 0, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED);
	}
}

/*
 * A row is first given up; when no program runs that may have found it before, CPUs forget it; and when none runs that knew
 * it, nobody adds to it any more. Where one did until then, it stays.
 */
static void free_rows(struct ks_exact *e, u64 *tags)
{
	u32 i, asked = 0, done = 0;
	bool ended = false;

	for (i = 0; i < KS_LIVE_CELLS; i++) {
		if (!is_done_with(e, i, &asked, &ended))
			continue;
		tags[i] = e->cells[i].tag;
		__atomic_store_n(&e->cells[i].tag, tombstone, __ATOMIC_RELEASE);
		done++;
	}
	if (!done)
		return;
	ks_exact_wait();
	for (i = 0; i < KS_LIVE_CELLS; i++)
		if (tags[i])
			forget_row(e, tags[i]);
	ks_exact_wait();
	for (i = 0; i < KS_LIVE_CELLS; i++) {
		if (!tags[i])
			continue;
		if (is_idle(e, i))
			tags[i] = e->cells[i].size = 0;
		__atomic_store_n(&e->cells[i].tag, tags[i], __ATOMIC_RELEASE);
	}
}

/* Once half of the room for rows is used. */
static int make_room(struct ks_exact *e)
{
	u32 i, used = 0;
	u64 *tags;

	for (i = 0; i < KS_LIVE_CELLS; i++)
		used += e->cells[i].tag != 0;
	if (!e->by_process || used < KS_LIVE_CELLS / 2)
		return 0;
	tags = calloc(KS_LIVE_CELLS, sizeof(*tags));
	if (!tags)
		return -ENOMEM;
	free_rows(e, tags);
	free(tags);
	return 0;
}

static int exact_poll(struct ks_probe *probe, struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct ks_exact *e = (struct ks_exact *)probe;
	unsigned int tells = 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_SITE;
	int err = 0;
	u32 i;

	e->ticks = ks_exact_ticks(e);
	e->boot_ms = ks_tracing_now() / 1000000;
	for (i = 0; !err && i < KS_LIVE_CELLS; i++) {
		if (e->cells[i].tag)
			err = add_cell(e, s, i);
		s->quality.events += sum_of(e, i).made;
	}
	if (!err)
		err = make_room(e);
	if (!err)
		err = ks_tracing_say_hooks(s, e->hooks);
	if (err)
		return ks_diag_nomem(diag, "adding up objects");
	if (e->by_process)
		tells |= 1u << KS_LIVE_BY_PROCESS;
	if (e->by_cgroup)
		tells |= 1u << KS_LIVE_BY_CGROUP;
	if (e->by_stack)
		tells |= 1u << KS_LIVE_BY_STACK;
	ks_tracing_part(&e->tracing, s, tells);
	s->parts[KS_LIVE_TRACED].exact = true;
	s->quality.reconciled += e->reconciled;
	s->quality.reconciled_bytes += e->reconciled_bytes;
	return ks_tracing_quality(&e->tracing, s, diag);
}

static void exact_close(struct ks_probe *probe)
{
	struct ks_exact *e = (struct ks_exact *)probe;

	ks_census_level_unfollow(e->tracing.census, e);
	unload(e);
	ks_tracing_deinit(&e->tracing);
	free(e->fewer_objects);
	free(e->fewer_ticks);
	free(e->made);
	free(e);
}

static const struct ks_probe_ops exact_ops = {
	.poll = exact_poll,
	.close = exact_close,
};

/* === Public =============================================================================== */

int ks_exact_open(const struct ks_live_opts *opts, struct ks_census_level *census,
		  struct ks_probe **ret_probe, struct ks_diag *diag)
{
	struct ks_exact *e = calloc(1, sizeof(*e));
	int cpus = libbpf_num_possible_cpus(), err;

	if (!e || cpus < 1 || ks_tracing_init(&e->tracing, census)) {
		free(e);
		return ks_diag_nomem(diag, "starting probes");
	}
	e->probe.ops = &exact_ops;
	e->cpus = (u32)cpus;
	e->fewer_objects = calloc(KS_LIVE_CELLS, sizeof(*e->fewer_objects));
	e->fewer_ticks = calloc(KS_LIVE_CELLS, sizeof(*e->fewer_ticks));
	e->made = calloc(KS_LIVE_CELLS, sizeof(*e->made));
	/* A stack costs ten times as much as all the rest: only who asks for it pays. */
	e->by_process = !opts->by || opts->by >> KS_LIVE_BY_PROCESS & 1;
	e->by_cgroup = opts->filter.stacks || opts->by >> KS_LIVE_BY_CGROUP & 1;
	e->by_stack = opts->filter.stacks || opts->by >> KS_LIVE_BY_STACK & 1;
	e->groups = groups_for(opts);
	e->hz = ticks_per_second();
	err = e->fewer_objects && e->fewer_ticks && e->made
		      ? ks_census_level_open(census, diag)
		      : ks_diag_nomem(diag, "starting probes");
	if (!err)
		err = attach(e, &opts->filter, diag);
	if (err) {
		exact_close(&e->probe);
		return err;
	}
	ks_census_level_follow(census, ks_exact_counting, ks_exact_counted, e);
	*ret_probe = &e->probe;
	return 0;
}
