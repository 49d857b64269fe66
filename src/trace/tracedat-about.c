// SPDX-License-Identifier: LGPL-2.1-only
/* The words of the version option. */
#include "trace/tracedat-about.h"

#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

#define WALL   " wall="
#define MISSED " missed="
#define ONLY   " only="

/* === Internals ============================================================================ */

static const char *find(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? p + strlen(key) : "";
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A word has no blanks: they, and what is not printable, are %20 and the like. */
static void put_word(struct ks_strbuf *sb, const char *s)
{
	for (; *s; s++)
		if (*s > ' ' && *s < 0x7f && *s != '%')
			ks_strbuf_add(sb, s, 1);
		else
			ks_strbuf_printf(sb, "%%%02x", (u8)*s);
}

static void take_word(const char *p, char *to, size_t cap)
{
	size_t len = 0;

	for (; *p && *p != ' ' && len + 1 < cap; p++) {
		int high = *p == '%' ? hex_digit(p[1]) : -1;
		int low = high >= 0 ? hex_digit(p[2]) : -1;

		to[len++] = (char)(low >= 0 ? high << 4 | low : *p);
		p += low >= 0 ? 2 : 0;
	}
	to[len] = '\0';
}

/* === Public =============================================================================== */

void ks_td_about_print(const struct ks_td_about *about, struct ks_strbuf *sb)
{
	u32 i;

	for (i = 0; i < about->wall.len; i++)
		ks_strbuf_printf(sb, "%s%llu:%llu", i ? "," : WALL,
				 (unsigned long long)about->wall.points[i].ts,
				 (unsigned long long)about->wall.points[i].ns);
	if (about->probes_missed)
		ks_strbuf_printf(sb, MISSED "%llu", (unsigned long long)about->probes_missed);
	if (*about->only) {
		ks_strbuf_puts(sb, ONLY);
		put_word(sb, about->only);
	}
}

void ks_td_about_parse(struct ks_td_about *about, const char *text)
{
	const char *p = find(text, WALL);
	char *end;

	while (*p >= '0' && *p <= '9') {
		u64 ts = strtoull(p, &end, 10);

		if (*end != ':')
			break;
		ks_wall_add(&about->wall, ts, strtoull(end + 1, &end, 10));
		p = end + (*end == ',');
	}
	p = find(text, MISSED);
	if (*p >= '0' && *p <= '9')
		about->probes_missed = strtoull(p, NULL, 10);
	p = find(text, ONLY);
	if (*p)
		take_word(p, about->only, sizeof(about->only));
}
