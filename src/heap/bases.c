// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Where physical memory and the struct pages are mapped, which x86-64 randomises. Data symbols say it where
 * the kernel shows them; else the addresses are worked out from one task, and tried out on it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "heap/btf-members.h"
#include "heap/kernel.h"
#include "heap/symbols.h"

/* === Data ================================================================================= */

/* What an x86-64 kernel uses without randomisation: four levels of page tables, five levels. */
static const struct bases {
	u64 page_offset, vmemmap;
} fixed[] = {
	{ 0xffff888000000000, 0xffffea0000000000 },
	{ 0xff11000000000000, 0xffd4000000000000 },
};

/* And where it has its image, whatever is randomised. The last page has the values of errors. */
static const struct ks_span fixed_image = { 0xffffffff80000000, 0x7ffff000 };

#define GIB (1ull << 30) /* both are random in steps of this */

/* === Internals: symbols =================================================================== */

/* The words behind symbols that are addresses of tables. */
static void use_symbols(struct ks_kernel *k)
{
	enum { PAGE_OFFSET, VMEMMAP, CACHES, PERCPU, PGD, CPUS };
	struct ks_wanted_symbol symbols[] = {
		[PAGE_OFFSET] = { "page_offset_base", 0 },
		[VMEMMAP] = { "vmemmap_base", 0 },
		[CACHES] = { "slab_caches", 0 },
		[PERCPU] = { "__per_cpu_offset", 0 },
		[PGD] = { "init_top_pgt", 0 },
		[CPUS] = { "nr_cpu_ids", 0 },
	};
	struct ks_memory_facts *facts = &k->memory->facts;
	u64 word, *slot;
	u32 cpus = 0, i;

	ks_symbols_find(facts->symbols, symbols, ARRAY_SIZE(symbols));
	if (symbols[PAGE_OFFSET].addr &&
	    !ks_memory_word(k->memory, symbols[PAGE_OFFSET].addr, &word))
		k->page_offset = word;
	if (symbols[VMEMMAP].addr && !ks_memory_word(k->memory, symbols[VMEMMAP].addr, &word))
		k->vmemmap = word;
	k->slab_caches = symbols[CACHES].addr;
	k->page_table = symbols[PGD].addr;
	if (facts->percpu.len || !symbols[PERCPU].addr || !symbols[CPUS].addr ||
	    ks_memory_get(k->memory, symbols[CPUS].addr, &cpus, sizeof(cpus)))
		return;
	for (i = 0; i < cpus && i < 8192; i++) {
		if (ks_memory_word(k->memory, symbols[PERCPU].addr + i * 8ull, &word))
			break;
		slot = ks_vec_push(&facts->percpu);
		if (slot)
			*slot = word;
	}
}

/* === Internals: guesses, each of which is tried out ======================================= */

/* A task lies in a slab of the cache that has that name. */
static bool fits(struct ks_kernel *k, u64 page_offset, u64 vmemmap)
{
	struct ks_kernel before = *k;
	u64 cache, name;
	char text[16];

	k->page_offset = page_offset;
	k->vmemmap = vmemmap;
	if (!ks_kernel_cache_of(k, k->memory->facts.task, &cache) &&
	    !ks_memory_word(k->memory, cache + k->layout.cache_name, &name) &&
	    !ks_memory_string(k->memory, name, text, sizeof(text)) && !strcmp(text, "task_struct"))
		return true;
	*k = before;
	return false;
}

/* A struct page that the task points to: one of those that its stack is made of. */
static bool some_page(struct ks_kernel *k, u64 *ret_page)
{
	u32 area, pages;
	u64 word;

	return ks_btf_member(k->btf, "task_struct", "stack_vm_area", &area) &&
	       ks_btf_member(k->btf, "vm_struct", "pages", &pages) &&
	       !ks_memory_word(k->memory, k->memory->facts.task + area, &word) &&
	       !ks_memory_word(k->memory, word + pages, &word) &&
	       !ks_memory_word(k->memory, word, ret_page);
}

/* The distances, in gigabytes, of the task from the one base and of the struct page from the other. */
static bool search(struct ks_kernel *k)
{
	u64 end = ks_kernel_end(k), task = k->memory->facts.task, page, i, j;
	u64 task_steps = (end << 12) / GIB, page_steps = end * k->layout.page_size / GIB;

	if (!task || !some_page(k, &page))
		return false;
	for (i = 0; i <= task_steps; i++)
		for (j = 0; j <= page_steps; j++)
			if (fits(k, (task & ~(GIB - 1)) - i * GIB, (page & ~(GIB - 1)) - j * GIB))
				return true;
	return false;
}

static bool solve_fixed(struct ks_kernel *k)
{
	size_t i;

	if (!k->memory->facts.task)
		return false;
	for (i = 0; i < ARRAY_SIZE(fixed); i++)
		if (fits(k, fixed[i].page_offset, fixed[i].vmemmap))
			return true;
	return false;
}

/* The top page table: any task's has the kernel's half. */
static void find_page_table(struct ks_kernel *k)
{
	const struct ks_layout *l = &k->layout;
	u64 mm, pgd;

	if (k->page_table || !k->memory->facts.task || l->task_mm == KS_NONE ||
	    l->mm_pgd == KS_NONE)
		return;
	if (!ks_memory_word(k->memory, k->memory->facts.task + l->task_mm, &mm) && mm &&
	    !ks_memory_word(k->memory, mm + l->mm_pgd, &pgd))
		k->page_table = pgd;
}

/* === Public =============================================================================== */

int ks_kernel_find_bases(struct ks_kernel *k, struct ks_diag *diag)
{
	const struct ks_memory_facts *facts = &k->memory->facts;

	if (!facts->ram.len)
		return ks_diag_set(diag, KS_EBADINPUT, "nothing says where this kernel's RAM is");
	k->page_offset = facts->page_offset;
	k->vmemmap = facts->vmemmap;
	k->slab_caches = facts->slab_caches;
	k->page_table = facts->page_table;
	k->image = facts->image.size ? facts->image : fixed_image;
	k->modules = facts->modules;
	/* Pointers of x86-64 kernels are in the upper half; those of others begin with their memory. */
	k->layout.lowest = facts->image.size ? facts->page_offset : 1ull << 63;
	/* A guess that is tried out costs less than making the kernel print its symbols. */
	if ((!k->page_offset || !k->vmemmap) && !solve_fixed(k) && *facts->symbols)
		use_symbols(k);
	else if (k->page_offset && k->vmemmap && !k->slab_caches && *facts->symbols)
		use_symbols(k); /* of arm64 */
	if ((!k->page_offset || !k->vmemmap) && !search(k))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "where this kernel maps its memory can't be found: its symbols "
				   "show no page_offset_base and vmemmap_base, and no guess fits");
	find_page_table(k);
	return 0;
}
