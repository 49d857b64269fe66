// SPDX-License-Identifier: LGPL-2.1-only
/* Records of the kmemtrace relay ABI. */
#include "trace/relay.h"

#include <string.h>

#include "base/bytes.h"

/* === Internals ============================================================================ */

/* How many records there are in a row. */
static size_t count_records(const u8 *head, size_t len, bool swap)
{
	struct ks_relay_record record;
	size_t pos = 0, count = 0;

	while (ks_relay_decode(head + pos, len - pos, swap, &record)) {
		count++;
		if (record.size > len - pos)
			break;
		pos += record.size;
	}
	return count;
}

/* === Public =============================================================================== */

bool ks_relay_decode(const u8 *data, size_t len, bool swap, struct ks_relay_record *ret)
{
	struct ks_relay_record r = { 0 };

	if (len < KS_RELAY_FREE_SIZE)
		return false;
	r.event = data[0];
	r.type = data[1];
	r.size = (u16)ks_load(data + 2, 2, swap);
	r.seq = (u32)ks_load(data + 4, 4, swap);
	r.site = ks_load(data + 8, 8, swap);
	r.ptr = ks_load(data + 16, 8, swap);
	if (r.event > KS_RELAY_FREE || r.type > KS_RELAY_PAGES || r.size > KS_RELAY_MAX_SIZE ||
	    r.size < (r.event == KS_RELAY_FREE ? KS_RELAY_FREE_SIZE : KS_RELAY_ALLOC_SIZE))
		return false;
	if (r.event == KS_RELAY_ALLOC && len >= KS_RELAY_ALLOC_SIZE) {
		r.req = ks_load(data + 24, 8, swap);
		r.alloc = ks_load(data + 32, 8, swap);
		r.gfp = (u32)ks_load(data + 40, 4, swap);
		r.node = (s32)ks_load(data + 44, 4, swap);
	}
	*ret = r;
	return true;
}

void ks_relay_encode(const struct ks_relay_record *r, struct ks_strbuf *sb)
{
	u8 bytes[KS_RELAY_ALLOC_SIZE] = { r->event, r->type };
	u16 size = r->event == KS_RELAY_ALLOC ? KS_RELAY_ALLOC_SIZE : KS_RELAY_FREE_SIZE;

	memcpy(bytes + 2, &size, 2);
	memcpy(bytes + 4, &r->seq, 4);
	memcpy(bytes + 8, &r->site, 8);
	memcpy(bytes + 16, &r->ptr, 8);
	memcpy(bytes + 24, &r->req, 8);
	memcpy(bytes + 32, &r->alloc, 8);
	memcpy(bytes + 40, &r->gfp, 4);
	memcpy(bytes + 44, &r->node, 4);
	ks_strbuf_add(sb, bytes, size);
}

bool ks_relay_probe(const u8 *head, size_t len, bool *ret_swap)
{
	size_t native = count_records(head, len, false), swapped = count_records(head, len, true);

	*ret_swap = swapped > native;
	return native || swapped;
}
