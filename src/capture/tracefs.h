/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A private tracefs instance: made, used and removed by one recorder. Nothing outside of it is ever
 * written but the list of probes (capture/hooks.h), and no knob of the function tracer is touched.
 */
#ifndef KS_CAPTURE_TRACEFS_H
#define KS_CAPTURE_TRACEFS_H

#include "base/diag.h"
#include "base/strbuf.h"

struct ks_tracefs {
	char *root;	/* the mount, "/sys/kernel/tracing" */
	char *instance; /* its directory, or NULL */
	int dir_fd;	/* of the instance; holds the lock that tells that it is in use */
	int free_fd;	/* its free_buffer: when we die, the kernel stops it and frees its memory */
};

/* Finds the mount. -ENODEV with advice where there is none. */
int ks_tracefs_open(struct ks_tracefs *tfs, struct ks_diag *diag);
/* Removes the instance if there is one. */
void ks_tracefs_close(struct ks_tracefs *tfs);

/* Makes the instance, with tracing off. @suffix is the end of its name, for one that has more than one. */
int ks_tracefs_make_instance(struct ks_tracefs *tfs, const char *suffix, struct ks_diag *diag);

/* Instances that killed recorders left behind: removes them and tells how many. */
int ks_tracefs_remove_stale(const char *root, u32 *ret_removed);

/* Reads a file of the mount, or of the instance where there is one and @path begins with '@'. */
int ks_tracefs_read(const struct ks_tracefs *tfs, const char *path, struct ks_strbuf *ret_text,
		    struct ks_diag *diag);
/* Writes a file of the instance. */
int ks_tracefs_write(const struct ks_tracefs *tfs, const char *path, const char *text,
		     struct ks_diag *diag);
bool ks_tracefs_has(const struct ks_tracefs *tfs, const char *path);

/* Any file, for the kernel's other directories. */
int ks_slurp(const char *path, struct ks_strbuf *ret_text);

/* The start time of a process, 0 where there is none: a pid alone may be somebody else's by now. */
u64 ks_process_start(u32 pid);

#endif
