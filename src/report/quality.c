// SPDX-License-Identifier: LGPL-2.1-only
/* Capture quality: how far the numbers can be trusted, shown with every report. */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/intern.h"
#include "report/report.h"

/* === Data ================================================================================= */

enum { WHAT, ALLOC_SITE, FREE_SITE, COUNT, FIRST_TS, PTR, FINDING_COLUMNS };

static const struct ks_column finding_columns[FINDING_COLUMNS] = {
	[WHAT] = { "what", NULL, KS_CELL_TEXT },
	[ALLOC_SITE] = { "alloc_site", NULL, KS_CELL_TEXT },
	[FREE_SITE] = { "free_site", NULL, KS_CELL_TEXT },
	[COUNT] = { "count", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[FIRST_TS] = { "first_ts", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[PTR] = { "ptr", NULL, KS_CELL_HEX, KS_UNIT_ADDRESS },
};

/* === Internals ============================================================================ */

static void say_events(struct ks_doc *doc, const struct ks_model *model)
{
	const char *separator = "";
	int kind;

	ks_doc_say(doc, "%14" PRIu64 " events (", model->events_total);
	for (kind = 0; kind < KS_LOST; kind++) {
		if (!model->events[kind])
			continue;
		ks_doc_say(doc, "%s%" PRIu64 " %s", separator, model->events[kind],
			   ks_kind_name(kind));
		separator = ", ";
	}
	ks_doc_say(doc, ")\n");
}

/* A site has a group for each of its stacks, where these are kept apart; it is named once. */
static void say_helpers(struct ks_doc *doc, const struct ks_model *model)
{
	const struct ks_sums *account = ks_model_account(model);
	struct ks_intern seen = { 0 };
	u64 allocs = 0, live = 0;
	size_t i, sites = 0;

	doc->failed |= ks_intern_init(&seen) != 0;
	for (i = 0; i < account->groups.len; i++) {
		const struct ks_group *group = &account->groups.items[i];

		if (!group->helper || !group->stat.allocs || doc->failed)
			continue;
		allocs += group->stat.allocs;
		live += group->stat.live_bytes;
		doc->failed |= ks_intern_add(&seen, group->label, strlen(group->label)) == KS_NONE;
		if (seen.strs.len == sites)
			continue;
		ks_doc_say(doc, "%s", sites++ ? ", " : "               helpers: ");
		ks_doc_say_escaped(doc, group->label);
	}
	if (sites)
		ks_doc_say(doc,
			   "\n               allocate for their callers: %" PRIu64
			   " allocations, %" PRIu64 " bytes live; --skip-helpers counts them "
			   "there, in a capture with stack traces\n",
			   allocs, live);
	ks_intern_deinit(&seen);
}

/* What the kernel had at the end, and how much of it the capture knows. */
static void say_coverage(struct ks_doc *doc, const struct ks_model *model)
{
	const struct ks_kernel_slabs *slabs = &model->kernel_slabs;
	u64 live = model->levels[KS_SLAB].live_bytes;

	if (!slabs->counted[1] || model->filtered || model->only || model->level != KS_SLAB)
		return;
	ks_doc_say(doc, "               ");
	ks_doc_say_bytes(doc, 0, ks_min(live, slabs->bytes[1]), " bytes");
	ks_doc_say(doc, " of ");
	ks_doc_say_bytes(doc, 0, slabs->bytes[1], " bytes");
	ks_doc_say(doc,
		   " of slab objects were allocated while it ran; the others are from before\n");
}

static void say_limits(struct ks_doc *doc, const struct ks_model *model)
{
	if (model->ptrs_hashed)
		ks_doc_say(doc, "               addresses are hashed: pairs may collide; the trace "
				"option nohash-ptr gives exact ones\n");
	if (model->some_tasks)
		ks_doc_say(doc, "               of some processes only: what interrupts and kernel "
				"threads free for them (RCU) is not seen; live bytes are an upper "
				"limit\n");
	if (model->only) {
		ks_doc_say(doc, "               recorded with ");
		ks_doc_say_escaped(doc, model->only);
		ks_doc_say(doc, ": no other allocations are in it\n");
	}
	say_coverage(doc, model);
	if (model->pages_unplaced)
		ks_doc_say(doc,
			   "               page events name no call site, and these have no stack "
			   "traces: GFP flags stand for sites; record --stack gives sites, "
			   "--by comm shows processes\n");
}

static void say_notes(struct ks_doc *doc, const struct ks_model *model)
{
	int q;

	for (q = 0; q < KS_QUALITIES; q++)
		if (!ks_quality_is_of_maps(q) || model->quality[q])
			ks_doc_note(doc, ks_quality_name(q), model->quality[q], ks_quality_text(q),
				    q == KS_Q_LOST_EVENTS);
	say_limits(doc, model);
}

/* Whether a counter that is not 0 makes numbers doubtful. The others are of any capture of a busy kernel. */
static bool is_doubt(enum ks_quality q)
{
	return ks_quality_is_loss(q) || q == KS_Q_UNPARSED || q == KS_Q_IMPOSSIBLE ||
	       q == KS_Q_UNPAIRABLE || q == KS_Q_BACKWARDS || q == KS_Q_SHORT_ALLOCS ||
	       q == KS_Q_SECOND_FREES || q == KS_Q_CACHE_FREE_OF_KMALLOC || q == KS_Q_BULK_MISSED ||
	       q == KS_Q_PROBES_MISSED || ks_quality_is_of_maps(q);
}

static void say_date(struct ks_doc *doc, const struct ks_model *model)
{
	struct ks_strbuf text;

	if (!model->wall.len)
		return;
	ks_strbuf_init(&text);
	ks_render_wall_span(model, &text);
	ks_doc_say(doc, "               recorded %s\n", ks_strbuf_str(&text));
	doc->failed |= text.failed;
	ks_strbuf_deinit(&text);
}

/* One line where all is well, else what is not. */
static void say_briefly(struct ks_doc *doc, const struct ks_model *model)
{
	bool well = !model->ptrs_hashed && !model->some_tasks;
	int q;

	for (q = 0; q < KS_QUALITIES; q++)
		well &= !model->quality[q] || !is_doubt(q);
	ks_doc_say(doc, "capture quality: %s%" PRIu64 " events%s\n", well ? "good, " : "",
		   model->events_total,
		   well ? ", none lost" : "; kmemscope info shows all counters");
	for (q = 0; q < KS_QUALITIES; q++)
		if (model->quality[q] && is_doubt(q))
			ks_doc_say(doc, "%14" PRIu64 " %s\n", model->quality[q],
				   ks_quality_text(q));
	say_date(doc, model);
	say_limits(doc, model);
}

static void add_findings(struct ks_doc *doc, const struct ks_model *model)
{
	struct ks_table *table =
		ks_doc_loose_table(doc, "findings", finding_columns, FINDING_COLUMNS);
	size_t i;

	for (i = 0; i < model->findings.len; i++) {
		const struct ks_finding *finding = &model->findings.items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, WHAT, ks_quality_name(finding->what));
		ks_row_text(row, ALLOC_SITE, finding->alloc_site);
		ks_row_text(row, FREE_SITE, finding->free_site);
		ks_row_u64(row, COUNT, finding->count);
		ks_row_u64(row, FIRST_TS, finding->first_ts);
		ks_row_u64(row, PTR, finding->ptr);
	}
	ks_doc_place(doc, table, KS_IN_JSON);
}

static void say_finding(struct ks_doc *doc, const struct ks_model *model,
			const struct ks_finding *finding)
{
	struct ks_strbuf first;

	ks_doc_say(doc, "%14" PRIu64 " x ", finding->count);
	ks_doc_say_escaped(doc, *finding->alloc_site ? finding->alloc_site : "unknown");
	if (*finding->free_site) {
		ks_doc_say(doc, ", freed by ");
		ks_doc_say_escaped(doc, finding->free_site);
	}
	ks_strbuf_init(&first);
	ks_render_time(model, finding->first_ts, &first);
	/* Slab events have sites, page events have none and a frame number in the place of an address. */
	ks_doc_say(doc, "; first at %s, %s 0x%" PRIx64 "\n", ks_strbuf_str(&first),
		   *finding->alloc_site || *finding->free_site ? "address" : "page frame",
		   finding->ptr);
	doc->failed |= first.failed;
	ks_strbuf_deinit(&first);
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

bool ks_model_in_seconds(const struct ks_model *model)
{
	return model->clock == KS_CLOCK_SECONDS;
}

enum ks_unit ks_time_unit(const struct ks_model *model)
{
	return ks_model_in_seconds(model) ? KS_UNIT_NS : KS_UNIT_TICKS;
}

void ks_render_time(const struct ks_model *model, u64 ts, struct ks_strbuf *out)
{
	if (ks_model_in_seconds(model))
		ks_strbuf_printf(out, "%" PRIu64 ".%09" PRIu64, ts / 1000000000, ts % 1000000000);
	else
		ks_strbuf_printf(out, "%" PRIu64, ts);
}

void ks_doc_quality(struct ks_doc *doc, const struct ks_model *model)
{
	u8 where = doc->where;

	if (where & KS_IN_TEXT) {
		ks_doc_show_in(doc, KS_IN_BRIEF);
		say_briefly(doc, model);
	}
	ks_doc_show_in(doc, (where & KS_IN_JSON) | (where & KS_IN_TEXT ? KS_IN_DETAIL : 0));
	ks_doc_open(doc, "quality");
	ks_doc_bool(doc, "loss", ks_model_has_loss(model));
	ks_doc_bool(doc, "addresses_hashed", model->ptrs_hashed);
	ks_doc_bool(doc, "some_tasks", model->some_tasks);
	ks_doc_bool(doc, "pages_unplaced", model->pages_unplaced);
	ks_doc_say(doc, "capture quality\n");
	say_events(doc, model);
	say_notes(doc, model);
	say_helpers(doc, model);
	ks_doc_u64(doc, "findings_dropped", model->findings_dropped);
	if (model->kernel_slabs.counted[1]) {
		ks_doc_u64(doc, "kernel_slab_bytes", model->kernel_slabs.bytes[1]);
		ks_doc_u64(doc, "kernel_slab_objects", model->kernel_slabs.objects[1]);
		ks_doc_bool(doc, "counted_by_object", model->kernel_slabs.by_object);
	}
	ks_doc_close(doc);
	ks_doc_show_in(doc, where);
	add_findings(doc, model);
}

void ks_doc_findings(struct ks_doc *doc, const struct ks_model *model)
{
	size_t i;
	int q;

	for (q = 0; q < KS_QUALITIES; q++) {
		bool titled = false;

		for (i = 0; i < model->findings.len; i++) {
			if ((int)model->findings.items[i].what != q)
				continue;
			if (!titled)
				ks_doc_say(doc, "%s\n", ks_quality_text(q));
			titled = true;
			say_finding(doc, model, &model->findings.items[i]);
		}
	}
	if (model->findings_dropped)
		ks_doc_say(doc, "%14" PRIu64 " more cases between further pairs of sites\n",
			   model->findings_dropped);
}

void ks_render_quality(const struct ks_model *model, bool detailed, struct ks_strbuf *out)
{
	struct ks_doc *doc = ks_doc_new("");

	if (!doc) {
		out->failed = true;
		return;
	}
	doc->detailed = detailed;
	ks_doc_quality(doc, model);
	ks_render_doc(doc, out);
	ks_doc_free(doc);
}
