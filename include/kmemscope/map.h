/* SPDX-License-Identifier: LGPL-2.1-only */
/* Questions to an access map: which code used which objects. See ks_map(3). */
#ifndef KMEMSCOPE_MAP_H
#define KMEMSCOPE_MAP_H

#include <kmemscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_document;

/* An access map in any form that kmemscope-kmap(5) describes, added up. */
struct ks_map;

#define KS_MAP_SLAB_PAGES (1u << 0) /* the pages of slabs count beside the objects in them */

struct ks_map_options {
	size_t size;	      /* sizeof(struct ks_map_options) */
	uint32_t flags;	      /* KS_MAP_* */
	const char *accesses; /* the second file of a CSV pair; NULL = none, as the rest */
	const char *kernel;   /* a tree, vmlinux, System.map or kallsyms: names code */
	const char *kallsyms; /* of the very boot, beside it */
};

/* Reads the map at @path whole; "-" is standard input. @options may be NULL. */
KS_API int ks_map_open(const char *path, const struct ks_map_options *options,
		       struct ks_map **ret_map, struct ks_diag *diag);
KS_API void ks_map_close(struct ks_map *map);

struct ks_map_question {
	size_t size; /* sizeof(struct ks_map_question) */
	/* "site", "function", "file", "dir", "topdir", "module"; of a report also "cache", "type". */
	const char *by;
	const char *order; /* of a report: "bytes", "objects", "live", "mean", "cold", ... */
	const char *what;  /* of accesses a site, of touches a piece of code */
	uint64_t top;	   /* rows; 0 = all */
};

/*
 * The answer to "report", "accesses", "touches", "matrix", "lives" or "sharing". @question may be
 * NULL. -ENOENT: there is no such question, or nothing of that name in the map.
 */
KS_API int ks_map_answer(const struct ks_map *map, const char *name,
			 const struct ks_map_question *question, struct ks_document **ret_document,
			 struct ks_diag *diag);

/* What changed from one map to another, by @question->by. */
KS_API int ks_map_compare(const struct ks_map *before, const struct ks_map *after,
			  const struct ks_map_question *question, struct ks_document **ret_document,
			  struct ks_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
