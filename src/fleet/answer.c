// SPDX-License-Identifier: LGPL-2.1-only
/* Reads tab-separated answers, and asks for the names of the ids in them. */
#include "fleet/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/files.h"
#include "table/render.h"

/* === Data ================================================================================= */

enum { COLUMNS_MAX = 32 };

struct names {
	struct ks_map64 ids; /* of kind and id */
	KS_VEC(const char *) items;
	struct ks_arena arena;
};

/* === Internals ============================================================================ */

/* Ids of different kinds differ by their hash already. */
static u64 parse_id(const char *s)
{
	return strtoull(s, NULL, 10);
}

static int bad_answer(struct ks_diag *diag)
{
	return ks_diag_set(diag, -EPROTO,
			   "the server's answer has other columns than were asked for");
}

/* Calls @use for each row of the text, with the fields as strings. */
static int each_row(const char *text, size_t nr_columns, struct ks_diag *diag,
		    int (*use)(void *ctx, const char *const *fields), void *ctx)
{
	struct ks_strbuf fields[COLUMNS_MAX] = { 0 };
	const char *strings[COLUMNS_MAX];
	int err = 0;
	size_t i;

	while (!err && *text) {
		for (i = 0; i < nr_columns; i++) {
			fields[i].len = 0;
			text = ks_answer_field(text, &fields[i]);
			if (*text != (i + 1 < nr_columns ? '\t' : '\n')) {
				err = bad_answer(diag);
				break;
			}
			text++;
			if (fields[i].failed) {
				err = ks_diag_nomem(diag, "reading an answer");
				break;
			}
			strings[i] = fields[i].len ? ks_strbuf_str(&fields[i]) : "";
		}
		if (!err && use(ctx, strings))
			err = ks_diag_nomem(diag, "reading an answer");
	}
	for (i = 0; i < nr_columns; i++)
		ks_strbuf_deinit(&fields[i]);
	return err;
}

struct find_ids {
	const struct ks_answer *answer;
	struct ks_map64 *ids;
};

static int find_ids(void *ctx, const char *const *fields)
{
	struct find_ids *find = ctx;
	size_t i;

	for (i = 0; i < find->answer->nr_columns; i++) {
		u64 id = parse_id(fields[i]);

		if (find->answer->columns[i].what == KS_ANSWER_ID && id &&
		    ks_map64_add(find->ids, id) == KS_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int take_name(void *ctx, const char *const *fields)
{
	struct names *names = ctx;
	u32 number = ks_map64_find(&names->ids, parse_id(fields[0]));

	if (number == KS_NONE)
		return 0;
	names->items.items[number] = ks_arena_strndup(&names->arena, fields[1], strlen(fields[1]));
	return names->items.items[number] ? 0 : -ENOMEM;
}

static int get_names_of_files(const struct ks_files *files, struct names *names,
			      struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < names->ids.keys.len; i++) {
		const char *name = ks_files_name(files, names->ids.keys.items[i]);
		const char **item = ks_vec_push(&names->items);

		if (!item)
			return ks_diag_nomem(diag, "looking for names");
		*item = name;
	}
	return 0;
}

static int get_names(struct ks_store *store, struct names *names, struct ks_diag *diag)
{
	struct ks_strbuf sql, text;
	size_t i;
	int err;

	if (!names->ids.keys.len)
		return 0;
	if (store->files)
		return get_names_of_files(store->files, names, diag);
	ks_strbuf_init(&sql);
	ks_strbuf_init(&text);
	ks_strbuf_printf(&sql, "SELECT id, any(name) FROM %s.names WHERE id IN (", store->database);
	for (i = 0; i < names->ids.keys.len; i++) {
		const char **item = ks_vec_push(&names->items);

		if (!item)
			sql.failed = true;
		ks_strbuf_printf(&sql, "%s%" PRIu64, i ? "," : "", names->ids.keys.items[i]);
	}
	ks_strbuf_puts(&sql, ") GROUP BY id FORMAT TabSeparated");
	err = sql.failed ? ks_diag_nomem(diag, "asking for names")
			 : ks_http_query(store->http, sql.s, &text, diag);
	if (!err)
		err = each_row(ks_strbuf_str(&text), 2, diag, take_name, names);
	ks_strbuf_deinit(&sql);
	ks_strbuf_deinit(&text);
	return err;
}

struct fill {
	const struct ks_answer *answer;
	const struct names *names;
	struct ks_table *table;
};

static void fill_id(const struct fill *fill, struct ks_row row, unsigned int column, u64 id)
{
	u32 number = id ? ks_map64_find(&fill->names->ids, id) : KS_NONE;
	const char *name = number == KS_NONE ? NULL : fill->names->items.items[number];
	char hex[24];

	if (!id)
		return;
	if (!name) {
		snprintf(hex, sizeof(hex), "#%" PRIx64, id); /* its name was lost on the way */
		name = hex;
	}
	ks_row_text(row, column, name);
}

/* Agents need not say everything: what a row lacks is said, where it would be blank. */
static void show_name(const struct ks_table *table, size_t row, unsigned int column,
		      struct ks_strbuf *out)
{
	if (ks_table_state(table, row, column) == KS_CELL_UNSET)
		ks_strbuf_printf(out, "(no %s)", table->columns[column].head);
	else
		ks_strbuf_puts(out, ks_table_cell(table, row, column)->text);
}

/* A number that may be below zero, with its unit. */
static void show_bytes(const struct ks_table *table, size_t row, unsigned int column,
		       struct ks_strbuf *out)
{
	s64 value = ks_table_cell(table, row, column)->s64;

	if (value < 0)
		ks_strbuf_puts(out, "-");
	ks_render_amount(table->people, value < 0 ? 0 - (u64)value : (u64)value, out);
}

/* The time 0, as servers write it: old ones have their own way. */
static bool is_no_time(const char *text)
{
	return !strncmp(text, "1970-", 5) || !strncmp(text, "0000-", 5);
}

static int fill_row(void *ctx, const char *const *fields)
{
	const struct fill *fill = ctx;
	struct ks_row row = ks_table_add(fill->table);
	unsigned int i;

	for (i = 0; i < fill->answer->nr_columns; i++) {
		const struct ks_answer_column *column = &fill->answer->columns[i];

		if (column->what == KS_ANSWER_ID)
			fill_id(fill, row, i, parse_id(fields[i]));
		else if (column->what == KS_ANSWER_TEXT && *fields[i])
			ks_row_text(row, i, fields[i]);
		else if (column->what == KS_ANSWER_TIME) {
			if (!is_no_time(fields[i]))
				ks_row_text(row, i, fields[i]);
		} else if (column->column.kind == KS_CELL_U64)
			ks_row_u64(row, i, strtoull(fields[i], NULL, 10));
		else if (column->column.kind == KS_CELL_S64)
			ks_row_s64(row, i, strtoll(fields[i], NULL, 10));
		else if (column->column.kind == KS_CELL_DOUBLE)
			ks_row_double(row, i, strtod(fields[i], NULL));
	}
	return 0;
}

static int make_table(struct ks_store *store, const struct ks_answer *answer, const char *text,
		      struct names *names, struct ks_doc *doc, struct ks_diag *diag)
{
	struct ks_column columns[COLUMNS_MAX];
	struct fill fill = { .answer = answer, .names = names };
	struct find_ids find = { answer, &names->ids };
	size_t i;
	int err;

	for (i = 0; i < answer->nr_columns; i++) {
		const struct ks_answer_column *column = &answer->columns[i];

		columns[i] = column->column;
		if (column->what == KS_ANSWER_ID || column->what == KS_ANSWER_TEXT)
			columns[i].show = show_name;
		else if (columns[i].kind == KS_CELL_S64 && columns[i].unit == KS_UNIT_BYTES)
			columns[i].show = show_bytes;
	}
	err = each_row(text, answer->nr_columns, diag, find_ids, &find);
	if (!err)
		err = get_names(store, names, diag);
	if (err)
		return err;
	fill.table = ks_doc_table(doc, answer->table, columns, answer->nr_columns);
	if (!fill.table)
		return ks_diag_nomem(diag, "reading an answer");
	if (*text)
		fill.table->title = answer->title;
	err = each_row(text, answer->nr_columns, diag, fill_row, &fill);
	if (!err && !*text)
		ks_doc_say(doc, "%s\n", answer->none);
	return err;
}

/* === Public =============================================================================== */

const char *ks_answer_field(const char *s, struct ks_strbuf *out)
{
	static const char from[] = "tnr0bf\\'", to[] = "\t\n\r\0\b\f\\'";

	for (; *s && *s != '\t' && *s != '\n'; s++) {
		const char *escape = *s == '\\' && s[1] ? strchr(from, s[1]) : NULL;

		if (escape) {
			s++;
			ks_strbuf_add(out, &to[escape - from], 1);
		} else {
			ks_strbuf_add(out, s, 1);
		}
	}
	return s;
}

int ks_answer_get(struct ks_store *store, const struct ks_answer *answer, struct ks_doc *doc,
		  struct ks_diag *diag)
{
	struct names names = { 0 };
	struct ks_strbuf sql, text;
	int err;

	if (answer->nr_columns > COLUMNS_MAX || ks_map64_init(&names.ids))
		return ks_diag_nomem(diag, "asking");
	ks_arena_init(&names.arena);
	ks_strbuf_init(&sql);
	ks_strbuf_init(&text);
	if (!answer->text)
		ks_strbuf_printf(&sql, "%s FORMAT TabSeparated", answer->sql);
	err = sql.failed     ? ks_diag_nomem(diag, "asking")
	      : answer->text ? 0
			     : ks_http_query(store->http, sql.s, &text, diag);
	if (!err)
		err = make_table(store, answer, answer->text ? answer->text : ks_strbuf_str(&text),
				 &names, doc, diag);
	ks_strbuf_deinit(&sql);
	ks_strbuf_deinit(&text);
	ks_map64_deinit(&names.ids);
	ks_vec_free(&names.items);
	ks_arena_deinit(&names.arena);
	return err;
}
