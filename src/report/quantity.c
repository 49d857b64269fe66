// SPDX-License-Identifier: LGPL-2.1-only
/* Numbers for people: bytes with a unit, digits in groups, percent. */
#include "report/rings.h"

void ks_render_bytes(struct ks_strbuf *out, u64 bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	u64 whole = bytes, rest = 0;
	size_t unit = 0;

	if (bytes < 1024) {
		ks_strbuf_printf(out, "%llu B", (unsigned long long)bytes);
		return;
	}
	for (; whole >= 1024 && unit < ARRAY_SIZE(units); unit++) {
		rest = whole % 1024;
		whole /= 1024;
	}
	if (whole >= 100)
		ks_strbuf_printf(out, "%llu %s", (unsigned long long)whole, units[unit - 1]);
	else
		ks_strbuf_printf(out, "%llu.%llu %s", (unsigned long long)whole,
				 (unsigned long long)(rest * 10 / 1024), units[unit - 1]);
}

void ks_render_grouped(struct ks_strbuf *out, u64 value)
{
	char digits[32];
	size_t n = 0, i;

	do
		digits[n++] = (char)('0' + value % 10);
	while (value /= 10);
	for (i = n; i-- > 0;)
		ks_strbuf_printf(out, i && i % 3 == 0 ? "%c," : "%c", digits[i]);
}

void ks_render_percent(struct ks_strbuf *out, u64 part, u64 whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && percent < 0.1)
		ks_strbuf_puts(out, "<0.1 %");
	else
		ks_strbuf_printf(out, "%.1f %%", percent);
}
