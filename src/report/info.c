// SPDX-License-Identifier: LGPL-2.1-only
/* "kmemscope info": what is in a capture. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

/* === Internals: for programs ============================================================== */

/* "kfree_rcu, bulk frees": what the recorder's own probes saw. */
static void put_hooks(const struct ks_model *model, char *buf, size_t cap)
{
	static const char *const words[] = { "kfree_rcu", "bulk frees", "bulk allocations" };
	size_t i, len = 0;

	buf[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (model->hooks >> (i + 1) & 1)
			len += (size_t)snprintf(buf + len, cap - len, "%s%s", len ? ", " : "",
						words[i]);
}

static void add_wall(struct ks_doc *doc, const struct ks_model *model, const char *name, u64 ts)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_render_wall_utc(model, ts, &text);
	ks_doc_text(doc, name, ks_strbuf_str(&text));
	doc->failed |= text.failed;
	ks_strbuf_deinit(&text);
}

static void add_facts(struct ks_doc *doc, const struct ks_model *model)
{
	char hooks[96];
	int i;

	ks_doc_text(doc, "format", model->format);
	if (*model->kernel)
		ks_doc_text(doc, "kernel", model->kernel);
	if (*model->arch)
		ks_doc_text(doc, "machine", model->arch);
	if (model->cpus)
		ks_doc_u64(doc, "cpus", model->cpus);
	ks_doc_text(doc, "clock", ks_clock_name(model->clock));
	put_hooks(model, hooks, sizeof(hooks));
	ks_doc_text(doc, "hooks", hooks);
	ks_doc_u64(doc, "events_total", model->events_total);
	ks_doc_open(doc, "events");
	for (i = 0; i < KS_LOST; i++)
		ks_doc_u64(doc, ks_kind_name((enum ks_kind)i), model->events[i]);
	ks_doc_close(doc);
	ks_doc_u64(doc, "first_ts", model->first_ts);
	ks_doc_u64(doc, "last_ts", model->last_ts);
	if (model->wall.len) {
		add_wall(doc, model, "first_time", model->first_ts);
		add_wall(doc, model, "last_time", model->last_ts);
	}
	if (model->only)
		ks_doc_text(doc, "recorded_only", model->only);
}

static void add_counts(struct ks_doc *doc, const struct ks_model *model)
{
	int i;

	ks_doc_open(doc, "lines");
	ks_doc_u64(doc, "total", model->lines);
	ks_doc_u64(doc, "comments", model->lines_comment);
	ks_doc_u64(doc, "other_events", model->lines_other_event);
	ks_doc_u64(doc, "stack", model->lines_stack);
	ks_doc_u64(doc, "unparsed", model->quality[KS_Q_UNPARSED]);
	ks_doc_close(doc);
	ks_doc_u64(doc, "sites", model->sites);
	ks_doc_u64(doc, "caches", model->caches);
	ks_doc_u64(doc, "comms", model->comms);
	for (i = 0; i < KS_LEVELS; i++) {
		const struct ks_stat *stat = &model->levels[i];

		ks_doc_open(doc, ks_level_name((enum ks_level)i));
		ks_doc_u64(doc, "allocs", stat->allocs);
		ks_doc_u64(doc, "frees", stat->frees);
		ks_doc_u64(doc, "total_bytes", stat->total_bytes);
		ks_doc_u64(doc, "live_bytes", stat->live_bytes);
		if (ks_stat_has_peak(stat)) {
			ks_doc_u64(doc, "peak_bytes", stat->peak_bytes);
			ks_doc_u64(doc, "peak_ts", stat->peak_ts);
		}
		ks_doc_close(doc);
	}
}

/* === Internals: for people ================================================================ */

static void say_time(struct ks_doc *doc, const struct ks_model *model, u64 ts)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_render_time(model, ts, &text);
	ks_doc_say(doc, "%s", ks_strbuf_str(&text));
	doc->failed |= text.failed;
	ks_strbuf_deinit(&text);
}

static void say_word(struct ks_doc *doc, const char *name, const char *word)
{
	ks_doc_say(doc, "%-10s ", name);
	ks_doc_say_escaped(doc, *word ? word : "unknown");
}

static void say_machine(struct ks_doc *doc, const struct ks_model *model)
{
	say_word(doc, "kernel", model->kernel);
	ks_doc_say(doc, "\n");
	say_word(doc, "machine", model->arch);
	if (model->cpus)
		ks_doc_say(doc, ", %u CPU%s", model->cpus, model->cpus == 1 ? "" : "s");
	ks_doc_say(doc, "\n");
}

static void say_span(struct ks_doc *doc, const struct ks_model *model)
{
	ks_doc_say(doc, "%-10s ", "time");
	say_time(doc, model, model->first_ts);
	ks_doc_say(doc, " to ");
	say_time(doc, model, model->last_ts);
	ks_doc_say(doc, ", ");
	say_time(doc, model, model->last_ts - model->first_ts);
	ks_doc_say(doc, " %s\n",
		   model->clock == KS_CLOCK_NONE ? "(no time stamps)"
						 : ks_clock_name(model->clock));
	if (model->wall.len) {
		struct ks_strbuf text;

		ks_strbuf_init(&text);
		ks_render_wall_span(model, &text);
		ks_doc_say(doc, "%-10s %s\n", "date", ks_strbuf_str(&text));
		doc->failed |= text.failed;
		ks_strbuf_deinit(&text);
	}
}

static void say_level(struct ks_doc *doc, const struct ks_model *model, enum ks_level level)
{
	const struct ks_stat *stat = &model->levels[level];

	ks_doc_say(doc, "%-10s %" PRIu64 " allocations, ", ks_level_name(level), stat->allocs);
	ks_doc_say_bytes(doc, 0, stat->total_bytes, " bytes");
	ks_doc_say(doc, "; live at the end ");
	ks_doc_say_bytes(doc, 0, stat->live_bytes, " bytes");
	if (!ks_stat_has_peak(stat)) {
		ks_doc_say(doc, "; peak unknown");
	} else if (stat->peak_bytes) {
		ks_doc_say(doc, "; peak ");
		ks_doc_say_bytes(doc, 0, stat->peak_bytes, " bytes");
		ks_doc_say(doc, " at ");
		say_time(doc, model, stat->peak_ts);
	}
	ks_doc_say(doc, "\n");
}

static void say_facts(struct ks_doc *doc, const struct ks_model *model)
{
	char hooks[96];
	int i;

	ks_doc_say(doc, "%-10s %s\n", "format", model->format);
	say_machine(doc, model);
	say_span(doc, model);
	put_hooks(model, hooks, sizeof(hooks));
	if (*hooks)
		ks_doc_say(doc, "%-10s %s, which raise no event, are seen by probes\n", "hooks",
			   hooks);
	if (model->only) {
		say_word(doc, "recorded", model->only);
		ks_doc_say(doc, "\n");
	}
	if (model->lines)
		ks_doc_say(doc,
			   "%-10s %" PRIu64 ": %" PRIu64 " comments, %" PRIu64
			   " other events, %" PRIu64 " of stack traces, %" PRIu64
			   " not understood\n",
			   "lines", model->lines, model->lines_comment, model->lines_other_event,
			   model->lines_stack, model->quality[KS_Q_UNPARSED]);
	ks_doc_say(doc,
		   "%-10s %" PRIu64 " call sites, %" PRIu64 " caches, %" PRIu64 " command names\n",
		   "names", model->sites, model->caches, model->comms);
	for (i = 0; i < KS_LEVELS; i++)
		say_level(doc, model, (enum ks_level)i);
	ks_doc_say(doc, "\n");
}

static void say_unparsed(struct ks_doc *doc, const struct ks_model *model)
{
	size_t i;

	if (model->unparsed.len)
		ks_doc_say(doc, "the first lines not understood\n");
	for (i = 0; i < model->unparsed.len; i++) {
		ks_doc_say(doc, "    ");
		ks_doc_say_escaped(doc, model->unparsed.items[i]);
		ks_doc_say(doc, "\n");
	}
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_info(const struct ks_model *model)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-info-1");

	if (!doc)
		return NULL;
	add_facts(doc, model);
	add_counts(doc, model);
	say_facts(doc, model);
	doc->detailed = true;
	ks_doc_quality(doc, model);
	ks_doc_findings(doc, model);
	ks_doc_texts(doc, "unparsed_lines", model->unparsed.items, model->unparsed.len);
	say_unparsed(doc, model);
	return doc;
}
