/* SPDX-License-Identifier: LGPL-2.1-only */
/* From a queue of messages into the database, or to a relay. */
#ifndef KS_FLEET_FORWARD_H
#define KS_FLEET_FORWARD_H

#include "fleet/store.h"
#include "net/queue.h"

/* Where to: a relay, a directory of tables, or the shards of a database, each of which has the hosts whose id modulo their number is its own. */
struct ks_forward {
	struct ks_queue *queue;
	struct ks_http *relay;	/* NULL = the shards */
	struct ks_files *files; /* NULL = the shards, or a relay */
	struct ks_store *shards;
	size_t nr_shards;
};

/*
 * Sends the oldest messages, as many as make up one load, and removes them from the queue once all of it is stored.
 * *ret_messages = 0: there are none. -EAGAIN or -EPERM: they stay, to be sent again later. What is damaged, or refused
 * for its own sake, is set aside.
 */
int ks_forward_some(struct ks_forward *forward, u64 *ret_messages, struct ks_diag *diag);

#endif
