// SPDX-License-Identifier: LGPL-2.1-only
/* Escaping for terminals, JSON, CSV and XML. */
#include "base/escape.h"

#include <string.h>

/* === Internals ============================================================================ */

static size_t utf8_len(const char *s, size_t len)
{
	u32 code;

	return ks_utf8_char(s, len, &code);
}

/* === Public =============================================================================== */

size_t ks_utf8_char(const char *s, size_t len, u32 *ret_code)
{
	const u8 *p = (const u8 *)s;
	static const u32 min_code[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n, i;
	u32 code;

	if (p[0] < 0x80) {
		*ret_code = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
	if (!n || p[0] > 0xf4 || n > len)
		return 0;
	code = p[0] & (0xff >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < min_code[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ||
	    code < 0xa0)
		return 0;
	/* Marks that turn the direction of text can make a line read as something else. */
	if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
		return 0;
	*ret_code = code;
	return n;
}

void ks_escape_tty(struct ks_strbuf *sb, const char *s, size_t len)
{
	while (len) {
		size_t n = utf8_len(s, len);

		if (!n || (u8)*s < 0x20 || *s == 0x7f) {
			ks_strbuf_printf(sb, "\\x%02x", (u8)*s);
			n = 1;
		} else {
			ks_strbuf_add(sb, s, n);
		}
		s += n;
		len -= n;
	}
}

void ks_escape_json(struct ks_strbuf *sb, const char *s, size_t len)
{
	while (len) {
		size_t n = utf8_len(s, len);

		if (!n) {
			ks_strbuf_puts(sb, "\\ufffd");
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			ks_strbuf_printf(sb, "\\%c", *s);
		} else if ((u8)*s < 0x20 || *s == 0x7f) {
			ks_strbuf_printf(sb, "\\u%04x", (u8)*s);
		} else {
			ks_strbuf_add(sb, s, n);
		}
		s += n;
		len -= n;
	}
}

void ks_escape_csv(struct ks_strbuf *sb, const char *s, size_t len)
{
	struct ks_strbuf clean;
	bool formula, quote;
	size_t i;

	ks_strbuf_init(&clean);
	ks_escape_tty(&clean, s, len);
	formula = clean.len && strchr("=+-@", clean.s[0]);
	quote = formula || (clean.len && strpbrk(clean.s, ",\""));
	if (quote)
		ks_strbuf_puts(sb, formula ? "\"'" : "\"");
	for (i = 0; i < clean.len; i++)
		ks_strbuf_add(sb, clean.s[i] == '"' ? "\"\"" : &clean.s[i],
			      clean.s[i] == '"' ? 2 : 1);
	if (quote)
		ks_strbuf_puts(sb, "\"");
	sb->failed |= clean.failed;
	ks_strbuf_deinit(&clean);
}

void ks_escape_xml(struct ks_strbuf *sb, const char *s, size_t len)
{
	struct ks_strbuf clean;
	size_t i;

	ks_strbuf_init(&clean);
	ks_escape_tty(&clean, s, len);
	for (i = 0; i < clean.len; i++) {
		switch (clean.s[i]) {
		case '<':
			ks_strbuf_puts(sb, "&lt;");
			break;
		case '>':
			ks_strbuf_puts(sb, "&gt;");
			break;
		case '&':
			ks_strbuf_puts(sb, "&amp;");
			break;
		case '"':
			ks_strbuf_puts(sb, "&quot;");
			break;
		default:
			ks_strbuf_add(sb, &clean.s[i], 1);
		}
	}
	sb->failed |= clean.failed;
	ks_strbuf_deinit(&clean);
}
