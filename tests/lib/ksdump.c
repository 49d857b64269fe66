// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints every event of a capture as the readers return it, one per line, for tests to compare;
 * then a last line with the reader's own counters. Several files are the CPUs of one kmemtrace
 * capture.
 */
#include <stdio.h>
#include <string.h>

#include "source/open.h"

static void print_event(const struct ks_names *names, const struct ks_event *ev)
{
	printf("%llu %s cpu=%d pid=%d comm=%s ptr=%llx req=%llu alloc=%llu node=%d site=%s cache=%s "
	       "gfp=%s\n",
	       (unsigned long long)ev->ts, ks_kind_name(ev->kind),
	       ev->cpu == KS_CPU_UNKNOWN ? -1 : ev->cpu, (int)ev->pid,
	       ks_intern_get(&names->comms, ev->comm).s, (unsigned long long)ev->ptr,
	       (unsigned long long)ev->bytes_req, (unsigned long long)ev->bytes_alloc, ev->node,
	       ks_sites_get(&names->sites, ev->site)->text,
	       ks_intern_get(&names->caches, ev->cache).s, ks_intern_get(&names->gfps, ev->gfp).s);
}

int main(int argc, char **argv)
{
	bool quiet = argc > 1 && !strcmp(argv[1], "-q");
	struct ks_diag diag = { 0 };
	struct ks_source *trace;
	struct ks_batch batch;
	u64 events = 0;
	size_t i;
	int err;

	argc -= quiet;
	argv += quiet;
	err = ks_source_open_files((const char *const *)argv + 1, (size_t)argc - 1, NULL, &trace,
				   &diag);
	if (err) {
		fprintf(stderr, "%s\n", diag.text);
		return err == KS_EBADINPUT ? 3 : 1;
	}
	while (!(err = ks_source_next(trace, &batch, &diag)) && batch.count)
		for (i = 0; i < batch.count; i++) {
			events += batch.events[i].kind != KS_LOST;
			if (!quiet)
				print_event(&trace->names, &batch.events[i]);
		}
	printf("end format=%s clock=%s events=%llu other=%llu stack=%llu bad=%llu unfinished=%d\n",
	       trace->info.format, ks_clock_name(trace->info.clock), (unsigned long long)events,
	       (unsigned long long)trace->info.binary.other_events,
	       (unsigned long long)trace->info.binary.stacks,
	       (unsigned long long)trace->info.binary.bad_records, trace->info.unfinished);
	if (err)
		fprintf(stderr, "%s\n", diag.text);
	ks_source_close(trace);
	return err == KS_EBADINPUT ? 3 : err ? 1 : 0;
}
