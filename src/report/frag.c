// SPDX-License-Identifier: LGPL-2.1-only
/* The view of fragmentation: kmemtrace's report, and its JSON. */
#include "report/report.h"

#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static u64 waste_of(const struct ks_frag_row *row)
{
	return row->bytes_alloc - ks_min(row->bytes_req, row->bytes_alloc);
}

/* In tenths of a per cent, rounded down. */
static void put_percent(struct ks_strbuf *out, u64 part, u64 whole)
{
	u64 tenths = whole ? (u64)((unsigned __int128)part * 1000 / whole) : 0;

	ks_strbuf_printf(out, " %5llu.%llu%%", (unsigned long long)(tenths / 10),
			 (unsigned long long)(tenths % 10));
}

static void put_row(struct ks_strbuf *out, const struct ks_frag_row *row)
{
	ks_strbuf_printf(out, "%14llu %14llu %12llu", (unsigned long long)row->bytes_req,
			 (unsigned long long)row->bytes_alloc, (unsigned long long)waste_of(row));
	put_percent(out, waste_of(row), row->bytes_alloc);
	ks_strbuf_printf(out, " %10llu %10llu %10llu  ", (unsigned long long)row->allocs,
			 (unsigned long long)row->cross_cpu, (unsigned long long)row->cross_node);
	ks_escape_tty(out, row->label, strlen(row->label));
	ks_strbuf_puts(out, "\n");
}

static void put_rows(struct ks_strbuf *out, const char *title, const struct ks_frag_row *rows,
		     size_t len, u64 top)
{
	size_t shown = top && top < len ? (size_t)top : len, i;

	ks_strbuf_printf(out, "%14s %14s %12s %7s %10s %10s %10s  %s\n", "requested", "allocated",
			 "wasted", "frag", "allocs", "cross-CPU", "cross-node", title);
	for (i = 0; i < shown; i++)
		put_row(out, &rows[i]);
	if (shown < len)
		ks_strbuf_printf(out, "%14s and %zu more\n", "...", len - shown);
}

static void put_row_json(struct ks_json *json, const char *key, const struct ks_frag_row *row,
			 const char *label)
{
	ks_json_object(json, key);
	if (label)
		ks_json_string(json, label, row->label);
	ks_json_u64(json, "requested", row->bytes_req);
	ks_json_u64(json, "allocated", row->bytes_alloc);
	ks_json_u64(json, "wasted", waste_of(row));
	ks_json_ratio(json, "fragmentation", waste_of(row), row->bytes_alloc);
	ks_json_u64(json, "allocs", row->allocs);
	ks_json_u64(json, "frees", row->frees);
	ks_json_u64(json, "cross_cpu_frees", row->cross_cpu);
	ks_json_u64(json, "node_requests", row->node_requests);
	ks_json_u64(json, "cross_node_requests", row->cross_node);
	ks_json_end_object(json);
}

/* === Public =============================================================================== */

void ks_render_frag(const struct ks_model *model, const struct ks_frag *frag, u64 top,
		    struct ks_strbuf *out)
{
	const struct ks_frag_row *total = &frag->total;

	put_rows(out, "site", frag->by_site.items, frag->by_site.len, top);
	ks_strbuf_puts(out, "\n");
	put_rows(out, "size", frag->by_size.items, frag->by_size.len, top);
	ks_strbuf_puts(out, "\ntotal\n");
	ks_strbuf_printf(out, "%14llu bytes requested\n", (unsigned long long)total->bytes_req);
	ks_strbuf_printf(out, "%14llu bytes allocated\n", (unsigned long long)total->bytes_alloc);
	ks_strbuf_printf(out, "%14llu bytes wasted,", (unsigned long long)waste_of(total));
	put_percent(out, waste_of(total), total->bytes_alloc);
	ks_strbuf_printf(out, "\n%14llu allocations, %llu frees seen\n",
			 (unsigned long long)total->allocs, (unsigned long long)total->frees);
	ks_strbuf_printf(out, "%14llu frees on another CPU than the allocation\n",
			 (unsigned long long)total->cross_cpu);
	ks_strbuf_printf(out, "%14llu allocations that asked for a node, %llu for another one\n\n",
			 (unsigned long long)total->node_requests,
			 (unsigned long long)total->cross_node);
	ks_render_findings(model, out);
	ks_render_quality(model, out);
}

void ks_render_frag_json(const struct ks_model *model, const struct ks_frag *frag, u64 top,
			 struct ks_strbuf *out)
{
	struct ks_json json;
	size_t i;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-frag-1");
	ks_json_string(&json, "level", ks_level_name(model->level));
	put_row_json(&json, "total", &frag->total, NULL);
	ks_json_array(&json, "sites");
	for (i = 0; i < frag->by_site.len && (!top || i < top); i++)
		put_row_json(&json, NULL, &frag->by_site.items[i], "site");
	ks_json_end_array(&json);
	ks_json_array(&json, "sizes");
	for (i = 0; i < frag->by_size.len && (!top || i < top); i++)
		put_row_json(&json, NULL, &frag->by_size.items[i], "size");
	ks_json_end_array(&json);
	ks_render_quality_json(model, &json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}
