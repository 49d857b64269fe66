/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * How a spool travels: the sender says which stream it has, the receiver how many bytes of it are
 * safe on its disk, and from there on frames go one way and counts of safe bytes the other.
 * kmemscope-kmap(5) has the layout.
 */
#ifndef KS_NET_WIRE_H
#define KS_NET_WIRE_H

#include "base/diag.h"
#include "net/spool.h"

#define KS_WIRE_FRAME (1u << 20) /* bytes of a frame at most */

/* A secret that sender and receiver share: hexadecimal digits. */
#define KS_WIRE_TOKEN_LEN 32

/* "HOST:PORT"; the host of IPv6 in brackets. Returns a connected socket or -errno. */
int ks_wire_connect(const char *address, struct ks_diag *diag);

/* Where a socket listens. */
struct ks_wire_bound {
	unsigned int port;
	bool loopback; /* only processes of this machine can connect */
};

/* A listening socket or -errno. */
int ks_wire_listen(const char *address, struct ks_wire_bound *ret_bound, struct ks_diag *diag);

/*
 * The sender's side. Each returns 0 or -errno; *ret_have is what is safe with the receiver. @token may be NULL.
 * -EACCES: the receiver wants another token.
 */
int ks_wire_hello(int fd, const char *id, const char *token, u64 *ret_have);
int ks_wire_send(int fd, u64 offset, const void *data, u32 len, u64 *ret_have);

/* How long a receiver waits: for the greeting, and for the rest of a frame that has begun. */
struct ks_wire_patience {
	u64 hello_ns, frame_ns;
};

/*
 * The receiver's side: serves one connection, into DIR/ID.kmap. Returns when the sender goes, with 0,
 * or why it had to stop. Without @token, whoever connects is served.
 */
int ks_wire_serve(int fd, int dir_fd, const char *token, const struct ks_wire_patience *patience,
		  struct ks_diag *diag);

#endif
