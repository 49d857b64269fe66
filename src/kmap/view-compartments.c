// SPDX-License-Identifier: LGPL-2.1-only
/* Tables of compartments: what a compartmentalization grants, and the compartments of a cut. */
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

enum score_column {
	SCORE_OPERATION,
	SCORE_PRIVILEGE,
	SCORE_MONO,
	SCORE_PSR,
	SCORE_MONO_WX,
	SCORE_PSR_WX,
	SCORE_COLUMNS
};

static const struct ks_column score_columns[SCORE_COLUMNS] = {
	[SCORE_OPERATION] = { "operation", "operation", KS_CELL_TEXT },
	[SCORE_PRIVILEGE] = { "privilege", "privilege", KS_CELL_DOUBLE },
	[SCORE_MONO] = { "monolithic", "monolithic", KS_CELL_DOUBLE },
	[SCORE_PSR] = { "psr", "PSR", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[SCORE_MONO_WX] = { "monolithic_wx", "with W^X", KS_CELL_DOUBLE },
	[SCORE_PSR_WX] = { "psr_wx", "PSR W^X", KS_CELL_DOUBLE, KS_UNIT_RATIO },
};

enum list_column {
	LIST_NAME,
	LIST_FUNCTIONS,
	LIST_CODE,
	LIST_OBJECTS,
	LIST_DATA,
	LIST_INSIDE,
	LIST_OUT,
	LIST_IN,
	LIST_COLUMNS
};

static const struct ks_column list_columns[LIST_COLUMNS] = {
	[LIST_FUNCTIONS] = { "functions", "functions", KS_CELL_U64, KS_UNIT_COUNT },
	[LIST_CODE] = { "code_bytes", "code", KS_CELL_U64, KS_UNIT_BYTES, .if_any = true },
	[LIST_OBJECTS] = { "sites", "sites", KS_CELL_U64, KS_UNIT_COUNT },
	[LIST_DATA] = { "data_bytes", "data", KS_CELL_U64, KS_UNIT_BYTES },
	[LIST_INSIDE] = { "uses_inside", "uses inside", KS_CELL_U64, KS_UNIT_COUNT },
	[LIST_OUT] = { "uses_out", "of others", KS_CELL_U64, KS_UNIT_COUNT },
	[LIST_IN] = { "uses_in", "by others", KS_CELL_U64, KS_UNIT_COUNT },
	[LIST_NAME] = { "compartment", "compartment", KS_CELL_TEXT },
};

static const unsigned int list_text[] = { LIST_FUNCTIONS, LIST_CODE, LIST_OBJECTS, LIST_DATA,
					  LIST_INSIDE,	  LIST_OUT,  LIST_IN,	   LIST_NAME };

/* One compartment; by label. */
struct sums {
	u64 functions, sites, inside, out, in;
	double code, data;
	u32 label;
};

/* === Internals ============================================================================ */

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

static void put_score(struct ks_table *table, const char *op, double granted, double mono,
		      double mono_wx)
{
	struct ks_row row = ks_table_add(table);

	ks_row_text(row, SCORE_OPERATION, op);
	ks_row_double(row, SCORE_PRIVILEGE, granted);
	ks_row_double(row, SCORE_MONO, mono);
	ks_row_double(row, SCORE_PSR, ratio(granted, mono));
	ks_row_double(row, SCORE_MONO_WX, mono_wx);
	ks_row_double(row, SCORE_PSR_WX, ratio(granted, mono_wx));
}

/* Most uses first; then by name, which differ. */
static int compare_sums(const void *a, const void *b, void *places)
{
	const struct sums *x = a, *y = b;
	u64 p = ks_add_sat(x->inside, ks_add_sat(x->out, x->in));
	u64 q = ks_add_sat(y->inside, ks_add_sat(y->out, y->in));

	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(ks_kmap_label(places, x->label), ks_kmap_label(places, y->label));
}

static void add_up(struct sums *sums, const struct ks_kmap_census *census,
		   const struct ks_kmap_places *places, const struct ks_kmap_functions *functions,
		   enum ks_kmap_unit unit)
{
	size_t i;

	for (i = 0; i < functions->items.len; i++) {
		struct sums *to = &sums[functions->items.items[i].labels[unit]];

		to->functions++;
		to->code += functions->items.items[i].size;
	}
	for (i = 0; i < census->sites.len; i++) {
		struct sums *to = &sums[places->sites[i][unit]];

		if (!census->sites.items[i].stat.objects)
			continue; /* left out */
		to->sites++;
		to->data += ks_kmap_weight(census, &census->sites.items[i]);
	}
	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		struct sums *from = &sums[places->codes[edge->code][unit]];
		struct sums *to = &sums[places->sites[edge->site][unit]];
		u64 uses = ks_add_sat(edge->reads, edge->writes);

		if (from == to) {
			from->inside = ks_add_sat(from->inside, uses);
		} else {
			from->out = ks_add_sat(from->out, uses);
			to->in = ks_add_sat(to->in, uses);
		}
	}
}

/* === Public =============================================================================== */

struct ks_doc *ks_kmap_view_score(const struct ks_cpm *cpm, const struct ks_cpm_weights *weights)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-score-1");
	double granted = 0, mono = 0, mono_wx = 0;
	struct ks_cpm_score score;
	struct ks_table *table;
	enum ks_cpm_op op;

	if (!doc || ks_cpm_score(cpm, weights, &score)) {
		ks_doc_free(doc);
		return NULL;
	}
	table = ks_doc_table(doc, "score", score_columns, SCORE_COLUMNS);
	for (op = 0; table && op < KS_CPM_OPS; op++) {
		put_score(table, ks_cpm_op_name(op), score.granted[op], score.mono[op],
			  score.mono_wx[op]);
		granted += score.granted[op];
		mono += score.mono[op];
		mono_wx += score.mono_wx[op];
	}
	if (table)
		put_score(table, "total", granted, mono, mono_wx);
	return doc;
}

void ks_kmap_list_compartments(struct ks_doc *doc, const struct ks_kmap_census *census,
			       const struct ks_kmap_places *places,
			       const struct ks_kmap_functions *functions, enum ks_kmap_unit unit,
			       u64 top)
{
	struct ks_table *table = ks_doc_table(doc, "compartments", list_columns, LIST_COLUMNS);
	size_t i, len = 0, labels = places->labels.strs.len;
	struct sums *sums = calloc(labels + 1, sizeof(*sums));

	if (!table || !sums) {
		free(sums);
		doc->failed = true;
		return;
	}
	ks_table_select(table, KS_FORM_TEXT, list_text, ARRAY_SIZE(list_text));
	for (i = 0; i < labels; i++)
		sums[i].label = (u32)i;
	add_up(sums, census, places, functions, unit);
	for (i = 0; i < labels; i++)
		if (sums[i].functions || sums[i].sites)
			sums[len++] = sums[i];
	qsort_r(sums, len, sizeof(*sums), compare_sums, (void *)places);
	table->title = "compartments";
	table->more = "compartments";
	table->left_out = top && len > top ? len - top : 0;
	for (i = 0; i < len - table->left_out; i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, LIST_NAME, ks_kmap_label(places, sums[i].label));
		ks_row_u64(row, LIST_FUNCTIONS, sums[i].functions);
		ks_row_u64(row, LIST_CODE, (u64)(sums[i].code + 0.5));
		ks_row_u64(row, LIST_OBJECTS, sums[i].sites);
		ks_row_u64(row, LIST_DATA, (u64)(sums[i].data + 0.5));
		ks_row_u64(row, LIST_INSIDE, sums[i].inside);
		ks_row_u64(row, LIST_OUT, sums[i].out);
		ks_row_u64(row, LIST_IN, sums[i].in);
	}
	ks_doc_u64(doc, "nr_compartments", len);
	free(sums);
}
