// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Variables have names where the kernel shows symbols of data. Areas of vmalloc are objects of the heap themselves,
 * and say which function made them. Stacks are those of all tasks.
 *
 * Of a stack only what is in use counts. Below the pointer of a task that sleeps is what its earlier calls have left
 * there; the stacks of interrupts are as good as always unused; and the kernel keeps stacks of tasks that have ended
 * for the next ones. Old values in these would hold what nobody holds.
 */
#include "heap/root-map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/btf-members.h"

/* === Data ================================================================================= */

#define VARIABLE_MAX (1ull << 20) /* no variable is larger: between symbols there is a gap */

struct finding {
	struct ks_root_map *map;
	struct ks_taking *taking;
	u32 vm_caller;
	bool failed;
};

/* === Internals: symbols =================================================================== */

static int by_address(const void *a, const void *b)
{
	const struct ks_root_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int add_symbol(struct ks_root_map *map, char *line)
{
	char type, name[256], module[64] = "", text[330];
	struct ks_root_symbol *symbol;
	unsigned long long addr;

	if (sscanf(line, "%llx %c %255s [%63[^]]", &addr, &type, name, module) < 3)
		return 0;
	if (!strcmp(name, "__per_cpu_start"))
		map->percpu_start = addr;
	if (!strcmp(name, "__per_cpu_end"))
		map->percpu_end = addr;
	if (!strcmp(name, "pcpu_first_chunk"))
		map->first_chunk = addr;
	if (!strcmp(name, "pcpu_base_addr"))
		map->base_addr = addr;
	snprintf(text, sizeof(text), *module ? "%s [%s]" : "%s", name, module);
	symbol = ks_vec_push(&map->symbols);
	if (!symbol)
		return -ENOMEM;
	symbol->addr = addr;
	symbol->code = strchr("tTwW", type);
	symbol->name = ks_arena_strndup(&map->arena, text, strlen(text));
	return symbol->name ? 0 : -ENOMEM;
}

static int read_symbols(struct ks_root_map *map, const char *path)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	char line[512];
	int err = 0;

	while (file && !err && fgets(line, sizeof(line), file))
		err = add_symbol(map, line);
	if (file)
		fclose(file);
	if (!err && map->symbols.len)
		qsort(map->symbols.items, map->symbols.len, sizeof(*map->symbols.items),
		      by_address);
	return err;
}

/* The last symbol at or before an address, or NULL. */
static const struct ks_root_symbol *symbol_at(const struct ks_root_map *map, u64 addr, u64 *ret_end)
{
	size_t from = 0, to = map->symbols.len, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (map->symbols.items[middle].addr <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	*ret_end = from < map->symbols.len ? map->symbols.items[from].addr : UINT64_MAX;
	return from ? &map->symbols.items[from - 1] : NULL;
}

/* === Internals: areas ===================================================================== */

static void add_area(struct finding *f, const struct ks_root_area *area)
{
	struct ks_root_area *to;

	if (area->start >= area->end)
		return;
	to = ks_vec_push(&f->map->areas);
	if (!to) {
		f->failed = true;
		return;
	}
	*to = *area;
	to->name = ks_arena_strndup(&f->map->arena, area->name, strlen(area->name));
	if (!to->name)
		f->failed = true;
}

/* A vmap_area: the function that made it is in its vm_struct. */
static void see_area(void *arg, u32 object, const u8 *const *fields)
{
	struct finding *f = arg;
	struct ks_root_area area = {
		.start = ks_u64_at(fields[0], 0),
		.end = ks_u64_at(fields[1], 0),
		.kind = KS_ROOT_VMALLOC,
	};
	u64 vm = ks_u64_at(fields[2], 0), next;
	const struct ks_root_symbol *symbol = NULL;
	u32 inside;

	/* Free areas, which span all that is not used, have another number in this place. */
	if (ks_number_at(f->taking->numbers, vm, &inside) == KS_NONE || inside)
		return;
	if (f->vm_caller != KS_NONE)
		ks_memory_word(f->taking->kernel->memory, vm + f->vm_caller, &area.caller);
	if (ks_kernel_in_image(f->taking->kernel, area.caller))
		symbol = symbol_at(f->map, area.caller, &next);
	area.name = symbol ? symbol->name : "";
	if (strstr(area.name, "irqstack") || strstr(area.name, "irq_stack")) {
		area.kind = KS_ROOT_STACK;
		area.from = area.end;
	} else if (!strncmp(area.name, "pcpu_", 5)) {
		area.kind = KS_ROOT_PERCPU;
	}
	add_area(f, &area);
}

static int by_start(const void *a, const void *b)
{
	const struct ks_root_area *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static struct ks_root_area *area_at(const struct ks_root_map *map, u64 addr)
{
	size_t from = 0, to = map->areas.len, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (map->areas.items[middle].start <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	return from && addr < map->areas.items[from - 1].end ? &map->areas.items[from - 1] : NULL;
}

/* The area that a task's stack is in becomes that task's. */
static void see_stack(void *arg, u32 object, const u8 *const *fields)
{
	struct finding *f = arg;
	const char *name = ks_snapshot_label(f->taking->snapshot, object);
	struct ks_root_area *area = area_at(f->map, ks_u64_at(fields[0], 0));
	u64 pointer = ks_u64_at(fields[1], 0);

	if (!area)
		return;
	area->task = true;
	area->kind = KS_ROOT_STACK;
	/* Of a task that runs, the pointer is in a register, and this one is old. */
	if (!ks_u32_at(fields[2], 0) && pointer > area->start && pointer < area->end)
		area->from = pointer;
	area->name = ks_arena_strndup(&f->map->arena, name, strlen(name));
	if (!area->name)
		f->failed = true;
}

/* Areas that were made as the stacks of tasks were, and are of no task. */
static int see_unused_stacks(struct ks_root_map *map)
{
	struct ks_map64 callers;
	size_t i;
	int err = ks_map64_init(&callers);

	for (i = 0; !err && i < map->areas.len; i++)
		if (map->areas.items[i].task && map->areas.items[i].caller &&
		    ks_map64_add(&callers, map->areas.items[i].caller) == KS_NONE)
			err = -ENOMEM;
	for (i = 0; !err && i < map->areas.len; i++) {
		struct ks_root_area *area = &map->areas.items[i];

		if (area->task || ks_map64_find(&callers, area->caller) == KS_NONE)
			continue;
		area->kind = KS_ROOT_STACK;
		area->from = area->end;
	}
	ks_map64_deinit(&callers);
	return err;
}

static int find_areas(struct ks_root_map *map, struct ks_taking *t, struct ks_diag *diag)
{
	const struct ks_wanted area[] = { { "va_start", 8 }, { "va_end", 8 }, { "vm", 8 } };
	const struct ks_wanted stack[] = { { "stack", 8 }, { "thread.sp", 8 }, { "on_cpu", 4 } };
	struct finding f = { .map = map, .taking = t };
	u32 vm = ks_types_struct(t->typing->types, "vm_struct", 9);
	int err;

	f.vm_caller = vm ? ks_types_member(t->typing->types, vm, "caller") : KS_NONE;
	err = ks_take_read_fields(t, "vmap_area", area, 3, see_area, &f, diag);
	if (!err && map->areas.len)
		qsort(map->areas.items, map->areas.len, sizeof(*map->areas.items), by_start);
	if (!err)
		err = ks_take_read_fields(t, "task_struct", stack, 3, see_stack, &f, diag);
	if (!err)
		err = see_unused_stacks(map);
	return err ? err : f.failed ? -ENOMEM : 0;
}

/* === Internals: per-CPU memory ============================================================ */

/* Without symbols: per-CPU pointers of caches lie in the first chunk, or near it. */
static void guess_percpu(struct ks_root_map *map, const struct ks_caches *caches)
{
	u64 lowest = UINT64_MAX, highest = 0, pointer;
	size_t i;

	if (map->percpu_end)
		return;
	for (i = 0; i < caches->items.len; i++) {
		pointer = caches->items.items[i].cpu_slab ? caches->items.items[i].cpu_slab
							  : caches->items.items[i].cpu_sheaves;
		if (!pointer)
			continue;
		lowest = ks_min(lowest, pointer);
		highest = ks_max(highest, pointer);
	}
	if (lowest > highest || highest - lowest > 16 << 20)
		return;
	map->percpu_start = lowest < 1 << 21 ? 0 : lowest;
	map->percpu_end = highest;
}

/* Behind the variables is room for those of modules, and for what is allocated: all of it is the first chunk. */
static void widen_percpu(struct ks_root_map *map)
{
	const struct ks_kernel *k = map->kernel;
	u64 chunk, base, start;
	u32 at, pages_at, pages;

	if (!map->percpu_end || !map->first_chunk || !map->base_addr ||
	    !ks_btf_member(k->btf, "pcpu_chunk", "base_addr", &at) ||
	    !ks_btf_member(k->btf, "pcpu_chunk", "nr_pages", &pages_at) ||
	    ks_memory_word(k->memory, map->first_chunk, &chunk) ||
	    ks_memory_word(k->memory, map->base_addr, &base) ||
	    ks_memory_word(k->memory, chunk + at, &start) ||
	    ks_memory_get(k->memory, chunk + pages_at, &pages, sizeof(pages)))
		return;
	if (start < base || start - base >= 64 << 20 || pages >= 1 << 14)
		return;
	map->percpu_named = map->percpu_start + (start - base);
	map->percpu_end = ks_max(map->percpu_end, map->percpu_named + pages * 4096ull);
}

static bool find_percpu(const struct ks_root_map *map, u64 addr, struct ks_heap_root *root,
			u64 *ret_end)
{
	const struct ks_memory_facts *facts = &map->kernel->memory->facts;
	const struct ks_root_symbol *symbol;
	u64 pointer, next;
	size_t cpu;

	for (cpu = 0; cpu < facts->percpu.len; cpu++) {
		pointer = addr - facts->percpu.items[cpu];
		if (pointer - map->percpu_start >= map->percpu_end - map->percpu_start)
			continue;
		symbol = symbol_at(map, pointer, &next);
		if (!symbol || symbol->addr < map->percpu_start ||
		    (map->percpu_named && pointer >= map->percpu_named))
			symbol = NULL;
		*root = (struct ks_heap_root){
			.kind = KS_ROOT_PERCPU,
			.name = symbol ? symbol->name : "",
			.addr = symbol ? symbol->addr + facts->percpu.items[cpu] : addr & ~4095ull,
		};
		*ret_end = symbol && next < map->percpu_end ? next + facts->percpu.items[cpu]
							    : (addr & ~4095ull) + 4096;
		return true;
	}
	return false;
}

/* Kernels that show no variables still show where some sections begin. */
static bool is_variable(const struct ks_root_map *map, u64 addr)
{
	const struct ks_root_symbol *symbol;
	u64 next;

	symbol = symbol_at(map, addr, &next);
	return symbol && !symbol->code && next - symbol->addr <= VARIABLE_MAX &&
	       strncmp(symbol->name, "__start_", 8) && strncmp(symbol->name, "__stop_", 7);
}

/* === Public =============================================================================== */

int ks_root_map_new(struct ks_taking *t, const char *kallsyms, struct ks_root_map **ret_map,
		    struct ks_diag *diag)
{
	struct ks_root_map *map = calloc(1, sizeof(*map));
	int err;

	if (!map)
		return -ENOMEM;
	map->kernel = t->kernel;
	ks_arena_init(&map->arena);
	err = read_symbols(map, kallsyms);
	if (!err)
		err = find_areas(map, t, diag);
	if (err) {
		ks_root_map_free(map);
		return err;
	}
	guess_percpu(map, t->census->caches);
	widen_percpu(map);
	*ret_map = map;
	return 0;
}

void ks_root_map_free(struct ks_root_map *map)
{
	if (!map)
		return;
	ks_vec_free(&map->symbols);
	ks_vec_free(&map->areas);
	ks_arena_deinit(&map->arena);
	free(map);
}

u64 ks_root_map_find(const struct ks_root_map *map, u64 addr, struct ks_heap_root *ret_root,
		     u64 *ret_end)
{
	u64 page = addr & ~4095ull, direct = map->kernel->page_offset, next;
	bool image = ks_kernel_in_image(map->kernel, addr);
	const struct ks_root_area *area = area_at(map, addr);
	const struct ks_root_symbol *symbol;

	/* Modules are in areas, too, but their variables have names. */
	if (area && !(image && is_variable(map, addr))) {
		*ret_root = (struct ks_heap_root){ area->kind, area->name, area->start };
		*ret_end = area->end;
		return area->from;
	}
	*ret_end = page + 4096;
	if (find_percpu(map, addr, ret_root, ret_end))
		return 0;
	*ret_root = (struct ks_heap_root){ KS_ROOT_PAGES, "", page };
	/* The image may lie in the direct map. */
	if (image)
		ret_root->kind = KS_ROOT_DATA;
	else if (addr - direct >= ks_kernel_end(map->kernel) << 12)
		ret_root->kind = KS_ROOT_VMALLOC;
	if (!image || !is_variable(map, addr))
		return 0;
	symbol = symbol_at(map, addr, &next);
	ret_root->name = symbol->name;
	ret_root->addr = symbol->addr;
	*ret_end = next;
	return 0;
}
