/* SPDX-License-Identifier: LGPL-2.1-only */
/* What objects of no known type have in common: mostly what they point to. Never their values. */
#ifndef KS_HEAP_COMMONEST_H
#define KS_HEAP_COMMONEST_H

#include "base/strbuf.h"
#include "heap/kernel.h"
#include "heap/snapshot.h"

struct ks_commonest;

/*
 * Chooses some objects of no known type in each cache. @kernel NULL: what they point to is asked of the snapshot,
 * which must have references then.
 */
int ks_commonest_new(struct ks_kernel *kernel, const struct ks_snapshot *snapshot,
		     struct ks_commonest **ret_commonest);
void ks_commonest_free(struct ks_commonest *commonest);

/* "+0x10 -> dentry in 61 of 64", "text in ...", "zeros in ..."; nothing where no two are alike. Not escaped. */
int ks_commonest_say(struct ks_commonest *commonest, u16 cache, struct ks_strbuf *out);

#endif
