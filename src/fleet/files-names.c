// SPDX-License-Identifier: LGPL-2.1-only
/* Names and labels of a fleet in files: small tables, kept in memory and written whole. */
#include "fleet/files-names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/parquet-read.h"

/* === Data ================================================================================= */

enum { PATH_LEN = 4096 };

/* === Internals ============================================================================ */

/* Writes a table that is complete into a file of the directory. Frees both. */
static int finish(struct ks_parquet *writer, struct ks_strbuf *out, const char *dir,
		  const char *name, struct ks_diag *diag)
{
	char path[PATH_LEN];
	int err;

	if (writer)
		ks_parquet_finish(writer);
	else
		out->failed = true;
	ks_parquet_free(writer);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	err = ks_files_write(path, out, diag);
	ks_strbuf_deinit(out);
	return err;
}

static int write_names(struct ks_files_names *names, const char *dir, struct ks_diag *diag)
{
	static const struct ks_parquet_field fields[] = { { "kind", KS_PARQUET_U32, false },
							  { "id", KS_PARQUET_U64, false },
							  { "name", KS_PARQUET_STRING, false } };
	struct ks_parquet *writer;
	struct ks_strbuf out;
	size_t i;
	int err;

	ks_strbuf_init(&out);
	writer = ks_parquet_new(fields, ARRAY_SIZE(fields), &out);
	for (i = 0; writer && i < names->names.len; i++) {
		ks_parquet_number(writer, names->names.items[i].kind);
		ks_parquet_number(writer, names->ids.keys.items[i]);
		ks_parquet_string(writer, (u32)i, names->names.items[i].name);
	}
	err = finish(writer, &out, dir, "names.parquet", diag);
	names->new_names &= err != 0;
	return err;
}

static int write_labels(struct ks_files_names *names, const char *dir, struct ks_diag *diag)
{
	static const struct ks_parquet_field fields[] = { { "host", KS_PARQUET_U64, false },
							  { "label", KS_PARQUET_STRING, false },
							  { "value", KS_PARQUET_STRING, false },
							  { "ver", KS_PARQUET_U64, false } };
	struct ks_parquet *writer;
	struct ks_strbuf out;
	size_t i;
	int err;

	ks_strbuf_init(&out);
	writer = ks_parquet_new(fields, ARRAY_SIZE(fields), &out);
	for (i = 0; writer && i < names->labels.len; i++) {
		const struct ks_files_label *label = &names->labels.items[i];

		ks_parquet_number(writer, label->host);
		ks_parquet_string(writer, (u32)i, label->label);
		ks_parquet_string(writer, (u32)i, label->value);
		ks_parquet_number(writer, label->ver);
	}
	err = finish(writer, &out, dir, "labels.parquet", diag);
	names->new_labels &= err != 0;
	return err;
}

static int take_names(struct ks_files_names *names, struct ks_parquet_file *file,
		      struct ks_diag *diag)
{
	struct ks_parquet_numbers kinds = { 0 }, ids = { 0 };
	struct ks_parquet_strings texts = { 0 };
	size_t i;
	int err;

	ks_arena_init(&texts.arena);
	err = ks_parquet_read_numbers(file, "kind", KS_PARQUET_U32, &kinds, diag);
	if (!err)
		err = ks_parquet_read_numbers(file, "id", KS_PARQUET_U64, &ids, diag);
	if (!err)
		err = ks_parquet_read_strings(file, "name", &texts, diag);
	for (i = 0; !err && i < texts.items.len; i++)
		if (ks_files_names_add(names, ids.items.items[i], (u8)kinds.items.items[i],
				       texts.items.items[i].s, texts.items.items[i].len))
			err = ks_diag_nomem(diag, "reading names");
	names->new_names = false;
	ks_vec_free(&kinds.items);
	ks_vec_free(&ids.items);
	ks_vec_free(&texts.items);
	ks_arena_deinit(&texts.arena);
	return err;
}

static int take_labels(struct ks_files_names *names, struct ks_parquet_file *file,
		       struct ks_diag *diag)
{
	struct ks_parquet_numbers hosts = { 0 }, vers = { 0 };
	struct ks_parquet_strings labels = { 0 }, values = { 0 };
	size_t i;
	int err;

	ks_arena_init(&labels.arena);
	ks_arena_init(&values.arena);
	err = ks_parquet_read_numbers(file, "host", KS_PARQUET_U64, &hosts, diag);
	if (!err)
		err = ks_parquet_read_numbers(file, "ver", KS_PARQUET_U64, &vers, diag);
	if (!err)
		err = ks_parquet_read_strings(file, "label", &labels, diag);
	if (!err)
		err = ks_parquet_read_strings(file, "value", &values, diag);
	for (i = 0; !err && i < hosts.items.len; i++)
		if (ks_files_names_label(names, hosts.items.items[i], vers.items.items[i],
					 labels.items.items[i].s, values.items.items[i].s))
			err = ks_diag_nomem(diag, "reading labels");
	names->new_labels = false;
	ks_vec_free(&hosts.items);
	ks_vec_free(&vers.items);
	ks_vec_free(&labels.items);
	ks_vec_free(&values.items);
	ks_arena_deinit(&labels.arena);
	ks_arena_deinit(&values.arena);
	return err;
}

static int read_whole(struct ks_files_names *names, const char *dir, const char *name,
		      int (*take)(struct ks_files_names *names, struct ks_parquet_file *file,
				  struct ks_diag *diag),
		      struct ks_diag *diag)
{
	struct ks_parquet_file *file;
	char path[PATH_LEN];
	u8 *data;
	size_t len;
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	err = ks_files_slurp(path, &data, &len, diag);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = ks_parquet_open(data, len, path, &file, diag);
	if (!err) {
		err = take(names, file, diag);
		ks_parquet_close(file);
	}
	free(data);
	return err;
}

/* === Public =============================================================================== */

int ks_files_names_init(struct ks_files_names *names)
{
	memset(names, 0, sizeof(*names));
	ks_arena_init(&names->arena);
	return ks_map64_init(&names->ids);
}

void ks_files_names_deinit(struct ks_files_names *names)
{
	ks_map64_deinit(&names->ids);
	ks_vec_free(&names->names);
	ks_vec_free(&names->labels);
	ks_arena_deinit(&names->arena);
}

int ks_files_names_add(struct ks_files_names *names, u64 id, u8 kind, const char *name, size_t len)
{
	u32 number = ks_map64_add(&names->ids, id);
	struct ks_files_name *to;

	if (number == KS_NONE)
		return -ENOMEM;
	if (number < names->names.len)
		return 0;
	to = ks_vec_push(&names->names);
	if (!to)
		return -ENOMEM;
	to->kind = kind;
	to->name = ks_arena_strndup(&names->arena, name, len);
	names->new_names = true;
	return to->name ? 0 : -ENOMEM;
}

int ks_files_names_label(struct ks_files_names *names, u64 host, u64 ver, const char *label,
			 const char *value)
{
	struct ks_files_label *to = NULL;
	size_t i;

	for (i = 0; i < names->labels.len && !to; i++)
		if (names->labels.items[i].host == host &&
		    !strcmp(names->labels.items[i].label, label))
			to = &names->labels.items[i];
	if (to && (to->ver >= ver || !strcmp(to->value, value)))
		return 0;
	if (!to)
		to = ks_vec_push(&names->labels);
	if (!to)
		return -ENOMEM;
	*to = (struct ks_files_label){ host, ver,
				       ks_arena_strndup(&names->arena, label, strlen(label)),
				       ks_arena_strndup(&names->arena, value, strlen(value)) };
	names->new_labels = true;
	return to->label && to->value ? 0 : -ENOMEM;
}

int ks_files_names_read(struct ks_files_names *names, const char *dir, struct ks_diag *diag)
{
	int err = read_whole(names, dir, "names.parquet", take_names, diag);

	return err ? err : read_whole(names, dir, "labels.parquet", take_labels, diag);
}

int ks_files_names_write(struct ks_files_names *names, const char *dir, struct ks_diag *diag)
{
	int err = names->new_names ? write_names(names, dir, diag) : 0;

	return !err && names->new_labels ? write_labels(names, dir, diag) : err;
}
