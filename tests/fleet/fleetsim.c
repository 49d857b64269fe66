// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fleet that is made up: fleetsim [--hosts N] [--series N] [--hours N | --minutes N] [--span SECONDS] [--start SECONDS] [--seed N] [--leak] [--stacks]
 * [--calm PERCENT] [--first HOST] [--update HOURS] [--spool DIR [--spool-size BYTES]] prints the batches of all its hosts, as agents would send them, and on standard error
 * what they hold. --relay URL --token TOKEN sends them instead, each by a connection of its own: those of an interval within its
 * seconds, as many agents do.
 *
 * Hosts run one of four kernel builds, the fourth from the second day on, or after --update. All have the rhythm of the day, noise of their
 * own, and caches that fill after a boot. With --leak the fourth build leaks objects of one site, which every
 * build has, and one host has a leak of its own. With --stacks rows have stacks and cgroups. With --calm so many of a hundred series
 * are in each interval as they were in the one before.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "fleet/batch.h"
#include "fleet/clickhouse.h"
#include "net/queue.h"

enum { LEAK_SERIES = 3, PRIVATE_SERIES = 5, PRIVATE_HOST = 7, LEAK_BYTES = 300000, DAY = 86400 };

static u64 opt_hosts = 20, opt_series = 12, opt_hours = 2, opt_span = 60, opt_start = 1700006400;
static u64 opt_spool_size = 1 << 30;
static const char *opt_spool, *opt_relay, *opt_token;
static u64 opt_seed, opt_calm, opt_first, opt_update = 24, opt_minutes;
static bool opt_leak, opt_stacks;

/* A number of [0, 1) that depends on nothing but these. */
static double chance(u64 a, u64 b, u64 c)
{
	u64 h = ks_hash_u64(a ^ opt_seed << 32, 1);

	h = ks_hash_u64(b ^ h, 2);
	h = ks_hash_u64(c ^ h, 3);
	return (double)(h >> 11) / 9007199254740992.0;
}

/* When the host was booted, and which build it runs at that time. */
static u64 boot_of(u64 host, u64 at, unsigned int *ret_build)
{
	u64 update = opt_start + opt_update * 3600 + (host / 4 % 6) * 600;
	bool updated = host % 4 == 3 && at >= update;

	*ret_build = updated ? 3 : (unsigned int)(host % 3);
	return updated ? update : opt_start - 10 * DAY;
}

static double live_bytes(u64 host, u64 series, u64 at, u64 boot, unsigned int build)
{
	double hours = (double)(at - opt_start) / 3600, up = (double)(at - boot) / 3600;
	double base = 1e5 * (double)(1 + series) * (0.5 + chance(host, series, 0));
	double level = base * (1 + 0.3 * sin(hours / 24 * 6.2831853));

	level *= 1 - 0.7 * exp(-3 * up); /* filling up after the boot */
	level += base * 0.2 * (chance(host, series, at) - 0.5);
	if (opt_leak && build == 3 && series == LEAK_SERIES)
		level += LEAK_BYTES * up;
	if (opt_leak && host == PRIVATE_HOST && series == PRIVATE_SERIES)
		level += 40.0 * LEAK_BYTES * hours;
	return level;
}

/* When the series last changed: at this time, unless it is calm. */
static u64 changed_at(u64 host, u64 series, u64 at, u64 boot)
{
	u64 begin = ks_max(boot, opt_start);

	while (at >= begin + opt_span && chance(host, series, at + 2) * 100 < (double)opt_calm)
		at -= opt_span;
	return at;
}

/* The names of a series are the same on all hosts. */
static void name_series(struct ks_fleet_batch *batch, struct ks_map64 *known, u64 i,
			struct ks_fleet_row *row)
{
	static struct ks_fleet_row *rows; /* as they were named, once all have been */
	char name[64];
	int err = 0;

	if (!rows)
		rows = calloc((size_t)opt_series, sizeof(*rows));
	if (!rows)
		abort();
	if (rows[i].cache) {
		*row = rows[i];
		return;
	}
	snprintf(name, sizeof(name), "cache-%" PRIu64, i % 7);
	err |= ks_fleet_batch_name(batch, known, KS_FLEET_CACHE, name, &row->cache);
	snprintf(name, sizeof(name), "struct thing_%" PRIu64, i);
	err |= ks_fleet_batch_name(batch, known, KS_FLEET_TYPE, name, &row->type);
	snprintf(name, sizeof(name), "make_thing_%" PRIu64 "+0x1c", i);
	err |= ks_fleet_batch_name(batch, known, KS_FLEET_SITE, name, &row->site);
	if (opt_stacks) {
		snprintf(name, sizeof(name), "entry_%" PRIu64 ";make_thing_%" PRIu64, i % 2, i);
		err |= ks_fleet_batch_name(batch, known, KS_FLEET_STACK, name, &row->stack);
		snprintf(name, sizeof(name), "/slice-%" PRIu64, i % 3);
		err |= ks_fleet_batch_name(batch, known, KS_FLEET_CGROUP, name, &row->cgroup);
	}
	if (err)
		abort();
	rows[i] = *row;
}

static void make_batch(struct ks_fleet_batch *batch, struct ks_map64 *known, u64 host, u64 at)
{
	char name[64];
	unsigned int build;
	u64 boot = boot_of(host, at, &build), i, changed;
	int err = 0;

	snprintf(name, sizeof(name), "host%04" PRIu64, host);
	err |= ks_fleet_batch_name(batch, known, KS_FLEET_HOST, name, &batch->host);
	snprintf(name, sizeof(name), "boot-%04" PRIu64 "-%" PRIu64, host, boot);
	err |= ks_fleet_batch_name(batch, known, KS_FLEET_BOOT, name, &batch->boot);
	snprintf(name, sizeof(name), "6.12.%u-fleet #%u", build, build + 1);
	err |= ks_fleet_batch_name(batch, known, KS_FLEET_BUILD, name, &batch->build);
	if (at == opt_start)
		err |= ks_fleet_batch_label(batch, "role", host % 2 ? "web" : "db");
	batch->at = (u32)at;
	batch->span = (u32)opt_span;
	batch->uptime = (u32)(at - boot);
	batch->version = at * 1000000000 + (u64)(chance(host, at, 3) * 1e9);
	for (i = 0; i < opt_series; i++) {
		struct ks_fleet_row *row = ks_vec_push(&batch->rows);

		if (!row)
			abort();
		name_series(batch, known, i, row);
		changed = changed_at(host, i, at, boot);
		row->live_objects = (s64)(live_bytes(host, i, changed, boot, build) / 256);
		row->live_bytes = row->live_objects * 256;
		row->allocs = (u64)(chance(host, i, changed + 1) * 1000);
		row->frees = row->allocs / 2;
	}
	if (err)
		abort();
	ks_fleet_batch_sort(batch);
}

/* Each agent has a connection of its own. */
static void send_batch(const struct ks_strbuf *batch)
{
	struct ks_http_opts opts = { .url = opt_relay, .token = opt_token };
	struct ks_diag diag = { 0 };
	struct ks_http *http;

	if (ks_http_new(&opts, &http, &diag) ||
	    ks_http_post(http, "v1/batches", batch->s, batch->len, &diag)) {
		fprintf(stderr, "fleetsim: %s\n", diag.text);
		exit(1);
	}
	ks_http_free(http);
}

/* Host number @host of those of an interval is due then. */
static void wait_for_turn(u64 begin_ns, u64 number, u64 host)
{
	u64 due = begin_ns + (u64)((double)opt_span * 1e9 *
				   ((double)number + (double)host / (double)opt_hosts));
	u64 now = ks_clock_ns(CLOCK_MONOTONIC);

	if (due > now)
		nanosleep(&(struct timespec){ (time_t)((due - now) / 1000000000),
					      (long)((due - now) % 1000000000) },
			  NULL);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "hosts", 1, NULL, 'h' },
		{ "series", 1, NULL, 's' },
		{ "hours", 1, NULL, 'o' },
		{ "span", 1, NULL, 'p' },
		{ "start", 1, NULL, 't' },
		{ "seed", 1, NULL, 'e' },
		{ "leak", 0, NULL, 'l' },
		{ "stacks", 0, NULL, 'k' },
		{ "spool", 1, NULL, 'd' },
		{ "spool-size", 1, NULL, 'z' },
		{ "calm", 1, NULL, 'c' },
		{ "relay", 1, NULL, 'r' },
		{ "token", 1, NULL, 'n' },
		{ "first", 1, NULL, 'f' },
		{ "update", 1, NULL, 'u' },
		{ "minutes", 1, NULL, 'm' },
		{ 0 },
	};
	u64 *values[] = {
		['h'] = &opt_hosts, ['s'] = &opt_series,     ['o'] = &opt_hours, ['p'] = &opt_span,
		['t'] = &opt_start, ['z'] = &opt_spool_size, ['e'] = &opt_seed,	 ['c'] = &opt_calm,
		['f'] = &opt_first, ['m'] = &opt_minutes,    ['u'] = &opt_update
	};
	struct ks_fleet_batch batch;
	struct ks_strbuf out;
	struct ks_map64 known;
	struct ks_queue *queue = NULL;
	u64 at, host, rows = 0, bytes = 0, allocs = 0, sent = 0, end;
	u64 begin = ks_clock_ns(CLOCK_MONOTONIC);
	size_t i;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			return 2;
		if (option == 'l')
			opt_leak = true;
		else if (option == 'k')
			opt_stacks = true;
		else if (option == 'd')
			opt_spool = optarg;
		else if (option == 'r')
			opt_relay = optarg;
		else if (option == 'n')
			opt_token = optarg;
		else
			*values[option] = strtoull(optarg, NULL, 10);
	}
	if (ks_map64_init(&known))
		return 1;
	ks_strbuf_init(&out);
	if (opt_spool &&
	    ks_queue_open(&(struct ks_queue_opts){ opt_spool, opt_spool_size, true }, &queue, NULL))
		return 1;
	end = opt_start + (opt_minutes ? opt_minutes * 60 : opt_hours * 3600);
	for (at = opt_start; at < end; at += opt_span)
		for (host = 0; host < opt_hosts; host++) {
			ks_fleet_batch_init(&batch);
			make_batch(&batch, &known, opt_first + host, at);
			for (i = 0; i < batch.rows.len; i++) {
				bytes += (u64)batch.rows.items[i].live_bytes;
				allocs += batch.rows.items[i].allocs;
			}
			rows += batch.rows.len;
			out.len = 0;
			if (ks_fleet_batch_pack(&batch, &out))
				return 1;
			sent += out.len;
			if (opt_relay) {
				wait_for_turn(begin, (at - opt_start) / opt_span, host);
				send_batch(&out);
			} else if (queue ? ks_queue_put(queue, out.s, out.len, NULL)
					 : fwrite(out.s, 1, out.len, stdout) != out.len)
				return 1;
			ks_fleet_batch_deinit(&batch);
		}
	fprintf(stderr, "rows=%" PRIu64 " bytes=%" PRIu64 " allocs=%" PRIu64, rows, bytes, allocs);
	fprintf(stderr, opt_relay ? " sent=%" PRIu64 " ms=%" PRIu64 "\n" : "\n", sent,
		(ks_clock_ns(CLOCK_MONOTONIC) - begin) / 1000000);
	ks_queue_close(queue);
	ks_map64_deinit(&known);
	ks_strbuf_deinit(&out);
	return fflush(stdout) ? 1 : 0;
}
