/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The HTTP server: metrics, profiles and a page of what the worker found last. It answers GET and HEAD, one request a
 * connection, and gives up on clients that take their time.
 */
#ifndef KS_SERVE_SERVER_H
#define KS_SERVE_SERVER_H

#include "base/diag.h"
#include "live/worker.h"
#include "serve/tls.h"

struct ks_server_opts {
	const char *address; /* "127.0.0.1:9155", "[::1]:9155" */
	bool remote;	     /* addresses that are not of this machine alone are permitted */
	const char *token;   /* what clients must say; NULL = nothing, on this machine alone */
	struct ks_tls_files tls;
	u64 top;   /* rows with names of their own in metrics */
	bool otlp; /* /v1development/profiles */
};

struct ks_server;

/* Whether this program was built with one. */
bool ks_server_exists(void);

int ks_server_start(const struct ks_server_opts *opts, struct ks_live_worker *worker,
		    struct ks_server **ret_server, struct ks_diag *diag);
void ks_server_stop(struct ks_server *server); /* accepts NULL */

/* The port, where the address had 0. */
u16 ks_server_port(const struct ks_server *server);

/* To be called each second or so: ends connections that last too long. */
void ks_server_tend(struct ks_server *server);

#endif
