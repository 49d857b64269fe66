/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Takes batches from agents over HTTP and keeps them in a queue on disk: POST /v1/batches, with a token. An agent gets its
 * 200 when what it sent is safe there. What is not a whole, sane batch of the host that the token is for, is refused.
 */
#ifndef KS_FLEET_RELAY_H
#define KS_FLEET_RELAY_H

#include "net/queue.h"

struct ks_relay_opts {
	const char *bind;	/* "ADDRESS:PORT"; port 0 = any */
	const char *tokens;	/* text: a line "TOKEN HOST" each; HOST * = any. NULL = none */
	const char *cert, *key; /* PEM, in memory; NULL = plain HTTP */
	const char *
		clients; /* who signs certificates of hosts, which need no token: PEM; NULL = nobody */
	u64 rate;	 /* requests a minute for each token */
	u64 oldest_secs; /* intervals that began earlier are refused */
};

struct ks_relay_counters {
	u64 accepted; /* batches */
	u64 rows;
	u64 refused; /* requests: no batch, too large, too old, of another host */
	u64 denied;  /* without a token that is known */
	u64 limited; /* more than the rate, or more than memory allows at once */
	u64 failed;  /* the disk did not take it */
};

struct ks_relay;

/* -ENOSYS: built without libmicrohttpd. */
int ks_relay_start(const struct ks_relay_opts *opts, struct ks_queue *queue,
		   struct ks_relay **ret_relay, struct ks_diag *diag);
void ks_relay_stop(struct ks_relay *relay); /* accepts NULL */

unsigned int ks_relay_port(const struct ks_relay *relay);

/* Called from time to time: whether batches came since the last call. */
bool ks_relay_has_news(struct ks_relay *relay);
void ks_relay_count(struct ks_relay *relay, struct ks_relay_counters *ret_counters);

#endif
