// SPDX-License-Identifier: LGPL-2.1-only
/* trace_analyze's two files, line for line: the account and the callers. */
#include "report/report.h"

#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

/* Decimal digits of the largest value, but at least @least: columns widen, they never overflow. */
static int digits(u64 value, int least)
{
	int n = 1;

	while (value /= 10)
		n++;
	return ks_max(n, least);
}

struct widths {
	int total, waste, net, allocs, frees;
};

static struct widths measure(const struct ks_rows *rows)
{
	u64 total = 0, waste = 0, net = 0, allocs = 0, frees = 0;
	size_t i;

	for (i = 0; i < rows->len; i++) {
		const struct ks_stat *stat = &rows->items[i]->stat;

		total = ks_max(total, stat->total_bytes);
		waste = ks_max(waste, ks_stat_waste(stat));
		net = ks_max(net, stat->live_bytes);
		allocs = ks_max(allocs, stat->allocs);
		frees = ks_max(frees, stat->frees);
	}
	return (struct widths){ digits(total, 8), digits(waste, 8), digits(net, 8),
				digits(allocs, 5), digits(frees, 5) };
}

static void head_line(struct ks_strbuf *out, const char *name, u64 value)
{
	ks_strbuf_printf(out, "%s:%*llu\n", name, 34 - (int)strlen(name),
			 (unsigned long long)value);
}

/* The directory of a source path; what has none is marked. */
static void put_directory(struct ks_strbuf *out, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!*path)
		ks_strbuf_puts(out, "unresolved");
	else
		ks_escape_tty(out, slash ? path : ".", slash ? (size_t)(slash - path) : 1);
}

/* === Public =============================================================================== */

void ks_render_account(const struct ks_model *model, const struct ks_rows *rows,
		       struct ks_strbuf *out)
{
	const struct ks_stat *total = ks_model_total(model);
	struct widths w = measure(rows);
	size_t i;

	head_line(out, "current bytes allocated", total->live_bytes);
	head_line(out, "current bytes requested", total->live_req);
	head_line(out, "current wasted bytes", ks_stat_waste(total));
	head_line(out, "number of allocs", total->allocs);
	head_line(out, "number of frees", total->frees);
	head_line(out, "number of callers", ks_model_callers(model));
	ks_strbuf_printf(out, "\n%*s %*s %*s %*s%-*s caller\n", w.total, "total", w.waste, "waste",
			 w.net, "net", w.allocs + 1, "alloc/", w.frees, "free");
	ks_strbuf_puts(out, "---------------------------------------------\n");
	for (i = 0; i < rows->len; i++) {
		const struct ks_group *row = rows->items[i];

		ks_strbuf_printf(out, "%*llu %*llu %*llu %*llu/%-*llu ", w.total,
				 (unsigned long long)row->stat.total_bytes, w.waste,
				 (unsigned long long)ks_stat_waste(&row->stat), w.net,
				 (unsigned long long)row->stat.live_bytes, w.allocs,
				 (unsigned long long)row->stat.allocs, w.frees,
				 (unsigned long long)row->stat.frees);
		ks_escape_tty(out, row->label, strlen(row->label));
		ks_strbuf_puts(out, "\n");
	}
}

void ks_render_callers(const struct ks_model *model, const struct ks_rows *rows,
		       struct ks_strbuf *out)
{
	size_t i;
	int width = 8;

	(void)model;
	for (i = 0; i < rows->len; i++)
		width = ks_max(width, digits(rows->items[i]->stat.live_bytes, 8));
	for (i = 0; i < rows->len; i++) {
		const struct ks_group *row = rows->items[i];
		size_t start = out->len;

		ks_escape_tty(out, row->label, strlen(row->label));
		if (out->len - start < 40)
			ks_strbuf_printf(out, "%*s", (int)(40 - (out->len - start)), "");
		ks_strbuf_printf(out, " %*llu %*llu ", width,
				 (unsigned long long)row->stat.live_bytes, width,
				 (unsigned long long)ks_stat_waste(&row->stat));
		put_directory(out, row->path);
		ks_strbuf_puts(out, "\n");
	}
}
