/* SPDX-License-Identifier: LGPL-2.1-only */
/* Questions to a snapshot of a heap. See ks_heap(3). */
#ifndef KMEMSCOPE_HEAP_H
#define KMEMSCOPE_HEAP_H

#include <kmemscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_document;

/* A file that "kmemscope heap save" has made. */
struct ks_heap;

KS_API int ks_heap_open(const char *path, struct ks_heap **ret_heap, struct ks_diag *diag);
KS_API void ks_heap_close(struct ks_heap *heap);

struct ks_heap_options {
	size_t size;	  /* sizeof(struct ks_heap_options) */
	const char *by;	  /* of census: "cache", "type", "cgroup", "node"; NULL = "cache" */
	const char *what; /* of show and holders: a type, a cache, or an address */
	uint64_t top;	  /* rows that text has; 0 = all */
};

/*
 * The answer to "info", "census", "types", "show" or "holders". @options may be NULL. -ENOENT:
 * there is no such question, or nothing of that name in the heap.
 */
KS_API int ks_heap_answer(const struct ks_heap *heap, const char *question,
			  const struct ks_heap_options *options, struct ks_document **ret_document,
			  struct ks_diag *diag);

/* What changed from one to the other. */
KS_API int ks_heap_compare(const struct ks_heap *before, const struct ks_heap *after,
			   const struct ks_heap_options *options, struct ks_document **ret_document,
			   struct ks_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
