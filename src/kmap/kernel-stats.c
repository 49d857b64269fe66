// SPDX-License-Identifier: LGPL-2.1-only
/* What the memorizer's file show_stats says about the maps that it makes. */
#include "kmap/kernel-stats.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* === Data ================================================================================= */

static const struct {
	const char *name;
	bool always; /* every version of the module has it */
} counters[] = {
	[KS_KMAP_LOST_FULL] = { "dropped_full", true },
	[KS_KMAP_LOST_NMI] = { "dropped_nmi", true },
	[KS_KMAP_LOST_MARKS] = { "marks_lost", true },
	[KS_KMAP_LOST_ACCESSES_FULL] = { "accesses_dropped_full", false },
	[KS_KMAP_LOST_ACCESSES_NMI] = { "accesses_dropped_nmi", false },
	[KS_KMAP_LOST_ACCESSES_FAR] = { "accesses_dropped_far", false },
	[KS_KMAP_LOST_ACCESSES_CPU] = { "accesses_dropped_cpu", false },
	[KS_KMAP_LOST_VMALLOC] = { "vmalloc_areas_lost", false },
	[KS_KMAP_LOST_PAGES] = { "page_objects_lost", false },
	[KS_KMAP_LOST_CALLS_FULL] = { "calls_dropped_full", false },
	[KS_KMAP_LOST_CALLS_NMI] = { "calls_dropped_nmi", false },
	[KS_KMAP_LOST_CALLS_FAR] = { "calls_dropped_far", false },
	[KS_KMAP_LOST_CALLS_CPU] = { "calls_dropped_cpu", false },
};
_Static_assert(ARRAY_SIZE(counters) == KS_KMAP_LOSSES, "a name for every counter");

/* === Internals ============================================================================ */

/* The text between "name: " and the end of its line; false if there is no such line. */
static bool find_value(const char *text, const char *name, char *value, size_t size)
{
	size_t len = strlen(name);
	const char *line, *end;

	for (line = text; *line; line = end + (*end == '\n')) {
		end = strchrnul(line, '\n');
		if (strncmp(line, name, len) || strncmp(line + len, ": ", 2))
			continue;
		line += len + 2;
		snprintf(value, size, "%.*s", (int)(end - line), line);
		return true;
	}
	return false;
}

static int read_counter(const char *text, const char *name, enum ks_kmap_loss loss, u64 *ret_value,
			struct ks_diag *diag)
{
	char digits[24];

	if (!find_value(text, counters[loss].name, digits, sizeof(digits))) {
		*ret_value = 0;
		if (!counters[loss].always)
			return 0;
	} else if (!ks_parse_u64(digits, ret_value)) {
		return 0;
	}
	return ks_diag_set(diag, KS_EBADINPUT, "%s: has no number '%s'", name, counters[loss].name);
}

/* === Public =============================================================================== */

const char *ks_kmap_loss_name(enum ks_kmap_loss loss)
{
	return counters[loss].name;
}

int ks_kmap_kernel_stats_parse(const char *text, const char *name,
			       struct ks_kmap_kernel_stats *ret_stats, struct ks_diag *diag)
{
	struct ks_kmap_kernel_stats stats = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < KS_KMAP_LOSSES && !err; i++)
		err = read_counter(text, name, (enum ks_kmap_loss)i, &stats.lost[i], diag);
	if (err)
		return err;
	find_value(text, "state", stats.state, sizeof(stats.state));
	stats.failed = strcmp(stats.state, "ok") != 0;
	*ret_stats = stats;
	return 0;
}

void ks_kmap_kernel_stats_since(struct ks_kmap_kernel_stats *stats,
				const struct ks_kmap_kernel_stats *before)
{
	size_t i;

	for (i = 0; i < KS_KMAP_LOSSES; i++)
		stats->lost[i] -= ks_min(stats->lost[i], before->lost[i]);
}

u64 ks_kmap_lost_objects(const struct ks_kmap_kernel_stats *stats)
{
	return ks_add_sat(stats->lost[KS_KMAP_LOST_FULL], stats->lost[KS_KMAP_LOST_NMI]);
}

u64 ks_kmap_lost_total(const struct ks_kmap_kernel_stats *stats)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < KS_KMAP_LOSSES; i++)
		sum = ks_add_sat(sum, stats->lost[i]);
	return sum;
}
