/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A file between a source that cannot be read twice and a receiver that may be away. It holds whole
 * records only. Its state file names the stream and says how much of the file counts: what a killed
 * writer left behind that mark is cut off.
 */
#ifndef KS_NET_SPOOL_H
#define KS_NET_SPOOL_H

#include <pthread.h>

#include "base/diag.h"

#define KS_SPOOL_ID_LEN 32

/* The most bytes of a source's head that its framing may need to know the size of records. */
#define KS_FRAMING_HEAD 256

/* Where records end in a stream that arrives in pieces. The spool itself knows no format. */
struct ks_framing {
	/*
	 * How many of the bytes, which begin where the last ones ended, are whole records. @more: the
	 * source had more bytes than there was room for.
	 */
	size_t (*whole)(void *ctx, const void *data, size_t len, bool more);
	/*
	 * How many of the first bytes to leave out, of a source that goes on where a process that read it was
	 * killed: what that one had read and not stored is lost, so they may begin inside of a record. *ret_found: the
	 * rest begins with a record; else it is asked again with more. @last: there will be no more. May be NULL.
	 */
	size_t (*resync)(void *ctx, const void *data, size_t len, bool last, bool *ret_found);
	/* All bytes are passed on, although the last record has no end among them. */
	void (*pass)(void *ctx, const void *data, size_t len);
	void *ctx;
};

struct ks_spool {
	int fd, state_fd;
	char *path, *state_path;
	char *buf;		      /* what was read and is not yet whole */
	char id[KS_SPOOL_ID_LEN + 1]; /* hexadecimal, random */
	pthread_mutex_t lock;	      /* guards the rest */
	pthread_cond_t changed;
	u64 len;     /* bytes that count */
	u64 acked;   /* bytes that the receiver has */
	bool ended;  /* the source has no more */
	u64 skipped; /* bytes of records whose beginning was lost with another sender */
	bool stop;   /* to be read and written atomically, without the lock */
	int err;     /* reading the source failed */
	struct ks_diag diag;
};

/* Opens or continues one. A second process on the same spool gets -EBUSY. */
int ks_spool_open(struct ks_spool *spool, const char *path, struct ks_diag *diag);

/* @remove: all was delivered. */
void ks_spool_close(struct ks_spool *spool, bool remove);

/* Appends whole records and makes them count. */
int ks_spool_append(struct ks_spool *spool, const void *data, size_t len, struct ks_diag *diag);

/*
 * Copies the source into the spool until it ends; to be run in a thread of its own. Once @stop of the
 * spool is set, it ends at the next signal that interrupts its thread. A regular file is continued
 * where the spool ends. While the disk is full it waits and keeps what it has read.
 */
void ks_spool_pump(struct ks_spool *spool, int source_fd, const struct ks_framing *framing);

/* Waits up to a second for bytes behind @offset. Returns how many there are, 0 = none yet. */
u64 ks_spool_wait(struct ks_spool *spool, u64 offset, bool *ret_ended);

/* Notes what the receiver has, and frees its disk space. */
int ks_spool_ack(struct ks_spool *spool, u64 acked, struct ks_diag *diag);

#endif
