// SPDX-License-Identifier: LGPL-2.1-only
/* A list of objects; and of one object its fields, as far as they point somewhere, its charge and its holders. */
#include "heap/show-doc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/code-names.h"
#include "heap/field-index.h"
#include "heap/holders-doc.h"
#include "heap/object-names.h"

/* === Data ================================================================================= */

enum { O_ADDRESS, O_TYPE, O_CACHE, O_SIZE, O_KNOWN_BY, O_CGROUP, O_NAME, O_COLUMNS };

static const struct ks_column object_columns[O_COLUMNS] = {
	[O_ADDRESS] = { "address", "address", KS_CELL_HEX, KS_UNIT_ADDRESS },
	[O_TYPE] = { "type", "type", KS_CELL_TEXT },
	[O_CACHE] = { "cache", "cache", KS_CELL_TEXT },
	[O_SIZE] = { "size", "size", KS_CELL_U64, KS_UNIT_BYTES, .width = 6, .exact = true },
	[O_KNOWN_BY] = { "known_by", "known by", KS_CELL_TEXT },
	[O_CGROUP] = { "cgroup", "charged to", KS_CELL_TEXT },
	[O_NAME] = { "name", "name", KS_CELL_TEXT },
};

enum { F_OFFSET, F_FIELD, F_TO, F_ADDRESS, F_VALUE, F_COLUMNS };

static const struct ks_column field_columns[F_COLUMNS] = {
	[F_OFFSET] = { "offset", "offset", KS_CELL_HEX, KS_UNIT_NONE, .width = 7 },
	[F_FIELD] = { "field", "field", KS_CELL_TEXT },
	[F_TO] = { "points_to", "points to", KS_CELL_TEXT },
	[F_ADDRESS] = { "address", "address", KS_CELL_HEX, KS_UNIT_ADDRESS, .optional = true },
	[F_VALUE] = { "value", "value", KS_CELL_HEX, KS_UNIT_NONE, .optional = true },
};

static const unsigned int field_text[] = { F_OFFSET, F_ADDRESS, F_FIELD, F_TO };
static const unsigned int contents_text[] = { F_OFFSET, F_VALUE, F_FIELD, F_TO };

enum { LIST_MAX = 1000, WORDS_MAX = 8192, TEXT_LEN = 512 };

struct making {
	const struct ks_show *show;
	const struct ks_snapshot *snapshot;
	struct ks_doc *doc;
	struct ks_types *types; /* NULL = of a file */
	struct ks_symtab *symbols;
	struct ks_field_index *fields;
};

/* === Internals: one row an object ========================================================= */

static const char *type_name(const struct ks_snapshot *s, u32 object)
{
	return s->types.items[s->type[object]].name;
}

static const char *cgroup_of(const struct ks_snapshot *s, u32 object)
{
	if (s->cgroup[object] == KS_CHARGED_OTHER)
		return "?";
	return s->cgroup[object] < s->cgroups.len ? s->cgroups.items[s->cgroup[object]] : "";
}

static void name_of(const struct making *m, u32 object, char *text, size_t size)
{
	snprintf(text, size, "%s", ks_snapshot_label(m->snapshot, object));
	if (!*text && m->types)
		ks_heap_object_name(m->show->kernel, m->types, type_name(m->snapshot, object),
				    m->snapshot->addr[object], text, size);
}

static void add_object(const struct making *m, struct ks_table *table, u32 object)
{
	const struct ks_snapshot *s = m->snapshot;
	struct ks_row row = ks_table_add(table);
	char name[TEXT_LEN];

	name_of(m, object, name, sizeof(name));
	ks_row_u64(row, O_ADDRESS, s->addr[object]);
	ks_row_text(row, O_TYPE, type_name(s, object));
	ks_row_text(row, O_CACHE, s->caches.items[s->cache[object]].name);
	ks_row_u64(row, O_SIZE, s->caches.items[s->cache[object]].size);
	ks_row_text(row, O_KNOWN_BY, ks_known_by_name(s->known_by[object]));
	ks_row_text(row, O_CGROUP, cgroup_of(s, object));
	ks_row_text(row, O_NAME, name);
}

static void add_objects(const struct making *m)
{
	struct ks_table *table = ks_doc_table(m->doc, "objects", object_columns, O_COLUMNS);
	u64 most = m->show->top ? m->show->top : LIST_MAX;
	u32 i;

	if (!table)
		return;
	table->more = "more objects";
	for (i = 0; i < m->snapshot->count; i++) {
		if (!ks_selected(m->show->selection, i))
			continue;
		if (ks_table_len(table) < most)
			add_object(m, table, i);
		else
			table->left_out++;
	}
}

/* === Internals: fields ==================================================================== */

static void name_target(const struct making *m, u32 object, u32 inside, char *text, size_t size)
{
	const struct ks_snapshot *s = m->snapshot;
	const char *what = s->type[object] ? type_name(s, object)
					   : s->caches.items[s->cache[object]].name;
	char name[TEXT_LEN / 2] = "";

	/* An empty list, as a rule. */
	if (object == m->show->selection->first)
		what = "itself";
	else
		name_of(m, object, name, sizeof(name));
	if (inside)
		snprintf(text, size, "%s+0x%x%s%s", what, inside, *name ? " " : "", name);
	else
		snprintf(text, size, "%s%s%s", what, *name ? " " : "", name);
}

static void name_field(const struct making *m, u32 object, u32 offset, char *text, size_t size)
{
	const char *type = type_name(m->snapshot, object);
	struct ks_strbuf path = { 0 };
	u32 number = m->types ? ks_types_struct(m->types, type, strlen(type)) : 0;

	if (number && ks_types_path(m->types, number, offset, &path))
		snprintf(text, size, ".%s", ks_strbuf_str(&path));
	else
		ks_field_text(m->snapshot, m->fields, m->snapshot->type[object], offset / 8, text,
			      size);
	ks_strbuf_deinit(&path);
}

static void add_field(const struct making *m, struct ks_table *table, u32 object, u32 offset,
		      const char *to, u64 address, const u64 *value)
{
	struct ks_row row;
	char field[TEXT_LEN];

	if (m->show->top && ks_table_len(table) == m->show->top) {
		table->left_out++;
		return;
	}
	row = ks_table_add(table);
	name_field(m, object, offset, field, sizeof(field));
	ks_row_u64(row, F_OFFSET, offset);
	ks_row_text(row, F_FIELD, *field == '.' ? field + 1 : field);
	ks_row_text(row, F_TO, to);
	if (address)
		ks_row_u64(row, F_ADDRESS, address);
	if (value)
		ks_row_u64(row, F_VALUE, *value);
}

/* From the memory of the kernel: all words, or those that point somewhere. */
static void add_live_fields(const struct making *m, struct ks_table *table, u32 object,
			    const u64 *words, u32 count)
{
	const struct ks_snapshot *s = m->snapshot;
	char to[TEXT_LEN];
	u32 i, target;

	for (i = 0; i < count; i++) {
		*to = '\0';
		target = ks_snapshot_find(s, words[i]);
		if (target != KS_NONE)
			name_target(m, target, (u32)(words[i] - s->addr[target]), to, sizeof(to));
		else
			ks_code_name(m->show->kernel, m->symbols, words[i], to, sizeof(to));
		if (*to || m->show->contents)
			add_field(m, table, object, i * 8, to, *to ? words[i] : 0,
				  m->show->contents ? &words[i] : NULL);
	}
}

static void add_saved_fields(const struct making *m, struct ks_table *table, u32 object)
{
	const struct ks_snapshot *s = m->snapshot;
	char to[TEXT_LEN];
	u32 i;

	for (i = s->ref_first[object]; i < s->ref_first[object + 1]; i++) {
		const struct ks_heap_ref *ref = &s->refs.items[i];

		name_target(m, ref->to, ref->inside * 8u, to, sizeof(to));
		add_field(m, table, object, ref->at * 8u, to, s->addr[ref->to] + ref->inside * 8u,
			  NULL);
	}
}

static int add_fields(const struct making *m, u32 object)
{
	const struct ks_snapshot *s = m->snapshot;
	u32 count = ks_min(s->caches.items[s->cache[object]].object_size / 8, (u32)WORDS_MAX);
	struct ks_table *table = ks_doc_table(m->doc, "fields", field_columns, F_COLUMNS);
	u64 *words = calloc(count + 1ul, 8);

	if (!table || !words) {
		free(words);
		return -ENOMEM;
	}
	table->more = "more fields";
	if (m->show->contents)
		ks_table_select(table, KS_FORM_TEXT, contents_text, ARRAY_SIZE(contents_text));
	else
		ks_table_select(table, KS_FORM_TEXT, field_text, ARRAY_SIZE(field_text));
	if (!m->show->kernel)
		add_saved_fields(m, table, object);
	else if (!ks_memory_get(m->show->kernel->memory, s->addr[object], words, count * 8))
		add_live_fields(m, table, object, words, count);
	else
		ks_doc_say(m->doc, "its memory can't be read\n");
	free(words);
	return 0;
}

/* === Internals: one object ================================================================ */

static int add_one(const struct making *m)
{
	const struct ks_snapshot *s = m->snapshot;
	u32 object = m->show->selection->first;
	const struct ks_heap_cache *cache = &s->caches.items[s->cache[object]];
	char name[TEXT_LEN];
	int err;

	name_of(m, object, name, sizeof(name));
	ks_doc_hex(m->doc, "address", s->addr[object]);
	ks_doc_text(m->doc, "type", type_name(s, object));
	ks_doc_text(m->doc, "known_by", ks_known_by_name(s->known_by[object]));
	ks_doc_text(m->doc, "cache", cache->name);
	ks_doc_u64(m->doc, "size", cache->size);
	ks_doc_text(m->doc, "cgroup", cgroup_of(s, object));
	ks_doc_text(m->doc, "name", name);
	ks_doc_say(m->doc, "0x%" PRIx64 "  ", s->addr[object]);
	ks_doc_say_escaped(m->doc, type_name(s, object));
	ks_doc_say(m->doc, " (known by: %s), %u bytes of ", ks_known_by_name(s->known_by[object]),
		   cache->size);
	ks_doc_say_escaped(m->doc, cache->name);
	if (*name) {
		ks_doc_say(m->doc, "\nname: ");
		ks_doc_say_escaped(m->doc, name);
	}
	ks_doc_say(m->doc, "\ncharged to: ");
	ks_doc_say_escaped(m->doc, *cgroup_of(s, object) ? cgroup_of(s, object) : "nobody");
	ks_doc_say(m->doc, "\n\n");
	err = add_fields(m, object);
	ks_doc_say(m->doc, "\n");
	return err ? err : ks_doc_add_holders(m->doc, s, m->show->selection, m->show->top);
}

/* === Public =============================================================================== */

int ks_doc_of_show(const struct ks_show *show, struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct making m = { .show = show,
			    .snapshot = show->snapshot,
			    .doc = ks_doc_new("kmemscope-heap-show-1") };
	int err = m.doc ? ks_field_index_new(show->snapshot, &m.fields) : -ENOMEM;

	if (!err && show->kernel)
		err = ks_types_new(show->kernel->btf, &m.types);
	if (!err && show->kernel)
		m.symbols = ks_code_names(show->kallsyms);
	if (!err && show->selection->by_address)
		err = add_one(&m);
	else if (!err)
		add_objects(&m);
	ks_types_free(m.types);
	ks_code_names_free(m.symbols);
	ks_field_index_free(m.fields);
	if (err) {
		ks_doc_free(m.doc);
		return ks_diag_nomem(diag, "showing objects");
	}
	*ret_doc = m.doc;
	return 0;
}
