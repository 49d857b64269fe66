// SPDX-License-Identifier: LGPL-2.1-only
/* The sections that trace.dat and perf.data share. */
#include "trace/tracemeta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum { MAX_FORMAT = 1 << 20, MAX_EVENTS = 1 << 20 };

/* === Internals ============================================================================ */

static void expect(struct ks_cursor *cur, const char *text, size_t len)
{
	char buf[16];

	if (ks_cursor_read(cur, buf, len) && memcmp(buf, text, len)) {
		cur->pos -= len;
		ks_cursor_fail(cur, text);
	}
}

static void nomem(struct ks_cursor *cur)
{
	if (!cur->err)
		cur->err = ks_diag_nomem(&cur->diag, "reading a capture's header");
}

static void read_format(struct ks_cursor *cur, struct ks_rawdec *dec)
{
	u64 size = ks_cursor_uint(cur, 8);
	char *text;

	if (!dec || size > MAX_FORMAT) {
		ks_cursor_skip(cur, size);
		return;
	}
	text = ks_cursor_blob(cur, size);
	if (text && ks_rawdec_add_format(dec, text, (size_t)size))
		nomem(cur);
	free(text);
}

/* === Public =============================================================================== */

void ks_meta_start(struct ks_cursor *cur, struct ks_meta_start *ret)
{
	expect(cur, "\x17\x08\x44tracing", 10);
	ks_cursor_string(cur, ret->version, sizeof(ret->version));
	cur->big_endian = ret->big_endian = ks_cursor_uint(cur, 1);
	ret->long_size = (u8)ks_cursor_uint(cur, 1);
	ret->page_size = (u32)ks_cursor_uint(cur, 4);
	if (!cur->err && ret->long_size != 4 && ret->long_size != 8)
		ks_cursor_fail(cur, "a word size of 4 or 8");
	if (!cur->err && (ret->page_size < 1024 || ret->page_size > 1 << 24 ||
			  (ret->page_size & (ret->page_size - 1))))
		ks_cursor_fail(cur, "a page size");
}

void ks_meta_header_info(struct ks_cursor *cur, struct ks_page_header *ret)
{
	const struct ks_field *commit, *data;
	struct ks_evformat fmt;
	char *text;
	u64 size;
	int err;

	expect(cur, "header_page", 12);
	size = ks_cursor_uint(cur, 8);
	text = ks_cursor_blob(cur, size);
	*ret = (struct ks_page_header){ 8, 16 };
	err = text ? ks_evformat_parse_header(&fmt, text, (size_t)size) : KS_EBADINPUT;
	if (err == -ENOMEM)
		nomem(cur);
	if (!err) {
		commit = ks_evformat_field(&fmt, "commit");
		data = ks_evformat_field(&fmt, "data");
		if (commit && (commit->size == 4 || commit->size == 8)) {
			ret->commit_size = commit->size;
			ret->data = 8 + commit->size;
		}
		if (data && data->offset >= 8 + ret->commit_size && data->offset <= 64)
			ret->data = data->offset;
		ks_evformat_deinit(&fmt);
	}
	free(text);
	expect(cur, "header_event", 13);
	ks_cursor_skip(cur, ks_cursor_uint(cur, 8));
}

void ks_meta_ftrace_events(struct ks_cursor *cur, struct ks_rawdec *dec)
{
	u64 count = ks_cursor_uint(cur, 4);

	if (count > MAX_EVENTS)
		ks_cursor_fail(cur, "a number of events");
	while (count-- && !cur->err)
		read_format(cur, dec);
}

void ks_meta_events(struct ks_cursor *cur, struct ks_rawdec *dec)
{
	u64 systems = ks_cursor_uint(cur, 4), count;
	char name[256];

	if (systems > MAX_EVENTS)
		ks_cursor_fail(cur, "a number of event systems");
	while (systems-- && !cur->err) {
		bool ours;

		if (!ks_cursor_string(cur, name, sizeof(name)))
			return;
		ours = !strcmp(name, "kmem") || !strcmp(name, KS_META_HOOKS);
		count = ks_cursor_uint(cur, 4);
		if (count > MAX_EVENTS)
			ks_cursor_fail(cur, "a number of events");
		while (count-- && !cur->err)
			read_format(cur, ours ? dec : NULL);
	}
}

void ks_meta_kallsyms(struct ks_cursor *cur, struct ks_rawdec *dec)
{
	u64 size = ks_cursor_uint(cur, 4);
	size_t start;
	char *memory = ks_cursor_take(cur, size, &start);

	if (memory && ks_rawdec_set_symbols(dec, memory, start, (size_t)size))
		nomem(cur);
}

void ks_meta_printk(struct ks_cursor *cur)
{
	ks_cursor_skip(cur, ks_cursor_uint(cur, 4));
}

void ks_meta_cmdlines(struct ks_cursor *cur, struct ks_rawdec *dec)
{
	u64 size = ks_cursor_uint(cur, 8);
	char *text = ks_cursor_blob(cur, size);

	if (text && ks_rawdec_add_cmdlines(dec, text, (size_t)size))
		nomem(cur);
	free(text);
}
