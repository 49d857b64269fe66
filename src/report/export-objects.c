// SPDX-License-Identifier: LGPL-2.1-only
/* Objects as rows of CSV, JSON and Parquet. */
#include "report/export-objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "report/parquet.h"
#include "report/report.h"

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

static const struct ks_parquet_field fields[] = {
	[ADDRESS] = { "address", KS_PARQUET_U64, false },
	[KIND] = { "kind", KS_PARQUET_STRING, false },
	[SITE] = { "site", KS_PARQUET_STRING, true },
	[CACHE] = { "cache", KS_PARQUET_STRING, true },
	[REQUESTED] = { "bytes_requested", KS_PARQUET_U64, false },
	[ALLOCATED] = { "bytes_allocated", KS_PARQUET_U64, false },
	[GFP] = { "gfp", KS_PARQUET_STRING, true },
	[ALLOC_TS] = { "alloc_ts", KS_PARQUET_U64, false },
	[ALLOC_CPU] = { "alloc_cpu", KS_PARQUET_U32, true },
	[PID] = { "pid", KS_PARQUET_U32, true },
	[COMM] = { "comm", KS_PARQUET_STRING, true },
	[END] = { "end", KS_PARQUET_STRING, false },
	[END_TS] = { "end_ts", KS_PARQUET_U64, true },
	[FREE_SITE] = { "free_site", KS_PARQUET_STRING, true },
	[FREE_CPU] = { "free_cpu", KS_PARQUET_U32, true },
};
_Static_assert(ARRAY_SIZE(fields) == FIELDS, "a column for every field");

struct ks_object_export {
	enum ks_object_format format;
	struct ks_strbuf *out;
	struct ks_strbuf row; /* JSON: one object */
	struct ks_json json;
	struct ks_parquet *parquet;
};

/* The value of a field: nothing, a number, or a string that a number stands for. */
struct cell {
	enum { NOTHING, NUMBER, NAME, WORD } type;
	u64 number;
	enum ks_object_names table; /* of a NAME */
	const char *word;
};

/* === Internals ============================================================================ */

static struct cell number(u64 value)
{
	return (struct cell){ .type = NUMBER, .number = value };
}

static struct cell number_unless(u64 value, u64 unknown)
{
	return (struct cell){ .type = value == unknown ? NOTHING : NUMBER, .number = value };
}

static struct cell name(enum ks_object_names table, u32 id)
{
	return (struct cell){ .type = id == KS_NONE ? NOTHING : NAME,
			      .number = id,
			      .table = table };
}

static struct cell word(u64 key, const char *text)
{
	return (struct cell){ .type = WORD, .number = key, .word = text };
}

static struct cell cell_of(const struct ks_object_row *row, enum field field)
{
	switch (field) {
	case ADDRESS:
		return number(row->address);
	case KIND:
		return word(row->kind, ks_kind_name(row->kind));
	case SITE:
		return name(KS_NAMES_SITE, row->site);
	case CACHE:
		return name(KS_NAMES_CACHE, row->cache);
	case REQUESTED:
		return number(row->bytes_req);
	case ALLOCATED:
		return number(row->bytes_alloc);
	case GFP:
		return name(KS_NAMES_GFP, row->gfp);
	case ALLOC_TS:
		return number(row->alloc_ts);
	case ALLOC_CPU:
		return number_unless(row->alloc_cpu, KS_CPU_UNKNOWN);
	case PID:
		return number_unless(row->pid, KS_PID_UNKNOWN);
	case COMM:
		return name(KS_NAMES_COMM, row->comm);
	case END:
		return word(row->end, ks_end_name(row->end));
	case END_TS:
		if (row->end == KS_END_LIVE)
			break;
		return number(row->end_ts);
	case FREE_SITE:
		return name(KS_NAMES_SITE, row->free_site);
	case FREE_CPU:
		return number_unless(row->free_cpu, KS_CPU_UNKNOWN);
	case FIELDS:
		break;
	}
	return (struct cell){ .type = NOTHING };
}

/* Millions of them: printf would take most of the time. */
static void put_number(struct ks_strbuf *out, u64 value, unsigned int base)
{
	char text[24];
	size_t at = sizeof(text);

	do {
		text[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	if (base == 16) {
		text[--at] = 'x';
		text[--at] = '0';
	}
	ks_strbuf_add(out, text + at, sizeof(text) - at);
}

static const char *text_of(struct ks_object_export *x, struct ks_object_source *source,
			   const struct cell *cell)
{
	const char *text = cell->type == WORD
				   ? cell->word
				   : ks_object_name(source, cell->table, (u32)cell->number);

	if (!text)
		x->out->failed = true;
	return text ? text : "";
}

static void add_csv(struct ks_object_export *x, struct ks_object_source *source,
		    const struct ks_object_row *row)
{
	int field;

	for (field = 0; field < FIELDS; field++) {
		struct cell cell = cell_of(row, field);

		if (field)
			ks_strbuf_add(x->out, ",", 1);
		if (cell.type == NUMBER) {
			put_number(x->out, cell.number, field == ADDRESS ? 16 : 10);
		} else if (cell.type != NOTHING) {
			const char *text = text_of(x, source, &cell);

			ks_escape_csv(x->out, text, strlen(text));
		}
	}
	ks_strbuf_add(x->out, "\n", 1);
}

static void add_json(struct ks_object_export *x, struct ks_object_source *source,
		     const struct ks_object_row *row)
{
	const char *separator = "{\"";
	int field;

	x->row.len = 0;
	for (field = 0; field < FIELDS; field++) {
		struct cell cell = cell_of(row, field);
		bool quoted = cell.type != NUMBER || field == ADDRESS;

		if (cell.type == NOTHING)
			continue;
		ks_strbuf_puts(&x->row, separator);
		separator = ", \"";
		ks_strbuf_puts(&x->row, fields[field].name);
		ks_strbuf_puts(&x->row, quoted ? "\": \"" : "\": ");
		if (cell.type == NUMBER) {
			put_number(&x->row, cell.number, field == ADDRESS ? 16 : 10);
		} else {
			const char *text = text_of(x, source, &cell);

			ks_escape_json(&x->row, text, strlen(text));
		}
		if (quoted)
			ks_strbuf_add(&x->row, "\"", 1);
	}
	ks_strbuf_add(&x->row, "}", 1);
	ks_json_raw(&x->json, NULL, &x->row);
	x->out->failed |= x->row.failed;
}

static void add_parquet(struct ks_object_export *x, struct ks_object_source *source,
			const struct ks_object_row *row)
{
	int field;

	for (field = 0; field < FIELDS; field++) {
		struct cell cell = cell_of(row, field);

		if (cell.type == NOTHING)
			ks_parquet_null(x->parquet);
		else if (cell.type == NUMBER)
			ks_parquet_number(x->parquet, cell.number);
		else
			ks_parquet_string(x->parquet, cell.number,
					  ks_parquet_knows(x->parquet, cell.number)
						  ? NULL
						  : text_of(x, source, &cell));
	}
}

static void begin(struct ks_object_export *x)
{
	int field;

	if (x->format == KS_OBJECTS_CSV) {
		for (field = 0; field < FIELDS; field++)
			ks_strbuf_printf(x->out, "%s%s", field ? "," : "", fields[field].name);
		ks_strbuf_puts(x->out, "\n");
	} else if (x->format == KS_OBJECTS_JSON) {
		ks_json_init(&x->json, x->out);
		ks_json_object(&x->json, NULL);
		ks_json_string(&x->json, "schema", "kmemscope-objects-1");
		ks_json_array(&x->json, "objects");
	}
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
		x->parquet = ks_parquet_new(fields, FIELDS, out);
		if (!x->parquet) {
			free(x);
			return NULL;
		}
	}
	begin(x);
	return x;
}

void ks_object_export_free(struct ks_object_export *x)
{
	if (!x)
		return;
	ks_parquet_free(x->parquet);
	ks_strbuf_deinit(&x->row);
	free(x);
}

void ks_object_export_add(struct ks_object_export *x, struct ks_object_source *source,
			  const struct ks_object_row *row)
{
	if (x->format == KS_OBJECTS_CSV)
		add_csv(x, source, row);
	else if (x->format == KS_OBJECTS_JSON)
		add_json(x, source, row);
	else
		add_parquet(x, source, row);
}

void ks_object_export_finish(struct ks_object_export *x, const struct ks_model *model)
{
	if (x->format == KS_OBJECTS_PARQUET)
		ks_parquet_finish(x->parquet);
	if (x->format != KS_OBJECTS_JSON)
		return;
	ks_json_end_array(&x->json);
	ks_json_string(&x->json, "level", ks_level_name(model->level));
	ks_json_string(&x->json, "clock", model->clock);
	ks_render_quality_json(model, &x->json);
	ks_json_end_object(&x->json);
	ks_json_finish(&x->json);
}
