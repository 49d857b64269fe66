// SPDX-License-Identifier: LGPL-2.1-only
/* The static footprint for programs: JSON and CSV. */
#include <string.h>

#include "base/escape.h"
#include "report/json.h"
#include "report/static.h"

/* === Internals ============================================================================ */

static void put_footprint(struct ks_json *json, const char *key, const struct ks_footprint *f)
{
	unsigned int i;

	ks_json_object(json, key);
	for (i = 0; i < KS_SECS; i++)
		ks_json_u64(json, ks_section_class_name((enum ks_section_class)i), f->bytes[i]);
	ks_json_u64(json, "total", ks_footprint_total(f));
	ks_json_end_object(json);
}

static void put_row(struct ks_json *json, const struct ks_static_rows *rows,
		    const struct ks_static_row *row)
{
	ks_json_object(json, NULL);
	ks_json_string(json, ks_static_by_name(rows->by), row->name);
	if (rows->by == KS_STATIC_SYMBOL) {
		ks_json_string(json, "kind", row->is_function ? "function" : "variable");
		ks_json_string(json, "file", row->file);
	} else {
		ks_json_u64(json, "objects", row->files);
	}
	if (*row->module)
		ks_json_string(json, "module", row->module);
	put_footprint(json, "bytes", &row->size);
	ks_json_end_object(json);
}

static void put_skipped(struct ks_json *json, const struct ks_static_model *model)
{
	size_t i;

	ks_json_array(json, "skipped");
	for (i = 0; i < model->skipped.len; i++) {
		ks_json_object(json, NULL);
		ks_json_string(json, "object", model->skipped.items[i].path);
		ks_json_string(json, "why", model->skipped.items[i].why);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
	ks_json_array(json, "unreadable");
	for (i = 0; i < model->bad.len; i++) {
		ks_json_object(json, NULL);
		ks_json_string(json, "object", model->bad.items[i].path);
		ks_json_string(json, "message", model->bad.items[i].message);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
}

/* === Public =============================================================================== */

void ks_render_static_json(const struct ks_static_model *model, const struct ks_static_rows *rows,
			   struct ks_strbuf *out)
{
	struct ks_json json;
	size_t i;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-static-1");
	ks_json_string(&json, "kernel", model->source);
	ks_json_string(&json, "release", model->release);
	ks_json_string(&json, "branch", model->branch);
	ks_json_string(&json, "by", ks_static_by_name(rows->by));
	ks_json_u64(&json, "builtin_objects", model->builtin_objects);
	ks_json_u64(&json, "module_objects", model->module_objects);
	put_footprint(&json, "builtin", &model->builtin);
	put_footprint(&json, "modules", &model->modules);
	if (model->have_image) {
		put_footprint(&json, "vmlinux", &model->image);
		ks_json_u64(&json, "vmlinux_kallsyms", model->image_kallsyms);
		ks_json_u64(&json, "vmlinux_btf", model->image_btf);
	}
	ks_json_array(&json, "rows");
	for (i = 0; i < rows->items.len; i++)
		put_row(&json, rows, &rows->items.items[i]);
	ks_json_end_array(&json);
	put_skipped(&json, model);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}

void ks_render_static_csv(const struct ks_static_rows *rows, struct ks_strbuf *out)
{
	bool symbols = rows->by == KS_STATIC_SYMBOL;
	size_t i, j;

	ks_strbuf_puts(out, ks_static_by_name(rows->by));
	for (i = 0; i < KS_SECS; i++)
		ks_strbuf_printf(out, ",%s", ks_section_class_name((enum ks_section_class)i));
	ks_strbuf_puts(out, symbols ? ",total,module,kind,file\n" : ",total,module,objects\n");
	for (i = 0; i < rows->items.len; i++) {
		const struct ks_static_row *row = &rows->items.items[i];

		ks_escape_csv(out, row->name, strlen(row->name));
		for (j = 0; j < KS_SECS; j++)
			ks_strbuf_printf(out, ",%llu", (unsigned long long)row->size.bytes[j]);
		ks_strbuf_printf(out, ",%llu,", (unsigned long long)ks_footprint_total(&row->size));
		ks_escape_csv(out, row->module, strlen(row->module));
		if (symbols) {
			ks_strbuf_puts(out, row->is_function ? ",function," : ",variable,");
			ks_escape_csv(out, row->file, strlen(row->file));
			ks_strbuf_puts(out, "\n");
		} else {
			ks_strbuf_printf(out, ",%llu\n", (unsigned long long)row->files);
		}
	}
}
