// SPDX-License-Identifier: LGPL-2.1-only
/* Leaks: what still lives at the end of a capture. */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"

#include "report/report.h"

/* === Data ================================================================================= */

enum {
	SITE,
	STACK,
	EVIDENCE,
	VERDICT,
	CACHE,
	PROCESS,
	PID,
	CGROUP,
	BYTES,
	REQUESTED,
	OBJECTS,
	OBJECTS_LEAST,
	OBJECTS_MOST,
	BYTES_LEAST,
	BYTES_MOST,
	OLDEST,
	YOUNGEST,
	MEAN_AGE,
	ALLOCS,
	FREES,
	IMPLIED_FREES,
	PAGE_FREES,
	CENSUS_FREES,
	COLUMNS
};

static ks_show_fn show_age, show_objects, show_process;

static const struct ks_column columns[COLUMNS] = {
	[SITE] = { "site", "site", KS_CELL_TEXT },
	[STACK] = { "stack", "stack", KS_CELL_TEXTS, .width = 28 },
	[EVIDENCE] = { "evidence", "leak?", KS_CELL_SHARE, KS_UNIT_RATIO, .width = 5 },
	[VERDICT] = { "verdict", "verdict", KS_CELL_TEXT, .width = 8, .gap = 1 },
	[CACHE] = { "cache", NULL, KS_CELL_TEXT },
	[PROCESS] = { "comm", "process", KS_CELL_TEXT, .width = 22, .gap = 2,
		      .show = show_process },
	[CGROUP] = { "cgroup", NULL, KS_CELL_TEXT, .optional = true },
	[PID] = { "pid", NULL, KS_CELL_U64, KS_UNIT_COUNT, .optional = true },
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[REQUESTED] = { "requested", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 10, .gap = 1,
		      .show = show_objects },
	[OBJECTS_LEAST] = { "objects_least", NULL, KS_CELL_U64, KS_UNIT_OBJECTS, .optional = true },
	[OBJECTS_MOST] = { "objects_most", NULL, KS_CELL_U64, KS_UNIT_OBJECTS, .optional = true },
	[BYTES_LEAST] = { "bytes_least", NULL, KS_CELL_U64, KS_UNIT_BYTES, .optional = true },
	[BYTES_MOST] = { "bytes_most", NULL, KS_CELL_U64, KS_UNIT_BYTES, .optional = true },
	[OLDEST] = { "oldest", "oldest", KS_CELL_U64, KS_UNIT_TICKS, .width = 12, .gap = 1,
		     .show = show_age },
	[YOUNGEST] = { "youngest", "youngest", KS_CELL_U64, KS_UNIT_TICKS, .width = 12, .gap = 1,
		       .show = show_age },
	[MEAN_AGE] = { "mean_age", "mean age", KS_CELL_U64, KS_UNIT_TICKS, .width = 12, .gap = 1,
		       .show = show_age },
	[ALLOCS] = { "allocs", "allocs", KS_CELL_U64, KS_UNIT_COUNT, .width = 10, .gap = 1 },
	[FREES] = { "frees", "frees", KS_CELL_U64, KS_UNIT_COUNT, .width = 10, .gap = 1 },
	[IMPLIED_FREES] = { "implied_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[PAGE_FREES] = { "page_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[CENSUS_FREES] = { "census_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
};

static const unsigned int in_text[] = {
	EVIDENCE, VERDICT, BYTES, OBJECTS, OLDEST, YOUNGEST, ALLOCS, FREES, PROCESS, SITE, STACK,
};

/* What is said of a table. Where the suspects are, nothing but the evidence speaks. */
struct table_text {
	const char *name;
	const char *heading; /* above the rows */
	const char *sum;     /* behind the sum of all rows */
	const char *verdict; /* on each row */
};

static const struct table_text sites_text = { "sites", NULL, "live at the end of the capture",
					      NULL };
static const struct table_text kept_text = {
	"kept", "rarely a leak, since the kernel gives it back when it needs memory:",
	"that the kernel keeps because it may: page cache, inodes, directory entries", "kept"
};
static const struct table_text unseen_text = {
	"unseen", "not to be judged, since these objects end without an event:",
	"of sites whose objects end without an event: nobody can say what lives", "unknown"
};

/* === Internals ============================================================================ */

/* Ages need no nanoseconds: "1.250", or ticks. */
static void show_age(const struct ks_table *table, size_t row, unsigned int column,
		     struct ks_strbuf *out)
{
	u64 age = ks_table_cell(table, row, column)->u64;

	if (table->columns[column].unit == KS_UNIT_NS)
		ks_strbuf_printf(out, "%" PRIu64 ".%03" PRIu64, age / 1000000000,
				 age / 1000000 % 1000);
	else
		ks_strbuf_printf(out, "%" PRIu64, age);
}

/* "654", or from where to where: "0-654", or "654?" where events were lost, so that nobody knows. */
static void show_objects(const struct ks_table *table, size_t row, unsigned int column,
			 struct ks_strbuf *out)
{
	if (ks_table_state(table, row, OBJECTS_LEAST) == KS_CELL_UNSET) {
		ks_strbuf_printf(out, "%" PRIu64, ks_table_cell(table, row, column)->u64);
		return;
	}
	if (ks_table_state(table, row, OBJECTS_MOST) == KS_CELL_UNSET)
		ks_strbuf_printf(out, "%" PRIu64 "?", ks_table_cell(table, row, column)->u64);
	else
		ks_strbuf_printf(out, "%" PRIu64 "-%" PRIu64,
				 ks_table_cell(table, row, OBJECTS_LEAST)->u64,
				 ks_table_cell(table, row, OBJECTS_MOST)->u64);
}

/* "leakyd 4711": with its number, where that is one process. */
static void show_process(const struct ks_table *table, size_t row, unsigned int column,
			 struct ks_strbuf *out)
{
	const char *comm = ks_table_cell(table, row, column)->text;

	if (!*comm)
		comm = "unknown";
	ks_escape_tty(out, comm, strlen(comm));
	if (ks_table_state(table, row, PID) != KS_CELL_UNSET)
		ks_strbuf_printf(out, " %" PRIu64, ks_table_cell(table, row, PID)->u64);
}

static struct ks_table *new_table(struct ks_doc *doc, const struct ks_model *model,
				  const char *name, u64 top)
{
	struct ks_column mine[COLUMNS];
	struct ks_table *table;
	int i;

	for (i = 0; i < COLUMNS; i++) {
		mine[i] = columns[i];
		if (mine[i].unit == KS_UNIT_TICKS)
			mine[i].unit = ks_time_unit(model);
	}
	table = ks_doc_loose_table(doc, name, mine, COLUMNS);
	if (!table)
		return NULL;
	ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	table->text_rows = (size_t)top;
	table->more = "more";
	return table;
}

/* Nothing where the number is sure; no upper end where events were lost. */
static void put_interval(struct ks_row row, const struct ks_leak *leak)
{
	if (!leak->unsure)
		return;
	ks_row_u64(row, OBJECTS_LEAST, leak->objects_least);
	ks_row_u64(row, BYTES_LEAST, leak->bytes_least);
	if (leak->above)
		return;
	ks_row_u64(row, OBJECTS_MOST, leak->objects_most);
	ks_row_u64(row, BYTES_MOST, leak->bytes_most);
}

/* What is kept on purpose, or can't be judged, is no likely leak, however steadily it grows. */
static const char *verdict_of(const struct table_text *text, const struct ks_leak *leak)
{
	return text->verdict ? text->verdict : ks_leak_verdict(leak);
}

static struct ks_table *add_rows(struct ks_doc *doc, const struct ks_model *model,
				 const struct table_text *text, const struct ks_leak *rows,
				 size_t len, u64 top)
{
	struct ks_table *table = new_table(doc, model, text->name, top);
	size_t i;

	for (i = 0; i < len; i++) {
		const struct ks_leak *leak = &rows[i];
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, SITE, leak->label);
		ks_row_texts(row, STACK, leak->frames, leak->frames_len);
		ks_row_share(row, EVIDENCE, leak->evidence, KS_EVIDENCE_FULL);
		ks_row_text(row, VERDICT, verdict_of(text, leak));
		ks_row_text(row, CACHE, leak->cache);
		ks_row_text(row, PROCESS, leak->comm);
		if (leak->pid != KS_PID_UNKNOWN)
			ks_row_u64(row, PID, leak->pid);
		if (*leak->cgroup)
			ks_row_text(row, CGROUP, leak->cgroup);
		ks_row_u64(row, BYTES, leak->bytes);
		ks_row_u64(row, REQUESTED, leak->bytes_req);
		ks_row_u64(row, OBJECTS, leak->objects);
		put_interval(row, leak);
		ks_row_u64(row, OLDEST, leak->oldest);
		ks_row_u64(row, YOUNGEST, leak->youngest);
		ks_row_u64(row, MEAN_AGE, leak->age_sum / leak->objects);
		ks_row_u64(row, ALLOCS, leak->allocs);
		ks_row_u64(row, FREES, leak->frees);
		ks_row_u64(row, IMPLIED_FREES, leak->implied_frees);
		ks_row_u64(row, PAGE_FREES, leak->page_frees);
		ks_row_u64(row, CENSUS_FREES, leak->census_frees);
	}
	return table;
}

/* A line on a whole table. */
static void say_sum(struct ks_doc *doc, const struct ks_leak *rows, size_t len, const char *text)
{
	u64 objects = 0, bytes = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		objects += rows[i].objects;
		bytes += rows[i].bytes;
	}
	ks_doc_say(doc, "%14s ", "");
	ks_doc_say_bytes(doc, 12, bytes, "");
	ks_doc_say(doc, " %10" PRIu64 " %s\n", objects, text);
}

/*
 * The rows, below a heading. Sites for which hardly anything speaks hold what is in use: among suspects they would only
 * hide them, so text leaves them out unless they are asked for. Returns whether text has any rows.
 */
static bool add_table(struct ks_doc *doc, const struct ks_model *model,
		      const struct table_text *text, const struct ks_leak *rows, size_t len,
		      u64 top, bool all)
{
	struct ks_table *table = add_rows(doc, model, text, rows, len, top);
	size_t suspects = 0;

	while (suspects < len && (all || rows[suspects].evidence >= KS_EVIDENCE_LISTED))
		suspects++;
	if (table && suspects < len && (!top || suspects < top)) {
		table->text_rows = suspects;
		table->more = "more, for which hardly anything speaks: --all lists them";
	}
	if (suspects && text->heading)
		ks_doc_say(doc, "%s\n", text->heading);
	ks_doc_place(doc, table, suspects || (!len && !text->heading) ? KS_IN_BOTH : KS_IN_JSON);
	return suspects > 0;
}

/* What is no suspect by itself: nothing where there is none, but in JSON. */
static void add_others(struct ks_doc *doc, const struct ks_model *model,
		       const struct table_text *text, const struct ks_leak *rows, size_t len,
		       u64 top, bool all)
{
	add_table(doc, model, text, rows, len, top, all);
	if (!len)
		return;
	say_sum(doc, rows, len, text->sum);
	ks_doc_say(doc, "\n");
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_leaks(const struct ks_model *model, const struct ks_leaks *leaks, u64 top,
			       bool all)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-leaks-1");

	if (!doc)
		return NULL;
	ks_doc_text(doc, "level", ks_level_name(model->level));
	ks_doc_text(doc, "clock", ks_clock_name(model->clock));
	ks_doc_u64(doc, "min_age", leaks->min_age);
	ks_doc_u64(doc, "bytes", leaks->bytes);
	ks_doc_u64(doc, "objects", leaks->objects);
	ks_doc_u64(doc, "young_bytes", leaks->young_bytes);
	ks_doc_u64(doc, "young_objects", leaks->young_objects);
	if (!add_table(doc, model, &sites_text, leaks->sites.items, leaks->sites.len, top, all) &&
	    leaks->sites.len)
		ks_doc_say(doc, "nothing looks like a leak: --all lists what is live\n");
	say_sum(doc, leaks->sites.items, leaks->sites.len, sites_text.sum);
	if (leaks->young_objects) {
		ks_doc_say(doc, "%14s ", "");
		ks_doc_say_bytes(doc, 12, leaks->young_bytes, "");
		ks_doc_say(doc, " %10" PRIu64 " left out: younger than --min-age\n",
			   leaks->young_objects);
	}
	ks_doc_say(doc, "\n");
	add_others(doc, model, &kept_text, leaks->kept.items, leaks->kept.len, top, all);
	add_others(doc, model, &unseen_text, leaks->unseen.items, leaks->unseen.len, top, all);
	ks_doc_quality(doc, model);
	return doc;
}
