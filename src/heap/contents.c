// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Objects that no field of a typed object points to. A callback or a table of operations in them says what they are, as
 * well as a name does. The first function counts; what the kernel's image has behind other pointers is read
 * in one go and searched for functions.
 */
#include "heap/contents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "heap/code-names.h"
#include "heap/sysctl-headers.h"
#include "sym/symtab.h"

/* === Data ================================================================================= */

enum {
	TABLES = 3,	  /* pointers of an object into the kernel's image that are followed */
	TABLE_BYTES = 64, /* and so much behind them is looked at */
};

struct clue {
	u32 slot;
	u32 type;			   /* known without functions; 0 = not */
	u32 function_at, table_at[TABLES]; /* offsets in the object */
	u64 function;			   /* 0 = none */
	u64 table[TABLES];
};

struct clues {
	KS_VEC(struct clue) items;
	bool failed;
};

struct search {
	const struct ks_kernel *kernel;
	const struct ks_slots *slots;
	const struct ks_symtab *symbols;
	const struct ks_typing *typing;
	struct ks_sysctl_headers sysctl;
	struct clues of[KS_WORKERS_MAX];
};

/* === Internals: looking for clues ========================================================= */

static bool find_clue(const struct search *s, const u8 *data, u32 size, struct clue *clue)
{
	u32 at, tables = 0;
	u64 word;

	for (at = 0; at + 8 <= size; at += 8) {
		word = ks_u64_at(data, at);
		if (!ks_kernel_in_image(s->kernel, word))
			continue;
		if (ks_code_at(s->kernel, s->symbols, word)) {
			clue->function = word;
			clue->function_at = at;
			return true;
		}
		if (tables < TABLES && !(word & 7)) {
			clue->table[tables] = word;
			clue->table_at[tables++] = at;
		}
	}
	return tables;
}

static void search_slab(void *arg, const struct ks_slab_view *view)
{
	struct search *s = arg;
	struct clues *clues = &s->of[view->worker];
	u32 i, slot;

	for (i = 0; i < view->info->objects; i++) {
		const u8 *data = view->data + (size_t)i * view->cache->size;
		struct clue clue = { .slot = view->first + i }, *entry;

		slot = view->first + i;
		if (!ks_slot_used(s->slots, slot) || s->typing->of[slot])
			continue;
		clue.type = ks_sysctl_header_type(&s->sysctl, s->kernel,
						  view->addr + (u64)i * view->cache->size, data,
						  view->cache->object_size);
		if (!clue.type && !find_clue(s, data, view->cache->object_size, &clue))
			continue;
		entry = ks_vec_push(&clues->items);
		if (entry)
			*entry = clue;
		else
			clues->failed = true;
	}
}

/* Slabs with objects that have no type. */
static u64 *untyped_slabs(const struct ks_census *c, const struct ks_slots *slots,
			  const struct ks_typing *typing)
{
	u64 *wanted = calloc(c->pages->slabs.len / 64 + 1, 8);
	size_t slab;
	u32 slot;

	for (slab = 0; wanted && slab < c->pages->slabs.len; slab++) {
		if (typing->cache_type[c->pages->slabs.items[slab].cache])
			continue;
		for (slot = slots->first[slab]; slot < slots->first[slab + 1]; slot++)
			if (ks_slot_used(slots, slot) && !typing->of[slot])
				wanted[slab / 64] |= 1ull << slab % 64;
	}
	return wanted;
}

/* === Internals: from clues to types ======================================================= */

static int by_slot(const void *a, const void *b)
{
	const struct clue *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* The clues of all threads, in the order of slots. */
static int gather(struct search *s, struct clues *all)
{
	size_t i, k;

	for (i = 0; i < KS_WORKERS_MAX; i++) {
		if (s->of[i].failed ||
		    ks_vec_reserve(&all->items, all->items.len + s->of[i].items.len))
			return -ENOMEM;
		for (k = 0; k < s->of[i].items.len; k++)
			all->items.items[all->items.len++] = s->of[i].items.items[k];
		ks_vec_free(&s->of[i].items);
	}
	if (all->items.len)
		qsort(all->items.items, all->items.len, sizeof(*all->items.items), by_slot);
	return 0;
}

/* For each address in the image that clues name: the first function in what is there, or 0. */
static int read_tables(struct ks_kernel *k, const struct ks_symtab *symbols,
		       const struct ks_map64 *addrs, u64 **ret_functions, struct ks_diag *diag)
{
	size_t count = addrs->keys.len, i;
	struct ks_piece *pieces = calloc(count + 1, sizeof(*pieces));
	u64 *functions = calloc(count + 1, sizeof(*functions));
	u8 *raw = malloc(count * TABLE_BYTES + 1);
	int err = pieces && functions && raw ? 0 : -ENOMEM;
	u32 at;

	for (i = 0; !err && i < count; i++)
		pieces[i] = (struct ks_piece){ .addr = addrs->keys.items[i],
					       .buf = raw + i * TABLE_BYTES,
					       .len = TABLE_BYTES };
	if (!err)
		err = ks_memory_read(k->memory, pieces, count, diag);
	for (i = 0; !err && i < count; i++)
		for (at = 0; !functions[i] && at < TABLE_BYTES; at += 8)
			if (ks_code_at(k, symbols, ks_u64_at(pieces[i].buf, at)))
				functions[i] = ks_u64_at(pieces[i].buf, at);
	free(pieces);
	free(raw);
	if (err)
		free(functions);
	else
		*ret_functions = functions;
	return err;
}

static int give_type(const struct ks_symtab *symbols, struct ks_typing *typing, u32 slot,
		     u64 function, u32 at, bool table)
{
	const struct ks_symbol *symbol = ks_symtab_find(symbols, function);
	char text[192];
	u32 type;

	snprintf(text, sizeof(text), table ? "table with %s() at +%u" : "%s() at +%u",
		 ks_symtab_name(symbols, symbol), at);
	type = ks_types_name(typing->types, text, strlen(text));
	if (!type)
		return -ENOMEM;
	typing->of[slot] = type;
	typing->known_by[slot] = KS_KNOWN_TEXT;
	return 0;
}

static int settle(struct ks_kernel *k, const struct ks_symtab *symbols, const struct clues *clues,
		  struct ks_typing *typing, struct ks_diag *diag)
{
	struct ks_map64 addrs;
	u64 *functions = NULL;
	size_t i;
	u32 t, number;
	int err = ks_map64_init(&addrs);

	for (i = 0; !err && i < clues->items.len; i++)
		for (t = 0; t < TABLES && clues->items.items[i].table[t]; t++)
			if (ks_map64_add(&addrs, clues->items.items[i].table[t]) == KS_NONE)
				err = -ENOMEM;
	if (!err)
		err = read_tables(k, symbols, &addrs, &functions, diag);
	for (i = 0; !err && i < clues->items.len; i++) {
		const struct clue *clue = &clues->items.items[i];

		if (clue->type) {
			typing->of[clue->slot] = clue->type;
			typing->known_by[clue->slot] = KS_KNOWN_TEXT;
			continue;
		}
		if (clue->function)
			err = give_type(symbols, typing, clue->slot, clue->function,
					clue->function_at, false);
		for (t = 0; !clue->function && t < TABLES && clue->table[t]; t++) {
			number = ks_map64_find(&addrs, clue->table[t]);
			if (!functions[number])
				continue;
			err = give_type(symbols, typing, clue->slot, functions[number],
					clue->table_at[t], true);
			break;
		}
	}
	free(functions);
	ks_map64_deinit(&addrs);
	return err;
}

/* === Public =============================================================================== */

int ks_contents_type(struct ks_kernel *k, const struct ks_census *c, const struct ks_slots *slots,
		     const struct ks_symtab *symbols, struct ks_typing *typing,
		     struct ks_diag *diag)
{
	struct search s = { .kernel = k, .slots = slots, .typing = typing, .symbols = symbols };
	struct clues all = { 0 };
	u64 *wanted;
	size_t i;
	int err;

	ks_sysctl_headers_init(typing->types, &s.sysctl);
	wanted = untyped_slabs(c, slots, typing);
	err = wanted ? 0 : -ENOMEM;
	if (!err)
		err = ks_slabs_walk(k, c, slots, wanted, search_slab, &s, diag);
	if (!err)
		err = gather(&s, &all);
	if (!err)
		err = settle(k, symbols, &all, typing, diag);
	for (i = 0; i < KS_WORKERS_MAX; i++)
		ks_vec_free(&s.of[i].items);
	ks_vec_free(&all.items);
	free(wanted);
	return err;
}
