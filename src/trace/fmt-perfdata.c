// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The reader of perf.data files. Records are taken from the file, or from the zstd stream that
 * "perf record -z" puts into it, and put in order of time between two "finished round" marks:
 * what perf writes in the next round is later than all of the last one.
 */
#include "trace/formats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/perffile.h"
#include "trace/reorder.h"

/* === Data ================================================================================= */

enum {
	BATCH = 2048,
	WINDOW = 256 * 1024, /* records are at most 64 KiB */
	UNPACKED = 1 << 20,
	COMM_LEN = 16,
};

enum record_type {
	REC_MMAP = 1,
	REC_LOST = 2,
	REC_COMM = 3,
	REC_FORK = 7,
	REC_SAMPLE = 9,
	REC_LOST_SAMPLES = 13,
	REC_ATTR = 64,
	REC_TRACING_DATA = 66,
	REC_FINISHED_ROUND = 68,
	REC_AUXTRACE = 71,
	REC_COMPRESSED = 81,
	REC_COMPRESSED2 = 83,
};

/* These are not events, but they take effect at their time, so they are sorted with the events. */
enum { PSEUDO_COMM = KS_KINDS, PSEUDO_FORK };

struct perf_trace {
	struct ks_source base;
	struct ks_input *input;
	struct ks_perf_file pf;
	struct ks_rawdec dec;

	u8 *window; /* of the file */
	size_t window_pos, window_len;
	u64 file_pos; /* in the file, after the window */

	ZSTD_DStream *zstd;
	u8 *unpacked;
	size_t unpacked_pos, unpacked_len;
	ZSTD_inBuffer packed;
	bool unpacking; /* packed has more to give */

	struct ks_reorder order;
	u64 newest, limit; /* all events up to limit have been read */
	bool flushing, ended;
	u64 lost_counted; /* by records that have a place in time */
	u64 lost_samples; /* by the totals at the end */
	u64 samples_bad;
	struct ks_event batch[BATCH];
};

/* === Internals: bytes ===================================================================== */

/* At least @need bytes at window_pos, unless the data ends before. */
static int fill_window(struct perf_trace *pt, size_t need, struct ks_diag *diag)
{
	size_t left = pt->window_len - pt->window_pos, want;
	ssize_t n;

	if (left >= need)
		return 0;
	memmove(pt->window, pt->window + pt->window_pos, left);
	pt->window_pos = 0;
	pt->window_len = left;
	want = (size_t)ks_min((u64)(WINDOW - left), pt->pf.data_end - pt->file_pos);
	n = ks_pread_full(pt->pf.fd, pt->window + left, want, pt->file_pos);
	if (n < 0)
		return ks_diag_set(diag, (int)n, "%s: cannot read: %s", pt->pf.name,
				   strerror((int)-n));
	pt->window_len += (size_t)n;
	pt->file_pos += (u64)n;
	return 0;
}

static u64 window_offset(const struct perf_trace *pt)
{
	return pt->file_pos - (pt->window_len - pt->window_pos);
}

/* Skips bytes that are no records: they may be more than a window. */
static void skip_file(struct perf_trace *pt, u64 len)
{
	size_t left = pt->window_len - pt->window_pos;

	if (len <= left) {
		pt->window_pos += (size_t)len;
		return;
	}
	len -= left;
	pt->window_pos = pt->window_len;
	pt->file_pos += ks_min(len, pt->pf.data_end - pt->file_pos);
}

static int damaged(const struct perf_trace *pt, const char *what, struct ks_diag *diag)
{
	return ks_diag_set(diag, KS_EBADINPUT, "%s: damaged near byte %llu: %s", pt->pf.name,
			   (unsigned long long)window_offset(pt), what);
}

/* Unpacks as much of the packed bytes as there is room for, behind the rest of the last record. */
static int unpack(struct perf_trace *pt, struct ks_diag *diag)
{
	size_t rest = pt->unpacked_len - pt->unpacked_pos, status;
	ZSTD_outBuffer dst = { pt->unpacked, UNPACKED, rest };

	memmove(pt->unpacked, pt->unpacked + pt->unpacked_pos, rest);
	pt->unpacked_pos = 0;
	status = ZSTD_decompressStream(pt->zstd, &dst, &pt->packed);
	if (ZSTD_isError(status))
		return damaged(pt, "compressed records that cannot be decompressed", diag);
	pt->unpacked_len = dst.pos;
	/* When it filled all the room, it may have more to give without another byte of input. */
	pt->unpacking = pt->packed.pos < pt->packed.size || dst.pos == dst.size;
	return 0;
}

/* The packed bytes are in the window, which stays as it is until they are used up. */
static int start_unpacking(struct perf_trace *pt, const u8 *data, size_t len, struct ks_diag *diag)
{
	if (!pt->zstd) {
		pt->zstd = ZSTD_createDStream();
		pt->unpacked = malloc(UNPACKED);
		if (!pt->zstd || !pt->unpacked)
			return ks_diag_nomem(diag, "reading a perf.data");
		ZSTD_DCtx_setParameter(pt->zstd, ZSTD_d_windowLogMax, 27);
	}
	if (pt->unpacking)
		return damaged(pt, "compressed records inside of compressed records", diag);
	pt->packed = (ZSTD_inBuffer){ data, len, 0 };
	pt->unpacking = true;
	return 0;
}

/* === Internals: records =================================================================== */

static int push(struct perf_trace *pt, struct ks_event *ev)
{
	pt->newest = ks_max(pt->newest, ev->ts);
	return ks_reorder_push(&pt->order);
}

static int add_chain(struct perf_trace *pt, const struct ks_perf_sample *sample,
		     struct ks_event *ev)
{
	const struct ks_source_opts *opts = &pt->base.opts;

	pt->base.info.binary.stacks++;
	if (opts->stacks || opts->helpers)
		ev->stack = ks_rawdec_add_stack(&pt->dec, sample->chain, sample->chain_len, 8);
	return opts->helpers ? ks_source_skip_helper(&pt->base, ev) : 0;
}

static int on_sample(struct perf_trace *pt, const u8 *rec, size_t size)
{
	struct ks_event *ev = ks_reorder_slot(&pt->order);
	struct ks_perf_sample sample;

	if (!ev)
		return -ENOMEM;
	if (!pt->pf.attrs.len || !ks_perf_parse_sample(&pt->pf, rec, size, &sample)) {
		pt->samples_bad++;
		return 0;
	}
	switch (ks_rawdec_decode(&pt->dec, sample.raw, sample.raw_len, ev)) {
	case KS_RAW_EVENT:
		break;
	case KS_RAW_OTHER:
	case KS_RAW_HOOK: /* perf has no such probes of its own */
		pt->base.info.binary.other_events++;
		return 0;
	case KS_RAW_STACK:
		pt->base.info.binary.stacks++;
		return 0;
	case KS_RAW_BAD:
		pt->samples_bad++;
		return 0;
	}
	ev->ts = sample.time;
	ev->cpu = (u16)sample.cpu;
	if (sample.chain_len && add_chain(pt, &sample, ev))
		return -ENOMEM;
	return push(pt, ev);
}

static struct ks_event *pseudo(struct perf_trace *pt, u8 kind, const struct ks_perf_sample *at)
{
	struct ks_event *ev = ks_reorder_slot(&pt->order);

	if (ev)
		*ev = ks_event_blank(kind, at->time, (u16)at->cpu);
	return ev;
}

static int on_lost(struct perf_trace *pt, const u8 *rec, size_t size)
{
	struct ks_event *ev;
	struct ks_perf_sample at;

	if (size < KS_PERF_RECORD_HEADER + 16) {
		pt->samples_bad++;
		return 0;
	}
	ks_perf_parse_trailer(&pt->pf, rec, size, &at);
	ev = pseudo(pt, KS_LOST, &at);
	if (!ev)
		return -ENOMEM;
	ev->lost.count = ks_load(rec + KS_PERF_RECORD_HEADER + 8, 8, pt->pf.swap);
	pt->lost_counted += ev->lost.count;
	return push(pt, ev);
}

static int on_comm(struct perf_trace *pt, const u8 *rec, size_t size)
{
	size_t at = KS_PERF_RECORD_HEADER + 8;
	const char *comm = (const char *)rec + at;
	struct ks_event *ev;
	struct ks_perf_sample when;

	if (size <= at)
		return 0;
	ks_perf_parse_trailer(&pt->pf, rec, size, &when);
	ev = pseudo(pt, PSEUDO_COMM, &when);
	if (!ev)
		return -ENOMEM;
	ev->pid = (u32)ks_load(rec + KS_PERF_RECORD_HEADER + 4, 4, pt->pf.swap);
	ev->comm = ks_intern_add(&pt->base.names.comms, comm,
				 strnlen(comm, ks_min(size - at, (size_t)COMM_LEN)));
	return ev->comm == KS_NONE ? -ENOMEM : push(pt, ev);
}

static int on_fork(struct perf_trace *pt, const u8 *rec, size_t size)
{
	struct ks_event *ev;
	struct ks_perf_sample when;

	if (size < KS_PERF_RECORD_HEADER + 24)
		return 0;
	ks_perf_parse_trailer(&pt->pf, rec, size, &when);
	ev = pseudo(pt, PSEUDO_FORK, &when);
	if (!ev)
		return -ENOMEM;
	ev->pid = (u32)ks_load(rec + KS_PERF_RECORD_HEADER + 8, 4, pt->pf.swap);
	ev->ptr = ks_load(rec + KS_PERF_RECORD_HEADER + 12, 4, pt->pf.swap);
	return push(pt, ev);
}

/* Whether kallsyms has _text where perf saw it, or does not have it at all: else it is another boot. */
static bool is_same_boot(const char *kallsyms, u64 text)
{
	const char *line = kallsyms, *found = strstr(kallsyms, " _text\n");

	if (!found)
		return true;
	while (line + strcspn(line, "\n") < found)
		line += strcspn(line, "\n") + 1;
	return strtoull(line, NULL, 16) == text;
}

/*
 * perf.data holds no symbols. Where a kernel that the caller knows is the traced one (same release, and
 * the mapping that perf noted begins where kallsyms says), its symbols are right.
 */
static int on_mmap(struct perf_trace *pt, const u8 *rec, size_t size)
{
	const char *name = (const char *)rec + KS_PERF_RECORD_HEADER + 32;
	const struct ks_known_kernel *kernel = pt->base.opts.kernel;
	struct ks_strbuf text;

	if (!kernel || size < KS_PERF_RECORD_HEADER + 32 + 24 ||
	    strncmp(name, "[kernel.kallsyms]", 17) || pt->dec.ksyms.syms.len ||
	    (pt->pf.host.kernel[0] && strcmp(pt->pf.host.kernel, kernel->release)))
		return 0;
	ks_strbuf_init(&text);
	if (!kernel->symbols(kernel->ctx, &text) && !text.failed && text.len &&
	    is_same_boot(ks_strbuf_str(&text),
			 ks_load(rec + KS_PERF_RECORD_HEADER + 24, 8, pt->pf.swap)))
		return ks_rawdec_set_symbols(&pt->dec, text.s, 0, text.len);
	ks_strbuf_deinit(&text);
	return 0;
}

/* Of a file that came through a pipe: the attribute, then its ids up to the end. */
static int on_attr(struct perf_trace *pt, const u8 *rec, size_t size)
{
	struct ks_cursor attr, ids;
	u32 attr_size;

	if (size < KS_PERF_RECORD_HEADER + 8)
		return 0;
	attr_size = (u32)ks_load(rec + KS_PERF_RECORD_HEADER + 4, 4, pt->pf.swap);
	if (attr_size > size - KS_PERF_RECORD_HEADER)
		return KS_EBADINPUT;
	ks_cursor_mem(&attr, pt->pf.name, rec + KS_PERF_RECORD_HEADER, attr_size);
	ks_cursor_mem(&ids, pt->pf.name, rec + KS_PERF_RECORD_HEADER + attr_size,
		      size - KS_PERF_RECORD_HEADER - attr_size);
	attr.big_endian = ids.big_endian = pt->pf.big_endian;
	return ks_perf_add_attr(&pt->pf, &attr, attr_size, &ids, ids.end / 8);
}

/* The formats follow their record in the file. */
static int on_tracing_data(struct perf_trace *pt, const u8 *rec, size_t size, struct ks_diag *diag)
{
	struct ks_cursor cur;
	u64 len;

	if (size < KS_PERF_RECORD_HEADER + 4)
		return damaged(pt, "a short record", diag);
	len = ks_load(rec + KS_PERF_RECORD_HEADER, 4, pt->pf.swap);
	ks_cursor_file(&cur, pt->pf.name, pt->pf.fd, window_offset(pt),
		       ks_min(window_offset(pt) + len, pt->pf.data_end));
	cur.big_endian = pt->pf.big_endian;
	ks_perf_tracing_data(&cur, &pt->dec);
	skip_file(pt, (len + 7) & ~7ull);
	if (cur.err && diag)
		*diag = cur.diag;
	return cur.err;
}

static int on_record(struct perf_trace *pt, u32 type, const u8 *rec, size_t size,
		     struct ks_diag *diag)
{
	int err = 0;

	switch (type) {
	case REC_SAMPLE:
		err = on_sample(pt, rec, size);
		break;
	case REC_LOST:
		err = on_lost(pt, rec, size);
		break;
	case REC_LOST_SAMPLES:
		if (size >= KS_PERF_RECORD_HEADER + 8)
			pt->lost_samples += ks_load(rec + KS_PERF_RECORD_HEADER, 8, pt->pf.swap);
		break;
	case REC_COMM:
		err = on_comm(pt, rec, size);
		break;
	case REC_FORK:
		err = on_fork(pt, rec, size);
		break;
	case REC_MMAP:
		err = on_mmap(pt, rec, size);
		break;
	case REC_ATTR:
		err = pt->pf.pipe ? on_attr(pt, rec, size) : 0;
		break;
	case REC_TRACING_DATA:
		return pt->pf.pipe ? on_tracing_data(pt, rec, size, diag) : 0;
	case REC_FINISHED_ROUND:
		pt->flushing = true;
		break;
	case REC_AUXTRACE:
		if (size >= KS_PERF_RECORD_HEADER + 8)
			skip_file(pt, ks_load(rec + KS_PERF_RECORD_HEADER, 8, pt->pf.swap));
		break;
	case REC_COMPRESSED:
		return start_unpacking(pt, rec + KS_PERF_RECORD_HEADER,
				       size - KS_PERF_RECORD_HEADER, diag);
	case REC_COMPRESSED2:
		if (size < KS_PERF_RECORD_HEADER + 8)
			return damaged(pt, "a short record", diag);
		return start_unpacking(
			pt, rec + KS_PERF_RECORD_HEADER + 8,
			(size_t)ks_min(ks_load(rec + KS_PERF_RECORD_HEADER, 8, pt->pf.swap),
				       (u64)(size - KS_PERF_RECORD_HEADER - 8)),
			diag);
	}
	if (err == -ENOMEM)
		return ks_diag_nomem(diag, "reading a perf.data");
	return err ? damaged(pt, "a record that cannot be right", diag) : 0;
}

/* The next whole record of the unpacked ones; NULL where the rest is in the next piece. */
static const u8 *unpacked_record(struct perf_trace *pt, u32 *ret_type, size_t *ret_size)
{
	size_t left = pt->unpacked_len - pt->unpacked_pos;
	const u8 *rec = pt->unpacked + pt->unpacked_pos;

	if (left < KS_PERF_RECORD_HEADER)
		return NULL;
	*ret_type = (u32)ks_load(rec, 4, pt->pf.swap);
	*ret_size = (size_t)ks_load(rec + 6, 2, pt->pf.swap);
	if (*ret_size < KS_PERF_RECORD_HEADER || *ret_size > left)
		return NULL;
	pt->unpacked_pos += *ret_size;
	return rec;
}

static int read_record(struct perf_trace *pt, struct ks_diag *diag)
{
	const u8 *rec;
	size_t size;
	u32 type;
	int err;

	if (pt->unpacked_pos < pt->unpacked_len || pt->unpacking) {
		rec = unpacked_record(pt, &type, &size);
		if (rec)
			return on_record(pt, type, rec, size, diag);
		if (pt->unpacking)
			return unpack(pt, diag);
	}
	err = fill_window(pt, KS_PERF_RECORD_HEADER, diag);
	if (err)
		return err;
	if (pt->window_len - pt->window_pos < KS_PERF_RECORD_HEADER) {
		pt->ended = true;
		return 0;
	}
	size = (size_t)ks_load(pt->window + pt->window_pos + 6, 2, pt->pf.swap);
	if (size < KS_PERF_RECORD_HEADER)
		return damaged(pt, "a record without a size", diag);
	err = fill_window(pt, size, diag);
	if (err)
		return err;
	if (pt->window_len - pt->window_pos < size) {
		pt->samples_bad++; /* cut off in the middle */
		pt->ended = true;
		return 0;
	}
	rec = pt->window + pt->window_pos;
	pt->window_pos += size;
	return on_record(pt, (u32)ks_load(rec, 4, pt->pf.swap), rec, size, diag);
}

/* === Internals: handing out =============================================================== */

/* Applies the pseudo events, and gives the others their task names. Returns the number of events. */
static int settle(struct perf_trace *pt, size_t *count)
{
	size_t i, to = 0;

	for (i = 0; i < *count; i++) {
		struct ks_event *ev = &pt->batch[i];

		if (ev->kind == PSEUDO_COMM || ev->kind == PSEUDO_FORK) {
			u32 comm = ev->kind == PSEUDO_COMM ? ev->comm
							   : ks_rawdec_comm(&pt->dec, (u32)ev->ptr);
			struct ks_str name = ks_intern_get(&pt->base.names.comms, comm);

			if (comm != KS_NONE &&
			    ks_rawdec_set_comm(&pt->dec, ev->pid, name.s, name.len))
				return -ENOMEM;
			continue;
		}
		if (ev->kind != KS_LOST)
			ev->comm = ks_rawdec_comm(&pt->dec, ev->pid);
		pt->batch[to++] = *ev;
	}
	*count = to;
	return 0;
}

/* Losses that only the totals at the end count. */
static size_t finish(struct perf_trace *pt)
{
	struct ks_perf_sample at = { .time = pt->newest, .cpu = KS_CPU_UNKNOWN };
	struct ks_event *ev;
	u64 missing;

	pt->base.info.binary.bad_records = pt->samples_bad;
	missing = pt->lost_samples - ks_min(pt->lost_samples, pt->lost_counted);
	pt->lost_samples = 0;
	if (!missing)
		return 0;
	ev = pseudo(pt, KS_LOST, &at);
	if (!ev)
		return 0;
	ev->lost.count = missing;
	pt->batch[0] = *ev;
	return 1;
}

static int perf_next(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct perf_trace *pt = ks_container_of(source, struct perf_trace, base);
	size_t count = 0;

	while (!count) {
		int err = 0;

		while (!pt->flushing && !pt->ended && !err)
			err = read_record(pt, diag);
		if (err)
			return err;
		if (pt->dec.nomem || ks_reorder_take(&pt->order, pt->ended ? UINT64_MAX : pt->limit,
						     pt->batch, BATCH, &count))
			return ks_diag_nomem(diag, "reading a perf.data");
		if (count < BATCH && pt->flushing) {
			pt->flushing = false;
			pt->limit = pt->newest;
		} else if (!count && pt->ended) {
			count = finish(pt);
			break;
		}
		if (settle(pt, &count))
			return ks_diag_nomem(diag, "reading a perf.data");
	}
	*ret_batch = (struct ks_batch){ pt->batch, count };
	return 0;
}

static void perf_close(struct ks_source *source)
{
	struct perf_trace *pt = ks_container_of(source, struct perf_trace, base);

	ks_reorder_deinit(&pt->order);
	ZSTD_freeDStream(pt->zstd);
	free(pt->unpacked);
	free(pt->window);
	ks_rawdec_deinit(&pt->dec);
	ks_perf_file_deinit(&pt->pf);
	ks_input_close(pt->input);
	ks_source_free(source);
}

static void perf_progress(struct ks_source *source, u64 *ret_done, u64 *ret_total)
{
	struct perf_trace *pt = ks_container_of(source, struct perf_trace, base);

	*ret_done = pt->file_pos - pt->pf.data_pos;
	*ret_total = pt->pf.data_end - pt->pf.data_pos;
}

static const struct ks_source_ops perf_ops = {
	.next = perf_next,
	.close = perf_close,
	.progress = perf_progress,
};

/* === Public =============================================================================== */

int ks_perfdata_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			    struct ks_source **ret_source, struct ks_diag *diag)
{
	struct perf_trace *pt = ks_source_new(sizeof(*pt), &perf_ops, "perf.data", opts);
	size_t i;
	u64 size;
	int fd, err;

	if (!pt) {
		ks_input_close(input);
		return ks_diag_nomem(diag, "opening a perf.data");
	}
	pt->input = input;
	ks_source_set_clock(&pt->base, KS_CLOCK_SECONDS);
	pt->window = malloc(WINDOW);
	err = pt->window ? ks_input_random(input, &fd, &size, diag)
			 : ks_diag_nomem(diag, "opening a perf.data");
	if (!err)
		err = ks_perf_file_open(&pt->pf, ks_input_name(input), fd, size, &pt->base.names,
					&pt->dec, diag);
	if (err) { /* neither pf nor dec hold anything */
		free(pt->window);
		ks_input_close(input);
		ks_source_free(&pt->base);
		return err;
	}
	pt->file_pos = pt->pf.data_pos;
	pt->base.info.page_shift = pt->dec.page_shift;
	pt->base.info.host = pt->pf.host;
	if (ks_vec_reserve(&pt->base.info.cpu_nodes, pt->pf.cpu_nodes.len))
		err = ks_diag_nomem(diag, "opening a perf.data");
	for (i = 0; i < pt->pf.cpu_nodes.len && !err; i++)
		*(u16 *)ks_vec_push(&pt->base.info.cpu_nodes) = pt->pf.cpu_nodes.items[i];
	if (!err && !pt->pf.pipe && !ks_rawdec_has_events(&pt->dec))
		err = ks_diag_set(diag, KS_EBADINPUT,
				  "%s: describes no kmem event; record with \"perf record -e "
				  "'kmem:*'\" or \"perf kmem record\"",
				  ks_input_name(input));
	if (err) {
		perf_close(&pt->base);
		return err;
	}
	*ret_source = &pt->base;
	return 0;
}
