// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which variable an address belongs to, by the symbols of the kernel and of its modules. Lookups
 * happen wherever the kernel loads or stores, so they take no lock.
 */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "locate.h"

/* === Internals ============================================================================ */

static void set_span(struct mz_place *place, unsigned long start, unsigned long end)
{
	place->base = start;
	place->size = end - start;
	place->start = max(place->start, start);
	place->end = min(place->end, end);
}

#ifdef CONFIG_KALLSYMS

/* The symbol that covers the address, or else the gap between those around it. */
static void find_symbol(const struct mod_kallsyms *symbols, unsigned long addr,
			unsigned long *start, unsigned long *end)
{
	unsigned int i;

	for (i = 1; i < symbols->num_symtab; i++) {
		const Elf_Sym *symbol = &symbols->symtab[i];
		unsigned long from = symbol->st_value, to = from + symbol->st_size;

		if (symbol->st_shndx == SHN_UNDEF) {
			continue;
		} else if (addr >= from && addr < to) {
			*start = from;
			*end = to;
			return;
		} else if (from > addr) {
			*end = min(*end, from);
		} else {
			*start = max(*start, to);
		}
	}
}

static void find_in_module(const struct module *module, unsigned long addr, struct mz_place *place)
{
	const struct mod_kallsyms *symbols = rcu_dereference_sched(module->kallsyms);
	unsigned long start = place->start, end = place->end;

	if (symbols)
		find_symbol(symbols, addr, &start, &end);
	set_span(place, start, end);
}

#else

static void find_in_module(const struct module *module, unsigned long addr, struct mz_place *place)
{
	set_span(place, place->start, place->end);
}

#endif /* CONFIG_KALLSYMS */

/* === Public =============================================================================== */

/* A variable of the kernel image. False: it has no symbol. */
bool mz_locate_variable(unsigned long addr, struct mz_place *place)
{
	unsigned long size, offset;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset) || offset >= size)
		return false;
	set_span(place, addr - offset, addr - offset + size);
	return true;
}

/* A variable or function of a module. False: the address is in no module. */
bool mz_locate_in_module(unsigned long addr, struct mz_place *place)
{
	const struct module *module;

	preempt_disable_notrace();
	module = __module_address(addr);
	if (module)
		find_in_module(module, addr, place);
	preempt_enable_notrace();
	return module;
}
