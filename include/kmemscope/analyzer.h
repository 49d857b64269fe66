/* SPDX-License-Identifier: LGPL-2.1-only */
/* Questions to a capture, asked together and answered from one pass over it. See ks_analyzer(3). */
#ifndef KMEMSCOPE_ANALYZER_H
#define KMEMSCOPE_ANALYZER_H

#include <kmemscope/base.h>
#include <kmemscope/capture.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_document;

/* Which objects count. */
#define KS_FILTER_CPU	  (1u << 0) /* allocated on the CPU of the options, ... */
#define KS_FILTER_PID	  (1u << 1)
#define KS_FILTER_BYTES	  (1u << 2)
#define KS_FILTER_KMALLOC (1u << 3) /* by kmalloc() */
#define KS_FILTER_CACHE	  (1u << 4) /* by kmem_cache_alloc() */

/* Of the analysis, not of the filter. */
#define KS_ANALYZE_PAGES	(1u << 0) /* pages, and not slab objects */
#define KS_ANALYZE_SKIP_HELPERS (1u << 1) /* kstrdup() and its like stand for their callers */

struct ks_analyzer_options {
	size_t size;	   /* sizeof(struct ks_analyzer_options) */
	uint32_t flags;	   /* KS_ANALYZE_* */
	uint32_t filter;   /* KS_FILTER_* */
	uint32_t cpu, pid; /* where the filter says so */
	uint64_t bytes;	   /* allocated, likewise */
	const char *site;  /* a function, or function+0xoffset; NULL = any, as the rest */
	const char *cache;
	const char *comm;
	const char *cgroup;   /* a path; those below it count too */
	const char *branch;   /* directory or file of the kernel tree; needs kernel */
	const char *since;    /* "415.2" by the clock of the capture, "+1.5", "10:00:05", ... */
	const char *until;    /* since <= time < until */
	const char *kernel;   /* a tree, vmlinux, System.map or kallsyms: names code; NULL = none */
	const char *kallsyms; /* of the very boot, beside it */
	const char *helpers;  /* a file with more functions for KS_ANALYZE_SKIP_HELPERS */
	/*
	 * Called now and then with how far along the input is; total 0 = not known. Not 0: stop,
	 * -EINTR.
	 */
	int (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
};

struct ks_analyzer;

/* @options may be NULL. All strings are copied. */
KS_API int ks_analyzer_new(const struct ks_analyzer_options *options,
			   struct ks_analyzer **ret_analyzer, struct ks_diag *diag);
KS_API void ks_analyzer_free(struct ks_analyzer *analyzer);

/* What is asked of a report; which members count, its page says. */
#define KS_REPORT_STACKS (1u << 0) /* by stack trace, where the capture has them */
#define KS_REPORT_ALL	 (1u << 1) /* rows, too, that people are spared */

struct ks_report_options {
	size_t size;	   /* sizeof(struct ks_report_options) */
	uint32_t flags;	   /* KS_REPORT_* */
	const char *by;	   /* "site", "cache", ...; NULL = "site" */
	const char *order; /* "live", "total", "allocs", "frees", "waste", "peak"; NULL = "live" */
	uint64_t top;	   /* rows; 0 = all */
	uint64_t min_age_ns;   /* of leaks */
	uint64_t buckets;      /* of the timeline, at most; 0 = 60 */
	const char *measure;   /* of a comparison: "live", "waste", "objects", ...; NULL = "live" */
	const char *normalize; /* of a comparison: "time", "events"; NULL = not at all */
};

/*
 * The reports that there are, by number from 0: a name, and a line that says what it is. NULL =
 * there is none.
 */
KS_API const char *ks_report_name(size_t number);
KS_API const char *ks_report_summary(size_t number);

/*
 * Asks for a report, before the analysis begins. Any number of them is answered from one pass.
 * @options may be NULL. -ENOENT: there is no such report. -EEXIST: it was asked for with other
 * options, of which there can be one set.
 */
KS_API int ks_analyzer_ask(struct ks_analyzer *analyzer, const char *report,
			   const struct ks_report_options *options, struct ks_diag *diag);

/*
 * One object from its allocation to its end. Strings are there until the callback returns; "" where
 * not known.
 */
#define KS_OBJECT_HAS_PID      (1u << 0)
#define KS_OBJECT_HAS_CPU      (1u << 1)
#define KS_OBJECT_HAS_END      (1u << 2) /* it has ended; else it lives */
#define KS_OBJECT_HAS_FREE_CPU (1u << 3)

struct ks_object {
	size_t size; /* of the struct, as the library knows it */
	uint32_t has;
	uint32_t kind;	  /* enum ks_event_kind of its allocation */
	uint64_t address; /* of pages, the number of the first frame */
	uint64_t bytes_requested, bytes_allocated;
	uint64_t alloc_time, end_time; /* by the clock of the capture: nanoseconds, or ticks */
	const char *site, *cache, *comm, *gfp;
	const char *end;       /* "live", "freed", ...: how it ended */
	const char *free_site; /* of the event that freed it */
	uint32_t pid, cpu, free_cpu;
};

/* Gets an object. 0, or a negative errno, which ends the analysis. */
typedef int ks_object_callback(void *ctx, const struct ks_object *object, struct ks_diag *diag);

/*
 * Asks for every object, before the analysis begins: those that end, in the order of their ends,
 * then, at the end of the capture, those that live.
 */
KS_API int ks_analyzer_ask_objects(struct ks_analyzer *analyzer, ks_object_callback *callback,
				   void *ctx, struct ks_diag *diag);

/*
 * Asks for a DB of all events, whatever the filter, at @path. The file appears whole, at the end.
 */
KS_API int ks_analyzer_ask_db(struct ks_analyzer *analyzer, const char *path, struct ks_diag *diag);

/*
 * Analyses the whole capture. What reads a file reads it now; a capture at a path may be run any
 * number of times.
 */
KS_API int ks_analyzer_run(struct ks_analyzer *analyzer, struct ks_capture *capture,
			   struct ks_diag *diag);

/*
 * The same piece by piece: begin, then step until it returns 0 (1: there is more; or an error). In
 * between, answers are as of then. The steps of a DB, which is not read in order, are one.
 */
KS_API int ks_analyzer_begin(struct ks_analyzer *analyzer, struct ks_capture *capture,
			     struct ks_diag *diag);
KS_API int ks_analyzer_step(struct ks_analyzer *analyzer, struct ks_diag *diag);

/*
 * Without a capture: begin with NULL, then give events as they come, and say when there are no
 * more.
 */
KS_API int ks_analyzer_feed(struct ks_analyzer *analyzer, const struct ks_event_data *event,
			    struct ks_diag *diag);
KS_API int ks_analyzer_finish(struct ks_analyzer *analyzer, struct ks_diag *diag);

/*
 * A report that was asked for, as of now: any number of times, once the analysis has begun. Options
 * may differ from those that were asked in order, top and KS_REPORT_ALL. -ENOENT: it was not asked
 * for. -ENODATA: the capture can't tell, and the error says why.
 */
KS_API int ks_analyzer_answer(struct ks_analyzer *analyzer, const char *report,
			      const struct ks_report_options *options,
			      struct ks_document **ret_document, struct ks_diag *diag);

/* Compares two analyses that were both asked for "report" by the same groups. */
KS_API int ks_analyzer_compare(struct ks_analyzer *before, struct ks_analyzer *after,
			       const struct ks_report_options *options,
			       struct ks_document **ret_document, struct ks_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
