// SPDX-License-Identifier: LGPL-2.1-only
/* The recorder, as its caller sees it: from a new one to the finished file. */
#include "capture/recorder-state.h"

#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

static void free_recorder(struct ks_recorder *rec)
{
	ks_rec_close_readers(rec);
	if (rec->chunks_ready)
		ks_chunks_deinit(&rec->chunks);
	if (rec->frees.root)
		ks_tracefs_close(&rec->frees);
	if (rec->tfs.root)
		ks_hooks_remove(&rec->hooks, &rec->tfs);
	ks_tracefs_close(&rec->tfs);
	ks_cgroup_watch_stop(&rec->cgroups);
	ks_cmdlines_deinit(&rec->cmdlines);
	ks_td_meta_deinit(&rec->meta);
	ks_kernel_filter_deinit(&rec->filter);
	pthread_cond_destroy(&rec->wrote);
	pthread_mutex_destroy(&rec->write_lock);
	free(rec->path);
	free(rec);
}

static void collect_stats(struct ks_recorder *rec, bool keep_text, struct ks_record_stats *ret)
{
	u32 i;

	*ret = (struct ks_record_stats){ .probes_missed = rec->meta.about.probes_missed };
	for (i = 0; i < rec->readers_len; i++) {
		struct ks_strbuf *text;
		struct ks_cpu_stats stats;

		if (keep_text && rec->readers[i].id == KS_TD_FREES) {
			text = ks_vec_push(&rec->meta.cpu_stats);
			if (text)
				ks_strbuf_puts(text, "Buffer: " KS_TD_FREES_NAME "\n\n");
		}
		text = keep_text ? ks_vec_push(&rec->meta.cpu_stats) : NULL;
		if (ks_machine_cpu_stats(rec->readers[i].tfs, rec->readers[i].cpu, &stats, text))
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

/* New names of tasks go into the journal, so that a recorder that is killed leaves them behind. */
static void keep_names(struct ks_recorder *rec)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_cmdlines_take_fresh(&rec->cmdlines, &text);
	pthread_mutex_lock(&rec->write_lock);
	if (text.len && !text.failed && rec->writer && !rec->err)
		rec->err = ks_td_writer_names(rec->writer, text.s, text.len, &rec->diag);
	pthread_mutex_unlock(&rec->write_lock);
	ks_strbuf_deinit(&text);
}

static bool keeps_the_last(const struct ks_recorder *rec)
{
	return rec->keep_bytes || rec->keep_ns;
}

/* Drops what is older or more than what is to be kept. */
static void trim(struct ks_recorder *rec)
{
	bool names_lost = false;
	struct ks_strbuf text;

	if (!keeps_the_last(rec))
		return;
	ks_strbuf_init(&text);
	pthread_mutex_lock(&rec->write_lock);
	if (rec->writer && !rec->err)
		rec->err = ks_td_writer_trim(rec->writer, rec->keep_bytes, rec->keep_ns,
					     &names_lost, &rec->diag);
	if (names_lost && !rec->err) {
		ks_cmdlines_print(&rec->cmdlines, &text);
		if (text.len && !text.failed)
			rec->err = ks_td_writer_names(rec->writer, text.s, text.len, &rec->diag);
	}
	pthread_mutex_unlock(&rec->write_lock);
	ks_strbuf_deinit(&text);
}

/* How many events were lost in all is not true of the last of it. Pages tell of losses, too. */
static void forget_stats(struct ks_recorder *rec)
{
	size_t i;

	for (i = 0; i < rec->meta.cpu_stats.len; i++)
		ks_strbuf_deinit(&rec->meta.cpu_stats.items[i]);
	rec->meta.cpu_stats.len = 0;
}

/* Nor is what there was at the start, where the oldest was dropped. */
static void forget_start(struct ks_recorder *rec)
{
	ks_strbuf_deinit(&rec->meta.census[KS_CENSUS_START]);
	ks_strbuf_init(&rec->meta.census[KS_CENSUS_START]);
	forget_stats(rec);
}

/* The journal gets its last name, and a new one takes its place. On error all is as it was. */
static int change_file(struct ks_recorder *rec, const char *path, struct ks_td_writer **ret_old,
		       struct ks_diag *diag)
{
	struct ks_td_writer *old, *writer;
	struct ks_strbuf text;
	int err;

	ks_strbuf_init(&text);
	ks_cmdlines_print(&rec->cmdlines, &text);
	pthread_mutex_lock(&rec->write_lock);
	old = rec->writer;
	err = rec->err ? ks_diag_set(diag, rec->err, "%s", rec->diag.text)
		       : ks_td_writer_move(old, path, diag);
	if (!err) {
		err = ks_td_writer_open(rec->path, &rec->meta, &writer, diag);
		if (err)
			ks_td_writer_move(old, rec->path, NULL);
	}
	if (!err) {
		rec->writer = writer;
		rec->rotated = true;
		*ret_old = old;
		if (text.len && !text.failed)
			rec->err = ks_td_writer_names(writer, text.s, text.len, &rec->diag);
	}
	pthread_mutex_unlock(&rec->write_lock);
	ks_strbuf_deinit(&text);
	return err;
}

static void switch_off(struct ks_recorder *rec)
{
	ks_tracefs_write(&rec->tfs, "tracing_on", "0", NULL);
	if (rec->frees.instance)
		ks_tracefs_write(&rec->frees, "tracing_on", "0", NULL);
	rec->off = true;
}

/*
 * Finishes a file while recording goes on. The census comes after the file's last event: what was allocated up to then
 * is in it, or has ended.
 */
static int finish_counted(struct ks_recorder *rec, struct ks_td_writer *writer,
			  struct ks_diag *diag)
{
	bool no_memory = ks_rec_take_census(rec, KS_CENSUS_END) != 0;
	int err = ks_td_writer_finish(writer, &rec->meta, diag);

	return err || !no_memory ? err : ks_diag_nomem(diag, "counting the kernel's objects");
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
	rec->tfs.dir_fd = rec->tfs.free_fd = rec->frees.dir_fd = rec->frees.free_fd = -1;
	rec->max_size = opts->max_size;
	rec->keep_bytes = opts->keep_bytes;
	rec->keep_ns = opts->keep_ns;
	rec->path = strdup(opts->path);
	rec->no_census = opts->no_census;
	rec->census = opts->census;
	rec->census_ctx = opts->census_ctx;
	err = rec->path ? ks_tracefs_open(&rec->tfs, diag) : ks_diag_nomem(diag, "recording");
	if (!err)
		err = ks_rec_choose_events(rec, opts, diag);
	if (!err) {
		ks_tracefs_remove_stale(rec->tfs.root, &stale);
		ks_hooks_remove_stale(rec->tfs.root);
		err = ks_tracefs_make_instance(&rec->tfs, "", diag);
	}
	if (!err && (opts->only_pids || ks_record_filter_is_set(&opts->filter))) {
		err = ks_tracefs_open(&rec->frees, diag);
		if (!err)
			err = ks_tracefs_make_instance(&rec->frees, "-frees", diag);
	}
	if (!err && opts->slab && !opts->no_hooks)
		ks_hooks_define(&rec->hooks, &rec->tfs);
	if (!err)
		err = ks_rec_configure(rec, opts, diag);
	if (!err)
		err = ks_machine_describe(&rec->tfs, rec->events, rec->events_len, &rec->meta,
					  diag);
	if (!err && ks_hooks_describe(&rec->hooks, &rec->tfs, &rec->meta))
		err = ks_diag_nomem(diag, "recording");
	if (!err)
		err = ks_rec_set_filter(rec, opts, diag);
	if (!err)
		err = ks_rec_open_readers(rec, diag);
	if (!err)
		err = ks_rec_start_threads(rec, diag);
	if (!err && !opts->only_pids && ks_rec_name_self(rec))
		err = ks_diag_nomem(diag, "recording");
	if (!err && !rec->no_census && ks_cgroup_watch_start(&rec->cgroups))
		err = ks_diag_nomem(diag, "recording");
	if (!err && ks_rec_take_census(rec, KS_CENSUS_START))
		err = ks_diag_nomem(diag, "counting the kernel's objects");
	if (err) {
		ks_recorder_abort(rec);
		return err;
	}
	*ret_recorder = rec;
	return 0;
}

const char *ks_recorder_filter_note(const struct ks_recorder *rec)
{
	return ks_strbuf_str(&rec->filter.note);
}

int ks_recorder_start(struct ks_recorder *rec, struct ks_diag *diag)
{
	int err;

	pthread_mutex_lock(&rec->write_lock); /* the workers run already */
	err = ks_td_writer_open(rec->path, &rec->meta, &rec->writer, diag);
	pthread_mutex_unlock(&rec->write_lock);
	return err ? err : ks_rec_enable(rec, diag);
}

void ks_recorder_say_hooks(const struct ks_recorder *rec, struct ks_strbuf *sb)
{
	unsigned int hook, shown = 0;

	for (hook = KS_HOOK_NONE + 1; hook < KS_HOOKS; hook++)
		if (rec->hooks.defined >> hook & 1)
			ks_strbuf_printf(sb, "%s%s", shown++ ? ", " : "",
					 ks_hook_name((enum ks_raw_hook)hook));
	if (!shown)
		ks_strbuf_printf(sb, "none: %s",
				 *rec->hooks.why ? rec->hooks.why : "they are switched off");
}

void ks_recorder_poll(struct ks_recorder *rec, struct ks_record_stats *ret_stats)
{
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	/* Without memory, it knows fewer. */
	if (rec->cgroups.tasks)
		ks_cgroup_watch_look(&rec->cgroups, &rec->cmdlines);
	keep_names(rec);
	trim(rec);
	collect_stats(rec, false, ret_stats);
}

int ks_recorder_save(struct ks_recorder *rec, const char *path, struct ks_diag *diag)
{
	struct ks_strbuf *census = &rec->meta.census[KS_CENSUS_END], start;
	struct ks_td_writer *copy;
	int err;

	rec->meta.about.probes_missed = ks_hooks_count_missed(&rec->hooks, &rec->tfs);
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	ks_cmdlines_print(&rec->cmdlines, &rec->meta.cmdlines);
	/* The last of it has no start; but the recording goes on. */
	start = rec->meta.census[KS_CENSUS_START];
	ks_strbuf_init(&rec->meta.census[KS_CENSUS_START]);
	pthread_mutex_lock(&rec->write_lock);
	err = ks_td_writer_copy(rec->writer, path, &copy, diag);
	pthread_mutex_unlock(&rec->write_lock);
	/* Without the lock, since it may take long. Only this thread drops blocks. */
	if (!err)
		err = finish_counted(rec, copy, diag);
	rec->meta.census[KS_CENSUS_START] = start;
	rec->meta.cmdlines.len = census->len = 0;
	return err;
}

int ks_recorder_rotate(struct ks_recorder *rec, const char *path, struct ks_diag *diag)
{
	struct ks_strbuf *start = &rec->meta.census[KS_CENSUS_START], before = *start, after;
	struct ks_td_writer *old = NULL;
	int err;

	ks_strbuf_init(start);
	err = ks_rec_take_census(rec, KS_CENSUS_START);
	if (err)
		err = ks_diag_nomem(diag, "counting the kernel's objects");
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	if (!err)
		err = change_file(rec, path, &old, diag);
	after = *start;
	*start = before;
	if (old) {
		rec->meta.about.probes_missed = ks_hooks_count_missed(&rec->hooks, &rec->tfs);
		ks_cmdlines_print(&rec->cmdlines, &rec->meta.cmdlines);
		/* Without the lock, since it may take long. */
		err = finish_counted(rec, old, diag);
		*start = after;
		after = before;
	}
	ks_strbuf_deinit(&after);
	rec->meta.cmdlines.len = rec->meta.census[KS_CENSUS_END].len = 0;
	return err;
}

int ks_recorder_stop(struct ks_recorder *rec, struct ks_record_stats *ret_stats,
		     struct ks_diag *diag)
{
	struct ks_td_writer *writer;
	bool no_memory, no_room;
	u64 size;
	int err;

	/*
	 * What is allocated during the census may or may not be in it, and so no allocation is recorded from here on. Frees
	 * are, so that what ends meanwhile is seen to end; but not where there is no room for them, nor where they would
	 * take the place of what is to be kept.
	 */
	pthread_mutex_lock(&rec->write_lock);
	no_room = rec->full || rec->err || keeps_the_last(rec);
	pthread_mutex_unlock(&rec->write_lock);
	if (no_room)
		switch_off(rec);
	else if (!rec->no_census)
		rec->allocs_end = ks_rec_end_allocs(rec);
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	no_memory = ks_rec_take_census(rec, KS_CENSUS_END) != 0;
	switch_off(rec);
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	ks_rec_join_threads(rec);
	rec->meta.about.probes_missed = ks_hooks_count_missed(&rec->hooks, &rec->tfs);
	trim(rec); /* of what was in the rings */
	collect_stats(rec, true, ret_stats);
	ks_cmdlines_print(&rec->cmdlines, &rec->meta.cmdlines);
	writer = rec->writer;
	rec->writer = NULL;
	if (ks_td_writer_trimmed(writer))
		forget_start(rec);
	else if (rec->rotated)
		forget_stats(rec);
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
