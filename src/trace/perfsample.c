// SPDX-License-Identifier: LGPL-2.1-only
/* The layout of single perf records, which the attributes of their event decide. */
#include "trace/perffile.h"

#include <string.h>

#include "trace/event.h"

/* === Internals ============================================================================ */

static const struct ks_perf_attr *attr_by_id(const struct ks_perf_file *pf, u64 id)
{
	u32 at = ks_map64_find(&pf->ids, id);

	return &pf->attrs.items[at == KS_NONE ? 0 : pf->id_attrs.items[at]];
}

/* perf puts the id at the same place in all samples, or in front of them. */
static const struct ks_perf_attr *attr_of_sample(const struct ks_perf_file *pf, const u8 *rec,
						 size_t size)
{
	const struct ks_perf_attr *first = pf->attrs.items;
	u64 type = first->sample_type;
	size_t at = KS_PERF_RECORD_HEADER;

	if (!pf->mixed)
		return first;
	if (!(type & KS_PERF_IDENTIFIER)) {
		if (!(type & KS_PERF_ID))
			return first;
		at += 8 * (size_t)__builtin_popcountll(
				  type & (KS_PERF_IP | KS_PERF_TID | KS_PERF_TIME | KS_PERF_ADDR));
	}
	return at + 8 <= size ? attr_by_id(pf, ks_load(rec + at, 8, pf->swap)) : first;
}

static u64 read_size(u64 format, u64 nr)
{
	size_t times = ((format & 1) != 0) + ((format & 2) != 0);
	size_t each = 1 + ((format & 4) != 0) + ((format & 16) != 0);

	return 8 * (format & 8 ? 1 + times + nr * each : each + times);
}

/*
 * Marks divide a chain: each says in which context the addresses after it are. The kernel's context
 * occurs at most once.
 */
static void find_kernel_part(const u8 *chain, u64 len, bool swap, struct ks_perf_sample *ret)
{
	const u64 first_mark = (u64)-4095, kernel = (u64)-128;
	u64 i, start = len;

	for (i = 0; i < len; i++) {
		u64 addr = ks_load(chain + 8 * i, 8, swap);

		if (addr < first_mark)
			continue;
		if (start < len)
			break;
		if (addr == kernel)
			start = i + 1;
	}
	ret->chain = chain + 8 * ks_min(start, len);
	ret->chain_len = (u32)(i - ks_min(start, i));
}

/* === Public =============================================================================== */

bool ks_perf_parse_sample(const struct ks_perf_file *pf, const u8 *rec, size_t size,
			  struct ks_perf_sample *ret)
{
	const struct ks_perf_attr *attr = attr_of_sample(pf, rec, size);
	u64 type = attr->sample_type;
	const u8 *p = rec + KS_PERF_RECORD_HEADER, *end = rec + size;
	bool swap = pf->swap;

	*ret = (struct ks_perf_sample){ .cpu = KS_CPU_UNKNOWN };
#define NEED(n)                              \
	do {                                 \
		if ((size_t)(end - p) < (n)) \
			return false;        \
	} while (0)
	/* Up to the period, each field is one word. */
	NEED(8 * (size_t)__builtin_popcountll(type &
					      (KS_PERF_IDENTIFIER | KS_PERF_IP | KS_PERF_TID |
					       KS_PERF_TIME | KS_PERF_ADDR | KS_PERF_ID |
					       KS_PERF_STREAM_ID | KS_PERF_CPU | KS_PERF_PERIOD)));
	p += type & KS_PERF_IDENTIFIER ? 8 : 0;
	p += type & KS_PERF_IP ? 8 : 0;
	p += type & KS_PERF_TID ? 8 : 0;
	if (type & KS_PERF_TIME) {
		ret->time = ks_load(p, 8, swap);
		p += 8;
	}
	p += type & KS_PERF_ADDR ? 8 : 0;
	p += type & KS_PERF_ID ? 8 : 0;
	p += type & KS_PERF_STREAM_ID ? 8 : 0;
	if (type & KS_PERF_CPU) {
		ret->cpu = (u32)ks_min(ks_load(p, 4, swap), (u64)KS_CPU_UNKNOWN);
		p += 8;
	}
	p += type & KS_PERF_PERIOD ? 8 : 0;
	if (type & KS_PERF_READ) {
		u64 nr = 0;

		NEED(8);
		if (attr->read_format & 8)
			nr = ks_load(p, 8, swap);
		if (nr > size)
			return false;
		NEED(read_size(attr->read_format, nr));
		p += (size_t)read_size(attr->read_format, nr);
	}
	if (type & KS_PERF_CALLCHAIN) {
		u64 nr;

		NEED(8);
		nr = ks_load(p, 8, swap);
		p += 8;
		if (nr > size)
			return false;
		NEED(8 * nr);
		find_kernel_part(p, nr, swap, ret);
		p += 8 * nr;
	}
	if (type & KS_PERF_RAW) {
		NEED(4);
		ret->raw_len = (u32)ks_load(p, 4, swap);
		p += 4;
		NEED(ret->raw_len);
		ret->raw = p;
	}
#undef NEED
	return true;
}

void ks_perf_parse_trailer(const struct ks_perf_file *pf, const u8 *rec, size_t size,
			   struct ks_perf_sample *ret)
{
	const struct ks_perf_attr *attr = pf->attrs.items;
	u64 type = pf->attrs.len ? attr->sample_type : 0;
	size_t back = 0;

	*ret = (struct ks_perf_sample){ .cpu = KS_CPU_UNKNOWN };
	if (!pf->attrs.len || !attr->sample_id_all)
		return;
	back += type & KS_PERF_IDENTIFIER ? 8 : 0;
	if (type & KS_PERF_CPU) {
		back += 8;
		if (back + KS_PERF_RECORD_HEADER <= size)
			ret->cpu = (u32)ks_min(ks_load(rec + size - back, 4, pf->swap),
					       (u64)KS_CPU_UNKNOWN);
	}
	back += type & KS_PERF_STREAM_ID ? 8 : 0;
	back += type & KS_PERF_ID ? 8 : 0;
	if (type & KS_PERF_TIME) {
		back += 8;
		if (back + KS_PERF_RECORD_HEADER <= size)
			ret->time = ks_load(rec + size - back, 8, pf->swap);
	}
}
