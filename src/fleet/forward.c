// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Takes messages from a queue to where they belong. Between storing and removing the program may die: then they are
 * stored again, which changes nothing.
 */
#include "fleet/forward.h"

#include <errno.h>
#include <stdlib.h>

#include "fleet/files.h"

/* === Data ================================================================================= */

enum { MESSAGES_MAX = 2000 };

/* The messages of one load. */
struct lot {
	KS_VEC(u64) numbers;
	struct ks_files *files;	      /* in place of loads */
	struct ks_store_load **loads; /* of each shard */
	size_t nr_loads;
};

/* === Internals ============================================================================ */

static int make_lot(const struct ks_forward *forward, struct lot *lot, struct ks_diag *diag)
{
	int err = 0;

	lot->files = forward->files;
	if (lot->files) {
		ks_files_clear(lot->files);
		return 0;
	}
	lot->loads = calloc(forward->nr_shards, sizeof(struct ks_store_load *));
	if (!lot->loads)
		return ks_diag_nomem(diag, "storing messages");
	while (!err && lot->nr_loads < forward->nr_shards) {
		err = ks_store_load_new(&lot->loads[lot->nr_loads], diag);
		lot->nr_loads += !err;
	}
	return err;
}

static void free_lot(struct lot *lot)
{
	size_t i;

	for (i = 0; i < lot->nr_loads; i++)
		ks_store_load_free(lot->loads[i]);
	free(lot->loads);
	ks_vec_free(&lot->numbers);
}

/* Puts a message into the loads. -E2BIG: it does not fit any more, or only in part; what is there of it does no harm. */
static int add_message(struct lot *lot, const struct ks_strbuf *message, struct ks_diag *diag)
{
	struct ks_fleet_batch batch;
	size_t pos = 0;
	int got;

	do {
		ks_fleet_batch_init(&batch);
		got = ks_fleet_batch_unpack(&batch, ks_strbuf_str(message), message->len, &pos,
					    diag);
		if (got == 1) {
			int err =
				lot->files
					? ks_files_add(lot->files, &batch, diag)
					: ks_store_load_add(lot->loads[batch.host % lot->nr_loads],
							    &batch, diag);

			if (err)
				got = err;
		}
		ks_fleet_batch_deinit(&batch);
	} while (got == 1);
	return got;
}

static int fill_lot(struct ks_forward *forward, struct lot *lot, size_t max, struct ks_diag *diag)
{
	struct ks_strbuf message;
	u64 number = 0, bytes;
	int err = 0;

	ks_strbuf_init(&message);
	while (!err && lot->numbers.len < max &&
	       ks_queue_next(forward->queue, number, &number, &bytes)) {
		message.len = 0;
		err = ks_queue_read(forward->queue, number, &message, diag);
		if (err == -ENOENT) {
			err = 0; /* dropped, since newer ones needed its room */
			continue;
		}
		if (!err)
			err = add_message(lot, &message, diag);
		if (err == KS_EBADINPUT) {
			err = ks_queue_set_aside(forward->queue, number, diag);
			continue;
		}
		if (!err) {
			u64 *item = ks_vec_push(&lot->numbers);

			if (item)
				*item = number;
			else
				err = ks_diag_nomem(diag, "storing messages");
		}
	}
	ks_strbuf_deinit(&message);
	if (err == -E2BIG && !lot->numbers.len)
		return ks_queue_set_aside(forward->queue, number,
					  diag); /* no load has room for it */
	return err == -E2BIG ? 0 : err;
}

static int store_lot(struct ks_forward *forward, size_t max, u64 *ret_messages,
		     struct ks_diag *diag)
{
	struct lot lot = { 0 };
	size_t i;
	int err = make_lot(forward, &lot, diag);

	if (!err)
		err = fill_lot(forward, &lot, max, diag);
	if (!err && lot.numbers.len && lot.files)
		err = ks_files_flush(lot.files, diag);
	for (i = 0; !err && lot.numbers.len && i < lot.nr_loads; i++)
		err = ks_store_put(&forward->shards[i], lot.loads[i], diag);
	for (i = 0; !err && i < lot.numbers.len; i++)
		err = ks_queue_done(forward->queue, lot.numbers.items[i], diag);
	/* Alone and refused: nobody will take it. */
	if (err == -EPROTO && lot.numbers.len == 1)
		err = ks_queue_set_aside(forward->queue, lot.numbers.items[0], diag);
	if (!err)
		*ret_messages = lot.numbers.len;
	free_lot(&lot);
	return err;
}

/* A relay has its own limits; it gets message by message. */
static int send_to_relay(struct ks_forward *forward, u64 *ret_messages, struct ks_diag *diag)
{
	struct ks_strbuf message;
	u64 number, bytes;
	int err;

	*ret_messages = 0;
	if (!ks_queue_next(forward->queue, 0, &number, &bytes))
		return 0;
	ks_strbuf_init(&message);
	err = ks_queue_read(forward->queue, number, &message, diag);
	if (!err)
		err = ks_http_post(forward->relay, "v1/batches", ks_strbuf_str(&message),
				   message.len, diag);
	ks_strbuf_deinit(&message);
	if (!err)
		err = ks_queue_done(forward->queue, number, diag);
	else if (err == -EPROTO)
		err = ks_queue_set_aside(forward->queue, number, diag);
	else if (err == -ENOENT)
		err = 0;
	if (!err)
		*ret_messages = 1;
	return err;
}

/* === Public =============================================================================== */

int ks_forward_some(struct ks_forward *forward, u64 *ret_messages, struct ks_diag *diag)
{
	int err;

	if (forward->relay)
		return send_to_relay(forward, ret_messages, diag);
	err = store_lot(forward, MESSAGES_MAX, ret_messages, diag);
	if (err != -EPROTO)
		return err;
	return store_lot(forward, 1, ret_messages, diag); /* which of them is it? */
}
