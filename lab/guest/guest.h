/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the lab's first process share. */
#ifndef LAB_GUEST_H
#define LAB_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lab/protocol.h"

/* What the runner wants, from LAB_ORDERS. */
struct orders {
	bool user_mode; /* User Mode Linux, not QEMU */
	bool access;	/* count accesses */
	bool calls;	/* count calls */
	bool boot;  /* recording began with the kernel: leave its mode alone unless one is given */
	bool stock; /* not the lab's kernel: neither the memorizer nor the host's files are there */
	bool tty;   /* the command gets a terminal */
	const char *kmap; /* the stream to send: a file of memorizer/, or "" */
	const char *mode; /* for memorizer_enabled, or "" */
	const char *cwd;
	struct lab_window window;
	char **shares; /* directories of the host to be written to */
	char **argv;
	char **envp;
};

/* The channel to the runner. Both end the machine when the runner is gone. */
void channel_open(const struct orders *orders);
void channel_send(enum lab_frame_type type, const void *data, size_t len);
/* Reads what is there without waiting; @handle gets each whole frame. */
void channel_receive(void (*handle)(enum lab_frame_type type, const void *data, size_t len));
int channel_fd(void);
/* Tells the runner that the command comes next, and waits for its word; @handle gets what else it says. */
void channel_await_go(void (*handle)(enum lab_frame_type type, const void *data, size_t len));

/* Tells the runner why it comes to nothing, and switches the machine off. */
void fail(int status, const char *stage, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
/* Sends the exit status, waits until the runner has everything, and switches the machine off. */
void finish(int status) __attribute__((noreturn));

/* Before the channel: devices and orders. */
void view_early(void);
/* What a system has mounted, over the RAM disk's files. */
void view_mount(void);
/* The host's files with a scratch layer as the root, and what a system has mounted. */
void view_make(const struct orders *orders);

/* Writes @text into a file of memorizer/. 0 or -1. */
int memorizer_write(const char *name, const char *text);
/* Clears, and opens the stream; -1 where none is wanted. */
int memorizer_start(const struct orders *orders);
/* In the process that becomes the command. 0 or -1. */
int memorizer_mark(const struct orders *orders);
/* Sends what the stream has. False: there is no more at present. */
bool memorizer_send_some(int stream);
/* The rest of the stream, the objects that live, and the statistics. */
void memorizer_finish(const struct orders *orders, int stream);

#endif
