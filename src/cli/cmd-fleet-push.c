// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope fleet push: captures, heap snapshots, and batches of an agent, into the database. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/fleet.h"
#include "cli/output.h"
#include "cli/run.h"
#include "fleet/sample.h"
#include "heap/snapshot-file.h"
#include "input/input.h"

/* === Data ================================================================================= */

enum { FRAME_HEAD = 12 };

struct push {
	struct ks_fleet_args *args;
	struct ks_store *store;
	struct ks_store_load *load;
	u64 batches, rows;
};

/* === Internals ============================================================================ */

static int store_load(struct push *push, struct ks_diag *diag)
{
	int err = ks_store_put(push->store, push->load, diag);

	ks_store_load_clear(push->load);
	return err;
}

static int add(struct push *push, const struct ks_fleet_batch *batch, struct ks_diag *diag)
{
	int err = ks_store_load_add(push->load, batch, diag);

	if (err == -E2BIG) {
		err = store_load(push, diag);
		if (!err)
			err = ks_store_load_add(push->load, batch, diag);
	}
	if (!err) {
		push->batches++;
		push->rows += batch->rows.len;
	}
	return err;
}

static int add_frame(struct push *push, const struct ks_strbuf *frame, const char *name, u64 offset,
		     struct ks_diag *diag)
{
	struct ks_fleet_batch batch;
	struct ks_diag inner = { 0 };
	size_t pos = 0;
	int err;

	ks_fleet_batch_init(&batch);
	err = ks_fleet_batch_unpack(&batch, frame->s, frame->len, &pos, &inner);
	if (err < 0)
		ks_diag_set(diag, err, "%s: from byte %" PRIu64 ": %s", name, offset, inner.text);
	else
		err = add(push, &batch, diag);
	ks_fleet_batch_deinit(&batch);
	return err;
}

/* One frame after the other, so that a file of any length takes the memory of one load. */
static int push_frames(struct push *push, struct ks_input *input, struct ks_diag *diag)
{
	struct ks_strbuf frame;
	u8 head[FRAME_HEAD];
	u64 offset = 0;
	size_t got;
	int err;

	ks_strbuf_init(&frame);
	for (;;) {
		struct ks_bytes b;
		u32 size;

		err = ks_input_read(input, head, sizeof(head), &got, diag);
		if (err || !got)
			break;
		ks_bytes_init(&b, head, got);
		ks_bytes_take(&b, 4);
		size = ks_min(ks_bytes_u32(&b), (u32)KS_FLEET_BATCH_MAX);
		frame.len = 0;
		ks_strbuf_add(&frame, head, got);
		if (frame.failed || ks_reserve(frame.s, frame.cap, frame.len + size + 1)) {
			err = ks_diag_nomem(diag, "reading batches");
			break;
		}
		err = ks_input_read(input, frame.s + frame.len, size, &got, diag);
		if (err)
			break;
		frame.len += got;
		err = add_frame(push, &frame, ks_input_name(input), offset, diag);
		if (err)
			break;
		offset += frame.len;
	}
	ks_strbuf_deinit(&frame);
	return err;
}

static int push_snapshot(struct push *push, const char *path, struct ks_diag *diag)
{
	struct ks_snapshot *snapshot;
	struct ks_fleet_batch batch;
	int err = ks_snapshot_load(path, &snapshot, diag);

	if (err)
		return err;
	ks_fleet_batch_init(&batch);
	batch.at = (u32)(snapshot->taken_ns / 1000000000 / 60 * 60);
	batch.span = 60;
	batch.version = snapshot->taken_ns;
	batch.quality = KS_FLEET_OFFLINE;
	if (!*snapshot->host)
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: does not say of which host it is", path);
	else if (ks_fleet_identify(&batch, NULL, snapshot->host, snapshot->boot, snapshot->release))
		err = ks_diag_nomem(diag, "making rows of a heap");
	if (!err)
		err = ks_fleet_sample(&batch, NULL, snapshot, diag);
	if (!err)
		err = add(push, &batch, diag);
	ks_fleet_batch_deinit(&batch);
	ks_snapshot_free(snapshot);
	return err;
}

/* Whose a capture is its options say, since it does not. 0 or an exit code, with a message. */
static int push_capture(struct push *push, const char *path)
{
	struct ks_fleet_args *args = push->args;
	struct ks_cli *cli = &args->cli;
	struct ks_capture_opts capture = { .input = path };
	struct ks_diag diag = { 0 }, inner = { 0 };
	struct ks_fleet_batch batch;
	struct ks_model *model;
	const char *build;
	int code, err;

	cli->capture = &capture;
	code = ks_cli_analyze(cli, KS_BY_SAMPLE, &model);
	cli->capture = NULL;
	if (code)
		return code;
	build = args->question.build ? args->question.build : model->kernel;
	ks_fleet_batch_init(&batch);
	if (!args->question.host)
		err = ks_diag_set(&inner, -ENODATA, "does not say of which host it is: use --host");
	else if (!*build)
		err = ks_diag_set(&inner, -ENODATA,
				  "does not say of which kernel it is: use --build");
	else if (ks_fleet_identify(&batch, NULL, args->question.host, "capture", build))
		err = ks_diag_nomem(&inner, "making rows of a capture");
	else
		err = ks_fleet_sample_capture(&batch, model, args->at * 1000000000, &inner);
	if (err)
		ks_diag_set(&diag, err, "%s: %s", path, inner.text);
	else
		err = add(push, &batch, &diag);
	ks_fleet_batch_deinit(&batch);
	ks_model_free(model);
	return err ? ks_cli_fail(cli, err, &diag) : 0;
}

/* What is neither batches nor a heap is for the readers of captures, who say what it is if it is none. */
static int push_file(struct push *push, const char *path, struct ks_diag *diag, int *ret_code)
{
	struct ks_input *input;
	const void *head;
	bool heap;
	size_t len;
	int err = ks_input_open(path, &input, diag);

	if (err)
		return err;
	err = ks_input_peek(input, &head, &len, diag);
	if (!err && len >= 4 && !memcmp(head, "KSFB", 4)) {
		err = push_frames(push, input, diag);
		ks_input_close(input);
		return err;
	}
	heap = !err && ks_snapshot_probe(head, len);
	ks_input_close(input);
	if (err)
		return err;
	if (heap)
		return push_snapshot(push, path, diag);
	*ret_code = push_capture(push, path);
	return 0;
}

/* === Public =============================================================================== */

int ks_fleet_push(struct ks_fleet_args *args)
{
	struct ks_diag diag = { 0 };
	struct ks_store store;
	struct push push = { .args = args, .store = &store };
	struct ks_doc *doc = NULL;
	int code = ks_fleet_connect(&args->cli, &args->server, &store), err = 0, i;

	if (!code) {
		err = ks_store_load_new(&push.load, &diag);
		for (i = 0; !err && !code && i < args->nr_operands; i++)
			err = push_file(&push, args->operands[i], &diag, &code);
		if (!err && !code)
			err = store_load(&push, &diag);
		ks_store_load_free(push.load);
	}
	ks_fleet_disconnect(&args->server, &store);
	if (code)
		return code;
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	doc = ks_doc_new("kmemscope-fleet-push-1");
	if (!doc)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	ks_doc_note(doc, "batches", push.batches, "intervals", true);
	ks_doc_note(doc, "rows", push.rows, "rows were stored", true);
	return ks_cli_print_doc(&args->cli, doc);
}
