// SPDX-License-Identifier: LGPL-2.1-only
/* Objects as rows of CSV, JSON and Parquet. */
#include "report/export-objects.h"

#include <stdlib.h>

#include "report/report.h"
#include "table/sink.h"

/* === Data ================================================================================= */

enum field {
	ADDRESS,
	KIND,
	SITE,
	CACHE,
	REQUESTED,
	ALLOCATED,
	GFP,
	ALLOC_TS,
	ALLOC_CPU,
	PID,
	COMM,
	END,
	END_TS,
	FREE_SITE,
	FREE_CPU,
	FIELDS
};

/* Times are in the clock of the capture, which is known only at its end. */
static const struct ks_column columns[FIELDS] = {
	[ADDRESS] = { "address", NULL, KS_CELL_HEX, KS_UNIT_ADDRESS },
	[KIND] = { "kind", NULL, KS_CELL_TEXT },
	[SITE] = { "site", NULL, KS_CELL_TEXT, .optional = true },
	[CACHE] = { "cache", NULL, KS_CELL_TEXT, .optional = true },
	[REQUESTED] = { "bytes_requested", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[ALLOCATED] = { "bytes_allocated", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[GFP] = { "gfp", NULL, KS_CELL_TEXT, .optional = true },
	[ALLOC_TS] = { "alloc_ts", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[ALLOC_CPU] = { "alloc_cpu", NULL, KS_CELL_U32, .optional = true },
	[PID] = { "pid", NULL, KS_CELL_U32, .optional = true },
	[COMM] = { "comm", NULL, KS_CELL_TEXT, .optional = true },
	[END] = { "end", NULL, KS_CELL_TEXT },
	[END_TS] = { "end_ts", NULL, KS_CELL_U64, KS_UNIT_TICKS, .optional = true },
	[FREE_SITE] = { "free_site", NULL, KS_CELL_TEXT, .optional = true },
	[FREE_CPU] = { "free_cpu", NULL, KS_CELL_U32, .optional = true },
};

struct ks_object_export {
	enum ks_object_format format;
	struct ks_strbuf *out;
	struct ks_json json;
	struct ks_sink *sink;
	struct ks_diag
		unread; /* for callers who want no message; to zero one for each row takes time */
	u64 rows;
};

/* Who fills in the values of a row. */
struct filling {
	struct ks_object_export *x;
	struct ks_object_source *source;
	struct ks_value *values;
	struct ks_diag *diag;
	int err; /* the first one */
};

/* === Internals ============================================================================ */

/* Runs for each cell of millions of rows. */
ks_inline void put_number(struct ks_value *value, u64 number, bool set)
{
	value->number = number;
	value->set = set;
}

/* A string of a fixed set. */
ks_inline void put_word(struct ks_value *value, u32 key, const char *word)
{
	value->key = key;
	value->text = word;
	value->set = true;
}

/* A string of the capture, which is looked up only where the sink does not know it. */
ks_inline void put_name(struct filling *to, enum field field, enum ks_object_names table, u32 id)
{
	struct ks_value *value = &to->values[field];

	value->set = id != KS_NONE;
	value->key = id;
	value->text = NULL;
	if (!value->set || likely(ks_sink_knows(to->x->sink, field, id)))
		return;
	value->text = ks_object_name(to->source, table, id, to->diag);
	if (!value->text) {
		to->err = to->diag->err;
		value->text = "";
	}
}

static void begin_json(struct ks_object_export *x)
{
	ks_json_init(&x->json, x->out, KS_JSON_INDENTED);
	ks_json_object(&x->json, NULL);
	ks_json_string(&x->json, "schema", "kmemscope-objects-1");
	ks_json_array(&x->json, "objects");
}

/* What the capture is stands behind the objects: it is known only then. */
static void end_json(struct ks_object_export *x, const struct ks_model *model)
{
	struct ks_doc *doc = ks_doc_new("");

	ks_json_end_array(&x->json);
	if (doc) {
		ks_doc_text(doc, "level", ks_level_name(model->level));
		ks_doc_text(doc, "clock", ks_clock_name(model->clock));
		ks_doc_quality(doc, model);
		ks_render_members_json(doc, &x->json);
	}
	x->out->failed |= !doc;
	ks_doc_free(doc);
	ks_json_end_object(&x->json);
	ks_json_finish(&x->json);
}

/* === Public =============================================================================== */

struct ks_object_export *ks_object_export_new(enum ks_object_format format, struct ks_strbuf *out)
{
	struct ks_object_export *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->format = format;
	x->out = out;
	if (format == KS_OBJECTS_PARQUET) {
		x->sink = ks_parquet_sink_new(columns, FIELDS, out);
	} else if (format == KS_OBJECTS_CSV) {
		x->sink = ks_csv_sink_new(columns, FIELDS, out);
	} else {
		begin_json(x);
		x->sink = ks_json_sink_new(columns, FIELDS, &x->json);
	}
	if (!x->sink) {
		free(x);
		return NULL;
	}
	return x;
}

void ks_object_export_free(struct ks_object_export *x)
{
	if (!x)
		return;
	ks_sink_free(x->sink);
	free(x);
}

int ks_object_export_add(struct ks_object_export *x, struct ks_object_source *source,
			 const struct ks_object_row *row, struct ks_diag *diag)
{
	struct ks_value values[FIELDS];
	struct filling to = { x, source, values, diag ? diag : &x->unread, 0 };

	put_number(&values[ADDRESS], row->address, true);
	put_word(&values[KIND], row->kind, ks_kind_name(row->kind));
	put_name(&to, SITE, KS_NAMES_SITE, row->site);
	put_name(&to, CACHE, KS_NAMES_CACHE, row->cache);
	put_number(&values[REQUESTED], row->bytes_req, true);
	put_number(&values[ALLOCATED], row->bytes_alloc, true);
	put_name(&to, GFP, KS_NAMES_GFP, row->gfp);
	put_number(&values[ALLOC_TS], row->alloc_ts, true);
	put_number(&values[ALLOC_CPU], row->alloc_cpu, row->alloc_cpu != KS_CPU_UNKNOWN);
	put_number(&values[PID], row->pid, row->pid != KS_PID_UNKNOWN);
	put_name(&to, COMM, KS_NAMES_COMM, row->comm);
	put_word(&values[END], row->end, ks_end_name(row->end));
	put_number(&values[END_TS], row->end_ts, row->end != KS_END_LIVE);
	put_name(&to, FREE_SITE, KS_NAMES_SITE, row->free_site);
	put_number(&values[FREE_CPU], row->free_cpu, row->free_cpu != KS_CPU_UNKNOWN);
	if (unlikely(to.err))
		return to.err;
	ks_sink_row(x->sink, values);
	x->rows++;
	return 0;
}

void ks_object_export_finish(struct ks_object_export *x, const struct ks_model *model)
{
	ks_sink_end(x->sink);
	if (x->format == KS_OBJECTS_JSON)
		end_json(x, model);
}

u64 ks_object_export_rows(const struct ks_object_export *x)
{
	return x->rows;
}
