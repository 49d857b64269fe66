// SPDX-License-Identifier: LGPL-2.1-only
/* Collapsed stacks, as flamegraph.pl and its kin read them: one line a site. */
#include "report/export.h"

#include "base/escape.h"
#include "report/frames.h"

/* === Internals ============================================================================ */

/* Semicolons part frames; a newline, which would end the stack, is made visible with the rest. */
static void put_frame(struct ks_strbuf *out, const struct ks_frame *frame)
{
	size_t i = out->len;

	ks_escape_tty(out, frame->s, frame->len);
	for (; i < out->len; i++)
		if (out->s[i] == ';')
			out->s[i] = ':';
}

/* === Public =============================================================================== */

void ks_export_collapsed(const struct ks_rows *rows, enum ks_measure measure, struct ks_strbuf *out)
{
	size_t i, k;

	for (i = 0; i < rows->len; i++) {
		struct ks_frames frames = ks_frames_of(rows->items[i]);
		u64 value = ks_measure_of(&rows->items[i]->stat, measure);

		if (!value)
			continue;
		for (k = 0; k < frames.len; k++) {
			if (k)
				ks_strbuf_puts(out, ";");
			put_frame(out, &frames.items[k]);
		}
		ks_strbuf_printf(out, " %llu\n", (unsigned long long)value);
	}
}
