// SPDX-License-Identifier: LGPL-2.1-only
/* Level 3: all that is allocated and freed, added up in the kernel; here rows are read, and unseen ends are found. */
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* What the skeleton needs. */
#include "base/types.h"
#include "bpf/live.h"

#include "bpf/live-exact.skel.h"
#include "live/tracing.h"

/* === Data ================================================================================= */

enum {
	OBJECTS_MIN = 1 << 18,
	OBJECTS_MAX = 1 << 26,
};

struct exact {
	struct ks_probe probe;
	struct ks_tracing tracing;
	struct live_exact_bpf *program;
	bool hooks, by_process, by_cgroup, by_stack;
	u32 cpus, buckets;
	u64 boot_ms, ticks; /* what time it was at the last look */
	u32 hz;
	struct ks_bpf_bucket *objects; /* the maps themselves */
	struct ks_bpf_cell *cells;
	const struct ks_bpf_sum *sums;
	u64 *known;
	size_t objects_len, cells_len, sums_len, known_len;
	s64 *fewer_objects, *fewer_ticks; /* by cell: what was found to be gone */
	u64 *made;			  /* by cell: as of the last look that wanted room */
	u64 *events;			  /* by cell: as of the last look */
	u64 reconciled, reconciled_bytes;
};

/* === Internals: attaching ================================================================= */

/* Room for half as many again as there are now. */
static u32 buckets_for(u64 objects)
{
	u64 slots = OBJECTS_MIN;

	while (slots < objects + objects / 2 && slots < OBJECTS_MAX)
		slots *= 2;
	return (u32)(slots / KS_LIVE_WAYS);
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

static int map_all(struct exact *e)
{
	e->objects = map_memory(e->program->maps.objects, &e->objects_len);
	e->cells = map_memory(e->program->maps.cells, &e->cells_len);
	e->sums = map_memory(e->program->maps.sums, &e->sums_len);
	e->known = map_memory(e->program->maps.known, &e->known_len);
	return e->objects && e->cells && e->sums && e->known ? 0 : -ENOMEM;
}

static void unload(struct exact *e)
{
	if (e->objects)
		munmap(e->objects, e->objects_len);
	if (e->cells)
		munmap(e->cells, e->cells_len);
	if (e->sums)
		munmap((void *)e->sums, e->sums_len);
	if (e->known)
		munmap(e->known, e->known_len);
	e->objects = NULL;
	e->known = NULL;
	e->cells = NULL;
	e->sums = NULL;
	live_exact_bpf__destroy(e->program);
	e->program = NULL;
}

static int load(void *level, const struct ks_live_filter *filter, bool hooks, struct ks_diag *diag)
{
	struct exact *e = level;
	struct live_exact_bpf *program = live_exact_bpf__open();
	int err;

	if (!program)
		return -errno;
	e->program = program;
	err = ks_tracing_filter(&e->tracing, filter, (struct ks_bpf_filter *)&program->rodata->only,
				diag);
	program->rodata->bucket_mask = e->buckets - 1;
	program->rodata->by_process = e->by_process;
	program->rodata->by_cgroup = e->by_cgroup;
	program->rodata->by_stack = e->by_stack;
	bpf_map__set_max_entries(program->maps.objects, e->buckets);
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

static int attach(struct exact *e, const struct ks_live_filter *filter, struct ks_diag *diag)
{
	int err = ks_tracing_attach(load, e, filter, diag);

	if (!err)
		ks_tracing_loaded(&e->tracing, e->program->obj);
	return err;
}

/* === Internals: a look ==================================================================== */

/*
 * How long a tick is: the kernel counts them from 5 minutes before its own counter of 32 bits overflows, so their number
 * tells it. 0: it can't be told.
 */
static u32 ticks_per_second(u64 ticks, u64 ns)
{
	static const u32 usual[] = { 1000, 300, 250, 100, 24,  48,   64,
				     128,  200, 256, 500, 512, 1024, 1200 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(usual); i++) {
		u64 since = ticks - (u32)(-300 * (s32)usual[i]);
		double seen = (double)since * 1e9 / (double)ns;

		if (seen > usual[i] * 0.95 && seen < usual[i] * 1.05)
			return usual[i];
	}
	return 0;
}

/* What time it is, by both clocks. */
static void read_clock(struct exact *e)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	e->boot_ms = ks_tracing_now() / 1000000;
	if (bpf_prog_test_run_opts(bpf_program__fd(e->program->progs.tell_time), &opts))
		return;
	e->ticks = e->program->bss->clock_ticks;
	e->hz = ticks_per_second(e->ticks, e->program->bss->clock_ns);
}

static int add_cell(struct exact *e, struct ks_live_snapshot *s, u32 number)
{
	struct ks_bpf_cell from = e->cells[number];
	s64 objects = -e->fewer_objects[number], ticks = -e->fewer_ticks[number], births;
	struct ks_live_cell *cell;
	const char *cache;
	u32 cpu;

	e->events[number] = 0;
	for (cpu = 0; cpu < e->cpus; cpu++) {
		const struct ks_bpf_sum *sum = &e->sums[(size_t)cpu * KS_LIVE_CELLS + number];

		objects += sum->objects;
		ticks += sum->ticks;
		e->events[number] += sum->made;
	}
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
	births = (s64)e->boot_ms * objects - ((s64)e->ticks * objects - ticks) * 1000 / e->hz;
	cell->births_ms += births > 0 ? (u64)births : 0;
	return 0;
}

static bool is_idle(struct exact *e, u32 number)
{
	s64 objects = -e->fewer_objects[number];
	u64 made = 0, before = e->made[number];
	u32 cpu;

	for (cpu = 0; cpu < e->cpus; cpu++) {
		objects += e->sums[(size_t)cpu * KS_LIVE_CELLS + number].objects;
		made += e->sums[(size_t)cpu * KS_LIVE_CELLS + number].made;
	}
	e->made[number] = made;
	return !objects && made == before;
}

/* Both have no program: a process that has ended, and a thread of the kernel. */
static bool has_no_program(u32 pid)
{
	char path[32], program[8];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return readlink(path, program, sizeof(program)) < 0;
}

/*
 * CPUs that know the row may still add to it until they have forgotten it. Where one did, the row is put back, unless
 * somebody has taken its place already.
 */
static void free_row(struct exact *e, u32 number)
{
	struct ks_bpf_cell *cell = &e->cells[number];
	unsigned long long none = 0; /* as wide as the BPF program has it */
	u64 tag = cell->tag;
	u32 cpu, size = cell->size;

	cell->size = 0;
	__atomic_store_n(&cell->tag, 0, __ATOMIC_RELEASE);
	for (cpu = 0; cpu < e->cpus; cpu++) {
		u64 *known = &e->known[(size_t)cpu * KS_LIVE_KNOWN + ks_live_known_of(tag)];
		u64 mine = __atomic_load_n(known, __ATOMIC_RELAXED);

		if (mine >> KS_LIVE_CELL_BITS == tag >> KS_LIVE_CELL_BITS)
			__atomic_compare_exchange_n(known, &mine, 0, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED);
	}
	if (!is_idle(e, number) && __atomic_compare_exchange_n(&cell->tag, &none, tag, false,
							       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		cell->size = size;
}

/*
 * Each process has rows of its own, and there is room for only so many. Once half of it is used, rows that have no object
 * any more and whose process has ended make room. Of two rows that are the same by then, the sum is shown.
 */
static void make_room(struct exact *e)
{
	u32 i, used = 0, asked = 0;
	bool ended = false;

	for (i = 0; i < KS_LIVE_CELLS; i++)
		used += e->cells[i].tag != 0;
	if (!e->by_process || used < KS_LIVE_CELLS / 2)
		return;
	for (i = 0; i < KS_LIVE_CELLS; i++) {
		struct ks_bpf_cell *cell = &e->cells[i];

		/* Without a size it is being made. That of all others stays: many tags lead to it. */
		if (!cell->tag || !cell->size || !is_idle(e, i) ||
		    !strcmp(cell->task.comm, KS_LIVE_OTHERS_COMM))
			continue;
		if (!asked || cell->task.pid != asked) {
			asked = cell->task.pid;
			ended = has_no_program(asked);
		}
		if (ended)
			free_row(e, i);
	}
}

static int exact_poll(struct ks_probe *probe, struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct exact *e = (struct exact *)probe;
	unsigned int tells = 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_SITE;
	int err = 0;
	u32 i;

	read_clock(e);
	for (i = 0; !err && i < KS_LIVE_CELLS; i++) {
		if (e->cells[i].tag)
			err = add_cell(e, s, i);
		s->quality.events += e->events[i];
	}
	make_room(e);
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

/* === Internals: reconciling =============================================================== */

static void drop_if_gone(struct exact *e, const struct ks_in_use *use, u64 before,
			 struct ks_bpf_object *object)
{
	u64 addr = __atomic_load_n(&object->addr, __ATOMIC_ACQUIRE), what;
	u32 cell;

	if (!addr)
		return;
	what = __atomic_load_n(&object->what, __ATOMIC_RELAXED);
	if (what >> KS_LIVE_CELL_BITS >= before || ks_in_use(use, addr))
		return;
	if (__sync_val_compare_and_swap(&object->addr, addr, 0) != addr)
		return;
	cell = (u32)(what & (KS_LIVE_CELLS - 1));
	e->fewer_objects[cell]++;
	e->fewer_ticks[cell] += (s64)(what >> KS_LIVE_CELL_BITS);
	e->reconciled++;
	e->reconciled_bytes += e->cells[cell].size;
}

static void exact_counted(void *arg, const struct ks_in_use *use)
{
	struct exact *e = arg;
	u64 before, age;
	u32 i, way;

	read_clock(e);
	if (!e->hz)
		return;
	age = (e->boot_ms - use->at_ns / 1000000) * e->hz / 1000;
	before = e->ticks - age - 2; /* it moves every few milliseconds */
	for (i = 0; i < e->buckets; i++)
		for (way = 0; way < KS_LIVE_WAYS; way++)
			drop_if_gone(e, use, before, &e->objects[i].objects[way]);
}

static void exact_close(struct ks_probe *probe)
{
	struct exact *e = (struct exact *)probe;

	if (e->tracing.census->counted_arg == e)
		e->tracing.census->counted = NULL;
	unload(e);
	ks_tracing_deinit(&e->tracing);
	free(e->fewer_objects);
	free(e->fewer_ticks);
	free(e->made);
	free(e->events);
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
	struct exact *e = calloc(1, sizeof(*e));
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
	e->events = calloc(KS_LIVE_CELLS, sizeof(*e->events));
	/* A stack costs ten times as much as all the rest: only who asks for it pays. */
	e->by_process = !opts->by || opts->by >> KS_LIVE_BY_PROCESS & 1;
	e->by_cgroup = opts->filter.stacks || opts->by >> KS_LIVE_BY_CGROUP & 1;
	e->by_stack = opts->filter.stacks || opts->by >> KS_LIVE_BY_STACK & 1;
	e->buckets = buckets_for(opts->max_objects);
	err = e->fewer_objects && e->fewer_ticks && e->made && e->events
		      ? ks_census_level_open(census, diag)
		      : ks_diag_nomem(diag, "starting probes");
	if (!err)
		err = attach(e, &opts->filter, diag);
	if (err) {
		exact_close(&e->probe);
		return err;
	}
	census->counted = exact_counted;
	census->counted_arg = e;
	*ret_probe = &e->probe;
	return 0;
}
