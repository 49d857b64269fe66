// SPDX-License-Identifier: LGPL-2.1-only
/* The comparison with another capture, in the data of the HTML report. */
#include "report/html.h"

#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static void put_string(struct ks_strbuf *out, const char *s)
{
	ks_strbuf_puts(out, "\"");
	ks_escape_json(out, s, strlen(s));
	ks_strbuf_puts(out, "\"");
}

/* Each measure, or 0 for a group that this capture does not have. */
static void put_measures(struct ks_strbuf *out, bool there, const struct ks_stat *stat)
{
	int measure;

	if (!there) {
		ks_strbuf_puts(out, ",0");
		return;
	}
	for (measure = 0; measure < KS_MEASURES; measure++)
		ks_strbuf_printf(out, "%s%llu", measure ? "," : ",[",
				 (unsigned long long)ks_measure_of(stat, measure));
	ks_strbuf_puts(out, "]");
}

/* [label, before, after] */
static void put_row(struct ks_strbuf *out, const struct ks_diff_row *row)
{
	ks_strbuf_puts(out, "[");
	put_string(out, row->label);
	put_measures(out, row->in_a, &row->a);
	put_measures(out, row->in_b, &row->b);
	ks_strbuf_puts(out, "]");
}

static void put_sizes(struct ks_strbuf *out, const struct ks_html_diff *diff)
{
	int normal;

	/* Strings: they are multiplied with bytes, which is too much for the numbers of JavaScript. */
	ks_strbuf_puts(out, ",\"sizes\":{");
	for (normal = 0; normal < KS_NORMALS; normal++)
		ks_strbuf_printf(out, "%s\"%s\":[\"%llu\",\"%llu\"]", normal ? "," : "",
				 ks_normal_name(normal),
				 (unsigned long long)diff->size_before[normal],
				 (unsigned long long)diff->size_after[normal]);
	ks_strbuf_puts(out, "}");
}

static void put_grouping(struct ks_strbuf *out, const struct ks_diff *diff)
{
	size_t i;

	ks_strbuf_printf(out, "\"%s\":{\"total\":", ks_by_name(diff->by));
	put_row(out, &diff->total);
	ks_strbuf_puts(out, ",\"rows\":[");
	for (i = 0; i < diff->rows.len; i++) {
		ks_strbuf_puts(out, i ? ",\n" : "\n");
		put_row(out, &diff->rows.items[i]);
	}
	ks_strbuf_puts(out, "]}");
}

/* === Public =============================================================================== */

void ks_render_html_diff(const struct ks_html_diff *diff, struct ks_strbuf *out)
{
	const struct ks_model *before = diff->by[0]->a, *after = diff->by[0]->b;
	int measure, i;

	ks_strbuf_puts(out, "{\"name\":");
	put_string(out, diff->name);
	ks_strbuf_puts(out, ",\"kernel\":");
	put_string(out, before->kernel);
	ks_strbuf_printf(out, ",\"lossy\":%s,\"same_clock\":%s",
			 ks_model_has_loss(before) ? "true" : "false",
			 before->clock == after->clock ? "true" : "false");
	ks_strbuf_puts(out, ",\"measures\":[");
	for (measure = 0; measure < KS_MEASURES; measure++)
		ks_strbuf_printf(out, "%s\"%s\"", measure ? "," : "", ks_measure_name(measure));
	ks_strbuf_puts(out, "]");
	put_sizes(out, diff);
	ks_strbuf_puts(out, ",\"by\":{");
	for (i = 0; i < KS_HTML_DIFFS; i++) {
		ks_strbuf_puts(out, i ? ",\n" : "\n");
		put_grouping(out, diff->by[i]);
	}
	ks_strbuf_puts(out, "}}");
}
