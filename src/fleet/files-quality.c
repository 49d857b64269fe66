// SPDX-License-Identifier: LGPL-2.1-only
/* Which hosts of a directory of tables are silent, late or lossy: of their reports alone. */
#include <stdlib.h>
#include <string.h>

#include "fleet/files-ask.h"
#include "fleet/verdict.h"

/* === Data ================================================================================= */

enum { HOUR = 3600, WIDTH = KS_FILES_REPORT_COLUMNS };

/* The least and the most of a counter that only goes up. */
struct range {
	u64 min, max;
};

/* === Internals ============================================================================ */

static int compare_reports(const void *left, const void *right)
{
	const u64 *a = left, *b = right;

	if (a[KS_REPORT_HOST] != b[KS_REPORT_HOST])
		return a[KS_REPORT_HOST] < b[KS_REPORT_HOST] ? -1 : 1;
	return a[KS_REPORT_TS] < b[KS_REPORT_TS] ? -1 : a[KS_REPORT_TS] > b[KS_REPORT_TS];
}

static void widen(struct range *range, u64 value)
{
	range->min = ks_min(range->min, value);
	range->max = ks_max(range->max, value);
}

static void tell_host(struct ks_files_asking *ask, const u64 *reports, size_t len)
{
	const u64 *last = &reports[(len - 1) * WIDTH];
	struct range span = { UINT64_MAX, 0 }, lost = span, skipped = span;
	u64 late = 0, torn = 0, wanted, missing, silent;
	struct ks_lines *lines = &ask->lines;
	size_t i;

	for (i = 0; i < len; i++) {
		const u64 *r = &reports[i * WIDTH];

		widen(&span, r[KS_REPORT_SPAN]);
		widen(&lost, r[KS_REPORT_LOST]);
		widen(&skipped, r[KS_REPORT_SKIPPED]);
		late += r[KS_REPORT_STORED] >
			r[KS_REPORT_TS] + r[KS_REPORT_SPAN] + KS_VERDICT_LATE_SECS;
		torn += r[KS_REPORT_TORN];
	}
	wanted = (last[KS_REPORT_TS] - reports[KS_REPORT_TS]) / ks_max(span.min, (u64)1) + 1;
	missing = wanted > len ? wanted - len : 0;
	silent = last[KS_REPORT_TS] + span.max;
	silent = ask->until > silent ? ask->until - silent : 0;
	if (!missing && !late && lost.max == lost.min && skipped.max == skipped.min && !torn &&
	    silent <= KS_VERDICT_SILENT_SPANS * span.max)
		return;
	ks_lines_time(lines, (u32)last[KS_REPORT_TS]);
	ks_lines_s64(lines, (s64)len);
	ks_lines_s64(lines, (s64)missing);
	ks_lines_s64(lines, (s64)late);
	ks_lines_s64(lines, (s64)(lost.max - lost.min));
	ks_lines_s64(lines, (s64)(skipped.max - skipped.min));
	ks_lines_s64(lines, (s64)torn);
	ks_lines_s64(lines, (s64)silent);
	ks_lines_end(lines, (double)silent, (double)missing,
		     (u64[]){ last[KS_REPORT_HOST], last[KS_REPORT_BUILD] }, 2);
}

static bool is_wanted(const struct ks_files_asking *ask, const u64 *report)
{
	const char *label = ask->q->label, *value = NULL;
	u64 host = ask->only[KS_KEY_HOST], build = ask->only[KS_KEY_BUILD];

	if (report[KS_REPORT_TS] < ask->since || report[KS_REPORT_TS] >= ask->until ||
	    (host && report[KS_REPORT_HOST] != host) || (build && report[KS_REPORT_BUILD] != build))
		return false;
	if (label)
		value = ks_files_label(ask->files, report[KS_REPORT_HOST], label,
				       strcspn(label, "="));
	return !label || (value && !strcmp(value, strchr(label, '=') + 1));
}

/* Adds the reports of an hour that are asked for. */
static int gather(struct ks_files_asking *ask, u32 hour, struct ks_files_table *all,
		  struct ks_diag *diag)
{
	struct ks_files_table one = { 0 };
	int err = ks_files_read(ask->files, KS_STORE_REPORTS, hour, UINT32_MAX, &one, diag);
	size_t i;

	if (!err && ks_vec_reserve(&all->items, all->items.len + one.items.len))
		err = ks_diag_nomem(diag, "reading reports");
	for (i = 0; !err && i < one.items.len; i += WIDTH)
		if (is_wanted(ask, &one.items.items[i])) {
			memcpy(&all->items.items[all->items.len], &one.items.items[i],
			       WIDTH * sizeof(u64));
			all->items.len += WIDTH;
		}
	ks_vec_free(&one.items);
	return err;
}

/* === Public =============================================================================== */

int ks_files_ask_quality(struct ks_files_asking *ask, struct ks_diag *diag)
{
	struct ks_files_hours hours = { 0 };
	struct ks_files_table all = { 0 };
	size_t i, next;
	int err = ks_files_hours(ask->files, KS_STORE_REPORTS, &hours, diag);

	for (i = 0; !err && i < hours.items.len; i++)
		if (hours.items.items[i] + HOUR > ask->since && hours.items.items[i] < ask->until)
			err = gather(ask, hours.items.items[i], &all, diag);
	if (!err && all.items.len)
		qsort(all.items.items, all.items.len / WIDTH, WIDTH * sizeof(u64), compare_reports);
	for (i = 0; !err && i < all.items.len; i = next) {
		for (next = i; next < all.items.len; next += WIDTH)
			if (all.items.items[next + KS_REPORT_HOST] !=
			    all.items.items[i + KS_REPORT_HOST])
				break;
		tell_host(ask, &all.items.items[i], (next - i) / WIDTH);
	}
	ks_vec_free(&all.items);
	ks_vec_free(&hours.items);
	return err;
}
