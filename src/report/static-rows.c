// SPDX-License-Identifier: LGPL-2.1-only
/* The rows of a static footprint: by directory, file, section or symbol. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "report/static.h"

/* === Data ================================================================================= */

static const char *const by_names[] = {
	[KS_STATIC_DIR] = "dir",
	[KS_STATIC_FILE] = "file",
	[KS_STATIC_SECTION] = "section",
	[KS_STATIC_SYMBOL] = "symbol",
};
_Static_assert(ARRAY_SIZE(by_names) == KS_STATIC_BYS, "a name for every grouping");

/* === Internals ============================================================================ */

static int compare_rows(const void *pa, const void *pb)
{
	const struct ks_static_row *a = pa, *b = pb;
	u64 size_a = ks_footprint_total(&a->size), size_b = ks_footprint_total(&b->size);
	int diff;

	if (size_a != size_b)
		return size_a < size_b ? 1 : -1;
	diff = strcmp(a->name, b->name);
	if (!diff)
		diff = strcmp(a->file, b->file);
	if (!diff)
		diff = strcmp(a->module, b->module);
	return diff ? diff : memcmp(&a->size, &b->size, sizeof(a->size));
}

static struct ks_static_row *new_row(struct ks_static_rows *rows, const char *name)
{
	struct ks_static_row *row = ks_vec_push(&rows->items);

	if (row) {
		row->name = name;
		row->file = "";
		row->module = "";
	}
	return row;
}

static size_t components(const char *path)
{
	size_t n = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		n += len && !(len == 1 && *path == '.');
		path += len + (path[len] == '/');
	}
	return n;
}

/* The length of the first @depth directories of the path, of those that it has. */
static size_t dir_len(const char *path, size_t depth)
{
	const char *slash, *end = path;

	for (; depth && (slash = strchr(end == path ? path : end + 1, '/')); depth--)
		end = slash;
	return (size_t)(end - path);
}

static int add_dirs(struct ks_static_rows *rows, const struct ks_static_model *model,
		    unsigned int depth)
{
	size_t i, j, all = components(model->branch) + depth;

	for (i = 0; i < model->files.len; i++) {
		const struct ks_static_file *file = &model->files.items[i];
		size_t len = dir_len(file->path, all);
		const char *name = !*file->path ? "unresolved" : len ? file->path : ".";
		u32 id = ks_intern_add(&rows->names, name, len ? len : strlen(name));

		if (id == KS_NONE)
			return -ENOMEM;
		if (id == rows->items.len && !new_row(rows, ks_intern_get(&rows->names, id).s))
			return -ENOMEM;
		for (j = 0; j < KS_SECS; j++)
			rows->items.items[id].size.bytes[j] = ks_add_sat(
				rows->items.items[id].size.bytes[j], file->size.bytes[j]);
		rows->items.items[id].files++;
	}
	return 0;
}

static int add_files(struct ks_static_rows *rows, const struct ks_static_model *model)
{
	size_t i;

	for (i = 0; i < model->files.len; i++) {
		const struct ks_static_file *file = &model->files.items[i];
		struct ks_static_row *row = new_row(rows, *file->path ? file->path : "unresolved");

		if (!row)
			return -ENOMEM;
		row->module = file->module;
		row->size = file->size;
		row->files = 1;
	}
	return 0;
}

static int add_sections(struct ks_static_rows *rows, const struct ks_static_model *model)
{
	size_t i;

	for (i = 0; i < model->sections.len; i++) {
		const struct ks_static_section *section = &model->sections.items[i];
		struct ks_static_row *row = new_row(rows, section->name);

		if (!row)
			return -ENOMEM;
		row->size.bytes[section->class] = section->bytes;
		row->files = section->objects;
	}
	return 0;
}

static int add_symbols(struct ks_static_rows *rows, const struct ks_static_model *model)
{
	size_t i;

	for (i = 0; i < model->symbols.len; i++) {
		const struct ks_static_symbol *symbol = &model->symbols.items[i];
		struct ks_static_row *row = new_row(rows, symbol->name);

		if (!row)
			return -ENOMEM;
		row->file = model->files.items[symbol->file].path;
		row->module = model->files.items[symbol->file].module;
		row->size.bytes[symbol->class] = symbol->bytes;
		row->is_function = symbol->is_function;
	}
	return 0;
}

/* === Public =============================================================================== */

const char *ks_static_by_name(enum ks_static_by by)
{
	return by < KS_STATIC_BYS ? by_names[by] : "?";
}

int ks_static_rows_init(struct ks_static_rows *rows, const struct ks_static_model *model,
			enum ks_static_by by, unsigned int depth, u64 top)
{
	int err;

	*rows = (struct ks_static_rows){ .by = by };
	err = ks_intern_init(&rows->names);
	if (!err)
		err = by == KS_STATIC_DIR	? add_dirs(rows, model, depth)
		      : by == KS_STATIC_FILE	? add_files(rows, model)
		      : by == KS_STATIC_SECTION ? add_sections(rows, model)
						: add_symbols(rows, model);
	if (err) {
		ks_static_rows_deinit(rows);
		return err;
	}
	if (rows->items.len)
		qsort(rows->items.items, rows->items.len, sizeof(*rows->items.items), compare_rows);
	if (top && top < rows->items.len) {
		rows->left_out = rows->items.len - top;
		rows->items.len = (size_t)top;
	}
	return 0;
}

void ks_static_rows_deinit(struct ks_static_rows *rows)
{
	ks_intern_deinit(&rows->names);
	ks_vec_free(&rows->items);
}
