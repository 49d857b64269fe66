/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What the runner on the host and the first process of the guest say to each other: frames on one
 * channel, which neither loses nor reorders bytes. Both run on one machine: byte order is its own.
 */
#ifndef KS_LAB_PROTOCOL_H
#define KS_LAB_PROTOCOL_H

#include <stdint.h>

/* Raised with every change, so that a runner never talks to another version's guest. */
#define LAB_PROTOCOL 3

/* The file in the guest's RAM disk that says what to do: strings, each with a NUL at its end. */
#define LAB_ORDERS "/orders"

enum lab_frame_type {
	/* from the guest */
	LAB_HELLO = 1, /* u32 LAB_PROTOCOL: the kernel is up */
	LAB_STARTED,   /* the command runs */
	LAB_STDOUT,    /* what the command wrote */
	LAB_STDERR,
	LAB_TAKEN,  /* u32: the number of bytes of LAB_STDIN that were passed on */
	LAB_KMAP,   /* the map */
	LAB_STATS,  /* show_stats at the end */
	LAB_FAILED, /* "STAGE: what went wrong"; the last frame but for LAB_EXIT */
	LAB_EXIT,   /* s32: the exit status, as a shell would put it; the last frame */
	LAB_READY, /* of a kernel that is not the lab's: the command comes next, once LAB_GO is here */
	/* from the host */
	LAB_STDIN,  /* for the command; of length 0: the end of it */
	LAB_WINDOW, /* struct lab_window */
	LAB_CLOSED, /* u32 LAB_STDOUT or LAB_STDERR: nobody reads it any more */
	LAB_GO,
	LAB_BYE, /* everything has arrived: the guest may go */
};

struct lab_frame {
	uint32_t type;
	uint32_t len; /* of what follows */
};

/* The longest frame. */
enum { LAB_FRAME_MAX = 1 << 16 };

/*
 * The most bytes of standard input that are on their way. User Mode Linux never takes up a terminal
 * line again that once ran full: this must be less than a line holds, which is 4095.
 */
enum { LAB_STDIN_WINDOW = 2048 };

struct lab_window {
	uint16_t rows, columns;
};

#endif
