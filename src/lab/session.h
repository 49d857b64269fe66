/* SPDX-License-Identifier: LGPL-2.1-only */
/* One run in the lab, from the guest's first word to its last. */
#ifndef KS_LAB_SESSION_H
#define KS_LAB_SESSION_H

#include "base/outfile.h"
#include "base/strbuf.h"
#include "kmap/framing.h"
#include "lab/guest-process.h"

/* Where the guest has got to. */
enum ks_lab_stage { KS_LAB_BOOT, KS_LAB_SETUP, KS_LAB_COMMAND, KS_LAB_END };

struct ks_lab_session {
	/* in: */
	struct ks_lab_guest *guest;
	struct ks_outfile *map; /* where the map goes, or NULL */
	bool text;		/* the map is lines */
	int in, out, err;	/* the command's files; in: -1 = none */
	int signals;		/* a signalfd: SIGWINCH, and those that end the run */
	u64 boot_ms, run_ms;	/* the most time to come up, and in all; 0 = any */
	bool tty;		/* in is a terminal: tell the guest when its size changes */
	/* Called before the command begins, in a kernel that is not the lab's; NULL = none. The guest stands still. */
	void (*at_begin)(struct ks_lab_session *session);
	/* Called when the command has ended, while the guest stands still; NULL = none. */
	void (*at_end)(struct ks_lab_session *session);
	void *arg; /* for these */
	/* out: */
	enum ks_lab_stage stage;
	int status; /* the command's exit status */
	int signal; /* that ended the run; 0 = none */
	struct ks_kmap_counter
		counter;	  /* of the map: bytes written, objects, where the last begins */
	struct ks_strbuf stats;	  /* show_stats at the end */
	struct ks_strbuf console; /* what the kernel printed, ... */
	u64 console_lost;	  /* ... but for its oldest bytes */
};

/*
 * Carries everything until the command has ended and all of it has arrived. -EINTR if a signal ended
 * it; -ETIMEDOUT; any other error says in @diag what the guest could not do. Afterwards the guest
 * should be ended, whatever came of it.
 */
int ks_lab_session_run(struct ks_lab_session *session, struct ks_diag *diag);
void ks_lab_session_deinit(struct ks_lab_session *session);

#endif
