// SPDX-License-Identifier: LGPL-2.1-only
/* OpenMetrics, and the text format of Prometheus that came before it. Labels are bounded: the first rows, and "other". */
#include "serve/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

/* === Data ================================================================================= */

struct writer {
	const struct ks_metrics *m;
	struct ks_strbuf *out;
};

enum kind { GAUGE, COUNTER, INFO };

/* === Internals: lines ===================================================================== */

/*
 * The lines above a family. A counter's samples are called NAME_total in both formats; its family is called so in the
 * older one only.
 */
static void put_family(const struct writer *w, const char *name, enum kind kind, const char *unit,
		       const char *help)
{
	static const char *const kinds[] = { "gauge", "counter", "info" };
	const char *end = "", *type = kinds[kind];

	if (kind == COUNTER && !w->m->openmetrics)
		end = "_total";
	if (kind == INFO && !w->m->openmetrics) {
		end = "_info";
		type = "gauge";
	}
	ks_strbuf_printf(w->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, end, help, name, end,
			 type);
	if (unit && w->m->openmetrics)
		ks_strbuf_printf(w->out, "# UNIT %s %s\n", name, unit);
}

/* The value of a label: names come from the kernel, and may have anything in them. */
static void put_label(const struct writer *w, const char *name, const char *value)
{
	struct ks_strbuf clean;
	const char *c;

	ks_strbuf_init(&clean);
	ks_escape_tty(&clean, value, strlen(value));
	ks_strbuf_printf(w->out, "{%s=\"", name);
	for (c = clean.len ? ks_strbuf_str(&clean) : ""; *c; c++)
		ks_strbuf_printf(w->out, *c == '\\' || *c == '"' ? "\\%c" : "%c", *c);
	ks_strbuf_puts(w->out, "\"}");
	w->out->failed |= clean.failed;
	ks_strbuf_deinit(&clean);
}

static void put_value(const struct writer *w, const char *name, const char *label,
		      const char *value, u64 number)
{
	ks_strbuf_puts(w->out, name);
	if (label)
		put_label(w, label, value);
	ks_strbuf_printf(w->out, " %" PRIu64 "\n", number);
}

static void put_seconds(const struct writer *w, const char *name, u64 ns)
{
	ks_strbuf_printf(w->out, "%s %" PRIu64 ".%09" PRIu64 "\n", name, ns / 1000000000,
			 ns % 1000000000);
}

/* === Internals: rows ====================================================================== */

static u64 value_of(const struct ks_live_row *row, bool objects)
{
	return objects ? row->objects : row->bytes;
}

/* Names that are alike once they are cut or escaped would be two samples of one name: labels keep whole names. */
static void put_rows(const struct writer *w, const struct ks_live_rows *rows, const char *name,
		     const char *label, bool objects)
{
	u64 other = 0;
	size_t i;

	for (i = 0; i < rows->items.len; i++) {
		const struct ks_live_row *row = &rows->items.items[i];

		if (i < w->m->top && *row->name)
			put_value(w, name, label, row->name, value_of(row, objects));
		else
			other += value_of(row, objects);
	}
	put_value(w, name, label, "other", other);
}

static void put_group(const struct writer *w, enum ks_live_by by, const char *prefix,
		      const char *help_bytes, const char *help_objects)
{
	struct ks_live_rows rows;
	char name[64];

	if (ks_live_rows(w->m->snapshot, by, NULL, &rows)) {
		w->out->failed = true;
		return;
	}
	if (rows.present) {
		snprintf(name, sizeof(name), "kmemscope_%s_live_bytes", prefix);
		put_family(w, name, GAUGE, "bytes", help_bytes);
		put_rows(w, &rows, name, ks_live_by_name(by), false);
		snprintf(name, sizeof(name), "kmemscope_%s_live_objects", prefix);
		put_family(w, name, GAUGE, "objects", help_objects);
		put_rows(w, &rows, name, ks_live_by_name(by), true);
	}
	ks_live_rows_free(&rows);
}

/* === Internals: the rest ================================================================== */

static void put_memory(const struct writer *w)
{
	const struct ks_live_memory *m = &w->m->snapshot->memory;
	const struct {
		const char *kind;
		u64 bytes;
	} kinds[] = {
		{ "total", m->total },
		{ "free", m->free },
		{ "available", m->available },
		{ "slab", m->slab },
		{ "slab_reclaimable", m->reclaimable },
		{ "slab_unreclaimable", m->unreclaimable },
		{ "page_tables", m->page_tables },
		{ "kernel_stacks", m->stacks },
		{ "vmalloc", m->vmalloc },
		{ "percpu", m->percpu },
	};
	size_t i;

	put_family(w, "kmemscope_memory_bytes", GAUGE, "bytes",
		   "Memory by use, as the kernel says. Kinds overlap.");
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		put_value(w, "kmemscope_memory_bytes", "kind", kinds[i].kind, kinds[i].bytes);
}

static void put_missed(const struct writer *w)
{
	const struct ks_live_quality *q = &w->m->snapshot->quality;
	static const char name[] = "kmemscope_events_missed_total";

	put_family(w, "kmemscope_events_missed", COUNTER, NULL,
		   "Allocations and frees that were not followed, by reason.");
	put_value(w, name, "reason", "no_room", q->no_room);
	put_value(w, name, "reason", "no_stack", q->no_stack);
	put_value(w, name, "reason", "recursion", q->recursion);
	put_family(w, "kmemscope_events", COUNTER, NULL, "Events that probes were called for.");
	put_value(w, "kmemscope_events_total", NULL, NULL, q->events);
	put_family(w, "kmemscope_reconciled_objects", COUNTER, NULL,
		   "Objects without a free event that an exact count showed to be gone.");
	put_value(w, "kmemscope_reconciled_objects_total", NULL, NULL, q->reconciled);
}

static void put_self(const struct writer *w)
{
	const struct ks_live_snapshot *s = w->m->snapshot;
	const struct ks_live_quality *q = &s->quality;

	put_family(w, "kmemscope_level", GAUGE, NULL,
		   "How closely the kernel is looked at: 0 census, 1 growth, 2 sampled, 3 exact.");
	put_value(w, "kmemscope_level", NULL, NULL, s->level);
	put_family(w, "kmemscope_looks", COUNTER, NULL, "Looks at the kernel.");
	put_value(w, "kmemscope_looks_total", NULL, NULL, w->m->looks);
	put_family(w, "kmemscope_look_failing", GAUGE, NULL,
		   "1 while the last look failed: all values are older ones.");
	put_value(w, "kmemscope_look_failing", NULL, NULL, w->m->failing);
	put_family(w, "kmemscope_look_timestamp_seconds", GAUGE, "seconds",
		   "When the kernel was looked at, since 1970.");
	put_seconds(w, "kmemscope_look_timestamp_seconds", s->wall_ns);
	put_family(w, "kmemscope_cpu_seconds", COUNTER, "seconds", "CPU time of all looks.");
	put_seconds(w, "kmemscope_cpu_seconds_total", q->cpu_ns);
	put_family(w, "kmemscope_census_cpu_seconds", GAUGE, "seconds",
		   "CPU time of the last exact count.");
	put_seconds(w, "kmemscope_census_cpu_seconds", q->census_ns);
	put_family(w, "kmemscope_resident_bytes", GAUGE, "bytes",
		   "Memory of this program, and of the kernel for it.");
	put_value(w, "kmemscope_resident_bytes", NULL, NULL, q->memory);
	put_family(w, "kmemscope_scrapes", COUNTER, NULL, "Answers given so far.");
	put_value(w, "kmemscope_scrapes_total", NULL, NULL, w->m->scrapes);
	put_family(w, "kmemscope_build", INFO, NULL, "The version of kmemscope.");
	ks_strbuf_puts(w->out, "kmemscope_build_info{version=\"" KS_VERSION "\"} 1\n");
}

/* === Public =============================================================================== */

void ks_metrics_write(const struct ks_metrics *metrics, struct ks_strbuf *out)
{
	const struct writer w = { metrics, out };

	put_memory(&w);
	put_group(&w, KS_LIVE_BY_CACHE, "slab",
		  "Bytes of objects in use, by cache: those with the most, and all others.",
		  "Objects in use, by cache.");
	put_group(&w, KS_LIVE_BY_TYPE, "type",
		  "Bytes of objects in use, by type: those with the most, and all others.",
		  "Objects in use, by type.");
	put_group(&w, KS_LIVE_BY_SITE, "site",
		  "Bytes allocated since the level was taken and in use, by the code that did.",
		  "Objects allocated since the level was taken and in use, by the code that did.");
	put_missed(&w);
	put_self(&w);
	if (metrics->openmetrics)
		ks_strbuf_puts(out, "# EOF\n");
}

const char *ks_metrics_type(bool openmetrics)
{
	return openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			   : "text/plain; version=0.0.4; charset=utf-8";
}
