// SPDX-License-Identifier: LGPL-2.1-only
/* The recorder, as its caller sees it: from a new one to the finished file. */
#include "capture/recorder-state.h"

#include <stdio.h>
#include <stdlib.h>

/* === Internals ============================================================================ */

static void free_recorder(struct ks_recorder *rec)
{
	ks_rec_close_readers(rec);
	if (rec->chunks_ready)
		ks_chunks_deinit(&rec->chunks);
	ks_tracefs_close(&rec->tfs);
	ks_cmdlines_deinit(&rec->cmdlines);
	ks_td_meta_deinit(&rec->meta);
	pthread_cond_destroy(&rec->wrote);
	pthread_mutex_destroy(&rec->write_lock);
	free(rec);
}

static void collect_stats(struct ks_recorder *rec, bool keep_text, struct ks_record_stats *ret)
{
	u32 i;

	*ret = (struct ks_record_stats){ 0 };
	for (i = 0; i < rec->readers_len; i++) {
		struct ks_strbuf *text = keep_text ? ks_vec_push(&rec->meta.cpu_stats) : NULL;
		struct ks_cpu_stats stats;

		if (ks_machine_cpu_stats(&rec->tfs, rec->readers[i].cpu, &stats, text))
			continue;
		ret->events += stats.entries + stats.read;
		ret->lost += stats.overrun + stats.commit_overrun + stats.dropped;
		if (text && rec->readers[i].unwritten)
			ks_strbuf_printf(text, KS_TD_UNWRITTEN "%u\n", rec->readers[i].unwritten);
	}
	pthread_mutex_lock(&rec->write_lock);
	ret->file_size = rec->writer ? ks_td_writer_size(rec->writer) : 0;
	ret->full = rec->full;
	ret->failed = rec->err;
	pthread_mutex_unlock(&rec->write_lock);
}

/* === Public =============================================================================== */

int ks_recorder_new(const struct ks_record_opts *opts, struct ks_recorder **ret_recorder,
		    struct ks_diag *diag)
{
	struct ks_recorder *rec = calloc(1, sizeof(*rec));
	u32 stale;
	int err;

	if (!rec || ks_cmdlines_init(&rec->cmdlines)) {
		free(rec);
		return ks_diag_nomem(diag, "recording");
	}
	pthread_mutex_init(&rec->write_lock, NULL);
	pthread_cond_init(&rec->wrote, NULL);
	ks_td_meta_init(&rec->meta);
	rec->max_size = opts->max_size;
	rec->no_census = opts->no_census;
	rec->census = opts->census;
	rec->census_ctx = opts->census_ctx;
	err = ks_tracefs_open(&rec->tfs, diag);
	if (!err)
		err = ks_rec_choose_events(rec, opts, diag);
	if (!err) {
		ks_tracefs_remove_stale(rec->tfs.root, &stale);
		err = ks_tracefs_make_instance(&rec->tfs, diag);
	}
	if (!err)
		err = ks_rec_configure(rec, opts, diag);
	if (!err)
		err = ks_machine_describe(&rec->tfs, rec->events, rec->events_len, &rec->meta,
					  diag);
	if (!err)
		err = ks_rec_open_readers(rec, diag);
	if (!err)
		err = ks_rec_start_threads(rec, diag);
	if (!err && !opts->only_pids && ks_rec_name_self(rec))
		err = ks_diag_nomem(diag, "recording");
	if (!err && ks_rec_take_census(rec, KS_CENSUS_START))
		err = ks_diag_nomem(diag, "counting the kernel's objects");
	if (!err) {
		pthread_mutex_lock(&rec->write_lock); /* the workers run already */
		err = ks_td_writer_open(opts->path, &rec->meta, &rec->writer, diag);
		pthread_mutex_unlock(&rec->write_lock);
	}
	if (err) {
		ks_recorder_abort(rec);
		return err;
	}
	*ret_recorder = rec;
	return 0;
}

int ks_recorder_start(struct ks_recorder *rec, struct ks_diag *diag)
{
	char path[96];
	size_t i;
	int err = 0;

	for (i = 0; i < rec->events_len && !err; i++) {
		snprintf(path, sizeof(path), "events/kmem/%s/enable", rec->events[i]);
		err = ks_tracefs_write(&rec->tfs, path, "1", diag);
	}
	return err ? err : ks_tracefs_write(&rec->tfs, "tracing_on", "1", diag);
}

void ks_recorder_poll(struct ks_recorder *rec, struct ks_record_stats *ret_stats)
{
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	collect_stats(rec, false, ret_stats);
}

int ks_recorder_stop(struct ks_recorder *rec, struct ks_record_stats *ret_stats,
		     struct ks_diag *diag)
{
	struct ks_td_writer *writer;
	bool no_memory;
	u64 size;
	int err;

	/* While events still come in, so that none is missed in between. */
	no_memory = ks_rec_take_census(rec, KS_CENSUS_END) != 0;
	ks_tracefs_write(&rec->tfs, "tracing_on", "0", NULL);
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	ks_rec_join_threads(rec);
	collect_stats(rec, true, ret_stats);
	ks_cmdlines_print(&rec->cmdlines, &rec->meta.cmdlines);
	writer = rec->writer;
	rec->writer = NULL;
	size = ks_td_writer_size(writer);
	err = rec->err;
	if (err) { /* what there is can still be finished, if there is room for it */
		if (diag)
			*diag = rec->diag;
		ret_stats->finished = !ks_td_writer_finish(writer, &rec->meta, NULL);
	} else {
		err = ks_td_writer_finish(writer, &rec->meta, diag);
	}
	if (!err && no_memory) {
		ret_stats->finished = true;
		err = ks_diag_nomem(diag, "counting the kernel's objects");
	}
	ret_stats->file_size = size;
	free_recorder(rec);
	return err;
}

void ks_recorder_abort(struct ks_recorder *rec)
{
	ks_rec_join_threads(rec);
	if (rec->writer)
		ks_td_writer_abort(rec->writer);
	free_recorder(rec);
}
