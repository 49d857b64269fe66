/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel's table of symbols, made by hand: two pages, the names in the second. */
#ifndef KS_TESTS_HEAP_KALLSYMS_H
#define KS_TESTS_HEAP_KALLSYMS_H

#include <stdio.h>
#include <string.h>

#include "base/types.h"

enum {
	KALLSYMS_COUNT = 0,
	KALLSYMS_BASE = 8,
	KALLSYMS_INDEX = 16,
	KALLSYMS_OFFSETS = 528,
	KALLSYMS_TOKENS = 1024,
	KALLSYMS_NAMES = 4096,
	KALLSYMS_SIZE = 8192,
};

struct kallsyms {
	u8 data[KALLSYMS_SIZE];
	u32 count, names;
};

/* A token for each character, but for two: 1 is "kmem_", 2 "cache_". */
static inline void kallsyms_add_tokens(struct kallsyms *t)
{
	u16 at = 0, *index = (u16 *)(t->data + KALLSYMS_INDEX);
	char text[8];
	int i;

	for (i = 0; i < 256; i++) {
		snprintf(text, sizeof(text), i == 1 ? "kmem_" : i == 2 ? "cache_" : "%c", i);
		index[i] = at;
		memcpy(t->data + KALLSYMS_TOKENS + at, text, strlen(text) + 1);
		at = (u16)(at + strlen(text) + 1);
	}
}

/* @name: its type's letter first. */
static inline void kallsyms_add(struct kallsyms *t, const char *name, s32 offset)
{
	size_t len = strlen(name);

	if (len > 127) {
		t->data[KALLSYMS_NAMES + t->names++] = (u8)(len & 0x7f) | 0x80;
		t->data[KALLSYMS_NAMES + t->names++] = (u8)(len >> 7);
	} else {
		t->data[KALLSYMS_NAMES + t->names++] = (u8)len;
	}
	memcpy(t->data + KALLSYMS_NAMES + t->names, name, len);
	t->names += (u32)len;
	memcpy(t->data + KALLSYMS_OFFSETS + 4 * (size_t)t->count++, &offset, 4);
}

/* Writes what is known at the end: how many there are, and what offsets are added to. */
static inline void kallsyms_finish(struct kallsyms *t, u64 base)
{
	memcpy(t->data + KALLSYMS_COUNT, &t->count, 4);
	memcpy(t->data + KALLSYMS_BASE, &base, 8);
}

/* What vmcoreinfo says of a table at @at. */
static inline void kallsyms_note(char *text, size_t size, u64 at)
{
	snprintf(text, size,
		 "SYMBOL(kallsyms_names)=%llx\nSYMBOL(kallsyms_num_syms)=%llx\n"
		 "SYMBOL(kallsyms_token_table)=%llx\nSYMBOL(kallsyms_token_index)=%llx\n"
		 "SYMBOL(kallsyms_offsets)=%llx\nSYMBOL(kallsyms_relative_base)=%llx\n",
		 (unsigned long long)at + KALLSYMS_NAMES, (unsigned long long)at + KALLSYMS_COUNT,
		 (unsigned long long)at + KALLSYMS_TOKENS, (unsigned long long)at + KALLSYMS_INDEX,
		 (unsigned long long)at + KALLSYMS_OFFSETS, (unsigned long long)at + KALLSYMS_BASE);
}

#endif
