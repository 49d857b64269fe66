/* SPDX-License-Identifier: LGPL-2.1-only */
/* Addresses to listen at, and names that a browser may call this machine by. */
#ifndef KS_SERVE_ADDRESS_H
#define KS_SERVE_ADDRESS_H

#include <sys/socket.h>

#include "base/diag.h"

struct ks_address {
	struct sockaddr_storage socket;
	socklen_t len;
	bool loopback; /* nobody but this machine reaches it */
};

/* "127.0.0.1:9155", "[::1]:9155", "localhost:9155", "0.0.0.0:9155": numbers, no names to look up. */
int ks_address_parse(const char *text, struct ks_address *ret_address, struct ks_diag *diag);

/*
 * Whether the Host of a request is this machine's own: a page from elsewhere whose name leads here must not read
 * what is served to this machine alone.
 */
bool ks_host_is_local(const char *host);

/* The same in the same time for all texts of one length. */
bool ks_same_secret(const char *a, const char *b);

#endif
