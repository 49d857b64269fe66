/* SPDX-License-Identifier: GPL-2.0-only */
/* The verdict on one capture, for "kmemscope check" and kmemtrace_check. */
#ifndef KS_CLI_CHECK_H
#define KS_CLI_CHECK_H

#include "base/strbuf.h"
#include "base/vec.h"

struct ks_check_cpu {
	u32 cpu;
	u64 events, lost, gaps;
	u64 damaged, backwards, impossible;
	u64 first_ts, last_ts;
};

struct ks_check {
	const char *path;
	const char *format; /* NULL where it could not be opened */
	KS_VEC(struct ks_check_cpu) cpus;
	u64 events, lost, gaps;
	u64 damaged_elsewhere; /* records of no known CPU, lines of text */
	bool unfinished, repaired, damaged;
	char error[512]; /* why it could not be read to its end */
};

/* Reads all of it. 0, or an exit code where it could not be opened at all. */
int ks_check_file(struct ks_check *check, const char *path);
void ks_check_deinit(struct ks_check *check);
void ks_check_print(const struct ks_check *check, struct ks_strbuf *out);

#endif
