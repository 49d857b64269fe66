/* SPDX-License-Identifier: LGPL-2.1-only */
/* What a capture says of the machine it was made on: formats, symbols, task names, statistics. */
#ifndef KS_CAPTURE_MACHINE_H
#define KS_CAPTURE_MACHINE_H

#include "base/intern.h"
#include "base/map64.h"
#include "capture/tracefs.h"
#include "trace/tracedat-writer.h"

/* The names of task ids, collected while recording: the kernel remembers only the last hundred. */
struct ks_cmdlines {
	struct ks_map64 pids;
	struct ks_intern comms;
	KS_VEC(u32) comm_of; /* by number of the pid */
	KS_VEC(u32)
	fresh; /* numbers of those that are new, or have another name, since they were taken */
};

int ks_cmdlines_init(struct ks_cmdlines *cmd);
void ks_cmdlines_deinit(struct ks_cmdlines *cmd);

/* Adds what the kernel remembers now; later names replace earlier ones. */
int ks_cmdlines_collect(struct ks_cmdlines *cmd, const struct ks_tracefs *tfs);
void ks_cmdlines_print(const struct ks_cmdlines *cmd, struct ks_strbuf *sb);

/* Only what is fresh, which it then is no more. */
void ks_cmdlines_take_fresh(struct ks_cmdlines *cmd, struct ks_strbuf *sb);

/* Everything but task names and statistics. @events is the list that was enabled. */
int ks_machine_describe(const struct ks_tracefs *tfs, const char *const *events, size_t events_len,
			struct ks_td_meta *meta, struct ks_diag *diag);

/* What the instance's clock says now, rounded down to what the kernel prints; 0 where it does not. */
u64 ks_machine_now(const struct ks_tracefs *tfs);

/* Lines of a file such as /proc/meminfo, "NAME:   N kB", in bytes. */
int ks_machine_meminfo(u64 *memory);

struct ks_cpu_stats {
	u64 entries, read, overrun, commit_overrun, dropped;
};

/* One CPU's statistics; the text is appended where @text is not NULL. */
int ks_machine_cpu_stats(const struct ks_tracefs *tfs, u32 cpu, struct ks_cpu_stats *ret_stats,
			 struct ks_strbuf *text);

#endif
