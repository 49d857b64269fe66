/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for fuzz targets that read captures and other files. */
#ifndef KS_FUZZ_H
#define KS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/analyze.h"
#include "target.h"

/* The bytes as a file without a name in any directory; its path is written to @path. */
static inline int fuzz_file(const void *data, size_t size, char path[64])
{
	int fd = memfd_create("fuzz", 0);

	FUZZ_ASSERT(fd >= 0);
	FUZZ_ASSERT(write(fd, data, size) == (ssize_t)size);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* Sums must agree with each other, whatever the input is. */
static inline void fuzz_check_model(const struct ks_model *model)
{
	const struct ks_stat *total = ks_model_total(model);
	uint64_t allocs = 0, frees = 0, live = 0;
	size_t i;

	for (i = 0; i < ks_model_account(model)->groups.len; i++) {
		const struct ks_stat *stat = &ks_model_account(model)->groups.items[i].stat;

		allocs += stat->allocs;
		frees += stat->frees;
		live += stat->live_bytes;
	}
	FUZZ_ASSERT(allocs == total->allocs);
	FUZZ_ASSERT(frees == total->frees);
	FUZZ_ASSERT(live == total->live_bytes);
}

#endif
