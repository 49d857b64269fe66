// SPDX-License-Identifier: LGPL-2.1-only
/* The static footprint as a table for people. */
#include "report/static.h"

#include <string.h>

#include "base/escape.h"
#include "base/num.h"
#include "report/rings.h"

/* === Internals ============================================================================ */

static void put_clean(struct ks_strbuf *out, const char *s)
{
	ks_escape_tty(out, s, strlen(s));
}

static struct ks_footprint whole_of(const struct ks_static_model *model)
{
	struct ks_footprint sum;
	unsigned int i;

	for (i = 0; i < KS_SECS; i++)
		sum.bytes[i] = ks_add_sat(model->builtin.bytes[i], model->modules.bytes[i]);
	return sum;
}

/* Columns widen instead of overflowing. */
static int column_width(u64 value)
{
	int width = 1;

	for (; value >= 10; value /= 10)
		width++;
	return ks_max(width, 8);
}

static void put_share(struct ks_strbuf *out, u64 part, u64 whole)
{
	ks_strbuf_printf(out, " %5.1f%%", whole ? 100.0 * (double)part / (double)whole : 0);
}

static void put_footprint(struct ks_strbuf *out, const struct ks_footprint *f,
			  const struct ks_footprint *whole)
{
	unsigned int i;

	for (i = 0; i < KS_SEC_DISCARDED; i++)
		ks_strbuf_printf(out, "%s%*llu", i ? " " : "", column_width(whole->bytes[i]),
				 (unsigned long long)f->bytes[i]);
	ks_strbuf_printf(out, " %*llu", column_width(ks_footprint_total(whole)),
			 (unsigned long long)ks_footprint_total(f));
	put_share(out, ks_footprint_total(f), ks_footprint_total(whole));
}

/* The one class that a section's or symbol's bytes are in. */
static const char *class_of(const struct ks_static_row *row)
{
	unsigned int i;

	for (i = 0; i < KS_SECS - 1 && !row->size.bytes[i];)
		i++;
	return ks_section_class_name((enum ks_section_class)i);
}

static void put_classes(const struct ks_static_rows *rows, const struct ks_footprint *whole,
			struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < KS_SEC_DISCARDED; i++)
		ks_strbuf_printf(out, "%s%*s", i ? " " : "", column_width(whole->bytes[i]),
				 ks_section_class_name((enum ks_section_class)i));
	ks_strbuf_printf(out, " %*s  share  %s\n", column_width(ks_footprint_total(whole)), "total",
			 rows->by == KS_STATIC_DIR ? "directory" : "file");
	for (i = 0; i < rows->items.len; i++) {
		const struct ks_static_row *row = &rows->items.items[i];

		put_footprint(out, &row->size, whole);
		ks_strbuf_puts(out, "  ");
		put_clean(out, row->name);
		if (*row->module) {
			ks_strbuf_puts(out, " [");
			put_clean(out, row->module);
			ks_strbuf_puts(out, "]");
		}
		ks_strbuf_puts(out, "\n");
	}
}

static void put_sections(const struct ks_static_rows *rows, struct ks_strbuf *out)
{
	size_t i, j;

	ks_strbuf_printf(out, "%12s %8s  %-9s  section\n", "bytes", "objects", "counts as");
	for (i = 0; i < rows->items.len; i++) {
		const struct ks_static_row *row = &rows->items.items[i];
		u64 bytes = 0;

		for (j = 0; j < KS_SECS; j++)
			bytes += row->size.bytes[j];
		ks_strbuf_printf(out, "%12llu %8llu  %-9s  ", (unsigned long long)bytes,
				 (unsigned long long)row->files, class_of(row));
		put_clean(out, row->name);
		ks_strbuf_puts(out, "\n");
	}
}

static void put_symbols(const struct ks_static_rows *rows, struct ks_strbuf *out)
{
	size_t i;

	ks_strbuf_printf(out, "%12s  %-9s %-8s  symbol, file\n", "bytes", "class", "kind");
	for (i = 0; i < rows->items.len; i++) {
		const struct ks_static_row *row = &rows->items.items[i];

		ks_strbuf_printf(out, "%12llu  %-9s %-8s  ",
				 (unsigned long long)ks_footprint_total(&row->size), class_of(row),
				 row->is_function ? "function" : "variable");
		put_clean(out, row->name);
		ks_strbuf_puts(out, "  ");
		put_clean(out, *row->file ? row->file : "unresolved");
		ks_strbuf_puts(out, "\n");
	}
}

/* "skipped: 7 composite, 39 host tool" */
static void put_skipped(const struct ks_static_model *model, struct ks_strbuf *out)
{
	size_t i, start = 0;

	if (!model->skipped.len)
		return;
	ks_strbuf_puts(out, "not counted: ");
	for (i = 1; i <= model->skipped.len; i++) {
		const struct ks_static_skip *first = &model->skipped.items[start];

		if (i < model->skipped.len && !strcmp(model->skipped.items[i].why, first->why))
			continue;
		ks_strbuf_printf(out, "%s%zu %s", start ? ", " : "", i - start, first->why);
		start = i;
	}
	ks_strbuf_puts(out, " (--skipped lists them)\n");
}

static void put_difference(struct ks_strbuf *out, u64 objects, u64 image)
{
	bool more = image >= objects;

	ks_strbuf_printf(out, " %c%llu", more ? '+' : '-',
			 (unsigned long long)(more ? image - objects : objects - image));
}

/* The built-in part beside vmlinux: they differ, and here is by how much and why. */
static void put_image(const struct ks_static_model *model, struct ks_strbuf *out)
{
	unsigned int i;

	if (!model->have_image)
		return;
	ks_strbuf_puts(out, "\nvmlinux beside the objects in it:\n");
	ks_strbuf_printf(out, "%-8s %12s %12s  difference\n", "", "objects", "vmlinux");
	for (i = 0; i < KS_SEC_DISCARDED; i++) {
		ks_strbuf_printf(out, "%-8s %12llu %12llu ",
				 ks_section_class_name((enum ks_section_class)i),
				 (unsigned long long)model->builtin.bytes[i],
				 (unsigned long long)model->image.bytes[i]);
		put_difference(out, model->builtin.bytes[i], model->image.bytes[i]);
		ks_strbuf_puts(out, "\n");
	}
	ks_strbuf_printf(out, "%-8s %12llu %12llu ", "total",
			 (unsigned long long)ks_footprint_total(&model->builtin),
			 (unsigned long long)ks_footprint_total(&model->image));
	put_difference(out, ks_footprint_total(&model->builtin), ks_footprint_total(&model->image));
	ks_strbuf_printf(out,
			 "\nof that, made by the link: %llu kallsyms, %llu BTF; the rest is "
			 "alignment, linker tables and merged\nstrings. %llu bytes of the objects "
			 "are in sections that the linker discards.\n",
			 (unsigned long long)model->image_kallsyms,
			 (unsigned long long)model->image_btf,
			 (unsigned long long)model->builtin.bytes[KS_SEC_DISCARDED]);
}

static void put_head(const struct ks_static_model *model, struct ks_strbuf *out)
{
	ks_strbuf_puts(out, "static footprint of ");
	put_clean(out, *model->release ? model->release : model->source);
	if (*model->branch) {
		ks_strbuf_puts(out, ", ");
		put_clean(out, model->branch);
	}
	if (model->builtin_objects + model->module_objects)
		ks_strbuf_printf(out, ": %llu objects built in, %llu in modules",
				 (unsigned long long)model->builtin_objects,
				 (unsigned long long)model->module_objects);
	ks_strbuf_puts(out, "\n\n");
}

/* === Public =============================================================================== */

void ks_render_static(const struct ks_static_model *model, const struct ks_static_rows *rows,
		      struct ks_strbuf *out)
{
	struct ks_footprint whole = whole_of(model);

	put_head(model, out);
	if (rows->by == KS_STATIC_SECTION)
		put_sections(rows, out);
	else if (rows->by == KS_STATIC_SYMBOL)
		put_symbols(rows, out);
	else
		put_classes(rows, &whole, out);
	if (rows->left_out)
		ks_strbuf_printf(out, "... and %llu more\n", (unsigned long long)rows->left_out);
	if (rows->by == KS_STATIC_DIR || rows->by == KS_STATIC_FILE) {
		put_footprint(out, &whole, &whole);
		ks_strbuf_puts(out, "  all\n");
	}
	ks_strbuf_puts(out, "\n");
	put_skipped(model, out);
	if (rows->by == KS_STATIC_DIR || rows->by == KS_STATIC_SECTION)
		put_image(model, out);
}

void ks_render_static_skipped(const struct ks_static_model *model, struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < model->skipped.len; i++) {
		ks_strbuf_printf(out, "%-14s ", model->skipped.items[i].why);
		put_clean(out, model->skipped.items[i].path);
		ks_strbuf_puts(out, "\n");
	}
}
