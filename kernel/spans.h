/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranges of addresses, to find the start of the one that an address is in. There are two copies:
 * while one is changed readers use the other, so that a reader never waits, not even one that has
 * interrupted the writer.
 */
#ifndef MEMORIZER_SPANS_H
#define MEMORIZER_SPANS_H

#include "port.h"

struct mz_span {
	unsigned long start, end;
};

struct mz_spans {
	raw_spinlock_t lock; /* for changes */
	u32 sequence;	     /* its lowest bit is the number of the copy to read */
	u32 capacity;
	u32 nr[2];
	struct mz_span *copies[2];
};

int mz_spans_init(struct mz_spans *spans, u32 capacity);
void mz_spans_deinit(struct mz_spans *spans);
bool mz_spans_add(struct mz_spans *spans, unsigned long start, unsigned long end);
bool mz_spans_remove(struct mz_spans *spans, unsigned long start);
void mz_spans_clear(struct mz_spans *spans);
bool mz_spans_find(const struct mz_spans *spans, unsigned long addr, struct mz_span *ret_span);

#endif /* MEMORIZER_SPANS_H */
