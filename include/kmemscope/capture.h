/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Where events of memory come from: a file, a descriptor, or the caller itself. See ks_capture(3).
 */
#ifndef KMEMSCOPE_CAPTURE_H
#define KMEMSCOPE_CAPTURE_H

#include <kmemscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_document;

/* One event, as a caller gives it. Strings are copied. */
enum ks_event_kind {
	KS_EVENT_KMALLOC = 0,
	KS_EVENT_KFREE = 1,
	KS_EVENT_CACHE_ALLOC = 2,
	KS_EVENT_CACHE_FREE = 3,
	KS_EVENT_PAGE_ALLOC = 4,
	KS_EVENT_PAGE_FREE = 5,
	KS_EVENT_LOST = 6 /* events that the caller does not have */
};

/* Which members say something, of those for which 0 is a value too. */
#define KS_EVENT_HAS_CPU  (1u << 0)
#define KS_EVENT_HAS_PID  (1u << 1)
#define KS_EVENT_HAS_NODE (1u << 2)

struct ks_event_data {
	size_t size;	  /* sizeof(struct ks_event_data) */
	uint32_t kind;	  /* enum ks_event_kind */
	uint32_t has;	  /* KS_EVENT_HAS_* */
	uint64_t time_ns; /* never less than that of the event before */
	uint64_t
		address; /* of the object; of pages, the number of the first frame; 0 = it failed */
	uint64_t bytes_requested,
		bytes_allocated; /* of allocations; allocated also of page frees */
	uint64_t lost;		 /* of KS_EVENT_LOST: how many; 0 = nobody knows */
	const char *site;  /* "alloc_inode+0x4f/0xb0 [ext4]" or an address; NULL = not known */
	const char *cache; /* NULL = not known, as the rest */
	const char *comm;
	const char *gfp;	  /* "GFP_KERNEL|__GFP_ZERO" */
	const char *const *stack; /* spelled like sites, innermost first */
	size_t stack_len;
	uint32_t cpu, pid;
	int32_t node; /* that was asked for */
};

/* A source of events that the caller makes. */
struct ks_capture_callbacks {
	size_t size;	  /* sizeof(struct ks_capture_callbacks) */
	const char *name; /* what reports call it */
	/*
	 * Fills in the next event, which is zeroed, but for its size: 1, or 0 at the end, or a
	 * negative errno.
	 */
	int (*next)(void *ctx, struct ks_event_data *ret_event, struct ks_diag *diag);
	/* Called once, when nothing will be asked for any more. May be NULL. */
	void (*close)(void *ctx);
};

struct ks_capture;

/*
 * The capture at @path, recognised by its content, compressed or not: a log of ftrace or of a
 * serial console, a trace.dat, a perf.data, a kmemtrace capture (a directory), an access map, or a
 * DB. "-" is standard input. Nothing is read yet but what says whether the file is there.
 */
KS_API int ks_capture_open(const char *path, struct ks_capture **ret_capture, struct ks_diag *diag);

/*
 * What can be read from @fd, which belongs to the capture from now on, even on error. @name is for
 * messages.
 */
KS_API int ks_capture_open_fd(int fd, const char *name, struct ks_capture **ret_capture,
			      struct ks_diag *diag);

/* Events that callbacks give. On error, close is called. */
KS_API int ks_capture_open_callbacks(const struct ks_capture_callbacks *callbacks, void *ctx,
				     struct ks_capture **ret_capture, struct ks_diag *diag);

/* An analysis that runs over the capture is not disturbed. */
KS_API void ks_capture_close(struct ks_capture *capture);

/*
 * Whether a file is whole, in order and without loss, as the document of kmemscope-check(1). What
 * is wrong with the file is in the document and is no error.
 */
KS_API int ks_capture_check(const char *path, struct ks_document **ret_document,
			    struct ks_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
