/* SPDX-License-Identifier: LGPL-2.1-only */
/* Snapshots of heaps as files, which kmemscope-heap(5) documents. */
#ifndef KS_HEAP_SNAPSHOT_FILE_H
#define KS_HEAP_SNAPSHOT_FILE_H

#include "heap/snapshot.h"

/* Called now and then with how many of all objects are done; not zero stops: -EINTR. */
typedef int ks_snapshot_progress_fn(void *arg, u64 done, u64 all);

/* The file has mode 0600 and appears whole or not at all. @progress may be NULL. */
int ks_snapshot_save(const struct ks_snapshot *snapshot, const char *path,
		     ks_snapshot_progress_fn *progress, void *arg, struct ks_diag *diag);

/* Nothing in the file is trusted: every number is checked before the snapshot is handed out. */
int ks_snapshot_load(const char *path, struct ks_snapshot **ret_snapshot, struct ks_diag *diag);

/* Whether a file that begins with these bytes is a snapshot of a heap. */
bool ks_snapshot_probe(const void *head, size_t len);

#endif
