/* SPDX-License-Identifier: LGPL-2.1-only */
/* What a snapshot is of: the kernel, the time, and how much it has. */
#ifndef KS_HEAP_SNAPSHOT_DOC_H
#define KS_HEAP_SNAPSHOT_DOC_H

#include "heap/snapshot.h"
#include "table/doc.h"

/* Of a file of this many bytes. NULL when there is no memory. */
struct ks_doc *ks_doc_of_snapshot(const struct ks_snapshot *snapshot, const char *path, u64 bytes);

/* For a report that is made of it: the values of the above, as an object. */
void ks_doc_add_snapshot(struct ks_doc *doc, const char *name, const struct ks_snapshot *snapshot);

/* What was noticed while it was taken. */
void ks_doc_add_heap_quality(struct ks_doc *doc, const struct ks_snapshot *snapshot);

/* "2026-11-17 13:40:02 UTC" */
void ks_heap_time_text(u64 ns, char text[40]);

#endif
