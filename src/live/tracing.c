// SPDX-License-Identifier: LGPL-2.1-only
/* What probes have noted, made into cells; and what they missed. */
#include "live/tracing.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "heap/kernel.h"
#include "heap/rights.h"

/* === Data ================================================================================= */

enum { BATCH = 1024, NAME_FRAMES = 12 };

static const u32 large_from = 8192; /* of kmalloc(): what is larger is in no cache */

/* === Internals ============================================================================ */

static int be_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

/* "a+0x1 <- b+0x2 <- ..." */
static u32 name_stack(struct ks_tracing *t, const u64 *frames, u32 len)
{
	struct ks_strbuf text;
	u32 i, name;

	ks_strbuf_init(&text);
	for (i = 0; i < len && i < NAME_FRAMES; i++) {
		const char *frame = ks_naming_addr(&t->naming, frames[i]);

		if (!frame)
			text.failed = true;
		else
			ks_strbuf_printf(&text, "%s%s", i ? " <- " : "", frame);
	}
	name = text.failed ? KS_NONE : ks_intern_add(&t->names, ks_strbuf_str(&text), text.len);
	ks_strbuf_deinit(&text);
	return name;
}

static int read_stack(struct ks_tracing *t, u32 id, struct ks_known_stack *known)
{
	u64 frames[KS_LIVE_FRAMES];
	u32 len = 0, skip;

	if (bpf_map_lookup_elem(t->stacks_fd, &id, frames))
		return 0;
	while (len < KS_LIVE_FRAMES && frames[len])
		len++;
	skip = ks_naming_skip(&t->naming, frames, len);
	if (ks_vec_reserve(&t->frames, t->frames.len + len))
		return -ENOMEM;
	known->first = (u32)t->frames.len;
	known->len = len - skip;
	memcpy(t->frames.items + t->frames.len, frames + skip, known->len * sizeof(*frames));
	t->frames.len += known->len;
	known->name = name_stack(t, frames + skip, known->len);
	return known->name == KS_NONE ? -ENOMEM : 0;
}

/* A number is of one stack for as long as the map is there. */
static int find_stack(struct ks_tracing *t, u32 id, struct ks_known_stack *ret_known)
{
	u32 number = ks_map64_add(&t->stacks, id);
	struct ks_known_stack *known;

	if (number == KS_NONE)
		return -ENOMEM;
	while (t->known.len <= number)
		if (!ks_vec_push(&t->known))
			return -ENOMEM;
	known = &t->known.items[number];
	if (!known->len && read_stack(t, id, known))
		return -ENOMEM;
	*ret_known = *known;
	return 0;
}

/* What the kernel itself says of a map's memory. */
static u64 map_bytes(const struct bpf_map *map)
{
	char path[64], line[128];
	u64 bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			break;
	if (file)
		fclose(file);
	return bytes;
}

static u64 misses(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	u32 len = sizeof(info);

	if (bpf_program__fd(program) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
		return 0;
	return info.recursion_misses;
}

static int filter_sites(struct ks_tracing *t, const struct ks_live_filter *filter,
			struct ks_bpf_filter *made, struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < filter->nr_sites; i++) {
		struct ks_bpf_code *code = made->sites + made->nr_sites;
		u32 found, room = KS_BPF_SITES - made->nr_sites;

		if (ks_naming_find_code(&t->naming, filter->sites[i], code, room, &found))
			return ks_diag_nomem(diag, "looking for functions");
		if (!found)
			return ks_diag_set(diag, -ENOENT, "the kernel has no function '%s'",
					   filter->sites[i]);
		if (found > room)
			return ks_diag_set(diag, -E2BIG, "at most %d functions can be chosen",
					   KS_BPF_SITES);
		made->nr_sites += found;
	}
	return 0;
}

/* === Public =============================================================================== */

u64 ks_tracing_now(void)
{
	return ks_clock_ns(CLOCK_BOOTTIME);
}

void *ks_tracing_silence(void *before)
{
	return (void *)libbpf_set_print(before ? (libbpf_print_fn_t)before : be_silent);
}

int ks_tracing_init(struct ks_tracing *t, struct ks_census_level *census)
{
	*t = (struct ks_tracing){ .census = census, .stacks_fd = -1, .counts_fd = -1 };
	t->since_ns = ks_tracing_now();
	if (ks_naming_init(&t->naming) || ks_map64_init(&t->stacks) || ks_intern_init(&t->names) ||
	    ks_map64_init(&t->kmallocs)) {
		ks_tracing_deinit(t);
		return -ENOMEM;
	}
	return 0;
}

void ks_tracing_deinit(struct ks_tracing *t)
{
	ks_naming_deinit(&t->naming);
	ks_map64_deinit(&t->stacks);
	ks_intern_deinit(&t->names);
	ks_map64_deinit(&t->kmallocs);
	ks_vec_free(&t->kmalloc_cache);
	ks_vec_free(&t->known);
	ks_vec_free(&t->frames);
}

void ks_tracing_loaded(struct ks_tracing *t, const struct bpf_object *object)
{
	t->object = object;
	t->stacks_fd = bpf_object__find_map_fd_by_name(object, "stacks");
	t->counts_fd = bpf_object__find_map_fd_by_name(object, "counts");
	t->since_ns = ks_tracing_now();
}

int ks_tracing_refused(const char *what, int err, struct ks_diag *diag)
{
	static const unsigned int needed[] = { CAP_BPF, CAP_PERFMON };

	if ((err == -EPERM || err == -EACCES) &&
	    ks_explain_refusal(what, needed, ARRAY_SIZE(needed), err, diag))
		return err;
	return ks_diag_set(diag, err, "%s: the kernel refuses it: %s", what, strerror(-err));
}

struct ks_live_cell *ks_tracing_cell(struct ks_tracing *t, struct ks_live_snapshot *s,
				     const char *cache, const struct ks_bpf_task *task, u64 site)
{
	const char *names[KS_LIVE_BYS] = { [KS_LIVE_BY_CACHE] = cache };
	struct ks_known_stack stack = { 0 };
	char process[64];

	snprintf(process, sizeof(process), "%.*s[%u]", KS_LIVE_COMM, task->comm, task->pid);
	names[KS_LIVE_BY_PROCESS] = process;
	if (task->cgroup) {
		names[KS_LIVE_BY_CGROUP] = ks_naming_cgroup(&t->naming, task->cgroup);
		if (!names[KS_LIVE_BY_CGROUP])
			return NULL;
	}
	if (task->stack >= 0 && find_stack(t, (u32)task->stack, &stack))
		return NULL;
	if (stack.len) {
		names[KS_LIVE_BY_STACK] = ks_intern_get(&t->names, stack.name).s;
		site = t->frames.items[stack.first];
	}
	if (site) {
		names[KS_LIVE_BY_SITE] = ks_naming_addr(&t->naming, site);
		if (!names[KS_LIVE_BY_SITE])
			return NULL;
	}
	return ks_live_cell_stack(s, KS_LIVE_TRACED, names,
				  stack.len ? t->frames.items + stack.first : NULL, stack.len);
}

const char *ks_tracing_kmalloc_cache(struct ks_tracing *t, u64 site, u32 size, u64 object)
{
	u32 number;
	u64 *cache;

	/* The room first: a number without a cache would be one too many. */
	if (ks_vec_reserve(&t->kmalloc_cache, t->kmalloc_cache.len + 1))
		return NULL;
	number = ks_map64_add(&t->kmallocs, ks_hash_u64(site, size));
	if (number == KS_NONE)
		return NULL;
	if (number == t->kmalloc_cache.len && !ks_vec_push(&t->kmalloc_cache))
		return NULL;
	cache = &t->kmalloc_cache.items[number];
	if (size > large_from)
		return "large kmalloc";
	if (!*cache && ks_kernel_cache_of(t->census->kernel, object, cache))
		return NULL;
	return ks_census_level_cache(t->census, *cache);
}

int ks_tracing_filter(struct ks_tracing *t, const struct ks_live_filter *filter,
		      struct ks_bpf_filter *ret_filter, struct ks_diag *diag)
{
	struct ks_bpf_filter made = { .pid = filter->pid };
	int err = filter_sites(t, filter, &made, diag);
	size_t i;

	if (!err && filter->cgroup)
		err = ks_naming_find_cgroup(filter->cgroup, &made.cgroup, &made.cgroup_depth, diag);
	if (err)
		return err;
	if (filter->nr_caches > KS_BPF_CACHES)
		return ks_diag_set(diag, -E2BIG, "at most %d caches can be chosen", KS_BPF_CACHES);
	made.nr_caches = (u32)filter->nr_caches;
	for (i = 0; i < filter->nr_caches; i++) {
		const struct ks_known_cache *cache =
			ks_census_level_find(t->census, filter->caches[i], diag);

		if (!cache)
			return diag->err;
		made.caches[i] = cache->addr;
		made.sizes[i] = strstr(filter->caches[i], "kmalloc-") ? cache->size : 0;
	}
	*ret_filter = made;
	return 0;
}

int ks_tracing_attach(ks_load_fn *load, void *level, const struct ks_live_filter *filter,
		      struct ks_diag *diag)
{
	void *before = ks_tracing_silence(NULL);
	int err;

	diag->err = 0;
	err = load(level, filter, true, diag);
	if (err && !diag->err)
		err = load(level, filter, false, diag);
	ks_tracing_silence(before);
	if (err && !diag->err)
		return ks_tracing_refused("probes on the events of the slab allocator", err, diag);
	return err;
}

bool ks_tracing_has_free_rcu(const struct ks_tracing *t)
{
	const struct btf *btf = t->census->kernel->btf;
	const struct btf_type *type;
	int id = btf__find_by_name_kind(btf, "kvfree_call_rcu", BTF_KIND_FUNC);

	if (id < 0)
		return false;
	type = btf__type_by_id(btf, btf__type_by_id(btf, (u32)id)->type);
	if (!type || btf_vlen(type) != 2)
		return false;
	type = btf__type_by_id(btf, btf_params(type)[1].type);
	return type && btf_is_ptr(type) && !type->type;
}

int ks_tracing_say_hooks(struct ks_live_snapshot *s, bool hooks)
{
	if (hooks)
		return 0;
	return ks_live_unseen(
		s, "ends of objects by kfree_rcu() and in bulk, until an exact count or a "
		   "new object in their place shows that they are gone: this kernel "
		   "allows no probes on functions");
}

int ks_tracing_quality(struct ks_tracing *t, struct ks_live_snapshot *s, struct ks_diag *diag)
{
	int cpus = libbpf_num_possible_cpus(), i;
	struct ks_bpf_counts *counts = cpus > 0 ? calloc((size_t)cpus, sizeof(*counts)) : NULL;
	struct ks_live_quality *q = &s->quality;
	struct bpf_program *program;
	struct bpf_map *map;
	u32 zero = 0;

	if (!counts)
		return ks_diag_nomem(diag, "reading the counters of probes");
	if (!bpf_map_lookup_elem(t->counts_fd, &zero, counts))
		for (i = 0; i < cpus; i++) {
			q->events += counts[i].events;
			q->stacks += counts[i].stacks;
			q->no_room += counts[i].no_room;
			q->no_stack += counts[i].no_stack;
			q->unknown_frees += counts[i].unknown_frees;
			q->reconciled += counts[i].replaced;
		}
	free(counts);
	bpf_object__for_each_program(program, t->object) q->recursion += misses(program);
	bpf_object__for_each_map(map, t->object) q->kernel_memory += map_bytes(map);
	return 0;
}

void ks_tracing_part(const struct ks_tracing *t, struct ks_live_snapshot *s, unsigned int tells)
{
	s->parts[KS_LIVE_TRACED] = (struct ks_live_part_info){
		.present = true,
		.tells = tells,
		.at_ns = ks_tracing_now(),
		.since_ns = t->since_ns,
	};
}

int ks_tracing_each(int map_fd, u32 entries, size_t size, ks_entry_fn *fn, void *arg,
		    struct ks_diag *diag)
{
	/* Where the last batch is larger than the rest, the kernel would give nothing of it. */
	u64 *keys = ks_array_new((u64)entries + BATCH, sizeof(*keys));
	u8 *values = ks_array_new((u64)entries + BATCH, size);
	u32 in, out, done = 0, count, i;
	void *from = NULL;
	int err = keys && values ? 0 : -ENOMEM, end = 0;

	while (!err && !end && done < entries) {
		count = BATCH;
		end = bpf_map_lookup_batch(map_fd, from, &out, keys + done, values + done * size,
					   &count, NULL);
		if (end && end != -ENOENT) {
			err = end == -ENOSPC ? 0 : end;
			break;
		}
		done += count;
		in = out;
		from = &in;
	}
	for (i = 0; !err && i < done; i++)
		err = fn(arg, keys[i], values + i * size);
	free(keys);
	free(values);
	if (err == -ENOMEM)
		return ks_diag_nomem(diag, "reading what probes have noted");
	return err ? ks_diag_set(diag, err, "reading what probes have noted: %s", strerror(-err))
		   : 0;
}
