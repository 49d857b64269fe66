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

/* "HOST:PORT"; the host of IPv6 in brackets. Returns a connected socket or -errno. */
int ks_wire_connect(const char *address, struct ks_diag *diag);

/* A listening socket or -errno; *ret_port is where it listens. */
int ks_wire_listen(const char *address, unsigned int *ret_port, struct ks_diag *diag);

/* The sender's side. Each returns 0 or -errno; *ret_have is what is safe with the receiver. */
int ks_wire_hello(int fd, const char *id, u64 *ret_have);
int ks_wire_send(int fd, u64 offset, const void *data, u32 len, u64 *ret_have);

/*
 * The receiver's side: serves one connection, into DIR/ID.kmap. Returns when the sender goes, with 0,
 * or why it had to stop.
 */
int ks_wire_serve(int fd, int dir_fd, struct ks_diag *diag);

#endif
