// SPDX-License-Identifier: GPL-2.0-only
/* A machine whose kernel was made by hand: page tables, symbols, types and where RAM is. */
#include "heap/machine.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "heap/kallsyms.h"

/* === Internals: memory ==================================================================== */

void put64(struct machine *d, u64 physical, u64 word)
{
	memcpy(d->low + physical, &word, 8);
}

static u64 get64(const struct machine *d, u64 physical)
{
	u64 word;

	memcpy(&word, d->low + physical, 8);
	return word;
}

void map(struct machine *d, u64 addr, u64 physical, int level)
{
	u64 table = ROOT, entry;
	int at;

	for (at = d->levels - 1; at > level; at--) {
		entry = table + (addr >> (12 + 9 * at) & 511) * 8;
		if (!get64(d, entry)) {
			put64(d, entry, d->next_table | d->encrypted | PRESENT);
			d->next_table += 4096;
			assert_true(d->next_table <= NOTE);
		}
		table = get64(d, entry) & ~d->encrypted & ~4095ull;
	}
	entry = table + (addr >> (12 + 9 * level) & 511) * 8;
	put64(d, entry, physical | d->encrypted | PRESENT | (level ? LARGE : 0));
}

static u64 image(u64 offset)
{
	return IMAGE + offset;
}

/* === Internals: contents ================================================================== */

static void add_members(struct btf *btf, int type, const char *const *names)
{
	u32 i;

	for (i = 0; names[i]; i++)
		assert_int_equal(btf__add_field(btf, names[i], type, i * 64, 0), 0);
}

/* Words in the order of their names; struct page is there to make the types longer than a page. */
static void add_types(struct machine *d)
{
	static const char *const resource[] = { "start", "end",	    "name",  "flags",
						"desc",	 "sibling", "child", NULL };
	static const char *const module[] = { "list", "name", "more", "kallsyms", NULL };
	static const char *const symbols[] = { "symtab", "num_symtab", "strtab", "typetab", NULL };
	struct btf *btf = btf__new_empty();
	int word = btf__add_int(btf, "long", 8, 0), i;
	const u8 *data;
	char name[64];
	u32 len, at;

	assert_true(btf__add_struct(btf, "resource", 56) > 0);
	add_members(btf, word, resource);
	assert_true(btf__add_struct(btf, "module", 32) > 0);
	add_members(btf, word, module);
	assert_true(btf__add_struct(btf, "mod_kallsyms", 32) > 0);
	add_members(btf, word, symbols);
	for (i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "some_name_that_takes_room_%d", i);
		assert_true(btf__add_fwd(btf, name, BTF_FWD_STRUCT) > 0);
	}
	data = btf__raw_data(btf, &len);
	assert_non_null(data);
	assert_true(len > 2 * 4096);
	d->types_len = len;
	for (at = 0; at < len; at += 4096) {
		u64 physical = TYPES + (15 - at / 4096) * 4096ull;

		map(d, TYPES_MAP + at, physical, 0);
		memcpy(d->low + physical, data + at, ks_min(len - at, 4096u));
	}
	btf__free(btf);
}

static void add_symbols(struct machine *d)
{
	struct kallsyms *t = calloc(1, sizeof(*t));

	kallsyms_add_tokens(t);
	kallsyms_add(t, "T_stext", 0);
	kallsyms_add(t, "Dmodules", MODULE_AT);
	if (!d->no_ram)
		kallsyms_add(t, "Diomem_resource", RESOURCES_AT);
	if (!d->no_types) {
		kallsyms_add(t, "R__start_BTF", (s32)(TYPES_MAP - TEXT));
		kallsyms_add(t, "R__stop_BTF", (s32)(TYPES_MAP + d->types_len - TEXT));
	}
	kallsyms_finish(t, TEXT);
	memcpy(d->low + image(SYMBOLS_AT), t->data, sizeof(t->data));
	free(t);
}

void add_resource(struct machine *d, u32 nr, u64 start, u64 end, const char *name, bool next)
{
	u64 at = image(RESOURCES_AT) + nr * 56ull;

	put64(d, at, start);
	put64(d, at + 8, end);
	put64(d, at + 16, TEXT + NAMES_AT + nr * 32ull);
	put64(d, at + 40, next ? TEXT + RESOURCES_AT + (nr + 1) * 56ull : 0);
	strcpy((char *)d->low + image(NAMES_AT) + nr * 32ull, name);
}

static void add_ram(struct machine *d)
{
	add_resource(d, 0, 0, UINT64_MAX, "PCI mem", false);
	put64(d, image(RESOURCES_AT) + 48, TEXT + RESOURCES_AT + 56); /* its child */
	add_resource(d, 1, 0, 0xfff, "Reserved", true);
	add_resource(d, 2, 0x1000, 0x9fbff, "System RAM", true); /* the last page is not whole */
	add_resource(d, 3, 0xa0000, 0xfffff, "System ROM", true);
	add_resource(d, 4, 0x100001, 0x5fffff, "System RAM", true); /* nor is the first one here */
	add_resource(d, 5, 0x700800, 0x700fff, "System RAM", true); /* no whole page */
	add_resource(d, 6, 0x900000, 0x900000, "System RAM", true); /* nothing */
	add_resource(d, 7, d->high_at, d->high_at + HIGH - 1, "System RAM (kexec)", false);
}

/* One module with two symbols. */
static void add_module(struct machine *d)
{
	u64 at = image(MODULE_AT), module = TEXT + MODULE_AT + 0x100;
	Elf64_Sym symbols[4] = { { 0 },
				 { .st_name = 1, .st_value = 0xffffffffc0001000ull },
				 { .st_name = 5, .st_value = 0xffffffffc0002000ull },
				 { .st_name = 9, .st_value = 0 /* not defined */ } };

	put64(d, at, module);			    /* the head of the list: the first */
	put64(d, at + 0x100, TEXT + MODULE_AT);	    /* which is the last as well */
	strcpy((char *)d->low + at + 0x108, "toy"); /* its name */
	put64(d, at + 0x118, TEXT + MODULE_AT + 0x200);
	put64(d, at + 0x200, TEXT + MODULE_AT + 0x300);
	put64(d, at + 0x208, 4);
	put64(d, at + 0x210, TEXT + MODULE_AT + 0x400);
	put64(d, at + 0x218, TEXT + MODULE_AT + 0x480);
	memcpy(d->low + at + 0x300, symbols, sizeof(symbols));
	memcpy(d->low + at + 0x400, "\0one\0two\0not", 13);
	memcpy(d->low + at + 0x480, " tdt", 4);
}

struct machine *new_machine(int levels)
{
	struct machine *d = calloc(1, sizeof(*d));

	d->levels = levels;
	d->machine = EM_X86_64;
	d->high_at = HIGH_AT;
	d->low = calloc(1, LOW);
	d->high = calloc(1, HIGH);
	d->next_table = ROOT + 4096;
	strcpy(d->path, "");
	return d;
}

void fill(struct machine *d)
{
	char symbols[400];
	u32 i;

	map(d, TEXT, IMAGE, 1);
	map(d, HUGE_MAP, d->high_at, 2);
	memcpy(d->low + IMAGE, "the kernel's text", 17);
	put64(d, image(MARK_AT), 0x1122334455667788ull);
	for (i = 0; i < HIGH; i += 8)
		memcpy(d->high + i, (u64[]){ d->high_at + i }, 8);
	add_types(d);
	add_symbols(d);
	add_ram(d);
	add_module(d);
	kallsyms_note(symbols, sizeof(symbols), TEXT + SYMBOLS_AT);
	snprintf(d->note, sizeof(d->note),
		 "OSRELEASE=6.12-toy\nPAGESIZE=4096\nSYMBOL(_stext)=%llx\n"
		 "SYMBOL(swapper_pg_dir)=%llx\nNUMBER(phys_base)=%lld\n"
		 "NUMBER(pgtable_l5_enabled)=%d\nNUMBER(sme_mask)=%llu\n%s",
		 TEXT, IMAGE_MAP + ROOT - MOVED, MOVED, d->levels == 5,
		 (unsigned long long)d->encrypted, symbols);
}

void free_machine(struct machine *d)
{
	ks_memory_free(d->memory);
	free(d->low);
	free(d->high);
	free(d);
}

void check_reading(const struct machine *d, struct ks_memory *m)
{
	char text[18] = "";
	u64 word, i;

	assert_int_equal(ks_memory_get(m, TEXT, text, 17), 0);
	assert_string_equal(text, "the kernel's text");
	assert_int_equal(ks_memory_word(m, TEXT + MARK_AT, &word), 0);
	assert_true(word == 0x1122334455667788ull);
	/* Behind the page nothing is mapped: a piece is read whole or not at all. */
	word = 1;
	assert_int_equal(ks_memory_get(m, TEXT + MARK_AT + 4, &word, 8), -EFAULT);
	assert_true(word == 0);
	assert_int_equal(ks_memory_word(m, TEXT + (2 << 20), &word), -EFAULT);
	assert_int_equal(ks_memory_word(m, 0x1000, &word), -EFAULT);
	/* A page of 1 GiB: each of its parts is where it belongs, also again. */
	for (i = 0; i < 2; i++) {
		assert_int_equal(ks_memory_word(m, HUGE_MAP + 0x10, &word), 0);
		assert_true(word == d->high_at + 0x10);
		assert_int_equal(ks_memory_word(m, HUGE_MAP + 0x3ff000, &word), 0);
		assert_true(word == d->high_at + 0x3ff000);
		assert_int_equal(ks_memory_word(m, HUGE_MAP + 0x200008, &word), 0);
		assert_true(word == d->high_at + 0x200008);
	}
	/* What is mapped, but not there. */
	assert_int_equal(ks_memory_word(m, HUGE_MAP + HIGH, &word), -EFAULT);
}

void move_table(struct machine *d, u64 addr)
{
	u64 table = ROOT, entry = 0, moved = 1 << 20;
	int at;

	for (at = d->levels - 1; at > 0; at--) {
		entry = table + (addr >> (12 + 9 * at) & 511) * 8;
		table = get64(d, entry) & ~d->encrypted & ~4095ull;
	}
	memcpy(d->high + moved, d->low + table, 4096);
	memset(d->low + table, 0, 4096);
	put64(d, entry, (d->high_at + moved) | d->encrypted | PRESENT);
}
