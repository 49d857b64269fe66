// SPDX-License-Identifier: LGPL-2.1-only
/* "kmemscope info": what is in a capture. */
#include "report/report.h"

#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static void put_level(const struct ks_model *model, enum ks_level level, struct ks_strbuf *out)
{
	const struct ks_stat *stat = &model->levels[level];

	ks_strbuf_printf(out, "%-10s %llu allocations, %llu bytes; live at the end %llu bytes",
			 ks_level_name(level), (unsigned long long)stat->allocs,
			 (unsigned long long)stat->total_bytes,
			 (unsigned long long)stat->live_bytes);
	if (stat->peak_bytes) {
		ks_strbuf_printf(out, "; peak %llu bytes at ",
				 (unsigned long long)stat->peak_bytes);
		ks_render_time(model, stat->peak_ts, out);
	}
	ks_strbuf_puts(out, "\n");
}

static void put_word(struct ks_strbuf *out, const char *name, const char *word)
{
	ks_strbuf_printf(out, "%-10s ", name);
	ks_escape_tty(out, *word ? word : "unknown", strlen(*word ? word : "unknown"));
}

static void put_machine(const struct ks_model *model, struct ks_strbuf *out)
{
	put_word(out, "kernel", model->kernel);
	ks_strbuf_puts(out, "\n");
	put_word(out, "machine", model->arch);
	if (model->cpus)
		ks_strbuf_printf(out, ", %u CPU%s", model->cpus, model->cpus == 1 ? "" : "s");
	ks_strbuf_puts(out, "\n");
}

/* === Public =============================================================================== */

void ks_render_info(const struct ks_model *model, struct ks_strbuf *out)
{
	size_t i;

	ks_strbuf_printf(out, "%-10s %s\n", "format", model->format);
	put_machine(model, out);
	ks_strbuf_printf(out, "%-10s ", "time");
	ks_render_time(model, model->first_ts, out);
	ks_strbuf_puts(out, " to ");
	ks_render_time(model, model->last_ts, out);
	ks_strbuf_puts(out, ", ");
	ks_render_time(model, model->last_ts - model->first_ts, out);
	ks_strbuf_printf(out, " %s\n",
			 model->clock == KS_CLOCK_NONE ? "(no time stamps)"
						       : ks_clock_name(model->clock));
	if (model->lines)
		ks_strbuf_printf(
			out,
			"%-10s %llu: %llu comments, %llu other events, %llu of stack traces, %llu not understood\n",
			"lines", (unsigned long long)model->lines,
			(unsigned long long)model->lines_comment,
			(unsigned long long)model->lines_other_event,
			(unsigned long long)model->lines_stack,
			(unsigned long long)model->quality[KS_Q_UNPARSED]);
	ks_strbuf_printf(out, "%-10s %llu call sites, %llu caches, %llu command names\n", "names",
			 (unsigned long long)model->sites, (unsigned long long)model->caches,
			 (unsigned long long)model->comms);
	for (i = 0; i < KS_LEVELS; i++)
		put_level(model, (enum ks_level)i, out);
	ks_strbuf_puts(out, "\n");
	ks_render_quality(model, out);
	ks_render_findings(model, out);
	if (model->unparsed.len)
		ks_strbuf_puts(out, "the first lines not understood\n");
	for (i = 0; i < model->unparsed.len; i++) {
		ks_strbuf_puts(out, "    ");
		ks_escape_tty(out, model->unparsed.items[i], strlen(model->unparsed.items[i]));
		ks_strbuf_puts(out, "\n");
	}
}

void ks_render_info_json(const struct ks_model *model, struct ks_strbuf *out)
{
	struct ks_json json;
	size_t i;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-info-1");
	ks_json_string(&json, "format", model->format);
	if (*model->kernel)
		ks_json_string(&json, "kernel", model->kernel);
	if (*model->arch)
		ks_json_string(&json, "machine", model->arch);
	if (model->cpus)
		ks_json_u64(&json, "cpus", model->cpus);
	ks_json_string(&json, "clock", ks_clock_name(model->clock));
	ks_json_u64(&json, "events_total", model->events_total);
	ks_json_object(&json, "events");
	for (i = 0; i < KS_LOST; i++)
		ks_json_u64(&json, ks_kind_name((enum ks_kind)i), model->events[i]);
	ks_json_end_object(&json);
	ks_json_u64(&json, "first_ts", model->first_ts);
	ks_json_u64(&json, "last_ts", model->last_ts);
	ks_json_object(&json, "lines");
	ks_json_u64(&json, "total", model->lines);
	ks_json_u64(&json, "comments", model->lines_comment);
	ks_json_u64(&json, "other_events", model->lines_other_event);
	ks_json_u64(&json, "stack", model->lines_stack);
	ks_json_u64(&json, "unparsed", model->quality[KS_Q_UNPARSED]);
	ks_json_end_object(&json);
	ks_json_u64(&json, "sites", model->sites);
	ks_json_u64(&json, "caches", model->caches);
	ks_json_u64(&json, "comms", model->comms);
	for (i = 0; i < KS_LEVELS; i++) {
		const struct ks_stat *stat = &model->levels[i];

		ks_json_object(&json, ks_level_name((enum ks_level)i));
		ks_json_u64(&json, "allocs", stat->allocs);
		ks_json_u64(&json, "frees", stat->frees);
		ks_json_u64(&json, "total_bytes", stat->total_bytes);
		ks_json_u64(&json, "live_bytes", stat->live_bytes);
		ks_json_u64(&json, "peak_bytes", stat->peak_bytes);
		ks_json_u64(&json, "peak_ts", stat->peak_ts);
		ks_json_end_object(&json);
	}
	ks_render_quality_json(model, &json);
	ks_json_array(&json, "unparsed_lines");
	for (i = 0; i < model->unparsed.len; i++)
		ks_json_string(&json, NULL, model->unparsed.items[i]);
	ks_json_end_array(&json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}
