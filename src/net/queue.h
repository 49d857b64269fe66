/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Messages that wait in a directory until somebody has taken them, a file each. A message is safe once it is put: it
 * survives a crash of the program and of the machine. The directory has a bound: a queue either refuses what does not
 * fit, or drops the oldest and counts that. All functions may be called from several threads.
 */
#ifndef KS_NET_QUEUE_H
#define KS_NET_QUEUE_H

#include "base/diag.h"
#include "base/strbuf.h"

struct ks_queue;

struct ks_queue_opts {
	const char *dir;  /* made if it is not there, with mode 0700 */
	u64 max_bytes;	  /* of all messages */
	bool drop_oldest; /* else what does not fit is refused with -ENOSPC */
};

/* -EBUSY: another process has it. */
int ks_queue_open(const struct ks_queue_opts *opts, struct ks_queue **ret_queue,
		  struct ks_diag *diag);
void ks_queue_close(struct ks_queue *queue); /* accepts NULL */

/* -EFBIG: larger than all that fits. */
int ks_queue_put(struct ks_queue *queue, const void *data, size_t len, struct ks_diag *diag);

/* The number of the oldest message behind number @after; 0 = from the beginning. False = there is none. */
bool ks_queue_next(struct ks_queue *queue, u64 after, u64 *ret_number, u64 *ret_bytes);

/* Appends a message. -ENOENT: it was dropped meanwhile. */
int ks_queue_read(struct ks_queue *queue, u64 number, struct ks_strbuf *out, struct ks_diag *diag);

/* It arrived: removes it. */
int ks_queue_done(struct ks_queue *queue, u64 number, struct ks_diag *diag);

/* Nobody will ever take it: it stays in the directory, as NUMBER.refused. */
int ks_queue_set_aside(struct ks_queue *queue, u64 number, struct ks_diag *diag);

struct ks_queue_state {
	u64 messages, bytes;
	u64 dropped;   /* messages, since the directory was made */
	u64 set_aside; /* since it was opened */
};

void ks_queue_state(struct ks_queue *queue, struct ks_queue_state *ret_state);

#endif
