// SPDX-License-Identifier: LGPL-2.1-only
/* Takes a snapshot: census, slots, types, then the objects one by one. */
#include "heap/take.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"

/* === Internals: about the kernel ========================================================== */

static const char *copy(struct ks_snapshot *s, const char *text)
{
	return ks_arena_strndup(&s->arena, text, strlen(text));
}

/* The random number of this boot, without its newline. */
static void read_boot(char *text, size_t size)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file || !fgets(text, (int)size, file))
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
}

static int add_facts(struct ks_snapshot *s, const struct ks_kernel *k)
{
	struct utsname name;
	char boot[64];

	s->taken_ns = ks_clock_ns(CLOCK_REALTIME);
	if (!k->live || uname(&name))
		return 0;
	s->uptime_ns = ks_clock_ns(CLOCK_BOOTTIME);
	read_boot(boot, sizeof(boot));
	s->release = copy(s, name.release);
	s->machine = copy(s, name.machine);
	s->host = copy(s, name.nodename);
	s->boot = copy(s, boot);
	return s->release && s->machine && s->host && s->boot ? 0 : -ENOMEM;
}

/* === Internals: objects =================================================================== */

static int make_arrays(struct ks_snapshot *s, u32 count)
{
	s->count = count;
	s->addr = calloc(count + 1ul, sizeof(*s->addr));
	s->cache = calloc(count + 1ul, sizeof(*s->cache));
	s->type = calloc(count + 1ul, sizeof(*s->type));
	s->known_by = calloc(count + 1ul, sizeof(*s->known_by));
	s->cgroup = calloc(count + 1ul, sizeof(*s->cgroup));
	s->checksum = calloc(count + 1ul, sizeof(*s->checksum));
	return s->addr && s->cache && s->type && s->known_by && s->cgroup && s->checksum ? 0
											 : -ENOMEM;
}

static int add_cgroups(struct ks_snapshot *s, const struct ks_charges *charges)
{
	size_t i;

	for (i = 0; i <= charges->paths.len && i < KS_CHARGED_OTHER; i++) {
		const char **path = ks_vec_push(&s->cgroups);

		if (path)
			*path = copy(s, i ? charges->paths.items[i - 1] : "");
		if (!path || !*path)
			return -ENOMEM;
	}
	return 0;
}

/* The objects of one slab; their types have the numbers of typing yet. */
static void add_slab(struct ks_taking *t, u32 number, const u16 *charged)
{
	const struct ks_slab *slab = &t->census->pages->slabs.items[number];
	const struct ks_cache *cache = &t->census->caches->items.items[slab->cache];
	u64 addr = ks_kernel_addr(t->kernel, slab->pfn) + cache->pad;
	u32 type = t->typing->cache_type[slab->cache], first = t->slots->first[number];
	struct ks_snapshot *s = t->snapshot;
	u32 slot, object;

	for (slot = first; slot < t->slots->first[number + 1]; slot++) {
		if (!ks_slot_used(t->slots, slot))
			continue;
		object = ks_number_of_slot(t->numbers, number, slot);
		s->addr[object] = addr + (u64)(slot - first) * cache->size;
		s->cache[object] = (u16)slab->cache;
		s->type[object] = type ? type : t->typing->of[slot];
		s->known_by[object] = type ? KS_KNOWN_CACHE : t->typing->known_by[slot];
		s->cgroup[object] = charged[slot];
	}
}

static void add_large(struct ks_taking *t, size_t i)
{
	const struct ks_large *large = &t->census->pages->large.items[i];
	u32 object = t->numbers->index->slabs[t->census->pages->slabs.len + i].base;
	struct ks_snapshot *s = t->snapshot;

	s->addr[object] = ks_kernel_addr(t->kernel, large->pfn);
	s->cache[object] = (u16)ks_snapshot_large_cache(s, large->pages * 4096ull);
	/* Bit 0: the page is a slab's; bit 1: the word is an obj_cgroup. */
	if ((large->memcg & 3) == 2)
		s->cgroup[object] = ks_charges_cgroup(t->census->charges, large->memcg & ~7ull);
}

static int add_objects(struct ks_taking *t, struct ks_diag *diag)
{
	const struct ks_pages *pages = t->census->pages;
	u16 *charged = calloc(t->slots->count + 1ul, sizeof(*charged));
	size_t i;
	int err = charged ? make_arrays(t->snapshot, t->numbers->count) : -ENOMEM;

	if (!err)
		err = ks_charges_of_slots(t->kernel, t->census, t->slots, charged, diag);
	for (i = 0; !err && i < pages->slabs.len; i++)
		add_slab(t, (u32)i, charged);
	for (i = 0; !err && i < pages->large.len; i++)
		add_large(t, i);
	free(charged);
	/* The snapshot has it now, and references need the memory. */
	free(t->typing->of);
	free(t->typing->known_by);
	t->typing->of = NULL;
	t->typing->known_by = NULL;
	return err;
}

/* === Internals: types ===================================================================== */

static int add_type(struct ks_taking *t, u32 from)
{
	const struct ks_type *type = &t->typing->types->items.items[from];
	struct ks_heap_type *to = ks_vec_push(&t->snapshot->types);

	if (!to)
		return -ENOMEM;
	to->name = copy(t->snapshot, ks_type_text(t->typing->types, from));
	to->size = type->form == KS_FORM_STRUCT ? type->size : 0;
	t->type_of[t->snapshot->types.len - 1] = from;
	return to->name ? 0 : -ENOMEM;
}

/* Typing knows all types that pointers lead to; a snapshot has those that objects are of. */
static int renumber_types(struct ks_taking *t)
{
	size_t count = t->typing->types->items.len, i;
	u32 *number = calloc(count + 1, sizeof(*number));
	struct ks_snapshot *s = t->snapshot;
	int err = 0;

	t->type_of = calloc(count + 1, sizeof(*t->type_of));
	if (!number || !t->type_of)
		err = -ENOMEM;
	for (i = 0; !err && i < s->count; i++)
		number[s->type[i]] = 1;
	for (i = 0; !err && i < count; i++) {
		if (i && !number[i])
			continue;
		number[i] = (u32)s->types.len;
		err = add_type(t, (u32)i);
	}
	for (i = 0; !err && i < s->count; i++)
		s->type[i] = number[s->type[i]];
	free(number);
	return err;
}

/* === Internals: one after the other ======================================================= */

static int read_all(struct ks_taking *t, const struct ks_snapshot_options *options,
		    struct ks_diag *diag)
{
	const struct ks_census_options census = { .charges = true };
	int err = ks_census_take(t->kernel, &census, &t->census, diag);

	if (!err)
		err = ks_snapshot_add_census(t->snapshot, t->kernel, t->census, diag);
	if (!err && t->snapshot->caches.len > UINT16_MAX)
		err = ks_diag_set(diag, -EOVERFLOW, "%zu caches are too many",
				  t->snapshot->caches.len);
	if (!err)
		err = ks_slots_read(t->kernel, t->census, &t->slots, diag);
	if (!err && options->brief)
		err = ks_typing_make_for_roots(t->kernel, t->census, t->slots, &t->typing, diag);
	else if (!err)
		err = ks_typing_make(t->kernel, t->census, t->slots, options->kallsyms, &t->typing,
				     diag);
	return err;
}

static int make(struct ks_taking *t, const struct ks_snapshot_options *options,
		struct ks_diag *diag)
{
	int err = ks_numbers_new(t->kernel, t->census, t->slots, &t->numbers);

	if (!err)
		err = add_cgroups(t->snapshot, t->census->charges);
	if (!err)
		err = add_objects(t, diag);
	if (!err)
		err = renumber_types(t);
	if (!err)
		err = ks_take_contents(t, options->graph, diag);
	if (!err)
		err = ks_take_labels(t, diag);
	if (!err && options->graph && !options->brief)
		err = ks_take_fields(t);
	if (!err && options->graph)
		err = ks_take_roots(t, options->kallsyms, diag);
	return err;
}

/* === Public =============================================================================== */

int ks_snapshot_take(struct ks_kernel *k, const struct ks_snapshot_options *options,
		     struct ks_snapshot **ret_snapshot, struct ks_diag *diag)
{
	struct ks_taking t = { .kernel = k };
	u64 start = ks_clock_ns(CLOCK_MONOTONIC);
	int err = ks_snapshot_new(&t.snapshot, diag);

	if (err)
		return err;
	if (add_facts(t.snapshot, k))
		err = -ENOMEM;
	if (!err)
		err = read_all(&t, options, diag);
	if (!err) {
		t.snapshot->no_functions = t.typing->no_functions;
		t.snapshot->quality[KS_HEAP_TORN_FREE_LISTS] = t.slots->torn;
		t.snapshot->quality[KS_HEAP_ODD_MODULES] = k->odd_modules;
		err = make(&t, options, diag);
	}
	t.snapshot->duration_ns = ks_clock_ns(CLOCK_MONOTONIC) - start;
	ks_numbers_free(t.numbers);
	ks_typing_free(t.typing);
	ks_slots_free(t.slots);
	ks_census_free(t.census);
	free(t.type_of);
	if (err) {
		ks_snapshot_free(t.snapshot);
		return err == -ENOMEM ? ks_diag_nomem(diag, "taking a snapshot of the heap") : err;
	}
	*ret_snapshot = t.snapshot;
	return 0;
}
