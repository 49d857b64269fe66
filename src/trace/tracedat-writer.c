// SPDX-License-Identifier: LGPL-2.1-only
/* trace.dat files: the journal, and what becomes of it. */
#include "trace/tracedat-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/outfile.h"
#include "base/pack.h"
#include "trace/tracedat.h"

/* === Data ================================================================================= */

enum {
	SECTION_HEADER = 16,
	BLOCK_HEADER = SECTION_HEADER + 12,
	META_LEVEL = 3, /* of compression */
	COPY_SIZE = 1 << 20,
};

static const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

struct block {
	u64 offset; /* of its data in the journal */
	u32 cpu, seq, stored, len;
};

struct ks_td_writer {
	char *path;
	int fd;
	u64 size; /* of what was written in whole */
	KS_VEC(struct block) blocks;
};

/* A file under construction: sections in memory, and where each begins. */
struct sketch {
	struct ks_strbuf text;
	struct ks_strbuf options;
	size_t options_at; /* where the header has the offset of the options */
	bool failed;
};

/* === Internals: bytes ===================================================================== */

/* Files are in this machine's byte order, as the ring's pages are. */
static void put(struct ks_strbuf *sb, u64 v, unsigned int size)
{
	u8 bytes[8];
	unsigned int i;

	for (i = 0; i < size; i++)
		bytes[i] = (u8)(v >> 8 * (big_endian ? size - 1 - i : i));
	ks_strbuf_add(sb, bytes, size);
}

static void put_text(struct ks_strbuf *sb, const struct ks_strbuf *text, unsigned int size_bytes)
{
	put(sb, text->len, size_bytes);
	ks_strbuf_add(sb, text->s, text->len);
}

static void put_string(struct ks_strbuf *sb, const char *s)
{
	ks_strbuf_add(sb, s, strlen(s) + 1);
}

static void put_section_header(struct ks_strbuf *sb, u32 id, u32 flags, u32 name, u64 size)
{
	put(sb, id, 2);
	put(sb, flags, 2);
	put(sb, name, 4);
	put(sb, size, 8);
}

static void put_option(struct ks_strbuf *options, u32 id, const void *data, size_t len)
{
	put(options, id, 2);
	put(options, len, 4);
	ks_strbuf_add(options, data, len);
}

static void put_option_u64(struct ks_strbuf *options, u32 id, u64 value, unsigned int size)
{
	put(options, id, 2);
	put(options, size, 4);
	put(options, value, size);
}

/* === Internals: sections ================================================================== */

/* Appends a compressed section and the option that points to it. */
static void add_section(struct sketch *sk, u32 id, const struct ks_strbuf *content)
{
	size_t bound = ZSTD_compressBound(content->len);
	void *packed = malloc(bound);
	size_t len;

	if (!packed || content->failed) {
		sk->failed = true;
		free(packed);
		return;
	}
	len = ZSTD_compress(packed, bound, content->s, content->len, META_LEVEL);
	if (ZSTD_isError(len)) {
		sk->failed = true;
	} else {
		put_option_u64(&sk->options, id, sk->text.len, 8);
		put_section_header(&sk->text, id, KS_TD_FL_COMPRESSED, 0, len + 8);
		put(&sk->text, len, 4);
		put(&sk->text, content->len, 4);
		ks_strbuf_add(&sk->text, packed, len);
	}
	free(packed);
}

static void begin(struct sketch *sk, const struct ks_td_meta *meta)
{
	ks_strbuf_add(&sk->text, "\x17\x08\x44tracing7", 12);
	put(&sk->text, big_endian, 1);
	put(&sk->text, sizeof(long), 1);
	put(&sk->text, meta->page_size, 4);
	put_string(&sk->text, "zstd");
	put_string(&sk->text, ZSTD_versionString());
	sk->options_at = sk->text.len;
	put(&sk->text, 0, 8);
}

static void add_metadata(struct sketch *sk, const struct ks_td_meta *meta)
{
	struct ks_strbuf sb;
	size_t i;

	ks_strbuf_init(&sb);
	put_string(&sb, "header_page");
	put_text(&sb, &meta->header_page, 8);
	put_string(&sb, "header_event");
	put_text(&sb, &meta->header_event, 8);
	add_section(sk, KS_TD_SEC_HEADER, &sb);

	sb.len = 0;
	put(&sb, meta->ftrace_formats.len, 4);
	for (i = 0; i < meta->ftrace_formats.len; i++)
		put_text(&sb, &meta->ftrace_formats.items[i], 8);
	add_section(sk, KS_TD_SEC_FTRACE, &sb);

	sb.len = 0;
	put(&sb, 1, 4);
	put_string(&sb, "kmem");
	put(&sb, meta->kmem_formats.len, 4);
	for (i = 0; i < meta->kmem_formats.len; i++)
		put_text(&sb, &meta->kmem_formats.items[i], 8);
	add_section(sk, KS_TD_SEC_EVENTS, &sb);

	sb.len = 0;
	put_text(&sb, &meta->kallsyms, 4);
	add_section(sk, KS_TD_SEC_KALLSYMS, &sb);

	sb.len = 0;
	put_text(&sb, &meta->printk, 4);
	add_section(sk, KS_TD_SEC_PRINTK, &sb);
	ks_strbuf_deinit(&sb);
}

static void add_cmdlines(struct sketch *sk, const struct ks_td_meta *meta)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	put_text(&sb, &meta->cmdlines, 8);
	add_section(sk, KS_TD_SEC_CMDLINES, &sb);
	ks_strbuf_deinit(&sb);
}

static void add_machine_options(struct sketch *sk, const struct ks_td_meta *meta)
{
	struct ks_strbuf sb;
	size_t i;

	ks_strbuf_init(&sb);
	ks_strbuf_printf(&sb, "[%s]", meta->clock);
	put_option(&sk->options, KS_TD_OPT_CLOCK, sb.s, sb.len + 1);
	put_option(&sk->options, KS_TD_OPT_UNAME, meta->uname, strlen(meta->uname) + 1);
	/* Other readers only show this text; ours finds the recorder's threads in it. */
	sb.len = 0;
	ks_strbuf_puts(&sb, "kmemscope " KS_VERSION);
	for (i = 0; i < meta->self.items.len; i++)
		ks_strbuf_printf(&sb, "%s%u", i ? "," : KS_TD_SELF, meta->self.items.items[i]);
	for (i = 0; i < meta->nodes.items.len; i++)
		ks_strbuf_printf(&sb, "%s%u", i ? "," : KS_TD_NODES, meta->nodes.items.items[i]);
	put_option(&sk->options, KS_TD_OPT_VERSION, ks_strbuf_str(&sb), sb.len + 1);
	put_option_u64(&sk->options, KS_TD_OPT_CPUCOUNT, meta->cpus, 4);
	for (i = 0; i < meta->cpu_stats.len; i++)
		put_option(&sk->options, KS_TD_OPT_CPUSTAT,
			   ks_strbuf_str(&meta->cpu_stats.items[i]),
			   meta->cpu_stats.items[i].len + 1);
	sk->failed |= sb.failed;
	ks_strbuf_deinit(&sb);
}

/* Appends the options and points the header at them. */
static void end_options(struct sketch *sk)
{
	struct ks_strbuf offset;

	put_option_u64(&sk->options, KS_TD_OPT_DONE, 0, 8);
	ks_strbuf_init(&offset);
	put(&offset, sk->text.len, 8);
	put_section_header(&sk->text, KS_TD_OPT_DONE, 0, 0, sk->options.len);
	ks_strbuf_add(&sk->text, sk->options.s, sk->options.len);
	sk->failed |= sk->text.failed || sk->options.failed || offset.failed;
	if (!sk->failed)
		memcpy(sk->text.s + sk->options_at, offset.s, 8);
	ks_strbuf_deinit(&offset);
}

/* === Internals: the journal =============================================================== */

static int write_at(struct ks_td_writer *w, u64 at, const void *data, size_t len,
		    struct ks_diag *diag)
{
	const u8 *p = data;

	while (len) {
		ssize_t n = pwrite(w->fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ks_diag_set(diag, -errno, "%s: cannot write: %s", w->path,
					   strerror(errno));
		p += n;
		at += (u64)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Where the blocks will begin depends on the length of the options, which say it: lay out twice. */
static void sketch_journal(struct sketch *sk, const struct ks_td_meta *meta)
{
	size_t fixed, option;
	struct ks_strbuf sb;

	begin(sk, meta);
	add_metadata(sk, meta);
	add_machine_options(sk, meta);
	ks_strbuf_init(&sb);
	put(&sb, 0, 8);
	put(&sb, meta->ring_page_size, 4);
	put_string(&sb, meta->clock);
	put_string(&sb, "");
	option = sk->options.len + 6;
	put_option(&sk->options, KS_TD_OPT_JOURNAL, sb.s, sb.len);
	fixed = sk->text.len + SECTION_HEADER + sk->options.len + 6 + 8;
	sb.len = 0;
	put(&sb, fixed, 8);
	sk->failed |= sb.failed || sk->options.failed;
	if (!sk->failed)
		memcpy(sk->options.s + option, sb.s, 8);
	ks_strbuf_deinit(&sb);
	end_options(sk);
}

static void free_writer(struct ks_td_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	ks_vec_free(&w->blocks);
	free(w->path);
	free(w);
}

/* === Internals: finishing ================================================================= */

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct cpu_range {
	u32 cpu;
	size_t first, count; /* of the sorted blocks */
	u64 offset, size;
};

struct ranges {
	KS_VEC(struct cpu_range) items;
};

static int find_ranges(const struct ks_td_writer *w, struct ranges *ret)
{
	size_t i;

	for (i = 0; i < w->blocks.len; i++) {
		const struct block *block = &w->blocks.items[i];
		struct cpu_range *last = ret->items.len ? &ret->items.items[ret->items.len - 1]
							: NULL;

		if (!last || last->cpu != block->cpu) {
			last = ks_vec_push(&ret->items);
			if (!last)
				return -ENOMEM;
			*last = (struct cpu_range){ .cpu = block->cpu, .first = i, .size = 4 };
		}
		last->count++;
		last->size += 8 + (u64)block->stored;
	}
	return 0;
}

static int copy_block(struct ks_td_writer *w, const struct block *block, struct ks_strbuf *buf,
		      struct ks_outfile *out, struct ks_diag *diag)
{
	ssize_t n;
	u8 *data = malloc(block->stored ? block->stored : 1);
	int err;

	if (!data)
		return ks_diag_nomem(diag, "finishing a capture");
	n = ks_pread_full(w->fd, data, block->stored, block->offset);
	if (n < (ssize_t)block->stored) {
		free(data);
		return ks_diag_set(diag, n < 0 ? (int)n : -EIO, "%s: cannot be read back", w->path);
	}
	buf->len = 0;
	put(buf, block->stored, 4);
	put(buf, block->len, 4);
	ks_strbuf_add(buf, data, block->stored);
	free(data);
	err = buf->failed ? ks_diag_nomem(diag, "finishing a capture")
			  : ks_outfile_write(out, buf->s, buf->len, diag);
	return err;
}

static int copy_ranges(struct ks_td_writer *w, const struct ranges *ranges, struct ks_outfile *out,
		       struct ks_diag *diag)
{
	struct ks_strbuf buf;
	size_t i, j;
	int err = 0;

	ks_strbuf_init(&buf);
	for (i = 0; i < ranges->items.len && !err; i++) {
		const struct cpu_range *range = &ranges->items.items[i];

		buf.len = 0;
		put(&buf, range->count, 4);
		err = ks_outfile_write(out, buf.s, buf.len, diag);
		for (j = 0; j < range->count && !err; j++)
			err = copy_block(w, &w->blocks.items[range->first + j], &buf, out, diag);
	}
	ks_strbuf_deinit(&buf);
	return err;
}

/* Everything in front of the pages; the ranges learn where they will be. */
static void sketch_final(struct sketch *sk, const struct ks_td_meta *meta, struct ranges *ranges)
{
	u64 total = 0, section, at;
	struct ks_strbuf sb;
	size_t i, data;

	begin(sk, meta);
	add_metadata(sk, meta);
	add_cmdlines(sk, meta);
	add_machine_options(sk, meta);
	/* The section of pages comes last, right behind the options. */
	ks_strbuf_init(&sb);
	put(&sb, 0, 8);
	put_string(&sb, ""); /* the top buffer: some readers look at no other */
	put_string(&sb, meta->clock);
	put(&sb, meta->ring_page_size, 4);
	put(&sb, ranges->items.len, 4);
	data = sk->options.len + 6;
	section = sk->text.len + SECTION_HEADER + data + sb.len + ranges->items.len * 20 + 6 + 8;
	at = section + SECTION_HEADER;
	for (i = 0; i < ranges->items.len; i++) {
		struct cpu_range *range = &ranges->items.items[i];

		range->offset = at;
		at += range->size;
		total += range->size;
		put(&sb, range->cpu, 4);
		put(&sb, range->offset, 8);
		put(&sb, range->size, 8);
	}
	put_option(&sk->options, KS_TD_OPT_BUFFER, sb.s, sb.len);
	sb.len = 0;
	put(&sb, section, 8);
	sk->failed |= sb.failed || sk->options.failed;
	if (!sk->failed)
		memcpy(sk->options.s + data, sb.s, 8);
	ks_strbuf_deinit(&sb);
	end_options(sk);
	put_section_header(&sk->text, KS_TD_OPT_BUFFER, KS_TD_FL_COMPRESSED, 0, total);
	sk->failed |= sk->text.failed;
}

static int write_final(struct ks_td_writer *w, const struct ks_td_meta *meta, struct ks_diag *diag)
{
	struct sketch sk = { 0 };
	struct ranges ranges = { 0 };
	struct ks_outfile out;
	int err;

	if (w->blocks.len)
		qsort(w->blocks.items, w->blocks.len, sizeof(struct block), compare_blocks);
	err = find_ranges(w, &ranges);
	if (!err)
		sketch_final(&sk, meta, &ranges);
	if (err || sk.failed) {
		err = ks_diag_nomem(diag, "finishing a capture");
		goto done;
	}
	err = ks_outfile_open(&out, w->path, diag);
	if (err)
		goto done;
	err = ks_outfile_write(&out, sk.text.s, sk.text.len, diag);
	if (!err)
		err = copy_ranges(w, &ranges, &out, diag);
	if (err)
		ks_outfile_abort(&out);
	else
		err = ks_outfile_commit(&out, diag);
done:
	ks_vec_free(&ranges.items);
	ks_strbuf_deinit(&sk.text);
	ks_strbuf_deinit(&sk.options);
	return err;
}

/* === Public =============================================================================== */

void ks_td_meta_init(struct ks_td_meta *meta)
{
	memset(meta, 0, sizeof(*meta));
}

void ks_td_meta_deinit(struct ks_td_meta *meta)
{
	size_t i;

	for (i = 0; i < meta->ftrace_formats.len; i++)
		ks_strbuf_deinit(&meta->ftrace_formats.items[i]);
	for (i = 0; i < meta->kmem_formats.len; i++)
		ks_strbuf_deinit(&meta->kmem_formats.items[i]);
	for (i = 0; i < meta->cpu_stats.len; i++)
		ks_strbuf_deinit(&meta->cpu_stats.items[i]);
	ks_vec_free(&meta->ftrace_formats);
	ks_vec_free(&meta->kmem_formats);
	ks_vec_free(&meta->cpu_stats);
	ks_vec_free(&meta->self.items);
	ks_vec_free(&meta->nodes.items);
	ks_strbuf_deinit(&meta->header_page);
	ks_strbuf_deinit(&meta->header_event);
	ks_strbuf_deinit(&meta->kallsyms);
	ks_strbuf_deinit(&meta->printk);
	ks_strbuf_deinit(&meta->cmdlines);
}

int ks_td_writer_open(const char *path, const struct ks_td_meta *meta,
		      struct ks_td_writer **ret_writer, struct ks_diag *diag)
{
	struct ks_td_writer *w = calloc(1, sizeof(*w));
	struct sketch sk = { 0 };
	int err;

	if (!w)
		return ks_diag_nomem(diag, "creating a capture");
	w->fd = -1;
	w->path = strdup(path);
	sketch_journal(&sk, meta);
	if (!w->path || sk.failed) {
		err = ks_diag_nomem(diag, "creating a capture");
		goto fail;
	}
	w->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (w->fd < 0) {
		err = ks_diag_set(diag, -errno, "%s: cannot create: %s", path, strerror(errno));
		goto fail;
	}
	err = write_at(w, 0, sk.text.s, sk.text.len, diag);
	if (err) {
		unlink(path);
		goto fail;
	}
	w->size = sk.text.len;
	*ret_writer = w;
	w = NULL;
fail:
	ks_strbuf_deinit(&sk.text);
	ks_strbuf_deinit(&sk.options);
	if (w)
		free_writer(w);
	return err;
}

int ks_td_writer_block(struct ks_td_writer *w, u32 cpu, u32 seq, const void *stored, u32 stored_len,
		       u32 len, struct ks_diag *diag)
{
	struct block *block = ks_vec_push(&w->blocks);
	struct ks_strbuf header;
	int err;

	if (!block)
		return ks_diag_nomem(diag, "writing a capture");
	ks_strbuf_init(&header);
	put_section_header(&header, KS_TD_SEC_BLOCK, KS_TD_FL_COMPRESSED, cpu,
			   12 + (u64)stored_len);
	put(&header, seq, 4);
	put(&header, stored_len, 4);
	put(&header, len, 4);
	/* The data first: a header without all of its data would end the journal too late. */
	err = header.failed ? ks_diag_nomem(diag, "writing a capture")
			    : write_at(w, w->size + BLOCK_HEADER, stored, stored_len, diag);
	if (!err)
		err = write_at(w, w->size, header.s, header.len, diag);
	ks_strbuf_deinit(&header);
	if (err) {
		w->blocks.len--;
		if (ftruncate(w->fd, (off_t)w->size))
			return err; /* the reader ignores what hangs over */
		return err;
	}
	*block = (struct block){ w->size + BLOCK_HEADER, cpu, seq, stored_len, len };
	w->size += BLOCK_HEADER + (u64)stored_len;
	return 0;
}

u64 ks_td_writer_size(const struct ks_td_writer *w)
{
	return w->size;
}

int ks_td_writer_finish(struct ks_td_writer *w, const struct ks_td_meta *meta, struct ks_diag *diag)
{
	int err = write_final(w, meta, diag);

	free_writer(w);
	return err;
}

void ks_td_writer_abort(struct ks_td_writer *w)
{
	unlink(w->path);
	free_writer(w);
}

void ks_td_writer_leave(struct ks_td_writer *w)
{
	free_writer(w);
}

int ks_td_writer_adopt(const char *path, int fd, struct ks_td_writer **ret_writer,
		       struct ks_diag *diag)
{
	struct ks_td_writer *w = calloc(1, sizeof(*w));

	if (w) {
		w->fd = fd;
		w->path = strdup(path);
	}
	if (!w || !w->path) {
		free(w);
		close(fd);
		return ks_diag_nomem(diag, "repairing a capture");
	}
	*ret_writer = w;
	return 0;
}

int ks_td_writer_adopt_block(struct ks_td_writer *w, u32 cpu, u32 seq, u64 offset, u32 stored_len,
			     u32 len)
{
	struct block *block = ks_vec_push(&w->blocks);

	if (!block)
		return -ENOMEM;
	*block = (struct block){ offset, cpu, seq, stored_len, len };
	return 0;
}
