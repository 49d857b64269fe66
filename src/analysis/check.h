/* SPDX-License-Identifier: LGPL-2.1-only */
/* The verdict on one capture: whether it is whole, in order, and without loss. */
#ifndef KS_ANALYSIS_CHECK_H
#define KS_ANALYSIS_CHECK_H

#include "trace/source.h"

struct ks_check_cpu {
	u32 cpu; /* KS_CPU_UNKNOWN = events that name no CPU */
	u64 events;
	u64 lost, gaps; /* events that were lost, where their number is known; places of loss */
	u64 damaged;	/* records or pages */
	u64 backwards;	/* time stamps or sequence numbers smaller than the one before */
	u64 impossible; /* allocations with sizes or nodes that no kernel can have */
	u64 first_ts, last_ts;
};

enum ks_check_verdict { KS_CHECK_OK, KS_CHECK_LOSS, KS_CHECK_DAMAGED };

struct ks_check {
	const char *format;		  /* NULL where the capture could not be opened */
	KS_VEC(struct ks_check_cpu) cpus; /* by number */
	u64 events, lost, gaps;		  /* sums over the CPUs */
	u64 damaged_elsewhere;		  /* records of no known CPU, lines of text */
	bool unfinished;		  /* the recorder was killed */
	char error[512];		  /* why it could not be read to its end; "" = it could */
	enum ks_check_verdict verdict;
};

/*
 * Reads a capture to its end. Bad input is a finding, not an error: it is in the result. An error is
 * returned where nothing can be said of the capture, because it cannot be read. Closing the source stays
 * the caller's task; @ret_check points to the name of its format, a constant.
 */
int ks_check_source(struct ks_source *source, struct ks_check *ret_check, struct ks_diag *diag);

/* The verdict on a file. Content that no reader accepts is a finding, not an error. */
int ks_check_file(const char *path, struct ks_check *ret_check, struct ks_diag *diag);

void ks_check_deinit(struct ks_check *check);

/* The verdict on one CPU alone. */
enum ks_check_verdict ks_check_cpu_verdict(const struct ks_check_cpu *cpu);

#endif
