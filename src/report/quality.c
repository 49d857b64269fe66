// SPDX-License-Identifier: LGPL-2.1-only
/* Capture quality: how far the numbers can be trusted, shown with every report. */
#include "report/report.h"

#include <string.h>

#include "base/escape.h"
#include "base/intern.h"

/* === Internals ============================================================================ */

static void put_events(const struct ks_model *model, struct ks_strbuf *out)
{
	const char *separator = "";
	int kind;

	ks_strbuf_printf(out, "%14llu events", (unsigned long long)model->events_total);
	ks_strbuf_puts(out, " (");
	for (kind = 0; kind < KS_LOST; kind++) {
		if (!model->events[kind])
			continue;
		ks_strbuf_printf(out, "%s%llu %s", separator,
				 (unsigned long long)model->events[kind], ks_kind_name(kind));
		separator = ", ";
	}
	ks_strbuf_puts(out, ")\n");
}

/* === Public =============================================================================== */

bool ks_model_has_loss(const struct ks_model *model)
{
	int q;

	for (q = 0; q < KS_QUALITIES; q++)
		if (ks_quality_is_loss(q) && model->quality[q])
			return true;
	return false;
}

void ks_render_time(const struct ks_model *model, u64 ts, struct ks_strbuf *out)
{
	if (model->clock == KS_CLOCK_SECONDS)
		ks_strbuf_printf(out, "%llu.%09llu", (unsigned long long)(ts / 1000000000),
				 (unsigned long long)(ts % 1000000000));
	else
		ks_strbuf_printf(out, "%llu", (unsigned long long)ts);
}

/* A site has a group for each of its stacks, where these are kept apart; it is named once. */
void ks_render_helpers(const struct ks_model *model, struct ks_strbuf *out)
{
	struct ks_intern seen = { 0 };
	u64 allocs = 0, live = 0;
	size_t i, sites = 0;

	out->failed |= ks_intern_init(&seen) != 0;
	for (i = 0; i < ks_model_account(model)->groups.len; i++) {
		const struct ks_group *group = &ks_model_account(model)->groups.items[i];

		if (!group->helper || !group->stat.allocs || out->failed)
			continue;
		allocs += group->stat.allocs;
		live += group->stat.live_bytes;
		out->failed |= ks_intern_add(&seen, group->label, strlen(group->label)) == KS_NONE;
		if (seen.strs.len == sites)
			continue;
		ks_strbuf_puts(out, sites++ ? ", " : "               helpers: ");
		ks_escape_tty(out, group->label, strlen(group->label));
	}
	if (sites)
		ks_strbuf_printf(
			out,
			"\n               allocate for their callers: %llu allocations, %llu bytes "
			"live; --skip-helpers counts them there, in a capture with stack traces\n",
			(unsigned long long)allocs, (unsigned long long)live);
	ks_intern_deinit(&seen);
}

void ks_render_quality(const struct ks_model *model, struct ks_strbuf *out)
{
	int q;

	ks_strbuf_puts(out, "capture quality\n");
	put_events(model, out);
	for (q = 0; q < KS_QUALITIES; q++)
		if (model->quality[q] || q == KS_Q_LOST_EVENTS)
			ks_strbuf_printf(out, "%14llu %s\n", (unsigned long long)model->quality[q],
					 ks_quality_text(q));
	if (model->ptrs_hashed)
		ks_strbuf_puts(
			out,
			"               addresses are hashed: pairs may collide; the trace option "
			"nohash-ptr gives exact ones\n");
	if (model->some_tasks)
		ks_strbuf_puts(
			out,
			"               of some processes only: what interrupts and kernel threads free "
			"for them (RCU) is not seen; live bytes are an upper limit\n");
	ks_render_helpers(model, out);
}

void ks_render_quality_json(const struct ks_model *model, struct ks_json *json)
{
	size_t i;
	int q;

	ks_json_object(json, "quality");
	ks_json_bool(json, "loss", ks_model_has_loss(model));
	ks_json_bool(json, "addresses_hashed", model->ptrs_hashed);
	ks_json_bool(json, "some_tasks", model->some_tasks);
	for (q = 0; q < KS_QUALITIES; q++)
		ks_json_u64(json, ks_quality_name(q), model->quality[q]);
	ks_json_u64(json, "findings_dropped", model->findings_dropped);
	ks_json_end_object(json);
	ks_json_array(json, "findings");
	for (i = 0; i < model->findings.len; i++) {
		const struct ks_finding *finding = &model->findings.items[i];

		ks_json_object(json, NULL);
		ks_json_string(json, "what", ks_quality_name(finding->what));
		ks_json_string(json, "alloc_site", finding->alloc_site);
		ks_json_string(json, "free_site", finding->free_site);
		ks_json_u64(json, "count", finding->count);
		ks_json_u64(json, "first_ts", finding->first_ts);
		ks_json_hex(json, "ptr", finding->ptr);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
}

void ks_render_findings(const struct ks_model *model, struct ks_strbuf *out)
{
	size_t i;
	int q;

	for (q = 0; q < KS_QUALITIES; q++) {
		bool titled = false;

		for (i = 0; i < model->findings.len; i++) {
			const struct ks_finding *finding = &model->findings.items[i];

			if ((int)finding->what != q)
				continue;
			if (!titled)
				ks_strbuf_printf(out, "%s\n", ks_quality_text(q));
			titled = true;
			ks_strbuf_printf(out, "%14llu x ", (unsigned long long)finding->count);
			ks_escape_tty(
				out, *finding->alloc_site ? finding->alloc_site : "unknown",
				strlen(*finding->alloc_site ? finding->alloc_site : "unknown"));
			if (*finding->free_site) {
				ks_strbuf_puts(out, ", freed by ");
				ks_escape_tty(out, finding->free_site, strlen(finding->free_site));
			}
			ks_strbuf_puts(out, "; first at ");
			ks_render_time(model, finding->first_ts, out);
			ks_strbuf_printf(out, ", address 0x%llx\n",
					 (unsigned long long)finding->ptr);
		}
	}
	if (model->findings_dropped)
		ks_strbuf_printf(out, "%14llu more cases between further pairs of sites\n",
				 (unsigned long long)model->findings_dropped);
}
