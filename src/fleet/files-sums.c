// SPDX-License-Identifier: LGPL-2.1-only
/* Slopes by host and their sums by build, of each hour. The same as the statements of fleet/rollup.c. */
#include "fleet/files-sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/files-group.h"

/* === Data ================================================================================= */

enum { HOUR = 3600 };

/* How long a kernel had been up at the first report of the hour. */
struct boot {
	u64 host, boot, build;
	u32 up;
};

struct boots {
	KS_VEC(struct boot) items;
	u32 all_warm; /* hosts */
};

static const struct ks_order by_series = {
	4, 5, { KS_KEY_BUILD, KS_KEY_CACHE, KS_KEY_TYPE, KS_KEY_SITE, KS_KEY_HOST }
};

/* The host whose label was looked for last: rows of one host come together. */
struct labelled {
	const struct ks_files *files;
	const char *name;
	u64 host;
	const char *value;
};

struct host_sums {
	KS_VEC(struct ks_host_sum) items;
};

/* === Internals: order ===================================================================== */

static int compare(const u64 *a, const u64 *b, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	static const u8 key[] = { KS_ROW_HOST, KS_ROW_BOOT, KS_ROW_BUILD, KS_ROW_CACHE,
				  KS_ROW_TYPE, KS_ROW_SITE, KS_ROW_TS };
	const u64 *a = left, *b = right;
	size_t i;

	for (i = 0; i < sizeof(key); i++)
		if (a[key[i]] != b[key[i]])
			return a[key[i]] < b[key[i]] ? -1 : 1;
	return 0;
}

static bool same_series(const u64 *a, const u64 *b)
{
	return a[KS_ROW_HOST] == b[KS_ROW_HOST] && a[KS_ROW_BOOT] == b[KS_ROW_BOOT] &&
	       a[KS_ROW_BUILD] == b[KS_ROW_BUILD] && a[KS_ROW_CACHE] == b[KS_ROW_CACHE] &&
	       a[KS_ROW_TYPE] == b[KS_ROW_TYPE] && a[KS_ROW_SITE] == b[KS_ROW_SITE];
}

static int compare_boots(const void *left, const void *right)
{
	const struct boot *a = left, *b = right;
	const u64 x[] = { a->host, a->boot, a->build, a->up };
	const u64 y[] = { b->host, b->boot, b->build, b->up };

	return compare(x, y, ARRAY_SIZE(x));
}

static int compare_by_build(const void *left, const void *right)
{
	const struct boot *a = left, *b = right;
	const u64 x[] = { a->build, a->host, UINT32_MAX - a->up };
	const u64 y[] = { b->build, b->host, UINT32_MAX - b->up };

	return compare(x, y, ARRAY_SIZE(x));
}

/* === Internals: which rows ================================================================ */

/* The value of a label of a host; NULL = it has none. */
static const char *label_of(struct labelled *label, u64 host)
{
	if (host != label->host) {
		label->host = host;
		label->value =
			ks_files_label(label->files, host, label->name, strcspn(label->name, "="));
	}
	return label->value;
}

/* Whether a host has the label that is asked for. */
static bool has_label(struct labelled *label, u64 host)
{
	const char *value = label->name ? label_of(label, host) : NULL;

	return !label->name || (value && !strcmp(value, strchr(label->name, '=') + 1));
}

/* Leaves the rows that are asked for, and puts what they are to be added up by into its place. */
static void choose_rows(const struct ks_files *files, const struct ks_sums_of *of,
			struct ks_files_table *table)
{
	static const u8 columns[KS_KEY_PARTS] = { [KS_KEY_HOST] = KS_ROW_HOST,
						  [KS_KEY_BUILD] = KS_ROW_BUILD,
						  [KS_KEY_CACHE] = KS_ROW_CACHE,
						  [KS_KEY_TYPE] = KS_ROW_TYPE,
						  [KS_KEY_SITE] = KS_ROW_SITE };
	struct labelled filter = { .files = files, .name = of->label },
			by = { .files = files, .name = of->by_label };
	u64 *items = table->items.items;
	size_t i, part, kept = 0;

	for (i = 0; i < table->items.len; i += table->width) {
		u64 *row = &items[i];
		bool wanted = has_label(&filter, row[KS_ROW_HOST]);

		for (part = 0; part < KS_KEY_HOUR; part++)
			wanted &= !of->only[part] || of->only[part] == row[columns[part]];
		if (!wanted)
			continue;
		if (of->by == KS_FLEET_BY_STACK)
			row[KS_ROW_SITE] = row[KS_ROW_STACK];
		else if (of->by == KS_FLEET_BY_CGROUP)
			row[KS_ROW_SITE] = row[KS_ROW_CGROUP];
		else if (of->by == KS_FLEET_BY_HOST)
			row[KS_ROW_BUILD] = row[KS_ROW_HOST];
		else if (of->by == KS_FLEET_BY_LABEL)
			row[KS_ROW_BUILD] = ks_files_label_id(label_of(&by, row[KS_ROW_HOST]));
		memmove(&items[kept], row, table->width * sizeof(*row));
		kept += table->width;
	}
	table->items.len = kept;
}

/* === Internals: one hour ================================================================== */

static int find_boots(const struct ks_files *files, const struct ks_sums_of *of, u32 hour,
		      struct boots *boots, struct ks_diag *diag)
{
	struct labelled filter = { .files = files, .name = of->label };
	struct ks_files_table table = { 0 };
	size_t i, kept = 0;
	u64 warm = 0; /* the last host that counted */
	int err = ks_files_read(files, KS_STORE_REPORTS, hour,
				1u << KS_REPORT_HOST | 1u << KS_REPORT_BOOT |
					1u << KS_REPORT_BUILD | 1u << KS_REPORT_UPTIME,
				&table, diag);

	for (i = 0; !err && i < table.items.len; i += table.width) {
		const u64 *row = &table.items.items[i];
		struct boot *to;

		if (!has_label(&filter, row[KS_REPORT_HOST]))
			continue;
		to = ks_vec_push(&boots->items);
		if (to)
			*to = (struct boot){ row[KS_REPORT_HOST], row[KS_REPORT_BOOT],
					     row[KS_REPORT_BUILD], (u32)row[KS_REPORT_UPTIME] };
		else
			err = ks_diag_nomem(diag, "adding up rows");
	}
	ks_vec_free(&table.items);
	if (err || !boots->items.len)
		return err;
	qsort(boots->items.items, boots->items.len, sizeof(*boots->items.items), compare_boots);
	for (i = 0; i < boots->items.len; i++) { /* the first of each boot has the least */
		struct boot *boot = &boots->items.items[i], *last = &boots->items.items[kept];

		if (kept && last[-1].host == boot->host && last[-1].boot == boot->boot &&
		    last[-1].build == boot->build)
			continue;
		*last = *boot;
		kept++;
		if (boot->up >= KS_STORE_WARM_SECS && (!boots->all_warm || warm != boot->host)) {
			boots->all_warm++;
			warm = boot->host;
		}
	}
	boots->items.len = kept;
	return 0;
}

static bool is_warm(const struct boots *boots, u64 host, u64 boot)
{
	size_t low = 0, high = boots->items.len;
	const u64 wanted[] = { host, boot };

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct boot *at = &boots->items.items[mid];
		const u64 here[] = { at->host, at->boot };

		if (compare(here, wanted, 2) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == boots->items.len)
		return false;
	return boots->items.items[low].host == host && boots->items.items[low].boot == boot &&
	       boots->items.items[low].up >= KS_STORE_WARM_SECS;
}

/* The rows from @first to before @end are of one series of one host, in the order of time. */
static void sum_series(const struct ks_files_table *table, size_t first, size_t end, u32 hour,
		       struct ks_host_sum *sum)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, d;
	size_t i, next;

	for (i = first; i < end; i = next) {
		const u64 *row = &table->items.items[i];
		double x = (double)(row[KS_ROW_TS] - hour) / HOUR;
		u64 bytes = 0, objects = 0;

		/* By several stacks and cgroups at the same time: they are one value. */
		for (next = i; next < end; next += table->width) {
			const u64 *same = &table->items.items[next];

			if (same[KS_ROW_TS] != row[KS_ROW_TS])
				break;
			bytes += same[KS_ROW_BYTES];
			objects += same[KS_ROW_OBJECTS];
		}
		sum->bytes = (s64)bytes;
		sum->objects = (s64)objects;
		n++;
		sx += x;
		sy += (double)sum->bytes;
		sxx += x * x;
		sxy += x * (double)sum->bytes;
	}
	d = n * sxx - sx * sx;
	sum->growth = n > 1 && d > 0 ? (n * sxy - sx * sy) / d : 0;
}

static int sum_hosts(struct ks_files_table *table, const struct boots *boots, u32 hour,
		     struct host_sums *to, struct ks_diag *diag)
{
	size_t i, next, width = table->width;

	if (table->items.len)
		qsort(table->items.items, table->items.len / width, width * sizeof(u64),
		      compare_rows);
	for (i = 0; i < table->items.len; i = next) {
		const u64 *row = &table->items.items[i];
		struct ks_host_sum *sum = ks_vec_push(&to->items);

		if (!sum)
			return ks_diag_nomem(diag, "adding up rows");
		for (next = i; next < table->items.len; next += width)
			if (!same_series(row, &table->items.items[next]))
				break;
		*sum = (struct ks_host_sum){ .key = { [KS_KEY_HOST] = row[KS_ROW_HOST],
						      [KS_KEY_BUILD] = row[KS_ROW_BUILD],
						      [KS_KEY_CACHE] = row[KS_ROW_CACHE],
						      [KS_KEY_TYPE] = row[KS_ROW_TYPE],
						      [KS_KEY_SITE] = row[KS_ROW_SITE],
						      [KS_KEY_HOUR] = hour },
					     .boot = row[KS_ROW_BOOT] };
		sum->warm = is_warm(boots, sum->key[KS_KEY_HOST], sum->boot);
		sum_series(table, i, next, hour, sum);
	}
	KS_SORT(&to->items, &by_series);
	return 0;
}

/* Hosts of a build, and those of them that are warm. Boots are in the order of builds. */
static void count_build(const struct boots *boots, u64 build, u32 *ret_hosts, u32 *ret_warm)
{
	u64 last = 0;
	size_t i;

	*ret_hosts = *ret_warm = 0;
	for (i = 0; i < boots->items.len; i++) {
		const struct boot *boot = &boots->items.items[i];

		if (boot->build != build || (*ret_hosts && boot->host == last))
			continue;
		last = boot->host;
		*ret_hosts += 1;
		*ret_warm += boot->up >= KS_STORE_WARM_SECS; /* the longest comes first */
	}
}

static int sum_builds(const struct host_sums *hosts, const struct boots *boots,
		      struct ks_sums *sums, struct ks_diag *diag)
{
	u32 build_hosts = 0, warm_hosts = 0;
	size_t i, next, end;

	for (i = 0; i < hosts->items.len; i = next) {
		const struct ks_host_sum *first = &hosts->items.items[i];
		u64 build = first->key[KS_KEY_BUILD];
		struct ks_hour_sum *sum = ks_vec_push(&sums->hours);

		if (!sum)
			return ks_diag_nomem(diag, "adding up rows");
		if (!i || first[-1].key[KS_KEY_BUILD] != build)
			count_build(boots, build, &build_hosts, &warm_hosts);
		*sum = (struct ks_hour_sum){ .build_hosts = build_hosts,
					     .warm_hosts = warm_hosts,
					     .all_warm = boots->all_warm };
		memcpy(sum->key, first->key, sizeof(sum->key));
		end = KS_GROUP_END(&hosts->items, &by_series, i);
		for (next = i; next < end; next++) {
			const struct ks_host_sum *host = &hosts->items.items[next];
			double growth = host->warm ? host->growth : 0;

			sum->bytes = (s64)((u64)sum->bytes + (u64)host->bytes);
			sum->objects = (s64)((u64)sum->objects + (u64)host->objects);
			sum->growth += growth;
			sum->growth_sq += growth * growth;
			sum->growing += growth > 0;
			if (next == i || growth > sum->top_growth) {
				sum->top_growth = growth;
				sum->key[KS_KEY_HOST] = host->key[KS_KEY_HOST];
			}
		}
	}
	return 0;
}

static int sum_hour(const struct ks_files *files, const struct ks_sums_of *of, u32 hour,
		    struct ks_sums *sums, struct ks_diag *diag)
{
	unsigned int columns = 1u << KS_ROW_HOST | 1u << KS_ROW_BOOT | 1u << KS_ROW_BUILD |
			       1u << KS_ROW_TS | 1u << KS_ROW_CACHE | 1u << KS_ROW_TYPE |
			       1u << KS_ROW_SITE | 1u << KS_ROW_BYTES | 1u << KS_ROW_OBJECTS;
	struct ks_files_table table = { 0 };
	struct host_sums hosts = { 0 };
	struct boots boots = { 0 };
	size_t i;
	int err = find_boots(files, of, hour, &boots, diag);

	if (of->by == KS_FLEET_BY_STACK || of->by == KS_FLEET_BY_CGROUP)
		columns |= 1u << KS_ROW_STACK | 1u << KS_ROW_CGROUP;
	if (!err)
		err = ks_files_read(files, KS_STORE_ROWS, hour, columns, &table, diag);
	if (!err) {
		choose_rows(files, of, &table);
		err = sum_hosts(&table, &boots, hour, &hosts, diag);
	}
	for (i = 0; !err && of->host && i < hosts.items.len; i++) {
		struct ks_host_sum *to;

		if (hosts.items.items[i].key[KS_KEY_HOST] != of->host)
			continue;
		to = ks_vec_push(&sums->hosts);
		if (to)
			*to = hosts.items.items[i];
		else
			err = ks_diag_nomem(diag, "adding up rows");
	}
	if (!err && boots.items.len)
		qsort(boots.items.items, boots.items.len, sizeof(*boots.items.items),
		      compare_by_build);
	if (!err)
		err = sum_builds(&hosts, &boots, sums, diag);
	ks_vec_free(&boots.items);
	ks_vec_free(&hosts.items);
	ks_vec_free(&table.items);
	return err;
}

/* === Public =============================================================================== */

int ks_files_sum(const struct ks_files *files, const struct ks_sums_of *of, struct ks_sums *sums,
		 struct ks_diag *diag)
{
	struct ks_files_hours hours = { 0 };
	int err = ks_files_hours(files, KS_STORE_ROWS, &hours, diag);
	size_t i;

	for (i = 0; !err && i < hours.items.len; i++)
		if (hours.items.items[i] >= of->since && hours.items.items[i] < of->until)
			err = sum_hour(files, of, hours.items.items[i], sums, diag);
	ks_vec_free(&hours.items);
	return err;
}

void ks_sums_free(struct ks_sums *sums)
{
	ks_vec_free(&sums->hours);
	ks_vec_free(&sums->hosts);
}
