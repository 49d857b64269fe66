// SPDX-License-Identifier: LGPL-2.1-only
/* A growing string. */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void ks_strbuf_init(struct ks_strbuf *sb)
{
	memset(sb, 0, sizeof(*sb));
}

void ks_strbuf_deinit(struct ks_strbuf *sb)
{
	free(sb->s);
	memset(sb, 0, sizeof(*sb));
}

void ks_strbuf_add(struct ks_strbuf *sb, const void *data, size_t len)
{
	if (sb->failed || !len) /* nothing may come as NULL */
		return;
	if (unlikely(len >= SIZE_MAX - sb->len - 1 ||
		     ks_reserve(sb->s, sb->cap, sb->len + len + 1))) {
		sb->failed = true;
		return;
	}
	memcpy(sb->s + sb->len, data, len);
	sb->len += len;
	sb->s[sb->len] = '\0';
}

void ks_strbuf_puts(struct ks_strbuf *sb, const char *s)
{
	ks_strbuf_add(sb, s, strlen(s));
}

void ks_strbuf_printf(struct ks_strbuf *sb, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (len < 0) {
		sb->failed = true;
		return;
	}
	if ((size_t)len < sizeof(small)) {
		ks_strbuf_add(sb, small, (size_t)len);
		return;
	}
	if (sb->failed || ks_reserve(sb->s, sb->cap, sb->len + (size_t)len + 1)) {
		sb->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(sb->s + sb->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	sb->len += (size_t)len;
}

const char *ks_strbuf_str(const struct ks_strbuf *sb)
{
	return sb->s ? sb->s : "";
}
