// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The reader of kmemtrace captures: the per-CPU files of one capture, merged by sequence number.
 * There are no time stamps; the sequence number, unwrapped, stands in for them. A hole in it is a
 * loss where all files are there: only a whole directory or a list of files is known to be all.
 */
#include "trace/formats.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/merge.h"
#include "trace/rawevent.h"
#include "trace/relay.h"

/* === Data ================================================================================= */

enum { BATCH = 2048, BUFFER = 64 * 1024 };

struct stream {
	struct ks_input *input;
	u8 *buf;
	size_t pos, len;
	bool eof, swap, resyncing;
	bool any; /* seq is valid */
	u64 seq;  /* of the current record, unwrapped */
	struct ks_relay_record record;
	bool done;
	struct ks_cpu_info info;
};

struct relay_trace {
	struct ks_source base;
	struct ks_rawdec dec; /* for sites by address */
	struct stream *streams;
	size_t streams_len;
	struct ks_merge merge;
	bool complete; /* all CPUs are there: holes are losses */
	bool started;
	u64 last_seq;
	struct ks_event batch[BATCH];
};

/* Far from both ends, so that numbers can be taken relative to the first. */
#define SEQ_BASE (1ull << 40)

/* === Internals: one file ================================================================== */

static int fill(struct stream *s, struct ks_diag *diag)
{
	size_t left = s->len - s->pos, got;
	int err;

	if (left >= KS_RELAY_MAX_SIZE || s->eof)
		return 0;
	memmove(s->buf, s->buf + s->pos, left);
	s->pos = 0;
	err = ks_input_read(s->input, s->buf + left, BUFFER - left, &got, diag);
	s->len = left + (err ? 0 : got);
	s->eof = !err && got < BUFFER - left;
	return err;
}

static u64 unwrap(u64 near, u32 seq)
{
	return near + (u64)(s64)(s32)(seq - (u32)near);
}

/*
 * To the next record. Bytes that are none, such as the padding of a sub-buffer, are stepped over,
 * 8 at a time, and counted once.
 */
static int advance(struct relay_trace *rt, struct stream *s, struct ks_diag *diag)
{
	for (;;) {
		size_t left;
		int err = fill(s, diag);

		if (err)
			return err;
		left = s->len - s->pos;
		if (left < KS_RELAY_FREE_SIZE) {
			s->info.bad += left > 0;
			s->done = true;
			return 0;
		}
		if (ks_relay_decode(s->buf + s->pos, left, s->swap, &s->record)) {
			if (s->record.size > left) { /* cut off in the middle */
				s->info.bad++;
				s->done = true;
				return 0;
			}
			break;
		}
		s->info.bad += !s->resyncing;
		s->resyncing = true;
		s->pos += 8;
	}
	s->resyncing = false;
	s->pos += s->record.size;
	if (s->any) {
		u64 seq = unwrap(s->seq, s->record.seq);

		s->info.backwards += seq <= s->seq;
		s->seq = seq;
	} else {
		if (!rt->last_seq)
			rt->last_seq = SEQ_BASE + s->record.seq;
		s->seq = unwrap(rt->last_seq, s->record.seq);
		s->any = true;
	}
	return 0;
}

/* === Internals: merging =================================================================== */

static void fill_event(struct relay_trace *rt, const struct stream *s, struct ks_event *ev)
{
	static const u8 kinds[][2] = {
		[KS_RELAY_KMALLOC] = { KS_KMALLOC, KS_KFREE },
		[KS_RELAY_CACHE] = { KS_CACHE_ALLOC, KS_CACHE_FREE },
		[KS_RELAY_PAGES] = { KS_PAGE_ALLOC, KS_PAGE_FREE },
	};
	const struct ks_relay_record *r = &s->record;
	bool alloc = r->event == KS_RELAY_ALLOC;

	*ev = (struct ks_event){
		.ts = s->seq - SEQ_BASE,
		.ptr = r->ptr,
		.bytes_req = r->req,
		.bytes_alloc = r->alloc,
		.site = ks_rawdec_site(&rt->dec, r->site),
		.cache = KS_NONE,
		.comm = KS_NONE,
		.gfp = alloc ? ks_rawdec_gfp(&rt->dec, NULL, r->gfp) : KS_NONE,
		.stack = KS_NONE,
		.pid = KS_PID_UNKNOWN,
		.node = alloc ? r->node : -1,
		.cpu = (u16)s->info.cpu,
		.kind = kinds[r->type][r->event],
	};
}

static void fill_lost(struct relay_trace *rt, u64 count, u64 seq, struct ks_event *ev)
{
	*ev = ks_event_blank(KS_LOST, seq - SEQ_BASE, KS_CPU_UNKNOWN);
	ev->ptr = rt->last_seq - SEQ_BASE;
	ev->lost.count = count;
}

static int finish(struct relay_trace *rt, struct ks_diag *diag)
{
	size_t i;

	if (rt->base.info.binary.cpus.len)
		return 0;
	for (i = 0; i < rt->streams_len; i++)
		if (ks_source_add_cpu(&rt->base, &rt->streams[i].info))
			return ks_diag_nomem(diag, "reading a kmemtrace capture");
	return 0;
}

/* The earliest record into the batch, with the hole in front of it. */
static int take_top(struct relay_trace *rt, size_t *count, struct ks_diag *diag)
{
	struct stream *top = ks_container_of(rt->merge.heap[0], struct stream, seq);
	int err;

	if (rt->complete && rt->started && top->seq > rt->last_seq + 1)
		fill_lost(rt, top->seq - rt->last_seq - 1, top->seq, &rt->batch[(*count)++]);
	fill_event(rt, top, &rt->batch[*count]);
	top->info.last_ts = rt->batch[*count].ts;
	if (!top->info.events++)
		top->info.first_ts = top->info.last_ts;
	++*count;
	rt->last_seq = top->seq;
	rt->started = true;
	err = advance(rt, top, diag);
	if (err)
		return err;
	ks_merge_advance(&rt->merge, top->done);
	return 0;
}

static int relay_next(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct relay_trace *rt = ks_container_of(source, struct relay_trace, base);
	size_t count = 0;
	int err = 0;

	while (rt->merge.len && count + 2 <= BATCH && !err)
		err = take_top(rt, &count, diag);
	if (!err && rt->dec.nomem)
		err = ks_diag_nomem(diag, "reading a kmemtrace capture");
	if (!err && !count)
		err = finish(rt, diag);
	if (err)
		return err;
	*ret_batch = (struct ks_batch){ rt->batch, count };
	return 0;
}

static void relay_close(struct ks_source *source)
{
	struct relay_trace *rt = ks_container_of(source, struct relay_trace, base);
	size_t i;

	for (i = 0; i < rt->streams_len; i++) {
		ks_input_close(rt->streams[i].input);
		free(rt->streams[i].buf);
	}
	free(rt->streams);
	ks_merge_deinit(&rt->merge);
	ks_rawdec_deinit(&rt->dec);
	ks_source_free(source);
}

static void relay_progress(struct ks_source *source, u64 *ret_done, u64 *ret_total)
{
	struct relay_trace *rt = ks_container_of(source, struct relay_trace, base);
	size_t i;

	*ret_done = 0;
	*ret_total = 0;
	for (i = 0; i < rt->streams_len; i++) {
		u64 done, total;

		ks_input_progress(rt->streams[i].input, &done, &total);
		*ret_done += done;
		*ret_total += total;
	}
}

static const struct ks_source_ops relay_ops = {
	.next = relay_next,
	.close = relay_close,
	.progress = relay_progress,
};

/* === Internals: opening =================================================================== */

/* "cpu12.out" -> 12; false for any other name. */
static bool cpu_of_name(const char *path, u32 *ret_cpu)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	u64 cpu = 0;

	if (strncmp(name, "cpu", 3) || !isdigit((unsigned char)name[3]))
		return false;
	for (name += 3; isdigit((unsigned char)*name) && cpu < KS_CPU_UNKNOWN; name++)
		cpu = cpu * 10 + (u64)(*name - '0');
	*ret_cpu = (u32)ks_min(cpu, (u64)KS_CPU_UNKNOWN);
	return !strncmp(name, ".out", 4);
}

static int new_trace(size_t files, const struct ks_source_opts *opts, struct relay_trace **ret,
		     struct ks_diag *diag)
{
	struct relay_trace *rt = ks_source_new(sizeof(*rt), &relay_ops, "kmemtrace relay", opts);

	if (!rt)
		return ks_diag_nomem(diag, "opening a kmemtrace capture");
	ks_source_set_clock(&rt->base, KS_CLOCK_NONE);
	rt->streams = calloc(files, sizeof(*rt->streams));
	if (!rt->streams || ks_merge_init(&rt->merge, files) ||
	    ks_rawdec_init(&rt->dec, &rt->base.names, false, 1u << KS_PAGE_SHIFT)) {
		relay_close(&rt->base);
		return ks_diag_nomem(diag, "opening a kmemtrace capture");
	}
	*ret = rt;
	return 0;
}

/* Takes over the input. An empty file is a CPU that had nothing to do. */
static int add_file(struct relay_trace *rt, struct ks_input *input, struct ks_diag *diag)
{
	struct stream *s = &rt->streams[rt->streams_len++];
	const char *name = ks_input_name(input);
	const void *head;
	size_t len;
	int err;

	s->input = input;
	s->info.cpu = (u32)rt->streams_len - 1;
	cpu_of_name(name, &s->info.cpu);
	s->buf = malloc(BUFFER);
	if (!s->buf)
		return ks_diag_nomem(diag, "opening a kmemtrace capture");
	err = ks_input_peek(input, &head, &len, diag);
	if (err)
		return err;
	if (len && !ks_relay_probe(head, len, &s->swap))
		return ks_diag_set(
			diag, KS_EBADINPUT,
			"%s: does not begin with records of the kmemtrace ABI, version 1", name);
	err = advance(rt, s, diag);
	if (!err && !s->done)
		ks_merge_add(&rt->merge, &s->seq);
	return err;
}

static int load_symbols(struct relay_trace *rt, const char *dir)
{
	struct ks_strbuf sb;
	char *path, buf[8192];
	FILE *file;
	size_t n;

	if (asprintf(&path, "%s/kallsyms", dir) < 0)
		return -ENOMEM;
	file = fopen(path, "re");
	free(path);
	if (!file)
		return 0; /* sites stay addresses */
	ks_strbuf_init(&sb);
	while ((n = fread(buf, 1, sizeof(buf), file)))
		ks_strbuf_add(&sb, buf, n);
	fclose(file);
	if (sb.failed || !sb.len) {
		bool failed = sb.failed;

		ks_strbuf_deinit(&sb);
		return failed ? -ENOMEM : 0;
	}
	return ks_rawdec_set_symbols(&rt->dec, sb.s, 0, sb.len);
}

static int is_cpu_file(const struct dirent *entry)
{
	u32 cpu;

	return cpu_of_name(entry->d_name, &cpu);
}

/* Hands the trace out, or closes it after an error. */
static int start(struct relay_trace *rt, int err, struct ks_source **ret_source)
{
	if (err) {
		relay_close(&rt->base);
		return err;
	}
	ks_merge_start(&rt->merge);
	*ret_source = &rt->base;
	return 0;
}

/* === Public =============================================================================== */

int ks_relay_file_open(struct ks_input *input, const struct ks_source_opts *opts,
		       struct ks_source **ret_source, struct ks_diag *diag)
{
	struct relay_trace *rt = NULL;
	int err = new_trace(1, opts, &rt, diag);

	if (err) {
		ks_input_close(input);
		return err;
	}
	return start(rt, add_file(rt, input, diag), ret_source);
}

int ks_relay_files_open(const char *const *paths, size_t len, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag)
{
	struct relay_trace *rt = NULL;
	const char *slash;
	size_t i;
	int err = new_trace(len, opts, &rt, diag);

	if (err)
		return err;
	rt->complete = true;
	slash = strrchr(paths[0], '/');
	if (slash) {
		char *dir = strndup(paths[0], (size_t)(slash - paths[0]) + 1);

		err = dir ? load_symbols(rt, dir) : -ENOMEM;
		free(dir);
	} else {
		err = load_symbols(rt, ".");
	}
	if (err)
		ks_diag_nomem(diag, "reading symbols");
	for (i = 0; i < len && !err; i++) {
		struct ks_input *input;

		err = ks_input_open(paths[i], &input, diag);
		if (!err)
			err = add_file(rt, input, diag);
	}
	return start(rt, err, ret_source);
}

int ks_relay_dir_open(const char *dir, const struct ks_source_opts *opts,
		      struct ks_source **ret_source, struct ks_diag *diag)
{
	struct dirent **entries;
	char **paths;
	int n = scandir(dir, &entries, is_cpu_file, versionsort), i, err = 0;

	if (n < 0)
		return ks_diag_set(diag, -errno, "%s: cannot read the directory: %s", dir,
				   strerror(errno));
	paths = calloc((size_t)n + 1, sizeof(*paths));
	for (i = 0; i < n; i++) {
		if (paths && asprintf(&paths[i], "%s/%s", dir, entries[i]->d_name) < 0)
			paths[i] = NULL;
		if (!paths || !paths[i])
			err = ks_diag_nomem(diag, "opening a kmemtrace capture");
		free(entries[i]);
	}
	free(entries);
	if (!err && !n)
		err = ks_diag_set(diag, KS_EBADINPUT,
				  "%s: is a directory without cpu0.out, cpu1.out...: no capture",
				  dir);
	if (!err)
		err = ks_relay_files_open((const char *const *)paths, (size_t)n, opts, ret_source,
					  diag);
	for (i = 0; i < n && paths; i++)
		free(paths[i]);
	free(paths);
	return err;
}
