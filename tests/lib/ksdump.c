// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints every event of a capture as the readers return it, one per line, for tests to compare;
 * then a last line with the reader's own counters. Several files are the CPUs of one kmemtrace
 * capture. KSDUMP_RELEASE and KSDUMP_KALLSYMS (a file) are those of a kernel that is known.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

static int read_symbols(void *ctx, struct ks_strbuf *ret_text)
{
	FILE *file = fopen(getenv("KSDUMP_KALLSYMS"), "r");
	char buf[4096];
	size_t n;

	if (!file)
		return -errno;
	while ((n = fread(buf, 1, sizeof(buf), file)))
		ks_strbuf_add(ret_text, buf, n);
	fclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	bool quiet = argc > 1 && !strcmp(argv[1], "-q");
	const struct ks_known_kernel kernel = { getenv("KSDUMP_RELEASE"), read_symbols, NULL };
	const struct ks_source_opts opts = { .kernel = kernel.release ? &kernel : NULL };
	struct ks_diag diag = { 0 };
	struct ks_source *trace;
	struct ks_batch batch;
	u64 events = 0;
	size_t i;
	int err;

	argc -= quiet;
	argv += quiet;
	err = ks_source_open_files((const char *const *)argv + 1, (size_t)argc - 1, &opts, &trace,
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
	for (i = 0; i < trace->info.cpu_nodes.len; i++)
		printf("%s%u", i ? " " : "nodes=", trace->info.cpu_nodes.items[i]);
	if (i)
		printf("\n");
	if (err)
		fprintf(stderr, "%s\n", diag.text);
	ks_source_close(trace);
	return err == KS_EBADINPUT ? 3 : err ? 1 : 0;
}
