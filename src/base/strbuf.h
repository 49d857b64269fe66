/* SPDX-License-Identifier: LGPL-2.1-only */
/* A growing string. Running out of memory is remembered and reported once, at the end. */
#ifndef KS_BASE_STRBUF_H
#define KS_BASE_STRBUF_H

#include <stdarg.h>

#include "base/types.h"

struct ks_strbuf {
	char *s; /* NUL-terminated whenever cap > 0 */
	size_t len, cap;
	bool failed;
};

void ks_strbuf_init(struct ks_strbuf *sb);
void ks_strbuf_deinit(struct ks_strbuf *sb);

void ks_strbuf_add(struct ks_strbuf *sb, const void *data, size_t len);
void ks_strbuf_puts(struct ks_strbuf *sb, const char *s);
void ks_strbuf_printf(struct ks_strbuf *sb, const char *fmt, ...) ks_printf(2, 3);

/* The string so far; "" when nothing was added. */
const char *ks_strbuf_str(const struct ks_strbuf *sb);

#endif
