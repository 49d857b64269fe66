// SPDX-License-Identifier: LGPL-2.1-only
/* What a watch found, in words and as a table. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "live/watch.h"

/* === Data ================================================================================= */

enum {
	CACHE,
	TYPE,
	TYPE_OBJECTS,
	SITE,
	ALSO,
	STACK,
	PROCESS,
	CGROUP,
	HOLDERS,
	HELD,
	RATE,
	LOW,
	HIGH,
	STEADINESS,
	P,
	SECONDS,
	OBJECTS,
	SIZE,
	ALL,
	RECLAIMABLE,
	FULL,
	FOUND,
	COLUMNS
};

static const struct ks_column columns[COLUMNS] = {
	[CACHE] = { "cache", "cache", KS_CELL_TEXT },
	[TYPE] = { "type", "type", KS_CELL_TEXT, .optional = true },
	[TYPE_OBJECTS] = { "objects_of_type", NULL, KS_CELL_U64, KS_UNIT_OBJECTS,
			   .optional = true },
	[SITE] = { "site", "site", KS_CELL_TEXT },
	[ALSO] = { "also", NULL, KS_CELL_TEXT, .optional = true },
	[STACK] = { "stack", NULL, KS_CELL_TEXT, .optional = true },
	[PROCESS] = { "process", "process", KS_CELL_TEXT, .optional = true },
	[CGROUP] = { "cgroup", NULL, KS_CELL_TEXT, .optional = true },
	[HOLDERS] = { "holders", NULL, KS_CELL_TEXT, .optional = true },
	[HELD] = { "objects_held", NULL, KS_CELL_U64, KS_UNIT_OBJECTS, .optional = true },
	[RATE] = { "bytes_per_second", "bytes/s", KS_CELL_DOUBLE },
	[LOW] = { "low", NULL, KS_CELL_DOUBLE },
	[HIGH] = { "high", NULL, KS_CELL_DOUBLE },
	[STEADINESS] = { "steadiness", NULL, KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[P] = { "p", NULL, KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[SECONDS] = { "seconds", NULL, KS_CELL_U64 },
	[OBJECTS] = { "objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[SIZE] = { "size", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[ALL] = { "objects_in_cache", NULL, KS_CELL_U64, KS_UNIT_OBJECTS, .optional = true },
	[RECLAIMABLE] = { "reclaimable", NULL, KS_CELL_BOOL },
	[FULL] = { "seconds_until_full", NULL, KS_CELL_U64, .optional = true },
	[FOUND] = { "found_ns", NULL, KS_CELL_U64, KS_UNIT_NS },
};

/* === Internals ============================================================================ */

static void put_escaped(struct ks_strbuf *out, const char *text)
{
	ks_escape_tty(out, text, strlen(text));
}

/* "3 days", "5 hours": one unit is enough of a guess. */
static void put_duration(struct ks_strbuf *out, u64 seconds)
{
	static const struct {
		u64 length;
		const char *name;
	} units[] = {
		{ 31557600, "year" },
		{ 86400, "day" },
		{ 3600, "hour" },
		{ 60, "minute" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		u64 count = seconds / units[i].length;

		if (!count)
			continue;
		ks_strbuf_printf(out, "%" PRIu64 " %s%s", count, units[i].name,
				 count == 1 ? "" : "s");
		return;
	}
	ks_strbuf_puts(out, "less than a minute");
}

static void say_what(const struct ks_suspect *s, struct ks_strbuf *out)
{
	const struct ks_judgement *j = &s->judgement;

	put_escaped(out, s->cache);
	ks_strbuf_printf(out,
			 " grows: %.0f bytes a second (%.0f to %.0f), %.1f objects of %u bytes, "
			 "watched for %" PRIu64 " s; %.0f %% of that time was steady growth, and "
			 "chance alone does this once in %.0f times.",
			 j->slope, j->low, j->high, j->slope / s->size, s->size, j->seconds,
			 100 * j->steadiness, fmin(1 / fmax(j->p, 1e-9), 1e9));
}

static void say_who(const struct ks_suspect *s, struct ks_strbuf *out)
{
	ks_strbuf_puts(out, " They are allocated in ");
	put_escaped(out, s->site);
	if (*s->process) {
		ks_strbuf_puts(out, " by ");
		put_escaped(out, s->process);
	} else {
		ks_strbuf_puts(out, " by processes that have ended, or by the kernel itself");
	}
	if (*s->cgroup) {
		ks_strbuf_puts(out, " of the cgroup ");
		put_escaped(out, s->cgroup);
	}
	ks_strbuf_puts(out, ", and not freed.");
	if (*s->also) {
		ks_strbuf_puts(out, " With them grows what is allocated in ");
		put_escaped(out, s->also);
		ks_strbuf_puts(out, ".");
	}
}

/* Of how many objects a holder holds how many stands behind its name. */
static void say_holders(const struct ks_suspect *s, struct ks_strbuf *out)
{
	if (!*s->holders) {
		if (s->held_objects)
			ks_strbuf_puts(out, " Nobody was found to hold them.");
		return;
	}
	if (ks_suspect_has_type(s))
		ks_strbuf_printf(out, " Of %" PRIu64 " of this type, these hold the most: ",
				 s->held_objects);
	else
		ks_strbuf_puts(out, " One of them is held by ");
	put_escaped(out, s->holders);
	ks_strbuf_puts(out, ".");
}

/* === Public =============================================================================== */

void ks_suspect_say(const struct ks_suspect *s, struct ks_strbuf *out)
{
	say_what(s, out);
	if (*s->type) {
		ks_strbuf_puts(out, " They are of type ");
		put_escaped(out, s->type);
		ks_strbuf_printf(out, ", of which this cache has %" PRIu64 ".", s->type_objects);
	}
	say_who(s, out);
	ks_strbuf_puts(out, s->reclaimable ? " The kernel can take them back when memory is short."
					   : " The kernel can't take them back.");
	if (s->full_s != UINT64_MAX) {
		ks_strbuf_puts(out, " At this rate memory is full in ");
		put_duration(out, s->full_s);
		ks_strbuf_puts(out, ".");
	}
	say_holders(s, out);
	if (ks_suspect_has_type(s)) {
		ks_strbuf_puts(out, " 'kmemscope heap holders ");
		put_escaped(out, s->type);
		ks_strbuf_puts(out, "' shows more.");
	}
	if (s->stack) {
		ks_strbuf_puts(out, "\n  Stack: ");
		put_escaped(out, s->stack);
	}
	ks_strbuf_puts(out, "\n");
}

struct ks_doc *ks_watch_doc(const struct ks_watch *watch)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-watch-1");
	struct ks_table *table;
	size_t i;

	if (!doc)
		return NULL;
	ks_doc_u64(doc, "looks", watch->looks);
	ks_doc_u64(doc, "rounds", watch->rounds);
	ks_doc_u64(doc, "dismissed", watch->dismissed);
	table = ks_doc_table(doc, "suspects", columns, COLUMNS);
	for (i = 0; table && i < watch->suspects.len; i++) {
		const struct ks_suspect *s = watch->suspects.items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, CACHE, s->cache);
		if (*s->type) {
			ks_row_text(row, TYPE, s->type);
			ks_row_u64(row, TYPE_OBJECTS, s->type_objects);
		}
		ks_row_text(row, SITE, s->site);
		if (*s->also)
			ks_row_text(row, ALSO, s->also);
		if (s->stack)
			ks_row_text(row, STACK, s->stack);
		if (*s->process)
			ks_row_text(row, PROCESS, s->process);
		if (*s->cgroup)
			ks_row_text(row, CGROUP, s->cgroup);
		if (*s->holders) {
			ks_row_text(row, HOLDERS, s->holders);
			ks_row_u64(row, HELD, s->held_objects);
		}
		ks_row_double(row, RATE, s->judgement.slope);
		ks_row_double(row, LOW, s->judgement.low);
		ks_row_double(row, HIGH, s->judgement.high);
		ks_row_double(row, STEADINESS, s->judgement.steadiness);
		ks_row_double(row, P, s->judgement.p);
		ks_row_u64(row, SECONDS, s->judgement.seconds);
		ks_row_u64(row, OBJECTS, s->objects);
		ks_row_u64(row, SIZE, s->size);
		if (s->all_objects)
			ks_row_u64(row, ALL, s->all_objects);
		ks_row_bool(row, RECLAIMABLE, s->reclaimable);
		if (s->full_s != UINT64_MAX)
			ks_row_u64(row, FULL, s->full_s);
		ks_row_u64(row, FOUND, s->found_ns);
	}
	return doc;
}
