// SPDX-License-Identifier: LGPL-2.1-only
/* Numbers for people. */
#include "base/quantity.h"

void ks_render_bytes(struct ks_strbuf *out, u64 bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	/* What would be printed as 1024 of a unit is 1.0 of the next. */
	while (value >= (unit ? 1023.5 : 1024) && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	ks_strbuf_printf(out, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void ks_render_count(struct ks_strbuf *out, u64 count)
{
	static const char units[] = "kMGTPE";
	double value = (double)count;
	size_t unit = 0;

	if (count < 100000) {
		ks_strbuf_printf(out, "%u", (unsigned int)count);
		return;
	}
	/* What would be printed as 1000 of a unit is 1.0 of the next. */
	for (value /= 1000; value >= 999.5 && units[unit + 1]; unit++)
		value /= 1000;
	ks_strbuf_printf(out, value < 99.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
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
