// SPDX-License-Identifier: LGPL-2.1-only
/* Rows for the fields of a struct, its cache lines, and what is read beside what is written. */
#include "kmap/field-rows.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "kmap/reorder.h"

/* === Data ================================================================================= */

enum {
	FIELD_LINE,
	FIELD_OFFSET,
	FIELD_SIZE,
	FIELD_READS,
	FIELD_WRITES,
	FIELD_BYTES_READ,
	FIELD_BYTES_WRITTEN,
	FIELD_RANGES,
	FIELD_READER_CPUS,
	FIELD_WRITER_CPUS,
	FIELD_INTERRUPT,
	FIELD_VERDICT,
	FIELD_NAME,
	FIELD_TYPE,
	FIELD_FUNCTIONS,
	FIELD_COLUMNS
};

static const struct ks_column field_columns[FIELD_COLUMNS] = {
	[FIELD_LINE] = { "line", "line", KS_CELL_U64, KS_UNIT_NONE },
	[FIELD_OFFSET] = { "offset", "offset", KS_CELL_U64, KS_UNIT_NONE },
	[FIELD_SIZE] = { "size", "size", KS_CELL_U64, KS_UNIT_BYTES, .exact = true },
	[FIELD_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT, .width = 8 },
	[FIELD_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT, .width = 8 },
	[FIELD_BYTES_READ] = { "bytes_read", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[FIELD_BYTES_WRITTEN] = { "bytes_written", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[FIELD_RANGES] = { "ranges", "ranges", KS_CELL_U64, KS_UNIT_COUNT, .if_any = true },
	[FIELD_READER_CPUS] = { "reader_cpus", "read on", KS_CELL_TEXT, KS_UNIT_NONE },
	[FIELD_WRITER_CPUS] = { "writer_cpus", "written on", KS_CELL_TEXT, KS_UNIT_NONE },
	[FIELD_INTERRUPT] = { "in_interrupt", "irq", KS_CELL_BOOL, KS_UNIT_NONE },
	[FIELD_VERDICT] = { "verdict", "", KS_CELL_TEXT, KS_UNIT_NONE },
	[FIELD_NAME] = { "field", "field", KS_CELL_TEXT, KS_UNIT_NONE },
	[FIELD_TYPE] = { "type", NULL, KS_CELL_TEXT, KS_UNIT_NONE },
	[FIELD_FUNCTIONS] = { "functions", "functions", KS_CELL_TEXT, KS_UNIT_NONE },
};

enum { LINE_LINE, LINE_READS, LINE_WRITES, LINE_SHARE, LINE_USED, LINE_FIELDS, LINE_COLUMNS };

static const struct ks_column line_columns[LINE_COLUMNS] = {
	[LINE_LINE] = { "line", "line", KS_CELL_U64, KS_UNIT_NONE },
	[LINE_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT, .width = 8 },
	[LINE_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT, .width = 8 },
	[LINE_SHARE] = { "share", "share", KS_CELL_SHARE, KS_UNIT_RATIO },
	[LINE_USED] = { "bytes_used", "bytes used", KS_CELL_U64, KS_UNIT_BYTES, .exact = true },
	[LINE_FIELDS] = { "hottest", "hottest fields", KS_CELL_TEXT, KS_UNIT_NONE },
};

enum {
	PAIR_LINE,
	PAIR_READS,
	PAIR_READ_ON,
	PAIR_READ,
	PAIR_READER,
	PAIR_WRITES,
	PAIR_WRITTEN_ON,
	PAIR_WRITTEN,
	PAIR_WRITER,
	PAIR_APART,
	PAIR_COLUMNS
};

static const struct ks_column pair_columns[PAIR_COLUMNS] = {
	[PAIR_LINE] = { "line", "line", KS_CELL_U64, KS_UNIT_NONE },
	[PAIR_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT, .width = 8 },
	[PAIR_READ_ON] = { "reader_cpus", "on", KS_CELL_TEXT, KS_UNIT_NONE },
	[PAIR_READ] = { "read", "of", KS_CELL_TEXT, KS_UNIT_NONE },
	[PAIR_READER] = { "reader", "by", KS_CELL_TEXT, KS_UNIT_NONE },
	[PAIR_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT, .width = 8 },
	[PAIR_WRITTEN_ON] = { "writer_cpus", "on", KS_CELL_TEXT, KS_UNIT_NONE },
	[PAIR_WRITTEN] = { "written", "to", KS_CELL_TEXT, KS_UNIT_NONE },
	[PAIR_WRITER] = { "writer", "by", KS_CELL_TEXT, KS_UNIT_NONE },
	[PAIR_APART] = { "other_cpus", "other CPUs", KS_CELL_BOOL, KS_UNIT_NONE },
};

/* Functions that are named in a cell. */
#define FUNCTIONS_SHOWN 3

/* === Internals: texts ===================================================================== */

/* "0-3,7"; "" for none. */
static void cpus_text(const u64 *cpus, char *text, size_t size)
{
	unsigned int cpu, end = KS_KMAP_CPU_WORDS * 64;
	size_t len = 0;

	text[0] = '\0';
	for (cpu = 0; cpu < end && len + 12 < size; cpu++) {
		unsigned int last = cpu;

		if (!(cpus[cpu / 64] >> cpu % 64 & 1))
			continue;
		while (last + 1 < end && cpus[(last + 1) / 64] >> (last + 1) % 64 & 1)
			last++;
		len += (size_t)snprintf(text + len, size - len, last > cpu ? "%s%u-%u" : "%s%u",
					len ? "," : "", cpu, last);
		cpu = last;
	}
}

static void set_cpus(struct ks_row row, unsigned int column, const u64 *cpus)
{
	char text[512];

	cpus_text(cpus, text, sizeof(text));
	ks_row_text(row, column, text);
}

static bool same_cpus(const u64 *a, const u64 *b)
{
	return !memcmp(a, b, KS_KMAP_CPU_WORDS * sizeof(*a));
}

static bool is_read_mostly(const struct ks_kmap_field *field)
{
	return field->reads && field->reads >= KS_KMAP_READ_RATIO * field->writes;
}

static const char *verdict_of(const struct ks_kmap_field *field)
{
	if (!field->reads && !field->writes)
		return "never accessed";
	if (!field->reads)
		return "never read";
	if (!field->writes)
		return "no write seen";
	if (field->writes_most <= 1)
		return "written once";
	return is_read_mostly(field) ? "read-mostly" : "";
}

static void set_functions(struct ks_row row, unsigned int column,
			  const struct ks_kmap_places *places, const struct ks_kmap_field *field)
{
	struct ks_strbuf text;
	size_t i;

	ks_strbuf_init(&text);
	for (i = 0; i < field->users.len && i < FUNCTIONS_SHOWN; i++)
		ks_strbuf_printf(&text, "%s%s", i ? ", " : "",
				 ks_kmap_label(places, field->users.items[i].function));
	if (field->users.len > FUNCTIONS_SHOWN)
		ks_strbuf_printf(&text, " and %zu more", field->users.len - FUNCTIONS_SHOWN);
	if (row.table)
		row.table->failed |= text.failed;
	ks_row_text(row, column, text.len ? text.s : "");
	ks_strbuf_deinit(&text);
}

/* The function that read or wrote it most. */
static const char *main_user(const struct ks_kmap_places *places, const struct ks_kmap_field *field,
			     bool writes)
{
	const struct ks_kmap_user *best = NULL;
	size_t i;

	for (i = 0; i < field->users.len; i++) {
		const struct ks_kmap_user *user = &field->users.items[i];

		if (!best || (writes ? user->writes > best->writes : user->reads > best->reads))
			best = user;
	}
	return best ? ks_kmap_label(places, best->function) : "";
}

/* === Internals: rows ====================================================================== */

static void add_hole(struct ks_table *table, u64 offset, u64 size)
{
	struct ks_row row = ks_table_add(table);

	ks_row_u64(row, FIELD_LINE, offset / KS_KMAP_LINE);
	ks_row_u64(row, FIELD_OFFSET, offset);
	ks_row_u64(row, FIELD_SIZE, size);
	ks_row_text(row, FIELD_READER_CPUS, "");
	ks_row_text(row, FIELD_WRITER_CPUS, "");
	ks_row_text(row, FIELD_VERDICT, "hole");
	ks_row_text(row, FIELD_NAME, "");
	ks_row_text(row, FIELD_TYPE, "");
	ks_row_text(row, FIELD_FUNCTIONS, "");
}

static bool is_in_line(const struct ks_kmap_field *field, u64 line)
{
	return field->size && field->offset / KS_KMAP_LINE <= line &&
	       (field->offset + field->size - 1) / KS_KMAP_LINE >= line;
}

/* Up to three fields with the most accesses. */
static void say_hottest(struct ks_strbuf *out, const struct ks_kmap_struct *type, u64 line)
{
	const struct ks_kmap_field *last = NULL;
	unsigned int nr;

	for (nr = 0; nr < 3; nr++) {
		const struct ks_kmap_field *best = NULL;
		size_t i;

		for (i = 0; i < type->fields.len; i++) {
			const struct ks_kmap_field *field = &type->fields.items[i];
			u64 all = ks_kmap_field_accesses(field);

			if (!all || !is_in_line(field, line) ||
			    (last && (all > ks_kmap_field_accesses(last) ||
				      (all == ks_kmap_field_accesses(last) && field <= last))))
				continue;
			if (!best || all > ks_kmap_field_accesses(best))
				best = field;
		}
		if (!best)
			return;
		ks_strbuf_printf(out, "%s%s", nr ? ", " : "", best->name);
		last = best;
	}
}

/* Hot enough to matter: a hundredth of what is done to the struct. */
static bool is_hot(const struct ks_kmap_struct *type, u64 accesses)
{
	return accesses && accesses * 100 >= (type->reads + type->writes) * KS_KMAP_HOT_PERCENT;
}

/* === Public =============================================================================== */

struct ks_table *ks_kmap_field_table(struct ks_doc *doc)
{
	return ks_doc_table(doc, "fields", field_columns, FIELD_COLUMNS);
}

struct ks_table *ks_kmap_line_table(struct ks_doc *doc)
{
	return ks_doc_table(doc, "lines", line_columns, LINE_COLUMNS);
}

struct ks_table *ks_kmap_pair_table(struct ks_doc *doc)
{
	return ks_doc_table(doc, "sharing", pair_columns, PAIR_COLUMNS);
}

void ks_kmap_put_fields(struct ks_table *table, const struct ks_kmap_struct *type,
			const struct ks_kmap_places *places)
{
	u64 end = 0;
	size_t i;

	for (i = 0; i < type->fields.len; i++) {
		const struct ks_kmap_field *field = &type->fields.items[i];
		struct ks_row row;

		if (type->layout && field->offset > end)
			add_hole(table, end, field->offset - end);
		end = ks_max(end, (u64)field->offset + field->size);
		row = ks_table_add(table);
		ks_row_u64(row, FIELD_LINE, field->offset / KS_KMAP_LINE);
		ks_row_u64(row, FIELD_OFFSET, field->offset);
		ks_row_u64(row, FIELD_SIZE, field->size);
		ks_row_u64(row, FIELD_READS, field->reads);
		ks_row_u64(row, FIELD_WRITES, field->writes);
		ks_row_u64(row, FIELD_BYTES_READ, field->bytes_read);
		ks_row_u64(row, FIELD_BYTES_WRITTEN, field->bytes_written);
		ks_row_u64(row, FIELD_RANGES, field->ranges);
		set_cpus(row, FIELD_READER_CPUS, field->reader_cpus);
		set_cpus(row, FIELD_WRITER_CPUS, field->writer_cpus);
		ks_row_bool(row, FIELD_INTERRUPT, field->in_interrupt);
		ks_row_text(row, FIELD_VERDICT, verdict_of(field));
		ks_row_text(row, FIELD_NAME, field->name);
		ks_row_text(row, FIELD_TYPE, field->type);
		set_functions(row, FIELD_FUNCTIONS, places, field);
	}
	if (type->layout && end < type->size)
		add_hole(table, end, type->size - end);
}

void ks_kmap_put_lines(struct ks_table *table, const struct ks_kmap_struct *type)
{
	u64 line, lines = (type->size + KS_KMAP_LINE - 1) / KS_KMAP_LINE, all = 0;
	size_t i;

	for (i = 0; i < type->fields.len; i++)
		all += ks_kmap_field_accesses(&type->fields.items[i]);
	for (line = 0; line < lines && line < 512; line++) {
		u64 reads = 0, writes = 0, used = 0;
		struct ks_strbuf text;
		struct ks_row row;

		for (i = 0; i < type->fields.len; i++) {
			const struct ks_kmap_field *field = &type->fields.items[i];
			u64 start = ks_max((u64)field->offset, line * KS_KMAP_LINE);
			u64 end =
				ks_min((u64)field->offset + field->size, (line + 1) * KS_KMAP_LINE);

			if (!is_in_line(field, line) || !ks_kmap_field_accesses(field))
				continue;
			reads += field->reads;
			writes += field->writes;
			used += end - start;
		}
		if (!reads && !writes)
			continue;
		row = ks_table_add(table);
		ks_row_u64(row, LINE_LINE, line);
		ks_row_u64(row, LINE_READS, reads);
		ks_row_u64(row, LINE_WRITES, writes);
		ks_row_share(row, LINE_SHARE, reads + writes, ks_max(all, reads + writes));
		ks_row_u64(row, LINE_USED, ks_min(used, (u64)KS_KMAP_LINE));
		ks_strbuf_init(&text);
		say_hottest(&text, type, line);
		table->failed |= text.failed;
		ks_row_text(row, LINE_FIELDS, text.len ? text.s : "");
		ks_strbuf_deinit(&text);
	}
}

void ks_kmap_put_pairs(struct ks_table *table, const struct ks_kmap_struct *type,
		       const struct ks_kmap_places *places)
{
	size_t i, j;

	for (i = 0; i < type->fields.len; i++) {
		const struct ks_kmap_field *read = &type->fields.items[i], *written = NULL;
		u64 line = read->offset / KS_KMAP_LINE;
		struct ks_row row;

		if (!is_read_mostly(read) || !is_hot(type, read->reads))
			continue;
		for (j = 0; j < type->fields.len; j++) {
			const struct ks_kmap_field *field = &type->fields.items[j];

			if (j == i || !is_in_line(field, line) || is_read_mostly(field) ||
			    field->writes_most <= 1 || !is_hot(type, field->writes))
				continue;
			if (!written || field->writes > written->writes)
				written = field;
		}
		if (!written)
			continue;
		row = ks_table_add(table);
		ks_row_u64(row, PAIR_LINE, line);
		ks_row_u64(row, PAIR_READS, read->reads);
		set_cpus(row, PAIR_READ_ON, read->reader_cpus);
		ks_row_text(row, PAIR_READ, read->name);
		ks_row_text(row, PAIR_READER, main_user(places, read, false));
		ks_row_u64(row, PAIR_WRITES, written->writes);
		set_cpus(row, PAIR_WRITTEN_ON, written->writer_cpus);
		ks_row_text(row, PAIR_WRITTEN, written->name);
		ks_row_text(row, PAIR_WRITER, main_user(places, written, true));
		ks_row_bool(row, PAIR_APART, !same_cpus(read->reader_cpus, written->writer_cpus));
	}
}
