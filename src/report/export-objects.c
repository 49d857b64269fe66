// SPDX-License-Identifier: LGPL-2.1-only
/* Objects as rows of CSV, JSON and Parquet. */
#include "report/export-objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/intern.h"
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
	struct ks_json json;
	struct ks_parquet *parquet;
	struct {
		KS_VEC(struct ks_str) texts;
	} escaped[KS_NAME_TABLES]; /* CSV and JSON: names as they are written, by number */
};

/*
 * What is done for each field of millions of rows: the loops over the fields are unrolled, so that
 * all that depends on the field alone is worked out by the compiler.
 */
#define FOR_EACH_FIELD(field) _Pragma("GCC unroll 16") for (field = 0; field < FIELDS; field++)
#define HOT		      inline __attribute__((always_inline))

/* The value of a field: nothing, a number, or a string that a number stands for. */
struct cell {
	enum { NOTHING, NUMBER, NAME, WORD } type;
	u64 number;
	enum ks_object_names table; /* of a NAME */
	const char *word;
};

/* === Internals ============================================================================ */

static HOT struct cell number(u64 value)
{
	return (struct cell){ .type = NUMBER, .number = value };
}

static HOT struct cell number_unless(u64 value, u64 unknown)
{
	return (struct cell){ .type = value == unknown ? NOTHING : NUMBER, .number = value };
}

static HOT struct cell name(enum ks_object_names table, u32 id)
{
	return (struct cell){ .type = id == KS_NONE ? NOTHING : NAME,
			      .number = id,
			      .table = table };
}

static HOT struct cell word(u64 key, const char *text)
{
	return (struct cell){ .type = WORD, .number = key, .word = text };
}

static HOT struct cell cell_of(const struct ks_object_row *row, enum field field)
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

/* Room for @len more bytes, and what is there; NULL where there is no memory. */
static char *reserve(struct ks_object_export *x, size_t len)
{
	struct ks_strbuf *out = x->out;

	if (unlikely(out->failed ||
		     ks_grow((void **)(void *)&out->s, &out->cap, out->len + len + 1, 1))) {
		out->failed = true;
		return NULL;
	}
	return out->s + out->len;
}

static HOT char *put_bytes(char *to, const char *s, size_t len)
{
	memcpy(to, s, len);
	return to + len;
}

static char *put_decimal(char *to, u64 value)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return put_bytes(to, text + at, sizeof(text) - at);
}

static char *put_hex(char *to, u64 value)
{
	unsigned int digits = value ? (67 - (unsigned int)__builtin_clzll(value)) / 4 : 1;

	*to++ = '0';
	*to++ = 'x';
	while (digits-- > 0)
		*to++ = "0123456789abcdef"[value >> 4 * digits & 15];
	return to;
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

/* A name that is met for the first time. */
static struct ks_str escape_name(struct ks_object_export *x, struct ks_object_source *source,
				 const struct cell *cell)
{
	const char *raw = text_of(x, source, cell);
	struct ks_strbuf text;
	struct ks_str *known;

	while (x->escaped[cell->table].texts.len <= cell->number)
		if (!ks_vec_push(&x->escaped[cell->table].texts)) {
			x->out->failed = true;
			return (struct ks_str){ "", 0 };
		}
	known = &x->escaped[cell->table].texts.items[cell->number];
	ks_strbuf_init(&text);
	if (x->format == KS_OBJECTS_CSV)
		ks_escape_csv(&text, raw, strlen(raw));
	else
		ks_escape_json(&text, raw, strlen(raw));
	ks_strbuf_add(&text, "", 0); /* "" is a string too */
	x->out->failed |= text.failed;
	*known = (struct ks_str){ text.s, (u32)text.len };
	return (struct ks_str){ ks_strbuf_str(&text), (u32)text.len };
}

/* A name is escaped once, and not with each of millions of objects. */
static HOT struct ks_str escaped_text(struct ks_object_export *x, struct ks_object_source *source,
				      const struct cell *cell)
{
	if (cell->type == WORD)
		return (struct ks_str){ cell->word, (u32)strlen(cell->word) };
	if (likely(cell->number < x->escaped[cell->table].texts.len &&
		   x->escaped[cell->table].texts.items[cell->number].s))
		return x->escaped[cell->table].texts.items[cell->number];
	return escape_name(x, source, cell);
}

/* The texts of a row, and at least as many bytes as all of it takes. */
static HOT size_t texts_of_row(struct ks_object_export *x, struct ks_object_source *source,
			       const struct ks_object_row *row, struct ks_str *texts)
{
	enum { EACH_AT_MOST = 48 }; /* a number, or what JSON puts around a text */
	size_t room = FIELDS * EACH_AT_MOST;
	int field;

	FOR_EACH_FIELD(field)
	{
		struct cell cell = cell_of(row, field);

		texts[field] = (struct ks_str){ "", 0 };
		if (cell.type != NAME && cell.type != WORD)
			continue;
		texts[field] = escaped_text(x, source, &cell);
		room += texts[field].len;
	}
	return room;
}

static void add_csv(struct ks_object_export *x, struct ks_object_source *source,
		    const struct ks_object_row *row)
{
	struct ks_str texts[FIELDS];
	char *to = reserve(x, texts_of_row(x, source, row, texts));
	int field;

	if (!to)
		return;
	FOR_EACH_FIELD(field)
	{
		struct cell cell = cell_of(row, field);

		if (field)
			*to++ = ',';
		if (cell.type == NUMBER)
			to = field == ADDRESS ? put_hex(to, cell.number)
					      : put_decimal(to, cell.number);
		else if (cell.type != NOTHING)
			to = put_bytes(to, texts[field].s, texts[field].len);
	}
	*to++ = '\n';
	*to = '\0';
	x->out->len = (size_t)(to - x->out->s);
}

static void add_json(struct ks_object_export *x, struct ks_object_source *source,
		     const struct ks_object_row *row)
{
	struct ks_str texts[FIELDS];
	char *to, *start;
	int field;

	ks_json_next(&x->json);
	start = to = reserve(x, texts_of_row(x, source, row, texts));
	if (!to)
		return;
	FOR_EACH_FIELD(field)
	{
		struct cell cell = cell_of(row, field);
		bool quoted = cell.type != NUMBER || field == ADDRESS;

		if (cell.type == NOTHING)
			continue;
		to = to == start ? put_bytes(to, "{\"", 2) : put_bytes(to, ", \"", 3);
		to = put_bytes(to, fields[field].name, strlen(fields[field].name));
		to = quoted ? put_bytes(to, "\": \"", 4) : put_bytes(to, "\": ", 3);
		if (cell.type == NUMBER)
			to = field == ADDRESS ? put_hex(to, cell.number)
					      : put_decimal(to, cell.number);
		else
			to = put_bytes(to, texts[field].s, texts[field].len);
		if (quoted)
			*to++ = '"';
	}
	*to++ = '}';
	*to = '\0';
	x->out->len = (size_t)(to - x->out->s);
}

static void add_parquet(struct ks_object_export *x, struct ks_object_source *source,
			const struct ks_object_row *row)
{
	int field;

	FOR_EACH_FIELD(field)
	{
		struct cell cell = cell_of(row, field);

		if (cell.type == NOTHING)
			ks_parquet_null(x->parquet);
		else if (cell.type == NUMBER)
			ks_parquet_number(x->parquet, cell.number);
		else
			ks_parquet_string(x->parquet, (u32)cell.number,
					  ks_parquet_knows(x->parquet, (u32)cell.number)
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
	size_t table, i;

	if (!x)
		return;
	for (table = 0; table < KS_NAME_TABLES; table++) {
		for (i = 0; i < x->escaped[table].texts.len; i++)
			free((char *)x->escaped[table].texts.items[i].s);
		ks_vec_free(&x->escaped[table].texts);
	}
	ks_parquet_free(x->parquet);
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
	ks_json_string(&x->json, "clock", ks_clock_name(model->clock));
	ks_render_quality_json(model, &x->json);
	ks_json_end_object(&x->json);
	ks_json_finish(&x->json);
}
