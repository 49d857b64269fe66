// SPDX-License-Identifier: LGPL-2.1-only
/* The header of perf.data files. */
#include "trace/perffile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* === Data ================================================================================= */

enum {
	HEADER_PIPE = 16,
	HEADER_FILE = 104,
	ATTR_MIN = 64, /* the first version of struct perf_event_attr */
	MAX_ATTRS = 65536,
	MAX_IDS = 1 << 24,

	FEATURE_TRACING_DATA = 1,
	FEATURE_OSRELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_NUMA = 14,
	FEATURES = 256,

	FLAG_SAMPLE_ID_ALL = 18, /* the bit's number */
};

/* === Internals ============================================================================ */

/* Bit fields are laid out from the other end on a big-endian machine. */
static bool attr_flag(u64 flags, unsigned int bit, bool big_endian)
{
	return flags >> (big_endian ? 63 - bit : bit) & 1;
}

static void read_attrs(struct ks_perf_file *pf, struct ks_cursor *cur, u64 offset, u64 size,
		       u64 attr_size)
{
	u64 i;

	if (!cur->err &&
	    (attr_size < ATTR_MIN + 16 || attr_size > 4096 || size / attr_size > MAX_ATTRS))
		ks_cursor_fail(cur, "a table of attributes");
	for (i = 0; !cur->err && i < size / attr_size; i++) {
		struct ks_cursor attr, ids;
		u64 ids_pos, ids_size;
		int err;

		ks_cursor_file(&attr, pf->name, pf->fd, offset + i * attr_size, pf->size);
		attr.big_endian = pf->big_endian;
		cur->pos = offset + (i + 1) * attr_size - 16;
		ids_pos = ks_cursor_uint(cur, 8);
		ids_size = ks_cursor_uint(cur, 8);
		ks_cursor_file(&ids, pf->name, pf->fd, ids_pos, pf->size);
		ids.big_endian = pf->big_endian;
		if (cur->err)
			return;
		err = ks_perf_add_attr(pf, &attr, attr_size - 16, &ids, ids_size / 8);
		if (err && !cur->err) {
			cur->err = err;
			cur->diag = attr.err ? attr.diag : ids.diag;
		}
	}
}

/* The CPUs of a node, as a list. 0 or -ENOMEM. */
static int add_node(struct ks_perf_file *pf, u32 node, const char *cpus)
{
	u32 first, last;

	while (ks_next_range(&cpus, &first, &last)) {
		while (pf->cpu_nodes.len <= last)
			if (!ks_vec_push(&pf->cpu_nodes))
				return -ENOMEM;
		for (; first <= last; first++)
			pf->cpu_nodes.items[first] = (u16)ks_min(node, (u32)UINT16_MAX);
	}
	return 0;
}

/* A feature that makes no sense is ignored; a lack of memory is not. */
static void read_numa(struct ks_perf_file *pf, struct ks_cursor *at)
{
	u64 nodes = ks_cursor_uint(at, 4);

	while (nodes-- && !at->err) {
		u32 node = (u32)ks_cursor_uint(at, 4);
		char *cpus;

		ks_cursor_skip(at, 16); /* its memory */
		cpus = ks_cursor_blob(at, ks_cursor_uint(at, 4));
		if (cpus && add_node(pf, node, cpus))
			at->err = ks_diag_nomem(&at->diag, "opening a perf.data");
		free(cpus);
	}
	if (at->err != -ENOMEM)
		at->err = 0;
}

/* A string that makes no sense is ignored. */
static void read_string(struct ks_cursor *at, char *to, size_t cap)
{
	u64 len = ks_cursor_uint(at, 4);

	if (!at->err && len < cap && ks_cursor_read(at, to, (size_t)len))
		to[len] = '\0';
	else
		to[0] = '\0';
}

static void read_feature(struct ks_perf_file *pf, struct ks_cursor *at, unsigned int feature,
			 struct ks_rawdec *dec)
{
	char text[256];

	switch (feature) {
	case FEATURE_TRACING_DATA:
		ks_perf_tracing_data(at, dec);
		break;
	case FEATURE_NUMA:
		read_numa(pf, at);
		break;
	case FEATURE_OSRELEASE:
		read_string(at, text, sizeof(text));
		snprintf(pf->host.kernel, sizeof(pf->host.kernel), "%.127s", text);
		break;
	case FEATURE_ARCH:
		read_string(at, text, sizeof(text));
		snprintf(pf->host.arch, sizeof(pf->host.arch), "%.31s", text);
		break;
	case FEATURE_NRCPUS:
		ks_cursor_skip(at, 4); /* the CPUs that the machine could have */
		pf->host.cpus = (u32)ks_cursor_uint(at, 4);
		break;
	}
}

/* Behind the data there is a table with one entry a feature, in order of their bits. */
static void read_features(struct ks_perf_file *pf, struct ks_cursor *cur, const u64 *bits,
			  struct ks_rawdec *dec)
{
	unsigned int i;

	cur->pos = pf->data_end;
	for (i = 0; i < FEATURES && !cur->err; i++) {
		struct ks_cursor at;
		u64 offset, size;

		if (!(bits[i / 64] >> i % 64 & 1))
			continue;
		offset = ks_cursor_uint(cur, 8);
		size = ks_cursor_uint(cur, 8);
		if (cur->err || offset > pf->size || size > pf->size - offset)
			continue; /* features that are not used may be damaged */
		ks_cursor_file(&at, pf->name, pf->fd, offset, offset + size);
		at.big_endian = pf->big_endian;
		read_feature(pf, &at, i, dec);
		if (at.err) {
			cur->err = at.err;
			cur->diag = at.diag;
		}
	}
}

static void read_header(struct ks_perf_file *pf, struct ks_cursor *cur, struct ks_rawdec *dec)
{
	u64 attr_size, attrs, attrs_size, bits[FEATURES / 64];
	unsigned int i;

	attr_size = ks_cursor_uint(cur, 8);
	attrs = ks_cursor_uint(cur, 8);
	attrs_size = ks_cursor_uint(cur, 8);
	pf->data_pos = ks_cursor_uint(cur, 8);
	pf->data_end = ks_cursor_uint(cur, 8);
	ks_cursor_skip(cur, 16);
	for (i = 0; i < FEATURES / 64; i++)
		bits[i] = ks_cursor_uint(cur, 8);
	if (cur->err)
		return;
	if (pf->data_pos > pf->size || pf->data_end > pf->size - pf->data_pos) {
		cur->err = ks_diag_set(&cur->diag, KS_EBADINPUT,
				       "%s: is cut off: its data should end at byte %llu, the file "
				       "ends at %llu",
				       pf->name, (unsigned long long)(pf->data_pos + pf->data_end),
				       (unsigned long long)pf->size);
		return;
	}
	pf->data_end += pf->data_pos;
	if (pf->data_end == pf->data_pos) {
		cur->err =
			ks_diag_set(&cur->diag, KS_EBADINPUT,
				    "%s: perf was killed before it could finish the file: it has "
				    "no table of contents",
				    pf->name);
		return;
	}
	read_attrs(pf, cur, attrs, attrs_size, attr_size);
	read_features(pf, cur, bits, dec);
}

/* === Public =============================================================================== */

int ks_perf_add_attr(struct ks_perf_file *pf, struct ks_cursor *attr, u64 attr_size,
		     struct ks_cursor *ids, u64 ids_len)
{
	struct ks_perf_attr *slot, a;
	u32 index = (u32)pf->attrs.len;
	u64 i;

	if (attr_size < 48 || pf->attrs.len >= MAX_ATTRS)
		return ks_cursor_fail(attr, "an attribute");
	ks_cursor_skip(attr, 24);
	a.sample_type = ks_cursor_uint(attr, 8);
	a.read_format = ks_cursor_uint(attr, 8);
	a.sample_id_all = attr_flag(ks_cursor_uint(attr, 8), FLAG_SAMPLE_ID_ALL, pf->big_endian);
	if (attr->err)
		return attr->err;
	slot = ks_vec_push(&pf->attrs);
	if (!slot)
		return ks_diag_nomem(&attr->diag, "reading a perf.data");
	*slot = a;
	if (index && (a.sample_type != pf->attrs.items[0].sample_type ||
		      a.read_format != pf->attrs.items[0].read_format ||
		      a.sample_id_all != pf->attrs.items[0].sample_id_all))
		pf->mixed = true;
	if (ids_len > MAX_IDS)
		return ks_cursor_fail(ids, "a number of ids");
	for (i = 0; i < ids_len && !ids->err; i++) {
		u32 at = ks_map64_add(&pf->ids, ks_cursor_uint(ids, 8));

		if (at == KS_NONE || ks_vec_reserve(&pf->id_attrs, (size_t)at + 1))
			return ks_diag_nomem(&ids->diag, "reading a perf.data");
		pf->id_attrs.items[at] = index;
	}
	return ids->err;
}

void ks_perf_tracing_data(struct ks_cursor *cur, struct ks_rawdec *dec)
{
	struct ks_page_header page;
	struct ks_meta_start start = { 0 };
	bool big_endian = cur->big_endian;

	ks_meta_start(cur, &start);
	if (!cur->err && start.big_endian != big_endian)
		ks_cursor_fail(cur, "formats in the byte order of the samples");
	while (!cur->err && dec->page_shift < 20 && 1u << dec->page_shift < start.page_size)
		dec->page_shift++;
	ks_meta_header_info(cur, &page);
	ks_meta_ftrace_events(cur, dec);
	ks_meta_events(cur, dec);
	ks_meta_kallsyms(cur, dec);
	ks_meta_printk(cur);
	if (!cur->err && !strcmp(start.version, "0.6"))
		ks_meta_cmdlines(cur, dec);
}

int ks_perf_file_open(struct ks_perf_file *pf, const char *name, int fd, u64 size,
		      struct ks_names *names, struct ks_rawdec *dec, struct ks_diag *diag)
{
	struct ks_cursor cur;
	u8 magic[8];
	u64 header_size;

	*pf = (struct ks_perf_file){ .name = name, .fd = fd, .size = size };
	ks_cursor_file(&cur, name, fd, 0, size);
	if (ks_cursor_read(&cur, magic, 8))
		pf->big_endian = cur.big_endian = magic[0] == '2';
	pf->swap = pf->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	header_size = ks_cursor_uint(&cur, 8);
	if (!cur.err &&
	    (ks_map64_init(&pf->ids) || ks_rawdec_init(dec, names, pf->big_endian, 4096)))
		cur.err = ks_diag_nomem(&cur.diag, "reading a perf.data");
	if (cur.err)
		goto fail;
	if (header_size == HEADER_PIPE) {
		pf->pipe = true;
		pf->data_pos = HEADER_PIPE;
		pf->data_end = size;
		return 0;
	}
	if (header_size == HEADER_FILE)
		read_header(pf, &cur, dec);
	else
		ks_cursor_fail(&cur, "a header of 16 or 104 bytes");
	if (!cur.err && !pf->attrs.len)
		ks_cursor_fail(&cur, "at least one attribute");
	if (!cur.err)
		return 0;
	ks_rawdec_deinit(dec);
fail:
	ks_perf_file_deinit(pf);
	if (diag)
		*diag = cur.diag;
	return cur.err;
}

void ks_perf_file_deinit(struct ks_perf_file *pf)
{
	ks_vec_free(&pf->attrs);
	ks_map64_deinit(&pf->ids);
	ks_vec_free(&pf->id_attrs);
	ks_vec_free(&pf->cpu_nodes);
}
