/* SPDX-License-Identifier: LGPL-2.1-only */
/* Numbers for people: bytes with a unit, large counts, digits in groups, percent. */
#ifndef KS_BASE_QUANTITY_H
#define KS_BASE_QUANTITY_H

#include "base/strbuf.h"

/* "1.9 MiB", "512 B". */
void ks_render_bytes(struct ks_strbuf *out, u64 bytes);

/* Exact up to five digits, then "123k", "4.5M". */
void ks_render_count(struct ks_strbuf *out, u64 count);

/* "1,944,832". */
void ks_render_grouped(struct ks_strbuf *out, u64 value);

/* "12.3 %", "<0.1 %". */
void ks_render_percent(struct ks_strbuf *out, u64 part, u64 whole);

#endif
