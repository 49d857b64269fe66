// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Questions to a directory of tables. Each function does what the statement of the same name in fleet/question-sql.c says;
 * the suite has both answer for the same rows.
 */
#include "fleet/files-ask.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "fleet/verdict.h"

/* === Data ================================================================================= */

enum { HOUR = 3600 };

/* What the sums of a group add up to. */
struct total {
	double growth;
	s64 bytes, objects;	    /* in the last hour of the question, */
	s64 all_bytes, all_objects; /* and in all hours */
	u32 hosts, warm;	    /* of the build: the most */
	u64 builds;
};

static const struct ks_order orders[KS_FLEET_BYS] = {
	[KS_FLEET_BY_CACHE] = { 1, 2, { KS_KEY_CACHE, KS_KEY_HOUR } },
	[KS_FLEET_BY_TYPE] = { 1, 3, { KS_KEY_TYPE, KS_KEY_BUILD, KS_KEY_HOUR } },
	[KS_FLEET_BY_SITE] = { 1, 2, { KS_KEY_SITE, KS_KEY_HOUR } },
	[KS_FLEET_BY_BUILD] = { 1, 2, { KS_KEY_BUILD, KS_KEY_HOUR } },
	/* What stands in the places of site and build: see struct ks_sums_of. */
	[KS_FLEET_BY_STACK] = { 1, 2, { KS_KEY_SITE, KS_KEY_HOUR } },
	[KS_FLEET_BY_CGROUP] = { 1, 2, { KS_KEY_SITE, KS_KEY_HOUR } },
	[KS_FLEET_BY_HOST] = { 1, 2, { KS_KEY_BUILD, KS_KEY_HOUR } },
	[KS_FLEET_BY_LABEL] = { 1, 2, { KS_KEY_BUILD, KS_KEY_HOUR } },
};
static const struct ks_order by_hour_and_build = { 2, 2, { KS_KEY_HOUR, KS_KEY_BUILD } };
static const struct ks_order by_series = {
	3, 5, { KS_KEY_CACHE, KS_KEY_TYPE, KS_KEY_SITE, KS_KEY_BUILD, KS_KEY_HOUR }
};
static const struct ks_order by_series_of_build = {
	4, 5, { KS_KEY_BUILD, KS_KEY_CACHE, KS_KEY_TYPE, KS_KEY_SITE, KS_KEY_HOUR }
};

/* === Internals ============================================================================ */

static u64 id_of(enum ks_fleet_kind kind, const char *name)
{
	return name ? ks_fleet_id(kind, name, strlen(name)) : 0;
}

/* Adds up the group that begins at @first; where it ends. */
static size_t add_up(const struct ks_files_asking *ask, const struct ks_order *order, size_t first,
		     struct total *ret_total)
{
	size_t end = KS_GROUP_END(&ask->sums.hours, order, first), i;
	struct total t = { 0 };

	for (i = first; i < end; i++) {
		const struct ks_hour_sum *sum = &ask->sums.hours.items[i];

		t.growth += sum->growth;
		t.all_bytes += sum->bytes;
		t.all_objects += sum->objects;
		t.hosts = ks_max(t.hosts, sum->build_hosts);
		t.warm = ks_max(t.warm, sum->warm_hosts);
		t.builds += i == first || sum->key[KS_KEY_BUILD] != sum[-1].key[KS_KEY_BUILD];
		if (sum->key[KS_KEY_HOUR] != ask->until - HOUR)
			continue;
		t.bytes += sum->bytes;
		t.objects += sum->objects;
	}
	*ret_total = t;
	return end;
}

/* What a key of first times is of: a type, or a series of a build. */
static u64 seen_key(const struct ks_files_asking *ask, const u64 *key)
{
	u64 h = ks_mix(key[KS_KEY_BUILD] ^ 1, 0x9e3779b97f4a7c15ull);

	if (ask->q->kind == KS_ASK_TYPES)
		return key[KS_KEY_TYPE];
	h = ks_mix(h ^ key[KS_KEY_CACHE], 0xd6e8feb86659fd93ull);
	h = ks_mix(h ^ key[KS_KEY_TYPE], 0x9e3779b97f4a7c15ull);
	return ks_mix(h ^ key[KS_KEY_SITE], 0xd6e8feb86659fd93ull);
}

/* Notes when something was seen, if that is the first time. */
static int see(struct ks_files_asking *ask, u64 key, u32 hour)
{
	u32 number = ks_map64_add(&ask->seen, key), *to;

	if (number == KS_NONE)
		return -ENOMEM;
	if (number < ask->first.len) {
		ask->first.items[number] = ks_min(ask->first.items[number], hour);
		return 0;
	}
	to = ks_vec_push(&ask->first);
	if (!to)
		return -ENOMEM;
	*to = hour;
	return 0;
}

/* Since when each series, or each type, is there: in all files, whatever the window. */
static int find_first(struct ks_files_asking *ask, struct ks_diag *diag)
{
	struct ks_files_hours hours = { 0 };
	int err = ks_files_hours(ask->files, KS_STORE_ROWS, &hours, diag);
	size_t i, j;

	for (i = 0; !err && i < hours.items.len; i++) {
		struct ks_files_table table = { 0 };

		err = ks_files_read(ask->files, KS_STORE_ROWS, hours.items.items[i],
				    1u << KS_ROW_BUILD | 1u << KS_ROW_CACHE | 1u << KS_ROW_TYPE |
					    1u << KS_ROW_SITE,
				    &table, diag);
		for (j = 0; !err && j < table.items.len; j += table.width) {
			const u64 *row = &table.items.items[j];
			u64 key[KS_KEY_PARTS] = { [KS_KEY_BUILD] = row[KS_ROW_BUILD],
						  [KS_KEY_CACHE] = row[KS_ROW_CACHE],
						  [KS_KEY_TYPE] = row[KS_ROW_TYPE],
						  [KS_KEY_SITE] = row[KS_ROW_SITE] };

			if (see(ask, seen_key(ask, key), hours.items.items[i]))
				err = ks_diag_nomem(diag, "looking for the first time");
		}
		ks_vec_free(&table.items);
	}
	ks_vec_free(&hours.items);
	return err;
}

/* === Internals: the questions ============================================================= */

static void ask_top(struct ks_files_asking *ask)
{
	const struct ks_order *order = &orders[ask->q->by];
	struct ks_lines *lines = &ask->lines;
	struct total t;
	size_t i, end;

	KS_SORT(&ask->sums.hours, order);
	for (i = 0; i < ask->sums.hours.len; i = end) {
		u64 id = ask->sums.hours.items[i].key[order->parts[0]];
		const char *value = NULL;

		end = add_up(ask, order, i, &t);
		ks_lines_whole(lines, t.growth);
		ks_lines_s64(lines, t.bytes);
		ks_lines_s64(lines, t.objects);
		if (ask->q->by == KS_FLEET_BY_LABEL)
			value = ks_files_label_of_id(ask->files, ask->q->by_label, id);
		if (ask->q->by == KS_FLEET_BY_LABEL)
			ks_lines_end_text(lines, trunc(t.growth), (double)t.bytes,
					  value ? value : "");
		else
			ks_lines_end(lines, trunc(t.growth), (double)t.bytes, &id, 1);
	}
}

/* The last hour of a build, and in how many hours it had warm hosts. */
static double span_of(const struct ks_files_asking *ask, u64 build, u32 *ret_last)
{
	u64 hours = 0, warm = 0;
	size_t i;

	*ret_last = 0;
	for (i = 0; i < ask->sums.hours.len; i++) { /* in the order of hours */
		const struct ks_hour_sum *s = &ask->sums.hours.items[i];

		if (s->key[KS_KEY_BUILD] != build)
			continue;
		*ret_last = (u32)s->key[KS_KEY_HOUR];
		if (s->warm_hosts && s->key[KS_KEY_HOUR] != warm) {
			warm = s->key[KS_KEY_HOUR];
			hours++;
		}
	}
	return hours ? (double)hours : 1;
}

/* A series on one of two builds. */
struct side {
	u64 build;
	u32 last;
	double hours, level, growth, error, df;
};

static void add_side(struct side *side, const struct ks_hour_sum *s)
{
	double n = s->warm_hosts;

	if (s->key[KS_KEY_HOUR] == side->last)
		side->level += (double)s->bytes / s->build_hosts;
	if (!s->warm_hosts)
		return;
	side->growth += s->growth / n / side->hours;
	side->error += sqrt(ks_verdict_variance(n, s->growth, s->growth_sq) / n) / side->hours;
	side->df += n - 1;
}

static void ask_diff(struct ks_files_asking *ask)
{
	struct side spans[2] = { 0 };
	struct ks_lines *lines = &ask->lines;
	size_t i, j, end, b;

	KS_SORT(&ask->sums.hours, &by_hour_and_build);
	for (b = 0; b < 2; b++) {
		spans[b].build = id_of(KS_FLEET_BUILD, ask->q->builds[b]);
		spans[b].hours = span_of(ask, spans[b].build, &spans[b].last);
	}
	KS_SORT(&ask->sums.hours, &by_series);
	for (i = 0; i < ask->sums.hours.len; i = end) {
		struct side sides[2] = { spans[0], spans[1] };
		const u64 *key = ask->sums.hours.items[i].key;
		double grown, error;
		bool any = false;

		end = KS_GROUP_END(&ask->sums.hours, &by_series, i);
		for (j = i; j < end; j++)
			for (b = 0; b < 2; b++)
				if (ask->sums.hours.items[j].key[KS_KEY_BUILD] == sides[b].build) {
					any = true;
					add_side(&sides[b], &ask->sums.hours.items[j]);
				}
		if (!any || !ks_files_wants(ask, key))
			continue;
		grown = sides[1].growth - sides[0].growth;
		error = sqrt(sides[0].error * sides[0].error + sides[1].error * sides[1].error + 1);
		ks_lines_whole(lines, sides[0].level);
		ks_lines_whole(lines, sides[1].level);
		ks_lines_whole(lines, sides[1].level - sides[0].level);
		ks_lines_whole(lines, grown);
		ks_lines_double(lines, ks_verdict_sigmas(grown / error,
							 fmax(fmin(sides[0].df, sides[1].df), 1)));
		ks_lines_end(lines, fabs(sides[1].level - sides[0].level), 0, &key[KS_KEY_CACHE],
			     3);
	}
}

static double mean_of_build(const struct ks_files_asking *ask, const u64 *key)
{
	double mean = 0;
	u64 last = 0;
	size_t i;

	for (i = 0; i < ask->sums.hours.len; i++) {
		const struct ks_hour_sum *s = &ask->sums.hours.items[i];

		if (memcmp(&s->key[KS_KEY_BUILD], &key[KS_KEY_BUILD], 4 * sizeof(*key)) ||
		    s->key[KS_KEY_HOUR] < last || !s->build_hosts)
			continue;
		last = s->key[KS_KEY_HOUR];
		mean = (double)s->bytes / s->build_hosts;
	}
	return mean;
}

static void ask_host(struct ks_files_asking *ask)
{
	struct ks_lines *lines = &ask->lines;
	u64 build = 0, last = 0;
	size_t i, j, end;

	for (i = 0; i < ask->sums.hosts.len; i++)
		if (ask->sums.hosts.items[i].key[KS_KEY_HOUR] >= last) {
			last = ask->sums.hosts.items[i].key[KS_KEY_HOUR];
			build = ask->sums.hosts.items[i].key[KS_KEY_BUILD];
		}
	KS_SORT(&ask->sums.hosts, &by_series_of_build);
	for (i = 0; i < ask->sums.hosts.len; i = end) {
		const struct ks_host_sum *newest;
		double grown = 0;

		end = KS_GROUP_END(&ask->sums.hosts, &by_series_of_build, i);
		newest = &ask->sums.hosts.items[end - 1];
		for (j = i; j < end; j++)
			grown += ask->sums.hosts.items[j].growth;
		if (newest->key[KS_KEY_BUILD] != build || !ks_files_wants(ask, newest->key))
			continue;
		ks_lines_s64(lines, newest->bytes);
		ks_lines_s64(lines, newest->objects);
		ks_lines_whole(lines, mean_of_build(ask, newest->key));
		ks_lines_whole(lines, grown);
		ks_lines_end(lines, (double)newest->bytes, 0, &newest->key[KS_KEY_BUILD], 4);
	}
}

static void ask_types(struct ks_files_asking *ask)
{
	const struct ks_order *order = &orders[KS_FLEET_BY_TYPE];
	struct ks_lines *lines = &ask->lines;
	struct total t;
	size_t i, end;

	KS_SORT(&ask->sums.hours, order);
	for (i = 0; i < ask->sums.hours.len; i = end) {
		const u64 *key = ask->sums.hours.items[i].key;

		end = add_up(ask, order, i, &t);
		ks_lines_s64(lines, t.bytes);
		ks_lines_s64(lines, t.objects);
		ks_lines_whole(lines, t.growth);
		ks_lines_s64(lines, (s64)t.builds);
		ks_lines_time(lines, ks_files_first(ask, key));
		ks_lines_end(lines, (double)t.bytes, 0, &key[KS_KEY_TYPE], 1);
	}
}

static void ask_history(struct ks_files_asking *ask)
{
	struct ks_lines *lines = &ask->lines;
	struct total t;
	size_t i, end;

	KS_SORT(&ask->sums.hours, &by_hour_and_build);
	for (i = 0; i < ask->sums.hours.len; i = end) {
		const u64 *key = ask->sums.hours.items[i].key;

		end = add_up(ask, &by_hour_and_build, i, &t);
		ks_lines_time(lines, (u32)key[KS_KEY_HOUR]);
		ks_lines_s64(lines, t.hosts);
		ks_lines_s64(lines, t.all_bytes);
		ks_lines_s64(lines, t.all_objects);
		ks_lines_whole(lines, (double)t.all_bytes / ks_max(t.hosts, 1u));
		ks_lines_whole(lines, t.growth / ks_max(t.warm, 1u));
		ks_lines_end(lines, (double)key[KS_KEY_HOUR], 0, &key[KS_KEY_BUILD], 1);
	}
}

static int ask_sums(struct ks_files_asking *ask, struct ks_diag *diag)
{
	static void (*const asks[KS_ASKS])(struct ks_files_asking * ask) = {
		[KS_ASK_TOP] = ask_top,
		[KS_ASK_LEAKS] = ks_files_ask_leaks,
		[KS_ASK_OUTLIERS] = ks_files_ask_outliers,
		[KS_ASK_DIFF] = ask_diff,
		[KS_ASK_HOST] = ask_host,
		[KS_ASK_TYPES] = ask_types,
		[KS_ASK_HISTORY] = ask_history,
	};
	enum ks_question_kind kind = ask->q->kind;
	struct ks_sums_of of = { .since = ask->since,
				 .until = ask->until,
				 .host = kind == KS_ASK_HOST ? ask->only[KS_KEY_HOST] : 0,
				 .label = ask->q->label };
	int err;

	/* The others look at all rows, and choose from what they find. */
	if (kind == KS_ASK_TOP || kind == KS_ASK_TYPES || kind == KS_ASK_HISTORY)
		memcpy(of.only, ask->only, sizeof(of.only));
	if (kind == KS_ASK_TOP) {
		of.by = ask->q->by;
		of.by_label = ask->q->by_label;
	}
	err = ks_files_sum(ask->files, &of, &ask->sums, diag);
	if (!err && (kind == KS_ASK_LEAKS || kind == KS_ASK_TYPES))
		err = find_first(ask, diag);
	if (!err)
		asks[kind](ask);
	return err;
}

/* === Public =============================================================================== */

bool ks_files_wants(const struct ks_files_asking *ask, const u64 *key)
{
	size_t i;

	for (i = KS_KEY_BUILD; i < KS_KEY_HOUR; i++)
		if (ask->only[i] && ask->only[i] != key[i])
			return false;
	return true;
}

u32 ks_files_first(const struct ks_files_asking *ask, const u64 *key)
{
	u32 number = ks_map64_find(&ask->seen, seen_key(ask, key));

	return number == KS_NONE ? 0 : ask->first.items[number];
}

int ks_files_window(const struct ks_files *files, const struct ks_question *question,
		    u32 *ret_since, u32 *ret_until, struct ks_diag *diag)
{
	bool quality = question->kind == KS_ASK_QUALITY;
	struct ks_files_hours hours = { 0 };
	struct ks_files_table table = { 0 };
	u64 last = 0, span = 0;
	size_t i;
	int err = ks_files_hours(files, quality ? KS_STORE_REPORTS : KS_STORE_ROWS, &hours, diag);
	u32 hour = hours.items.len ? hours.items.items[hours.items.len - 1] : 0;

	if (!err && quality && hour)
		err = ks_files_read(files, KS_STORE_REPORTS, hour,
				    1u << KS_REPORT_TS | 1u << KS_REPORT_SPAN, &table, diag);
	for (i = 0; i < table.items.len; i += table.width) {
		last = ks_max(last, table.items.items[i + KS_REPORT_TS]);
		span = ks_max(span, table.items.items[i + KS_REPORT_SPAN]);
	}
	if (!quality && hour) {
		last = hour;
		span = HOUR;
	}
	ks_vec_free(&table.items);
	ks_vec_free(&hours.items);
	if (err)
		return err;
	*ret_until = question->until ? question->until : (u32)(last + span);
	*ret_since = question->since ? question->since
				     : *ret_until - ks_min(*ret_until, question->hours * (u32)HOUR);
	return 0;
}

int ks_files_ask(const struct ks_files *files, const struct ks_question *question, u32 since,
		 u32 until, struct ks_strbuf *answer, struct ks_diag *diag)
{
	u64 top = question->top && question->top < KS_VERDICT_ROWS_MAX ? question->top
								       : KS_VERDICT_ROWS_MAX;
	struct ks_files_asking ask = {
		.files = files,
		.q = question,
		.since = since,
		.until = until,
		.only = { [KS_KEY_HOST] = id_of(KS_FLEET_HOST, question->host),
			  [KS_KEY_BUILD] = id_of(KS_FLEET_BUILD, question->build),
			  [KS_KEY_CACHE] = id_of(KS_FLEET_CACHE, question->cache),
			  [KS_KEY_TYPE] = id_of(KS_FLEET_TYPE, question->type),
			  [KS_KEY_SITE] = id_of(KS_FLEET_SITE, question->site) },
	};
	int err;

	if (ks_map64_init(&ask.seen))
		return ks_diag_nomem(diag, "asking");
	ks_lines_init(&ask.lines);
	err = question->kind == KS_ASK_QUALITY ? ks_files_ask_quality(&ask, diag)
					       : ask_sums(&ask, diag);
	if (!err && ks_lines_put(&ask.lines, top, answer))
		err = ks_diag_nomem(diag, "asking");
	ks_sums_free(&ask.sums);
	ks_map64_deinit(&ask.seen);
	ks_vec_free(&ask.first);
	ks_lines_deinit(&ask.lines);
	return err;
}
