/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/sym: makes the layout of a struct, member by member, from whatever kind of debug information. */
#ifndef KS_SYM_LAYOUT_MAKER_H
#define KS_SYM_LAYOUT_MAKER_H

#include "sym/debug-types.h"

/* A struct of a word is one field: a lock, a counter. */
#define WORD 8

struct ks_layout_maker {
	struct ks_debug_struct *layout;
	u32 member;	   /* the member in hand */
	u64 bits_end;	   /* where the last bit field ended */
	bool last_is_bits; /* the last field is made of bit fields */
	bool failed;
};

/* 0 or -ENOMEM; then the maker holds nothing. end takes what begin made, in any case. */
int ks_layout_begin(struct ks_layout_maker *m, const char *name, u64 size);
int ks_layout_end(struct ks_layout_maker *m, struct ks_debug_struct **ret_layout);

u32 ks_layout_string(struct ks_layout_maker *m, const char *s);
void ks_layout_add(struct ks_layout_maker *m, const char *name, const char *type, u64 offset,
		   u64 size);

/* A bit field: @first and @bits are counted from the start of the struct. */
void ks_layout_add_bits(struct ks_layout_maker *m, const char *name, u64 first, u64 bits);

#endif
