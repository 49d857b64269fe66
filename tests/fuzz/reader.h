/* SPDX-License-Identifier: GPL-2.0-only */
/* For the targets of single readers: reads the bytes as a capture to its end. */
#ifndef KS_FUZZ_READER_H
#define KS_FUZZ_READER_H

#include "fuzz.h"
#include "source/open.h"

/*
 * Everything is permitted except a crash, a leak, an event with an invalid index, or an error
 * without a message.
 */
static inline void fuzz_reader(const uint8_t *data, size_t size)
{
	struct ks_diag diag = { 0 };
	struct ks_source *trace;
	struct ks_batch batch;
	char path[64];
	struct ks_source_opts opts = { .stacks = size & 1 };
	int fd = fuzz_file(data, size, path), err = ks_source_open(path, &opts, &trace, &diag);
	size_t i;

	if (!err) {
		while (!(err = ks_source_next(trace, &batch, &diag)) && batch.count)
			for (i = 0; i < batch.count; i++) {
				const struct ks_event *ev = &batch.events[i];
				const struct ks_names *names = &trace->names;

				FUZZ_ASSERT(ev->kind < KS_KINDS);
				FUZZ_ASSERT(ev->site == KS_NONE ||
					    ev->site < names->sites.sites.len);
				FUZZ_ASSERT(ev->comm == KS_NONE ||
					    ev->comm < names->comms.strs.len);
				FUZZ_ASSERT(ev->cache == KS_NONE ||
					    ev->cache < names->caches.strs.len);
				FUZZ_ASSERT(ev->stack == KS_NONE ||
					    ev->stack < names->stacks.strs.len);
				FUZZ_ASSERT(ev->gfp == KS_NONE || ev->gfp < names->gfps.strs.len);
			}
		ks_source_close(trace);
	}
	FUZZ_ASSERT(!err || (diag.err == err && diag.text[0]));
	close(fd);
}

#endif
