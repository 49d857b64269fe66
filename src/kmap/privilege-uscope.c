// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Least-privilege measures by the published rules: one unit is the ability of one instruction to do one
 * operation to one byte. The manual page has the formulas; names here are theirs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kmap/functions.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

static const struct ks_column columns[KS_KMAP_USCOPE_COLUMNS] = {
	[KS_KMAP_USCOPE_CUT] = { "cut", "cut", KS_CELL_TEXT },
	[KS_KMAP_USCOPE_OPERATION] = { "operation", "operation", KS_CELL_TEXT },
	[KS_KMAP_USCOPE_PS_MIN] = { "ps_min", "PS_min", KS_CELL_U64 },
	[KS_KMAP_USCOPE_PS] = { "ps_cut", "PS", KS_CELL_U64 },
	[KS_KMAP_USCOPE_PS_MONO] = { "ps_mono", "PS_mono", KS_CELL_U64, .optional = true },
	[KS_KMAP_USCOPE_PSR] = { "psr", "PSR", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[KS_KMAP_USCOPE_PS_MONO_WX] = { "ps_mono_wx", "PS_mono W^X", KS_CELL_U64 },
	[KS_KMAP_USCOPE_PSR_WX] = { "psr_wx", "PSR W^X", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[KS_KMAP_USCOPE_PM] = { "pm", "PM", KS_CELL_U64 },
	[KS_KMAP_USCOPE_PMR] = { "pmr", "PMR", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[KS_KMAP_USCOPE_OR] = { "overprivilege", "OR", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[KS_KMAP_USCOPE_MEDIATED] = { "mediated", "mediated", KS_CELL_DOUBLE, KS_UNIT_RATIO },
};

static const enum ks_kmap_unit cuts[] = { KS_KMAP_TOPDIR, KS_KMAP_DIR, KS_KMAP_FILE,
					  KS_KMAP_FUNCTION, KS_KMAP_COMPARTMENT };

/* What is the same for all cuts. */
struct system {
	const struct ks_kmap_census *census;
	const struct ks_kmap_places *places;
	const struct ks_kmap_functions *functions;
	double *weights; /* by site */
	double code, data, instructions[KS_CPM_OPS];
	double *clusters; /* bytes of each label; scratch */
	double *subjects; /* instructions of each label; scratch */
	bool *granted;	  /* what each label was seen to do in its own cluster; scratch */
};

struct measure {
	double min, cut, mono, mono_wx;
	double used, mediated; /* uses, in all and across */
};

/* === Internals: one cut and operation ===================================================== */

/* One use: whether it stays in its cluster, what it reaches, how often. */
static void use(struct system *s, struct measure *m, u32 from, u32 to, double bytes, u64 count)
{
	m->min += bytes;
	m->used += (double)count;
	if (from == to) {
		s->granted[from] = true;
	} else {
		m->cut += bytes;
		m->mediated += (double)count;
	}
}

static void use_edges(struct system *s, struct measure *m, enum ks_kmap_unit unit,
		      enum ks_cpm_op op)
{
	size_t i;

	for (i = 0; i < s->census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &s->census->edges.items[i];
		u64 count = op == KS_CPM_READ ? edge->reads : edge->writes;

		if (count)
			use(s, m, s->places->codes[edge->code][unit],
			    s->places->sites[edge->site][unit], s->weights[edge->site], count);
	}
}

/* A call reaches the function called; its return, the function that called, if it came back. */
static void use_calls(struct system *s, struct measure *m, enum ks_kmap_unit unit,
		      enum ks_cpm_op op)
{
	size_t i;

	for (i = 0; i < s->census->calls.len; i++) {
		const struct ks_kmap_calls *calls = &s->census->calls.items[i];
		u32 from = op == KS_CPM_CALL ? calls->from : calls->to;
		u32 to = op == KS_CPM_CALL ? calls->to : calls->from;
		u64 count = op == KS_CPM_CALL ? calls->count : calls->returns;

		if (count && s->functions->of_code[from] != KS_NONE &&
		    s->functions->of_code[to] != KS_NONE)
			use(s, m, s->places->codes[from][unit], s->places->codes[to][unit],
			    s->functions->items.items[s->functions->of_code[to]].size, count);
	}
}

/* The bytes that each cluster has for the operation, and its instructions that do it. */
static void weigh(struct system *s, enum ks_kmap_unit unit, enum ks_cpm_op op)
{
	size_t i, labels = s->places->labels.strs.len;

	for (i = 0; i < labels; i++) {
		s->clusters[i] = s->subjects[i] = 0;
		s->granted[i] = false;
	}
	for (i = 0; i < s->functions->items.len; i++) {
		const struct ks_kmap_function *function = &s->functions->items.items[i];

		s->subjects[function->labels[unit]] += function->counts[op];
		if (op >= KS_CPM_CALL)
			s->clusters[function->labels[unit]] += function->size;
	}
	for (i = 0; op < KS_CPM_CALL && i < s->census->sites.len; i++)
		s->clusters[s->places->sites[i][unit]] += s->weights[i];
}

/* In its cluster, all code may do what some of it was seen to do there; across, each use is mediated. */
static struct measure measure_op(struct system *s, enum ks_kmap_unit unit, enum ks_cpm_op op)
{
	double own = op >= KS_CPM_CALL ? s->code : s->data;
	struct measure m = { .mono = s->instructions[op] * (s->code + s->data),
			     .mono_wx = s->instructions[op] * own };
	size_t i;

	weigh(s, unit, op);
	(op >= KS_CPM_CALL ? use_calls : use_edges)(s, &m, unit, op);
	for (i = 0; i < s->places->labels.strs.len; i++)
		if (s->granted[i])
			m.cut += s->subjects[i] * s->clusters[i];
	return m;
}

/* === Internals: the table ================================================================= */

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

static void put(const struct system *s, struct ks_table *table, enum ks_kmap_unit unit,
		const char *op, const struct measure *m)
{
	struct ks_row row = ks_table_add(table);
	bool sized = s->functions->has_sizes;

	ks_row_text(row, KS_KMAP_USCOPE_CUT, ks_kmap_unit_name(unit));
	ks_row_text(row, KS_KMAP_USCOPE_OPERATION, op);
	ks_row_u64(row, KS_KMAP_USCOPE_PS_MIN, (u64)(m->min + 0.5));
	ks_row_u64(row, KS_KMAP_USCOPE_PS, (u64)(m->cut + 0.5));
	if (sized)
		ks_row_u64(row, KS_KMAP_USCOPE_PS_MONO, (u64)(m->mono + 0.5));
	ks_row_double(row, KS_KMAP_USCOPE_PSR, sized ? ratio(m->cut, m->mono) : NAN);
	ks_row_u64(row, KS_KMAP_USCOPE_PS_MONO_WX, (u64)(m->mono_wx + 0.5));
	ks_row_double(row, KS_KMAP_USCOPE_PSR_WX, ratio(m->cut, m->mono_wx));
	ks_row_u64(row, KS_KMAP_USCOPE_PM, (u64)(fmax(m->cut - m->min, 0) + 0.5));
	ks_row_double(row, KS_KMAP_USCOPE_PMR, sized ? ratio(m->cut - m->min, m->mono) : NAN);
	ks_row_double(row, KS_KMAP_USCOPE_OR, ratio(m->cut, m->min));
	ks_row_double(row, KS_KMAP_USCOPE_MEDIATED, ratio(m->mediated, m->used));
}

static void put_cut(struct system *s, struct ks_table *table, enum ks_kmap_unit unit)
{
	struct measure all = { 0 };
	enum ks_cpm_op op;

	for (op = 0; op < KS_CPM_OPS; op++) {
		struct measure m;

		/* Calls weigh code, and need calls in the map. */
		if (op >= KS_CPM_CALL && (!s->functions->has_sizes || !s->census->calls.len))
			continue;
		m = measure_op(s, unit, op);
		put(s, table, unit, ks_cpm_op_name(op), &m);
		all.min += m.min;
		all.cut += m.cut;
		all.mono += m.mono;
		all.mono_wx += m.mono_wx;
		all.used += m.used;
		all.mediated += m.mediated;
	}
	put(s, table, unit, "total", &all);
}

static int prepare(struct system *s)
{
	size_t i, op, labels = s->places->labels.strs.len + 1;

	s->weights = calloc(s->census->sites.len + 1, sizeof(*s->weights));
	s->clusters = calloc(labels, sizeof(*s->clusters));
	s->subjects = calloc(labels, sizeof(*s->subjects));
	s->granted = calloc(labels, sizeof(*s->granted));
	if (!s->weights || !s->clusters || !s->subjects || !s->granted)
		return -ENOMEM;
	for (i = 0; i < s->census->sites.len; i++)
		s->data += s->weights[i] = ks_kmap_weight(s->census, &s->census->sites.items[i]);
	for (i = 0; i < s->functions->items.len; i++) {
		s->code += s->functions->items.items[i].size;
		for (op = 0; op < KS_CPM_OPS; op++)
			s->instructions[op] += s->functions->items.items[i].counts[op];
	}
	return 0;
}

/* What the numbers are of, and what is not among them. */
static void say_what(struct ks_doc *doc, const struct system *s)
{
	ks_doc_text(doc, "model", "uscope");
	ks_doc_bool(doc, "image", s->functions->has_sizes);
	ks_doc_say(doc, "\n");
	if (!s->functions->has_sizes)
		ks_doc_say(
			doc,
			"Instructions are those that the map saw, and code has no size: give the "
			"vmlinux with -k to have all of them, PSR without W^X, and calls.\n");
	else if (!s->census->calls.len)
		ks_doc_say(
			doc,
			"The map has no calls: they and returns are not among the operations.\n");
}

/* === Public =============================================================================== */

struct ks_doc *ks_kmap_view_uscope(const struct ks_kmap_census *census,
				   const struct ks_kmap_places *places,
				   const struct ks_kmap_functions *functions)
{
	struct system s = { .census = census, .places = places, .functions = functions };
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-privilege-uscope-1");
	struct ks_table *table;
	size_t i;

	if (!doc)
		return NULL;
	table = ks_doc_table(doc, "privilege", columns, KS_KMAP_USCOPE_COLUMNS);
	if (table)
		table->title = "least privilege, by the published rules";
	if (prepare(&s))
		doc->failed = true;
	for (i = 0; !doc->failed && i < ARRAY_SIZE(cuts); i++)
		if (ks_kmap_can_cut(census, places, cuts[i]))
			put_cut(&s, table, cuts[i]);
	if (!doc->failed)
		say_what(doc, &s);
	free(s.weights);
	free(s.clusters);
	free(s.subjects);
	free(s.granted);
	ks_kmap_view_quality(doc, census, places);
	return doc;
}
