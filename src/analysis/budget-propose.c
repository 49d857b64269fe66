// SPDX-License-Identifier: LGPL-2.1-only
/* A budget from captures that are known to be good. */
#include "analysis/budget.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/quantity.h"

/* === Data ================================================================================= */

/* What the captures say of one thing. */
struct sample {
	const char *name;
	u64 seen;  /* captures that have it */
	u64 last;  /* the one that was added last, + 1 */
	u64 value; /* in that one */
	u64 min, max;
	double sum, squares;
};

struct samples {
	struct ks_intern names;
	KS_VEC(struct sample) items;
	bool failed;
};

/* Nobody knows the noise of a single capture: this much is left for it. */
static const double one_capture_room = 0.25;

/* Of several: at least this much, and this many standard deviations. */
static const double least_room = 0.05, deviations = 4;

/* === Internals: limits ==================================================================== */

static void sample_close(struct sample *sample)
{
	double value = (double)sample->value;

	if (!sample->last)
		return;
	sample->min = sample->seen ? ks_min(sample->min, sample->value) : sample->value;
	sample->max = ks_max(sample->max, sample->value);
	sample->sum += value;
	sample->squares += value * value;
	sample->seen++;
	sample->last = sample->value = 0;
}

static void sample_add(struct sample *sample, size_t capture, u64 value)
{
	if (sample->last != capture + 1)
		sample_close(sample);
	sample->last = capture + 1;
	sample->value += value;
}

static double limit_of(const struct sample *sample)
{
	double n = (double)sample->seen, mean = sample->sum / n, max = (double)sample->max;
	double variance = sample->seen > 1 ? (sample->squares - mean * sample->sum) / (n - 1) : 0;
	double limit = max * (1 + least_room);

	if (sample->seen == 1)
		return max * (1 + one_capture_room);
	/* Beyond the largest by as much as they differ, or by what their spread makes likely. */
	limit = fmax(limit, max + (max - (double)sample->min));
	return fmax(limit, mean + deviations * sqrt(fmax(variance, 0)));
}

/* Rounded up: two digits or more, and a unit. */
static void put_limit(struct ks_strbuf *out, double limit)
{
	static const char units[] = "\0KMG";
	u64 value = limit < 1e18 ? (u64)ceil(limit) : (u64)1e18;
	size_t unit = 0;

	while (value >= 10240 && unit < 3) {
		value = (value + 1023) / 1024;
		unit++;
	}
	ks_strbuf_printf(out, "%" PRIu64, value);
	if (unit)
		ks_strbuf_add(out, &units[unit], 1);
}

static void put_rule(struct ks_strbuf *out, const char *scope, const char *name,
		     enum ks_limit_kind kind, const struct sample *sample)
{
	ks_strbuf_printf(out, "%s%s%s %s ", scope, *name ? " " : "", name,
			 ks_limit_kind_name(kind));
	put_limit(out, limit_of(sample));
	ks_strbuf_puts(out, kind == KS_LIMIT_RATE ? "/s # " : " # ");
	ks_render_bytes(out, sample->min);
	if (sample->max != sample->min) {
		ks_strbuf_puts(out, " to ");
		ks_render_bytes(out, sample->max);
	}
	ks_strbuf_puts(out, "\n");
}

/* === Internals: names ===================================================================== */

/* Whether the name can stand in a budget and means itself there. */
static bool is_writable(const char *name)
{
	size_t len = strlen(name), i;

	if (!len || name[0] == ' ' || name[0] == '#' || name[len - 1] == ' ' || strchr(name, '*'))
		return false;
	for (i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || !strncmp(&name[i], " #", 2))
			return false;
	return true;
}

static const char *name_in(enum ks_scope_kind scope, const struct ks_group *group)
{
	return scope == KS_SCOPE_FUNCTION ? group->func : group->label;
}

static void collect(struct samples *samples, enum ks_scope_kind scope,
		    const struct ks_gate_facts *facts, size_t len)
{
	size_t i, j;

	for (i = 0; i < len; i++)
		for (j = 0; j < facts[i].groups[scope].len; j++) {
			const struct ks_group *group = &facts[i].groups[scope].items[j];
			const char *name = name_in(scope, group);
			u32 id = ks_intern_add(&samples->names, name, strlen(name));

			if (id == KS_NONE ||
			    (id == samples->items.len && !ks_vec_push(&samples->items))) {
				samples->failed = true;
				return;
			}
			samples->items.items[id].name = name;
			sample_add(&samples->items.items[id], i, group->stat.live_bytes);
		}
	for (i = 0; i < samples->items.len; i++)
		sample_close(&samples->items.items[i]);
}

static int larger(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;

	if (a->max != b->max)
		return a->max > b->max ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The largest names by themselves, and one rule for each of the others. */
static void propose_scope(struct ks_strbuf *out, enum ks_scope_kind scope,
			  const struct ks_gate_facts *facts, size_t len, u64 top)
{
	struct sample rest = { 0 };
	struct samples samples = { 0 };
	u64 written = 0;
	size_t i;

	samples.failed = ks_intern_init(&samples.names);
	if (!samples.failed)
		collect(&samples, scope, facts, len);
	if (!samples.failed && samples.items.len)
		qsort(samples.items.items, samples.items.len, sizeof(struct sample), larger);
	for (i = 0; i < samples.items.len && !samples.failed; i++) {
		const struct sample *sample = &samples.items.items[i];

		/* What some of the captures lack would be missing in the next one, too. */
		if (written < top && sample->max && sample->seen == len &&
		    is_writable(sample->name)) {
			put_rule(out, ks_scope_kind_name(scope), sample->name, KS_LIMIT_LIVE,
				 sample);
			written++;
		} else if (sample->max > rest.max || !rest.seen) {
			rest = *sample;
		}
	}
	if (rest.seen && !samples.failed)
		put_rule(out, ks_scope_kind_name(scope), "*", KS_LIMIT_LIVE, &rest);
	out->failed |= samples.failed;
	ks_vec_free(&samples.items);
	ks_intern_deinit(&samples.names);
}

static u64 total_of(const struct ks_gate_facts *facts, enum ks_limit_kind kind)
{
	if (kind == KS_LIMIT_LIVE)
		return facts->total.live_bytes;
	if (kind == KS_LIMIT_WASTE)
		return ks_stat_waste(&facts->total);
	return (u64)((double)facts->total.total_bytes * 1e9 / (double)facts->span_ns);
}

static void propose_total(struct ks_strbuf *out, enum ks_limit_kind kind,
			  const struct ks_gate_facts *facts, size_t len)
{
	struct sample sample = { 0 };
	size_t i;

	for (i = 0; i < len; i++) {
		if (kind != KS_LIMIT_LIVE && facts[i].live_only)
			return;
		if (kind == KS_LIMIT_RATE && !facts[i].span_ns)
			return;
		sample_add(&sample, i, total_of(&facts[i], kind));
	}
	sample_close(&sample);
	put_rule(out, "total", "", kind, &sample);
}

/* === Internals: layouts =================================================================== */

/* The largest that the captures have; 0: one of them lacks the type, or the name can't stand in a budget. */
static bool greatest_layout(const struct ks_gate_facts *facts, size_t len, const char *name,
			    struct ks_gate_layout *ret_layout)
{
	size_t i, j, kind;

	*ret_layout = (struct ks_gate_layout){ .name = name };
	for (i = 0; i < len; i++) {
		for (j = 0; j < facts[i].nr_layouts; j++)
			if (!strcmp(facts[i].layouts[j].name, name))
				break;
		if (j == facts[i].nr_layouts)
			return false;
		for (kind = 0; kind < KS_LAYOUT_LIMITS; kind++)
			ret_layout->values[kind] =
				ks_max(ret_layout->values[kind], facts[i].layouts[j].values[kind]);
	}
	return is_writable(name);
}

/* A layout has no noise: what the largest is may be, and no more. */
static void propose_layouts(struct ks_strbuf *out, const struct ks_gate_facts *facts, size_t len,
			    u64 top)
{
	struct ks_gate_layout layout;
	u64 written = 0;
	size_t i, kind;

	for (i = 0; i < facts[0].nr_layouts && written < top; i++) {
		if (!greatest_layout(facts, len, facts[0].layouts[i].name, &layout))
			continue;
		written++;
		for (kind = 0; kind < KS_LAYOUT_LIMITS; kind++)
			ks_strbuf_printf(
				out, "%s %s %s %" PRIu64 "\n", ks_scope_kind_name(KS_SCOPE_TYPE),
				layout.name,
				ks_limit_kind_name((enum ks_limit_kind)(KS_LIMIT_LAYOUT + kind)),
				layout.values[kind]);
	}
}

/* === Public =============================================================================== */

void ks_budget_propose(struct ks_strbuf *out, const struct ks_gate_facts *facts, size_t len,
		       u64 top)
{
	static const enum ks_scope_kind scopes[] = { KS_SCOPE_FUNCTION, KS_SCOPE_TYPE,
						     KS_SCOPE_CACHE };
	size_t i;

	ks_strbuf_printf(out, "# From %zu %s%s. ", len, facts[0].what, len == 1 ? "" : "s");
	ks_strbuf_puts(out, len == 1 ? "Its noise is not known: a quarter is left for it; give "
				       "several for a tighter budget.\n"
				     : "The limits have room for as much as these differ.\n");
	ks_strbuf_puts(out, "# Behind each limit is what was measured. A rule with a * is for "
			    "names without a rule of their own.\n");
	propose_total(out, KS_LIMIT_LIVE, facts, len);
	propose_total(out, KS_LIMIT_WASTE, facts, len);
	propose_total(out, KS_LIMIT_RATE, facts, len);
	for (i = 0; i < ARRAY_SIZE(scopes); i++)
		propose_scope(out, scopes[i], facts, len, top);
	propose_layouts(out, facts, len, top);
}
