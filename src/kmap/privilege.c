// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Least-privilege measures. A privilege is an instruction's right to do one kind of thing to one
 * object; its weight is the object's size. The manual page has the formulas; names here are theirs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

enum op { OP_READ, OP_WRITE, OP_FREE, OP_CALL, OPS };

static const char *const op_names[OPS] = { "read", "write", "free", "call" };

static const enum ks_kmap_unit cuts[] = { KS_KMAP_TOPDIR, KS_KMAP_DIR, KS_KMAP_FILE,
					  KS_KMAP_FUNCTION, KS_KMAP_COMPARTMENT };

/* One observed right: subject @code, object @target of weight @size, used @count times. */
struct right {
	u32 code;
	const u32 *code_labels, *target_labels;
	double size;
	u64 count;
};

/* All rights of one kind. */
struct rights {
	KS_VEC(struct right) items; /* those of one instruction stand together */
	u64 subjects;		    /* instructions that have any */
	double all;		    /* weight of all objects */
	double *clusters;	    /* weight of the objects of each label; scratch */
};

struct measure {
	double min, mono, cut, used,
		mediated; /* used, mediated: counts of uses, in all and across */
};

static const struct ks_column columns[KS_KMAP_PRIVILEGE_COLUMNS] = {
	[KS_KMAP_PRIVILEGE_CUT] = { "cut", "cut", KS_CELL_TEXT },
	[KS_KMAP_PRIVILEGE_OPERATION] = { "operation", "operation", KS_CELL_TEXT },
	[KS_KMAP_PRIVILEGE_PS_MIN] = { "ps_min", "PS_min", KS_CELL_U64 },
	[KS_KMAP_PRIVILEGE_PS_CUT] = { "ps_cut", "PS", KS_CELL_U64 },
	[KS_KMAP_PRIVILEGE_PS_MONO] = { "ps_mono", "PS_mono", KS_CELL_U64 },
	[KS_KMAP_PRIVILEGE_PSR] = { "psr", "PSR", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[KS_KMAP_PRIVILEGE_PSR_MIN] = { "psr_min", "PSR_min", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[KS_KMAP_PRIVILEGE_MEDIATED] = { "mediated", "mediated", KS_CELL_DOUBLE, KS_UNIT_RATIO },
};

/* === Internals ============================================================================ */

static int compare_rights(const void *a, const void *b)
{
	const struct right *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return x->target_labels < y->target_labels ? -1 : x->target_labels > y->target_labels;
}

static u64 uses_of(const struct ks_kmap_edge *edge, enum op op)
{
	return op == OP_READ ? edge->reads : op == OP_WRITE ? edge->writes : edge->frees;
}

static int add_right(struct rights *rights, const struct right *right)
{
	struct right *slot = ks_vec_push(&rights->items);

	if (!slot)
		return -ENOMEM;
	*slot = *right;
	return 0;
}

/* Every site is an object of its mean size. */
static int gather_edges(struct rights *rights, const struct ks_kmap_census *census,
			const struct ks_kmap_places *places, const double *sizes, enum op op)
{
	size_t i;

	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		struct right right = { edge->code, places->codes[edge->code],
				       places->sites[edge->site], sizes[edge->site],
				       uses_of(edge, op) };

		if (right.count && add_right(rights, &right))
			return -ENOMEM;
	}
	return 0;
}

/* Every function that is called is an object of size 1. */
static int gather_calls(struct rights *rights, const struct ks_kmap_census *census,
			const struct ks_kmap_places *places)
{
	size_t i;

	for (i = 0; i < census->calls.len; i++) {
		const struct ks_kmap_calls *calls = &census->calls.items[i];
		struct right right = { calls->from, places->codes[calls->from],
				       places->codes[calls->to], 1, calls->count };

		if (right.count && add_right(rights, &right))
			return -ENOMEM;
	}
	return 0;
}

static void count_subjects(struct rights *rights)
{
	size_t i;

	if (rights->items.len)
		qsort(rights->items.items, rights->items.len, sizeof(*rights->items.items),
		      compare_rights);
	for (i = 0; i < rights->items.len; i++)
		rights->subjects += !i ||
				    rights->items.items[i].code != rights->items.items[i - 1].code;
}

/* The weight of each cluster by one unit of code, and of all. */
static void weigh_clusters(struct rights *rights, const struct ks_kmap_census *census,
			   const struct ks_kmap_places *places, const double *sizes, enum op op,
			   enum ks_kmap_unit unit)
{
	size_t i, labels = places->labels.strs.len;
	bool *called = NULL;

	for (i = 0; i < labels; i++)
		rights->clusters[i] = 0;
	rights->all = 0;
	if (op != OP_CALL) {
		for (i = 0; i < census->sites.len; i++) {
			rights->clusters[places->sites[i][unit]] += sizes[i];
			rights->all += sizes[i];
		}
		return;
	}
	called = calloc(census->codes.keys.len + 1, sizeof(*called));
	for (i = 0; called && i < census->calls.len; i++) {
		u32 to = census->calls.items[i].to;

		if (called[to])
			continue;
		called[to] = true;
		rights->clusters[places->codes[to][unit]] += 1;
		rights->all += 1;
	}
	free(called);
}

static struct measure measure_cut(const struct rights *rights, enum ks_kmap_unit unit)
{
	struct measure m = { .mono = (double)rights->subjects * rights->all };
	size_t i;

	for (i = 0; i < rights->items.len; i++) {
		const struct right *right = &rights->items.items[i];
		u32 own = right->code_labels[unit];

		m.min += right->size;
		m.used += (double)right->count;
		/* Within its cluster an instruction reaches everything, whether it does or not. */
		if (!i || right->code != right[-1].code)
			m.cut += rights->clusters[own];
		if (right->target_labels[unit] != own) {
			m.cut += right->size;
			m.mediated += (double)right->count;
		}
	}
	return m;
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

static void put(struct ks_table *table, enum ks_kmap_unit unit, const char *op,
		const struct measure *m)
{
	struct ks_row row = ks_table_add(table);

	ks_row_text(row, KS_KMAP_PRIVILEGE_CUT, ks_kmap_unit_name(unit));
	ks_row_text(row, KS_KMAP_PRIVILEGE_OPERATION, op);
	ks_row_u64(row, KS_KMAP_PRIVILEGE_PS_MIN, (u64)(m->min + 0.5));
	ks_row_u64(row, KS_KMAP_PRIVILEGE_PS_CUT, (u64)(m->cut + 0.5));
	ks_row_u64(row, KS_KMAP_PRIVILEGE_PS_MONO, (u64)(m->mono + 0.5));
	ks_row_double(row, KS_KMAP_PRIVILEGE_PSR, ratio(m->cut, m->mono));
	ks_row_double(row, KS_KMAP_PRIVILEGE_PSR_MIN, ratio(m->min, m->mono));
	ks_row_double(row, KS_KMAP_PRIVILEGE_MEDIATED, ratio(m->mediated, m->used));
}

static void put_cut(struct ks_table *table, struct rights *rights,
		    const struct ks_kmap_census *census, const struct ks_kmap_places *places,
		    const double *sizes, enum ks_kmap_unit unit)
{
	struct measure all = { 0 };
	enum op op;

	for (op = 0; op < OPS; op++) {
		struct measure m;

		if (op == OP_CALL && !census->calls.len)
			continue;
		weigh_clusters(&rights[op], census, places, sizes, op, unit);
		m = measure_cut(&rights[op], unit);
		put(table, unit, op_names[op], &m);
		/* Calls weigh functions, not bytes: they do not add to the rest. */
		if (op == OP_CALL)
			continue;
		all.min += m.min;
		all.mono += m.mono;
		all.cut += m.cut;
		all.used += m.used;
		all.mediated += m.mediated;
	}
	put(table, unit, "all", &all);
}

static int gather(struct rights *rights, const struct ks_kmap_census *census,
		  const struct ks_kmap_places *places, const double *sizes)
{
	enum op op;

	for (op = 0; op < OPS; op++) {
		rights[op].clusters = calloc(places->labels.strs.len + 1, sizeof(double));
		if (!rights[op].clusters ||
		    (op == OP_CALL ? gather_calls(&rights[op], census, places)
				   : gather_edges(&rights[op], census, places, sizes, op)))
			return -ENOMEM;
		count_subjects(&rights[op]);
	}
	return 0;
}

/* === Public =============================================================================== */

struct ks_doc *ks_kmap_view_privilege(const struct ks_kmap_census *census,
				      const struct ks_kmap_places *places)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-privilege-1");
	double *sizes = calloc(census->sites.len + 1, sizeof(*sizes));
	struct rights rights[OPS] = { 0 };
	struct ks_table *table;
	size_t i;

	if (!doc || !sizes) {
		ks_doc_free(doc);
		free(sizes);
		return NULL;
	}
	for (i = 0; i < census->sites.len; i++)
		sizes[i] = (double)ks_kmap_mean_bytes(census, &census->sites.items[i].stat);
	table = ks_doc_table(doc, "privilege", columns, KS_KMAP_PRIVILEGE_COLUMNS);
	if (table)
		table->title = "least privilege";
	if (gather(rights, census, places, sizes))
		doc->failed = true;
	for (i = 0; !doc->failed && i < ARRAY_SIZE(cuts); i++)
		if (ks_kmap_can_cut(census, places, cuts[i]))
			put_cut(table, rights, census, places, sizes, cuts[i]);
	for (i = 0; i < OPS; i++) {
		ks_vec_free(&rights[i].items);
		free(rights[i].clusters);
	}
	free(sizes);
	ks_kmap_view_quality(doc, census, places);
	return doc;
}
