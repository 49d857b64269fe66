// SPDX-License-Identifier: LGPL-2.1-only
/* speedscope's own file format: shared frames, and a sampled profile for each measure. */
#include "report/export.h"

#include <string.h>

#include "base/intern.h"
#include "report/frames.h"

/* === Data ================================================================================= */

static const struct {
	const char *name, *unit;
	enum ks_measure measure;
} profiles[] = {
	{ "live bytes", "bytes", KS_MEASURE_LIVE },
	{ "bytes allocated in all", "bytes", KS_MEASURE_TOTAL },
	{ "wasted live bytes", "bytes", KS_MEASURE_WASTE },
	{ "live objects", "none", KS_MEASURE_OBJECTS },
	{ "allocations", "none", KS_MEASURE_ALLOCS },
};

/* === Internals ============================================================================ */

/* Numbers the frames in the order of their first use. */
static void number_frames(const struct ks_rows *rows, struct ks_intern *names,
			  struct ks_strbuf *out)
{
	size_t i, k;

	for (i = 0; i < rows->len; i++) {
		struct ks_frames frames = ks_frames_of(rows->items[i]);

		for (k = 0; k < frames.len; k++)
			if (ks_intern_add(names, frames.items[k].s, frames.items[k].len) == KS_NONE)
				out->failed = true;
	}
}

static void put_frames(struct ks_json *json, const struct ks_intern *names)
{
	size_t i;

	ks_json_object(json, "shared");
	ks_json_array(json, "frames");
	for (i = 0; i < names->strs.len; i++) {
		ks_json_object(json, NULL);
		ks_json_string(json, "name", names->strs.items[i].s);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
	ks_json_end_object(json);
}

static void put_profile(struct ks_json *json, const struct ks_rows *rows,
			const struct ks_intern *names, size_t which)
{
	enum ks_measure measure = profiles[which].measure;
	u64 sum = 0;
	size_t i, k;

	ks_json_object(json, NULL);
	ks_json_string(json, "type", "sampled");
	ks_json_string(json, "name", profiles[which].name);
	ks_json_string(json, "unit", profiles[which].unit);
	ks_json_array(json, "samples");
	for (i = 0; i < rows->len; i++) {
		struct ks_frames frames = ks_frames_of(rows->items[i]);

		if (!ks_measure_of(&rows->items[i]->stat, measure))
			continue;
		ks_json_array(json, NULL);
		for (k = 0; k < frames.len; k++)
			ks_json_u64(json, NULL,
				    ks_intern_find(names, frames.items[k].s, frames.items[k].len));
		ks_json_end_array(json);
	}
	ks_json_end_array(json);
	ks_json_array(json, "weights");
	for (i = 0; i < rows->len; i++) {
		u64 value = ks_measure_of(&rows->items[i]->stat, measure);

		if (value)
			ks_json_u64(json, NULL, value);
		sum += value;
	}
	ks_json_end_array(json);
	ks_json_u64(json, "startValue", 0);
	ks_json_u64(json, "endValue", sum);
	ks_json_end_object(json);
}

/* === Public =============================================================================== */

void ks_export_speedscope(const struct ks_model *model, const struct ks_rows *rows,
			  struct ks_strbuf *out)
{
	struct ks_intern names = { 0 };
	struct ks_json json;
	size_t i;

	if (ks_intern_init(&names)) {
		out->failed = true;
		return;
	}
	number_frames(rows, &names, out);
	ks_json_init(&json, out, KS_JSON_INDENTED);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	ks_json_string(&json, "exporter", "kmemscope " KS_VERSION);
	ks_json_string(&json, "name",
		       model->level == KS_SLAB ? "kernel slab memory" : "kernel pages");
	ks_json_u64(&json, "activeProfileIndex", 0);
	put_frames(&json, &names);
	ks_json_array(&json, "profiles");
	for (i = 0; i < ARRAY_SIZE(profiles); i++)
		put_profile(&json, rows, &names, i);
	ks_json_end_array(&json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
	ks_intern_deinit(&names);
}
