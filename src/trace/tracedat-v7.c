// SPDX-License-Identifier: LGPL-2.1-only
/* Version 7 of trace.dat: a chain of options that point to sections, which may be compressed. */
#include "trace/tracedat-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* === Data ================================================================================= */

enum {
	MAX_OPTION_SECTIONS = 65536,
	MAX_SECTION = 1 << 30, /* of metadata, uncompressed */
};

/* === Internals ============================================================================ */

/* The content of a section in memory; NULL with the cursor failed. */
static char *load_section(struct ks_tracedat *td, struct ks_cursor *cur, u64 size, bool compressed,
			  u64 *ret_len)
{
	char *stored, *plain;
	u64 stored_len, len;

	if (!compressed || td->codec == KS_TD_NONE) {
		*ret_len = size;
		return ks_cursor_blob(cur, size);
	}
	stored_len = ks_cursor_uint(cur, 4);
	len = ks_cursor_uint(cur, 4);
	if (!cur->err && (len > MAX_SECTION || len / 2048 > stored_len + 1))
		ks_cursor_fail(cur, "a section of reasonable size");
	stored = ks_cursor_blob(cur, stored_len);
	if (!stored)
		return NULL;
	plain = malloc((size_t)len + 1);
	if (!plain) {
		ks_td_nomem(cur);
	} else if (ks_td_decompress(td->codec, plain, (size_t)len, stored, (size_t)stored_len)) {
		ks_cursor_fail(cur, "whole compressed data in front of it");
		free(plain);
		plain = NULL;
	}
	free(stored);
	*ret_len = len;
	return plain;
}

/*
 * Loads the section that begins where the cursor is, for @ret_mem to read. The caller frees what is
 * returned; NULL with the cursor failed.
 */
static char *open_section(struct ks_tracedat *td, struct ks_cursor *cur, u32 id, const char *what,
			  struct ks_cursor *ret_mem)
{
	u64 size, len = 0;
	u32 flags;
	char *data;

	if (ks_cursor_uint(cur, 2) != id)
		ks_cursor_fail(cur, what);
	flags = (u32)ks_cursor_uint(cur, 2);
	ks_cursor_skip(cur, 4);
	size = ks_cursor_uint(cur, 8);
	data = load_section(td, cur, size, flags & KS_TD_FL_COMPRESSED, &len);
	if (data) {
		ks_cursor_mem(ret_mem, td->name, data, (size_t)len);
		ret_mem->big_endian = td->start.big_endian;
	}
	return data;
}

/* The options at @offset, from a section of their own; the offset of the next one, or 0. */
static u64 read_options_v7(struct ks_tracedat *td, struct ks_cursor *file, u64 offset,
			   struct ks_rawdec *dec, u32 *stat_buffer)
{
	struct ks_cursor cur;
	u64 next = 0, len;
	char *data;

	file->pos = offset;
	data = open_section(td, file, KS_TD_OPT_DONE, "a section of options", &cur);
	if (!data)
		return 0;
	len = cur.end;
	while (!cur.err) {
		u32 id = (u32)ks_cursor_uint(&cur, 2);
		u64 option_size = ks_cursor_uint(&cur, 4), end = cur.pos + option_size;

		if (cur.err || end > len)
			break;
		if (id == KS_TD_OPT_DONE) {
			next = option_size >= 8 ? ks_cursor_uint(&cur, 8) : 0;
			break;
		}
		cur.end = end;
		ks_td_read_option(td, &cur, id, option_size, dec, stat_buffer);
		cur.pos = end;
		cur.end = len;
	}
	if (cur.err && !file->err) {
		file->err = cur.err;
		file->diag = cur.diag;
	}
	free(data);
	return next;
}

static void read_census(struct ks_tracedat *td, struct ks_cursor *mem)
{
	struct ks_slab_census *census;
	enum ks_census_when when;
	struct ks_diag diag;
	int err = ks_slab_census_unpack(mem->mem, (size_t)mem->end, &census, &when, &diag);

	if (err) {
		mem->err = ks_diag_set(&mem->diag, err, "%s: %s", td->name, diag.text);
		return;
	}
	ks_slab_census_free(td->census[when]);
	td->census[when] = census;
}

/* === Public =============================================================================== */

int ks_td_inflate(struct ZSTD_DCtx_s **zstd, enum ks_td_codec codec, void *dst, size_t dst_len,
		  const void *src, size_t src_len)
{
	uLongf len = dst_len;

	switch (codec) {
	case KS_TD_ZSTD:
		if (!*zstd)
			*zstd = ZSTD_createDCtx();
		return *zstd && ZSTD_decompressDCtx(*zstd, dst, dst_len, src, src_len) == dst_len
			       ? 0
			       : KS_EBADINPUT;
	case KS_TD_ZLIB:
		return uncompress(dst, &len, src, src_len) == Z_OK && len == dst_len ? 0
										     : KS_EBADINPUT;
	case KS_TD_NONE:
		break;
	}
	return KS_EBADINPUT;
}

int ks_td_decompress(enum ks_td_codec codec, void *dst, size_t dst_len, const void *src,
		     size_t src_len)
{
	struct ZSTD_DCtx_s *zstd = NULL;
	int err = ks_td_inflate(&zstd, codec, dst, dst_len, src, src_len);

	ZSTD_freeDCtx(zstd);
	return err;
}

void ks_td_read_section(struct ks_tracedat *td, u32 id, u64 offset, struct ks_rawdec *dec,
			struct ks_cursor *cur)
{
	struct ks_cursor mem;
	char *data;

	ks_cursor_file(cur, td->name, td->fd, offset, td->size);
	cur->big_endian = td->start.big_endian;
	data = open_section(td, cur, id, "the section that an option points to", &mem);
	if (!data)
		return;
	mem.to_give = data;
	switch (id) {
	case KS_TD_SEC_HEADER:
		ks_meta_header_info(&mem, &td->page);
		break;
	case KS_TD_SEC_FTRACE:
		ks_meta_ftrace_events(&mem, dec);
		break;
	case KS_TD_SEC_EVENTS:
		ks_meta_events(&mem, dec);
		break;
	case KS_TD_SEC_KALLSYMS:
		ks_meta_kallsyms(&mem, dec);
		break;
	case KS_TD_SEC_CMDLINES:
		ks_meta_cmdlines(&mem, dec);
		break;
	case KS_TD_SEC_CENSUS:
		read_census(td, &mem);
		break;
	}
	if (mem.err) {
		cur->err = mem.err;
		cur->diag = mem.diag;
	}
	free(mem.to_give);
}

void ks_td_read_v7(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec)
{
	char codec[32], version[32];
	u32 stat_buffer = 0, sections = 0;
	u64 offset;

	ks_cursor_string(cur, codec, sizeof(codec));
	ks_cursor_string(cur, version, sizeof(version));
	offset = ks_cursor_uint(cur, 8);
	if (cur->err)
		return;
	if (!strcmp(codec, "zstd"))
		td->codec = KS_TD_ZSTD;
	else if (!strcmp(codec, "zlib"))
		td->codec = KS_TD_ZLIB;
	else if (strcmp(codec, "none"))
		ks_cursor_fail(cur, "zstd, zlib or no compression");
	while (offset && !cur->err) {
		if (++sections > MAX_OPTION_SECTIONS)
			ks_cursor_fail(cur, "an end of the chain of options");
		else
			offset = read_options_v7(td, cur, offset, dec, &stat_buffer);
	}
}
