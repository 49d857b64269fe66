/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The files of the kernel module memorizer: its mode, its statistics, and its streams, copied into a
 * file. These functions never wait: the caller polls the stream.
 */
#ifndef KS_CAPTURE_MEMORIZER_H
#define KS_CAPTURE_MEMORIZER_H

#include "base/diag.h"
#include "base/outfile.h"
#include "kmap/framing.h"
#include "kmap/kernel-stats.h"

/* Where the module puts its files. */
#define KS_MEMORIZER_DIR "/sys/kernel/debug/memorizer"

/* Numbers of memorizer_enabled; every other is a pid. */
enum { KS_MEMORIZER_OFF, KS_MEMORIZER_SYSTEM, KS_MEMORIZER_TASKS_AND_IRQS, KS_MEMORIZER_TASKS };

struct ks_memorizer {
	const char *dir; /* belongs to the caller */
	int dir_fd;
};

/* A stream on its way into a file. */
struct ks_memorizer_copy {
	const struct ks_memorizer *memorizer;
	int fd; /* the stream, to poll */
	struct ks_outfile out;
	bool text;
	char *buf;
	struct ks_kmap_counter counter; /* of what was written */
};

/* -ENODEV or -EACCES, with advice, where the module or the right to use it is missing. */
int ks_memorizer_open(struct ks_memorizer *memorizer, const char *dir, struct ks_diag *diag);
void ks_memorizer_close(struct ks_memorizer *memorizer);

int ks_memorizer_mode(const struct ks_memorizer *memorizer, u64 *ret_mode, struct ks_diag *diag);

/* Modes 2 and 3 mark the calling process. -EINVAL for a pid without a process. */
int ks_memorizer_set_mode(const struct ks_memorizer *memorizer, u64 mode, struct ks_diag *diag);

/* Puts back a mode that was read before. */
int ks_memorizer_restore_mode(const struct ks_memorizer *memorizer, u64 mode, struct ks_diag *diag);

/* Forgets objects that have ended. */
int ks_memorizer_clear(const struct ks_memorizer *memorizer, struct ks_diag *diag);

/* The counters of show_stats, since the module was loaded. */
int ks_memorizer_stats(const struct ks_memorizer *memorizer, struct ks_kmap_kernel_stats *ret_stats,
		       struct ks_diag *diag);

/* Opens the stream, and the file (mode 0600) that it goes to. */
int ks_memorizer_copy_start(struct ks_memorizer_copy *copy, const struct ks_memorizer *memorizer,
			    const char *path, bool text, struct ks_diag *diag);

/* Copies what is there, up to a limit. *ret_more: there may be more. */
int ks_memorizer_copy_some(struct ks_memorizer_copy *copy, bool *ret_more, struct ks_diag *diag);

/* Appends all objects that are left, which are mostly live ones. */
int ks_memorizer_copy_live(struct ks_memorizer_copy *copy, struct ks_diag *diag);

/* Closes both; the file is kept if @keep. Must be called after a start, even if that failed later. */
int ks_memorizer_copy_end(struct ks_memorizer_copy *copy, bool keep, struct ks_diag *diag);

#endif
