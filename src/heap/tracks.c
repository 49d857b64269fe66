// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A cache with SLAB_STORE_USER has, behind each object and behind a free pointer that is outside of it, one struct track
 * of the last allocation and one of the last free.
 */
#include "heap/tracks.h"

#include <errno.h>
#include <stdio.h>

#include "heap/code-names.h"
#include "sym/symtab.h"

/* === Internals ============================================================================ */

/* The address of the call that allocated an object; 0 = nothing says it. */
static u64 caller_of(struct ks_kernel *k, u64 object)
{
	const struct ks_layout *l = &k->layout;
	u64 cache, flags = 0, caller = 0;
	u32 inuse, offset;

	if (ks_kernel_cache_of(k, object, &cache) ||
	    ks_memory_get(k->memory, cache + l->cache_flags, &flags, 4) ||
	    ks_memory_get(k->memory, cache + l->cache_inuse, &inuse, 4) ||
	    ks_memory_get(k->memory, cache + l->cache_offset, &offset, 4) ||
	    !(flags & l->slab_store_user))
		return 0;
	/* As get_info_end() of mm/slub.c has it. */
	object += inuse + (offset >= inuse ? 8 : 0);
	return ks_memory_word(k->memory, object + l->track_addr, &caller) ? 0 : caller;
}

/* === Public =============================================================================== */

int ks_heap_sites_add_tracks(struct ks_heap_sites *sites, struct ks_kernel *k,
			     const struct ks_candidates_list *list, const char *kallsyms)
{
	const struct ks_symbol *symbol;
	struct ks_symtab *symbols;
	char text[300];
	size_t i;
	u64 addr;
	int err = 0;

	if (k->layout.track_addr == KS_NONE || k->layout.cache_inuse == KS_NONE)
		return 0;
	symbols = ks_code_names(kallsyms);
	for (i = 0; symbols && !err && i < list->items.len; i++) {
		addr = caller_of(k, list->items.items[i].addr);
		symbol = addr ? ks_symtab_find(symbols, addr) : NULL;
		if (!symbol)
			continue;
		snprintf(text, sizeof(text), "%s+0x%llx", ks_symtab_name(symbols, symbol),
			 (unsigned long long)(addr - symbol->addr));
		err = ks_heap_sites_add(sites, list->items.items[i].addr, text);
	}
	ks_code_names_free(symbols);
	return err;
}
