/* SPDX-License-Identifier: LGPL-2.1-only */
/* The recorder's state, which its parts share, and what these do for each other. */
#ifndef KS_CAPTURE_RECORDER_STATE_H
#define KS_CAPTURE_RECORDER_STATE_H

#include <pthread.h>
#include <sys/types.h>

#include "capture/cgroups.h"
#include "capture/chunks.h"
#include "capture/hooks.h"
#include "capture/machine.h"
#include "capture/recorder.h"

enum { KS_REC_MAX_EVENTS = 10, KS_REC_MAX_WORKERS = 4 };

struct ks_rec_reader {
	struct ks_recorder *rec;
	pthread_t thread;
	bool running;
	const struct ks_tracefs *tfs; /* its instance */
	u32 cpu;
	u32 id; /* of the ring in the file: the CPU, with KS_TD_FREES where it is of the second instance */
	_Atomic pid_t tid;
	int fd, pipe[2];
	u32 seq;
	u32 written, unwritten; /* chunks written, and chunks dropped; guarded by write_lock */
	struct ks_chunk *chunk;
	u32 chunk_age_ms;
};

struct ks_rec_worker {
	struct ks_recorder *rec;
	pthread_t thread;
	_Atomic pid_t tid;
};

struct ks_recorder {
	struct ks_tracefs tfs;
	/*
	 * Where only some processes are followed, or only some allocations, a second instance has the frees of all: much of what a process
	 * allocates is freed by others, by interrupts above all.
	 */
	struct ks_tracefs frees;
	struct ks_hooks hooks;
	struct ks_kernel_filter filter;
	struct ks_td_meta meta;
	struct ks_cmdlines cmdlines;
	struct ks_cgroup_watch cgroups;
	const char *events[KS_REC_MAX_EVENTS];
	bool is_free[KS_REC_MAX_EVENTS];
	size_t events_len;
	u64 max_size;
	u64 keep_bytes, keep_ns;
	char *path;   /* of the file */
	bool rotated; /* it is not the first */
	bool no_census;
	ks_record_census_fn *census;
	void *census_ctx;

	struct ks_rec_reader *readers;
	u32 readers_len;
	struct ks_rec_worker workers[KS_REC_MAX_WORKERS];
	u32 workers_len;
	struct ks_chunks chunks;
	bool chunks_ready;
	_Atomic bool stop; /* readers: drain and end */

	pthread_mutex_t write_lock; /* guards these */
	pthread_cond_t wrote;	    /* a chunk, or something failed */
	struct ks_td_writer *writer;
	int err; /* of the first failure */
	struct ks_diag diag;
	bool full;
	bool off;	/* no more events come in */
	u64 allocs_end; /* since when allocations are not recorded any more; 0 = they are */
};

/* Finds out which events the kernel has, and sets the instance up (recorder-setup.c). */
int ks_rec_choose_events(struct ks_recorder *rec, const struct ks_record_opts *opts,
			 struct ks_diag *diag);
int ks_rec_configure(struct ks_recorder *rec, const struct ks_record_opts *opts,
		     struct ks_diag *diag);

/*
 * Puts the time of day and a census into the description of the machine; one that can't be had is left out. 0 or -ENOMEM
 * (recorder-census.c).
 */
int ks_rec_take_census(struct ks_recorder *rec, enum ks_census_when when);

/* Finds out what the kernel calls what was asked for, once the machine is described. */
int ks_rec_set_filter(struct ks_recorder *rec, const struct ks_record_opts *opts,
		      struct ks_diag *diag);

/* Switches the events on, each in its instance. */
int ks_rec_enable(struct ks_recorder *rec, struct ks_diag *diag);

/*
 * Switches off the events of allocations; frees are still recorded. Returns since when not all of them are recorded, 0 if
 * that is not known.
 */
u64 ks_rec_end_allocs(struct ks_recorder *rec);

/* The threads, from opening the rings to the last page of them (recorder-threads.c). */
int ks_rec_open_readers(struct ks_recorder *rec, struct ks_diag *diag);
int ks_rec_start_threads(struct ks_recorder *rec, struct ks_diag *diag);
void ks_rec_join_threads(struct ks_recorder *rec);
void ks_rec_close_readers(struct ks_recorder *rec);

/* Puts the numbers of all threads into the description of the machine. */
int ks_rec_name_self(struct ks_recorder *rec);

#endif
