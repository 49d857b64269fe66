/* SPDX-License-Identifier: LGPL-2.1-only */
/* The kernel's symbols as a capture carries them: the text of /proc/kallsyms or of a System.map. */
#ifndef KS_TRACE_KSYMS_H
#define KS_TRACE_KSYMS_H

#include "base/strbuf.h"
#include "base/vec.h"

/* One of hundreds of thousands, of which a few hundred are asked for: the rest of its line stays as it is. */
struct ks_ksym {
	u64 addr;
	u32 name; /* offset in the text */
	u16 len;  /* of the name and what follows it, to the end of the line */
};

struct ks_ksyms {
	char *memory; /* that the text is in */
	const char *text;
	KS_VEC(struct ks_ksym) syms; /* functions only, by address */
};

/*
 * The text is @len bytes of @memory from @start on. Takes over @memory (from malloc), even on error. Lines that it
 * does not understand are left out.
 */
int ks_ksyms_parse(struct ks_ksyms *tab, char *memory, size_t start, size_t len);
void ks_ksyms_deinit(struct ks_ksyms *tab);

/* Appends "func+0xoff/0xsize [module]", or the bare address where no symbol fits. */
void ks_ksyms_print(const struct ks_ksyms *tab, u64 addr, struct ks_strbuf *sb);

#endif
