// SPDX-License-Identifier: LGPL-2.1-only
/* The view of leaks, as text and JSON. */
#include "report/report.h"

#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

/* An age in the model's clock: "1.250 s", or ticks. */
static void put_age(const struct ks_model *model, u64 age, struct ks_strbuf *out)
{
	if (model->clock == KS_CLOCK_SECONDS)
		ks_strbuf_printf(out, " %8llu.%03llu", (unsigned long long)(age / 1000000000),
				 (unsigned long long)(age / 1000000 % 1000));
	else
		ks_strbuf_printf(out, " %12llu", (unsigned long long)age);
}

static void put_frames(const struct ks_leak *leak, struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < leak->frames_len; i++) {
		ks_strbuf_printf(out, "%28s", "");
		ks_escape_tty(out, leak->frames[i], strlen(leak->frames[i]));
		ks_strbuf_puts(out, "\n");
	}
}

static void put_rows(const struct ks_model *model, const struct ks_leak *rows, size_t len, u64 top,
		     struct ks_strbuf *out)
{
	size_t shown = top && top < len ? (size_t)top : len, i;

	ks_strbuf_printf(out, "%12s %10s %12s %12s %12s %10s %10s  site\n", "bytes", "objects",
			 "oldest", "mean age", "youngest", "allocs", "frees");
	for (i = 0; i < shown; i++) {
		const struct ks_leak *leak = &rows[i];

		ks_strbuf_printf(out, "%12llu %10llu", (unsigned long long)leak->bytes,
				 (unsigned long long)leak->objects);
		put_age(model, leak->oldest, out);
		put_age(model, leak->age_sum / leak->objects, out);
		put_age(model, leak->youngest, out);
		ks_strbuf_printf(out, " %10llu %10llu  ", (unsigned long long)leak->allocs,
				 (unsigned long long)leak->frees);
		ks_escape_tty(out, leak->label, strlen(leak->label));
		ks_strbuf_puts(out, "\n");
		put_frames(leak, out);
	}
	if (shown < len)
		ks_strbuf_printf(out, "%12s and %zu more sites\n", "...", len - shown);
}

static void put_rows_json(struct ks_json *json, const char *key, const struct ks_leak *rows,
			  size_t len)
{
	size_t i, j;

	ks_json_array(json, key);
	for (i = 0; i < len; i++) {
		ks_json_object(json, NULL);
		ks_json_string(json, "site", rows[i].label);
		ks_json_array(json, "stack");
		for (j = 0; j < rows[i].frames_len; j++)
			ks_json_string(json, NULL, rows[i].frames[j]);
		ks_json_end_array(json);
		ks_json_u64(json, "bytes", rows[i].bytes);
		ks_json_u64(json, "requested", rows[i].bytes_req);
		ks_json_u64(json, "objects", rows[i].objects);
		ks_json_u64(json, "oldest", rows[i].oldest);
		ks_json_u64(json, "youngest", rows[i].youngest);
		ks_json_u64(json, "mean_age", rows[i].age_sum / rows[i].objects);
		ks_json_u64(json, "allocs", rows[i].allocs);
		ks_json_u64(json, "frees", rows[i].frees);
		ks_json_u64(json, "implied_frees", rows[i].implied_frees);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
}

/* === Public =============================================================================== */

void ks_render_leaks(const struct ks_model *model, const struct ks_leaks *leaks, u64 top,
		     struct ks_strbuf *out)
{
	u64 objects = 0, bytes = 0;
	size_t i;

	put_rows(model, leaks->sites.items, leaks->sites.len, top, out);
	ks_strbuf_printf(out, "%12llu %10llu in all, at the end of the capture\n",
			 (unsigned long long)leaks->bytes, (unsigned long long)leaks->objects);
	if (leaks->young_objects)
		ks_strbuf_printf(out, "%12llu %10llu left out: younger than --min-age\n",
				 (unsigned long long)leaks->young_bytes,
				 (unsigned long long)leaks->young_objects);
	for (i = 0; i < leaks->unseen.len; i++) {
		objects += leaks->unseen.items[i].objects;
		bytes += leaks->unseen.items[i].bytes;
	}
	if (leaks->unseen.len) {
		ks_strbuf_printf(
			out,
			"%12llu %10llu left out: of %zu sites most of whose frees raise no "
			"event, so that nobody can say what lives\n\n",
			(unsigned long long)bytes, (unsigned long long)objects, leaks->unseen.len);
		put_rows(model, leaks->unseen.items, leaks->unseen.len, top, out);
	}
	ks_strbuf_puts(out, "\n");
	ks_render_quality(model, out);
}

void ks_render_leaks_json(const struct ks_model *model, const struct ks_leaks *leaks,
			  struct ks_strbuf *out)
{
	struct ks_json json;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-leaks-1");
	ks_json_string(&json, "level", ks_level_name(model->level));
	ks_json_string(&json, "clock", ks_clock_name(model->clock));
	ks_json_u64(&json, "min_age", leaks->min_age);
	ks_json_u64(&json, "bytes", leaks->bytes);
	ks_json_u64(&json, "objects", leaks->objects);
	ks_json_u64(&json, "young_bytes", leaks->young_bytes);
	ks_json_u64(&json, "young_objects", leaks->young_objects);
	put_rows_json(&json, "sites", leaks->sites.items, leaks->sites.len);
	put_rows_json(&json, "unseen", leaks->unseen.items, leaks->unseen.len);
	ks_render_quality_json(model, &json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}
