// SPDX-License-Identifier: LGPL-2.1-only
/* From binary records to events: what a capture describes, and the tables behind the names. */
#include "trace/rawevent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/rawdecode.h"

/* === Data ================================================================================= */

enum { MAX_FORMATS = 64 };

/* === Internals: layouts =================================================================== */

static struct ks_raw_field field_of(const struct ks_evformat *fmt, const char *name, u16 *min_size)
{
	const struct ks_field *f = ks_evformat_field(fmt, name);

	if (!f || (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8) ||
	    f->offset + f->size < 8 || f->offset + f->size > UINT16_MAX)
		return (struct ks_raw_field){ 0 };
	*min_size = (u16)ks_max((u32)*min_size, f->offset + f->size);
	return (struct ks_raw_field){ (u16)(f->offset + f->size - 8), (u8)f->size,
				      (u8)(64 - 8 * f->size) };
}

/* The fields without which an event of this kind means nothing. */
static bool is_complete(const struct ks_rawlayout *l)
{
	if (!l->ptr.size)
		return false;
	if (ks_kind_is_page(l->kind))
		return l->order.size || l->single;
	return l->site.size && (!ks_kind_is_alloc(l->kind) || (l->req.size && l->alloc.size));
}

static void fill_layout(struct ks_rawlayout *l, const struct ks_evformat *fmt)
{
	u16 *min = &l->min_size;
	const struct ks_field *name = ks_evformat_field(fmt, "name");

	l->pid = field_of(fmt, "common_pid", min);
	l->site = field_of(fmt, "call_site", min);
	l->req = field_of(fmt, "bytes_req", min);
	l->alloc = field_of(fmt, "bytes_alloc", min);
	l->gfp = field_of(fmt, "gfp_flags", min);
	l->node = field_of(fmt, "node", min);
	l->order = field_of(fmt, "order", min);
	if (name && name->data_loc)
		l->name = field_of(fmt, "name", min);
	if (ks_kind_is_page(l->kind)) {
		l->ptr = field_of(fmt, "pfn", min);
		l->by_page = !l->ptr.size;
		if (l->by_page)
			l->ptr = field_of(fmt, "page", min);
		l->single = !l->order.size && !strcmp(fmt->name, "mm_pagevec_free");
	} else {
		l->ptr = field_of(fmt, "ptr", min);
	}
	if (!is_complete(l))
		l->kind = KS_KINDS;
}

static void fill_stack_layout(struct ks_rawlayout *l, const struct ks_evformat *fmt)
{
	const struct ks_field *caller = ks_evformat_field(fmt, "caller");

	l->frames = field_of(fmt, "size", &l->min_size);
	l->stack_offset = caller && caller->offset < UINT16_MAX ? (u16)caller->offset : 0;
}

/* The names of the recorder's probes (capture/hooks.c). */
static enum ks_raw_hook hook_of(const char *name)
{
	static const char *const names[KS_HOOKS] = {
		[KS_HOOK_RCU] = KS_HOOK_RCU_NAME,
		[KS_HOOK_BULK_FREE] = KS_HOOK_BULK_FREE_NAME,
		[KS_HOOK_BULK_ALLOC] = KS_HOOK_BULK_ALLOC_NAME,
	};
	unsigned int i;

	for (i = KS_HOOK_NONE + 1; i < KS_HOOKS; i++)
		if (!strcmp(names[i], name))
			return (enum ks_raw_hook)i;
	return KS_HOOK_NONE;
}

static void fill_hook_layout(struct ks_rawdec *dec, struct ks_rawlayout *l,
			     const struct ks_evformat *fmt, enum ks_raw_hook hook)
{
	const struct ks_field *list = ks_evformat_field(fmt, "ptr");
	const struct ks_field *name = ks_evformat_field(fmt, "name");
	u16 *min = &l->min_size;

	l->pid = field_of(fmt, "common_pid", min);
	l->site = field_of(fmt, "call_site", min);
	if (!l->site.size)
		l->site = field_of(fmt, "__probe_ret_ip", min);
	l->head = field_of(fmt, "head", min);
	l->ptr = field_of(fmt, "arg", min);
	l->count = field_of(fmt, "count", min);
	l->made = field_of(fmt, "made", min);
	l->req = field_of(fmt, "bytes_req", min);
	l->alloc = field_of(fmt, "bytes_alloc", min);
	if (name && name->data_loc)
		l->name = field_of(fmt, "name", min);
	if (list && list->offset + list->size <= UINT16_MAX) {
		l->list_offset = (u16)list->offset;
		l->list_len = (u16)ks_min(list->size / 8, (u32)KS_HOOK_OBJECTS);
		*min = (u16)ks_max((u32)*min, list->offset + l->list_len * 8u);
	}
	if (hook == KS_HOOK_RCU ? l->head.size && l->ptr.size
				: l->count.size && l->list_len &&
					  (hook == KS_HOOK_BULK_FREE || l->alloc.size)) {
		l->hook = (u8)hook;
		dec->hooks |= 1u << hook;
	}
}

static struct ks_rawlayout *layout_of(struct ks_rawdec *dec, u32 id)
{
	struct ks_rawlayout *grown;
	u32 i;

	if (id >= dec->layouts_len) {
		grown = reallocarray(dec->layouts, id + 1, sizeof(*grown));
		if (!grown)
			return NULL;
		for (i = dec->layouts_len; i <= id; i++)
			grown[i] = (struct ks_rawlayout){ .kind = KS_KINDS };
		dec->layouts = grown;
		dec->layouts_len = id + 1;
	}
	return &dec->layouts[id];
}

/* === Internals: names ===================================================================== */

/* The id of an address that is new. */
static u32 new_site(struct ks_rawdec *dec, u64 addr)
{
	struct ks_strbuf sb;
	u32 id;

	ks_strbuf_init(&sb);
	ks_ksyms_print(&dec->ksyms, addr, &sb);
	id = sb.failed ? KS_NONE : ks_sites_add_addr(&dec->names->sites, addr, sb.s, sb.len);
	ks_strbuf_deinit(&sb);
	return id;
}

static u32 frame_of(struct ks_rawdec *dec, u64 addr)
{
	u32 at = ks_map64_find(&dec->frames, addr), id;
	struct ks_strbuf sb;

	if (at != KS_NONE)
		return dec->frame_ids.items[at];
	ks_strbuf_init(&sb);
	ks_ksyms_print(&dec->ksyms, addr, &sb);
	id = sb.failed ? KS_NONE : ks_sites_add_addr(&dec->names->frames, addr, sb.s, sb.len);
	ks_strbuf_deinit(&sb);
	if (id == KS_NONE || ks_vec_reserve(&dec->frame_ids, dec->frame_ids.len + 1) ||
	    ks_map64_add(&dec->frames, addr) == KS_NONE) {
		dec->nomem = true;
		return KS_NONE;
	}
	dec->frame_ids.items[dec->frame_ids.len++] = id;
	return id;
}

/* An empty slot answers for the unknown task, which has no name. */
static void forget_pid(struct ks_rawdec *dec, u32 slot)
{
	dec->pid_cache[slot].pid = KS_PID_UNKNOWN;
	dec->pid_cache[slot].id = KS_NONE;
}

static void forget_pids(struct ks_rawdec *dec)
{
	u32 i;

	for (i = 0; i < KS_PID_CACHE; i++)
		forget_pid(dec, i);
}

/* An address that never leads to this place, nor to its neighbour: an empty place is like one of another site. */
static u64 nowhere(u64 place)
{
	return place / 2 == ks_rawdec_site_place(0) / 2;
}

/* === Public =============================================================================== */

int ks_rawdec_init(struct ks_rawdec *dec, struct ks_names *names, bool big_endian, u32 page_size)
{
	size_t memos = 1u << KS_SITE_BITS, i;

	memset(dec, 0, sizeof(*dec));
	dec->names = names;
	dec->big_endian = big_endian;
	dec->swap = big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	dec->page_shift = 12;
	dec->word_size = 8;
	while (dec->page_shift < 20 && 1u << dec->page_shift < page_size)
		dec->page_shift++;
	for (i = 0; i < 1 << KS_GFP_BITS; i++)
		dec->gfp_cache[i].id = KS_NONE;
	forget_pids(dec);
	dec->site_memo = aligned_alloc(sizeof(*dec->site_memo), memos * sizeof(*dec->site_memo));
	if (!dec->site_memo || ks_map64_init(&dec->sites) || ks_map64_init(&dec->frames) ||
	    ks_map64_init(&dec->gfps) || ks_map64_init(&dec->pids)) {
		ks_rawdec_deinit(dec);
		return -ENOMEM;
	}
	for (i = 0; i < memos; i++)
		dec->site_memo[i] = (struct ks_site_memo){ .addr = nowhere(i), .site = KS_NONE };
	return 0;
}

void ks_rawdec_deinit(struct ks_rawdec *dec)
{
	size_t i;

	for (i = 0; i < dec->formats.len; i++) {
		ks_evformat_deinit(dec->formats.items[i]);
		free(dec->formats.items[i]);
	}
	ks_vec_free(&dec->formats);
	free(dec->layouts);
	dec->layouts = NULL;
	ks_ksyms_deinit(&dec->ksyms);
	ks_map64_deinit(&dec->sites);
	ks_map64_deinit(&dec->frames);
	ks_map64_deinit(&dec->gfps);
	ks_map64_deinit(&dec->pids);
	free(dec->site_memo);
	dec->site_memo = NULL;
	ks_vec_free(&dec->site_ids);
	ks_vec_free(&dec->frame_ids);
	ks_vec_free(&dec->gfp_ids);
	ks_vec_free(&dec->pid_comms);
}

int ks_rawdec_add_format(struct ks_rawdec *dec, const char *text, size_t len)
{
	struct ks_evformat *fmt = malloc(sizeof(*fmt)), **slot;
	struct ks_rawlayout *layout;
	enum ks_raw_hook hook;
	u8 kind = KS_KINDS;
	bool stack;
	size_t i;
	int err;

	if (!fmt)
		return -ENOMEM;
	err = ks_evformat_parse(fmt, text, len);
	if (err) {
		free(fmt);
		return err == KS_EBADINPUT ? 0 : err;
	}
	for (i = 0; i < ARRAY_SIZE(ks_event_names); i++)
		if (!strcmp(ks_event_names[i].name, fmt->name))
			kind = ks_event_names[i].kind;
	stack = !strcmp(fmt->name, "kernel_stack");
	hook = hook_of(fmt->name);
	if ((kind == KS_KINDS && !stack && !hook) || dec->formats.len >= MAX_FORMATS) {
		ks_evformat_deinit(fmt);
		free(fmt);
		return 0;
	}
	slot = ks_vec_push(&dec->formats);
	layout = slot ? layout_of(dec, fmt->id) : NULL;
	if (slot)
		*slot = fmt;
	if (!layout) {
		if (!slot) {
			ks_evformat_deinit(fmt);
			free(fmt);
		}
		return -ENOMEM;
	}
	*layout = (struct ks_rawlayout){ .kind = kind, .stack = stack, .format = fmt };
	if (stack)
		fill_stack_layout(layout, fmt);
	else if (hook)
		fill_hook_layout(dec, layout, fmt, hook);
	else
		fill_layout(layout, fmt);
	if (layout->site.size)
		dec->word_size = layout->site.size;
	return 0;
}

int ks_rawdec_set_symbols(struct ks_rawdec *dec, char *memory, size_t start, size_t len)
{
	ks_ksyms_deinit(&dec->ksyms);
	return ks_ksyms_parse(&dec->ksyms, memory, start, len);
}

int ks_rawdec_set_comm(struct ks_rawdec *dec, u32 pid, const char *comm, size_t len)
{
	u32 id = ks_intern_add(&dec->names->comms, comm, len), at;

	if (id == KS_NONE || ks_vec_reserve(&dec->pid_comms, dec->pid_comms.len + 1))
		return -ENOMEM;
	at = ks_map64_add(&dec->pids, pid);
	if (at == KS_NONE)
		return -ENOMEM;
	if (at == dec->pid_comms.len)
		dec->pid_comms.len++;
	dec->pid_comms.items[at] = id;
	forget_pid(dec, pid % KS_PID_CACHE);
	return 0;
}

int ks_rawdec_add_cmdlines(struct ks_rawdec *dec, const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end, *digits = p;
		u64 pid = 0;

		for (; p < stop && *p >= '0' && *p <= '9' && pid < UINT32_MAX; p++)
			pid = pid * 10 + (u64)(*p - '0');
		if (p > digits && p < stop && *p == ' ' && pid < UINT32_MAX &&
		    ks_rawdec_set_comm(dec, (u32)pid, p + 1, (size_t)(stop - p) - 1))
			return -ENOMEM;
		p = stop + 1;
	}
	return 0;
}

/* The number of a call site, which is not among the last ones seen; KS_NONE for lack of memory. */
static u32 site_of(struct ks_rawdec *dec, u64 addr)
{
	u32 at = ks_map64_find(&dec->sites, addr), id;

	if (at != KS_NONE)
		return dec->site_ids.items[at];
	id = new_site(dec, addr);
	if (id == KS_NONE || ks_vec_reserve(&dec->site_ids, dec->site_ids.len + 1) ||
	    ks_map64_add(&dec->sites, addr) == KS_NONE) {
		dec->nomem = true;
		return KS_NONE;
	}
	dec->site_ids.items[dec->site_ids.len++] = id;
	return id;
}

/* @memo is the site's own place: the one who is there goes to the neighbour, and may come back from it. */
struct ks_site_memo *ks_rawdec_learn_site(struct ks_rawdec *dec, u64 addr,
					  struct ks_site_memo *memo)
{
	struct ks_site_memo *neighbour = &dec->site_memo[(memo - dec->site_memo) ^ 1];

	if (neighbour->addr == addr)
		return neighbour;
	*neighbour = *memo;
	*memo = (struct ks_site_memo){ .addr = addr, .site = site_of(dec, addr) };
	return memo;
}

u32 ks_rawdec_learn_cache(struct ks_rawdec *dec, struct ks_site_memo *memo, const char *name,
			  size_t size)
{
	size_t len = strnlen(name, size);
	u32 id = ks_intern_add(&dec->names->caches, name, len);

	dec->nomem |= id == KS_NONE;
	memo->cache_size = 0;
	if (id != KS_NONE && len + 1 == size && size <= KS_MEMO_NAME) {
		memo->cache = id;
		memo->cache_size = (u32)size;
		memcpy(memo->cache_name, name, size);
	}
	return id;
}

u32 ks_rawdec_learn_comm(struct ks_rawdec *dec, u32 pid)
{
	u32 slot = pid % KS_PID_CACHE, at = ks_map64_find(&dec->pids, pid);

	if (at == KS_NONE && !pid && !ks_rawdec_set_comm(dec, 0, "<idle>", 6))
		at = ks_map64_find(&dec->pids, pid);
	dec->pid_cache[slot].pid = pid;
	dec->pid_cache[slot].id = at == KS_NONE ? KS_NONE : dec->pid_comms.items[at];
	return dec->pid_cache[slot].id;
}

u32 ks_rawdec_comm(struct ks_rawdec *dec, u32 pid)
{
	return ks_rawdec_find_comm(dec, pid);
}

u32 ks_rawdec_gfp(struct ks_rawdec *dec, const struct ks_evformat *fmt, u64 mask)
{
	static const struct ks_evformat nameless;
	u32 at = ks_map64_find(&dec->gfps, mask), id;
	struct ks_strbuf sb;

	if (at != KS_NONE)
		return dec->gfp_ids.items[at];
	ks_strbuf_init(&sb);
	ks_evformat_print_flags(fmt ? fmt : &nameless, mask, &sb);
	id = sb.failed ? KS_NONE : ks_intern_add(&dec->names->gfps, sb.s, sb.len);
	ks_strbuf_deinit(&sb);
	if (id == KS_NONE || ks_vec_reserve(&dec->gfp_ids, dec->gfp_ids.len + 1) ||
	    ks_map64_add(&dec->gfps, mask) == KS_NONE) {
		dec->nomem = true;
		return KS_NONE;
	}
	dec->gfp_ids.items[dec->gfp_ids.len++] = id;
	while (dec->names->gfp_masks.len <= id)
		if (!ks_vec_push(&dec->names->gfp_masks)) {
			dec->nomem = true;
			return KS_NONE;
		}
	dec->names->gfp_masks.items[id] = mask;
	return id;
}

u32 ks_rawdec_site(struct ks_rawdec *dec, u64 addr)
{
	return ks_rawdec_find_site(dec, addr)->site;
}

u32 ks_rawdec_add_stack(struct ks_rawdec *dec, const u8 *addresses, size_t count, unsigned int size)
{
	u32 frames[KS_STACK_MAX], len = 0, id;
	size_t i, skipped;

	for (i = 0; i < count && len < KS_STACK_MAX; i++) {
		u64 addr = ks_load(addresses + i * size, size, dec->swap);

		if (!addr)
			continue;
		frames[len] = frame_of(dec, addr);
		if (frames[len++] == KS_NONE)
			return KS_NONE;
	}
	if (!len)
		return KS_NONE;
	skipped = ks_names_tracer_frames(dec->names, frames, len);
	id = ks_names_add_stack(dec->names, frames + skipped, len - skipped);
	dec->nomem |= id == KS_NONE;
	return id;
}

u32 ks_rawdec_stack(struct ks_rawdec *dec, const u8 *data, size_t len)
{
	const struct ks_rawlayout *l = &dec->layouts[(u32)ks_load(data, 2, dec->swap)];
	size_t at = l->stack_offset;

	if (!l->frames.size || !at || len < l->min_size || at > len)
		return KS_NONE;
	return ks_rawdec_add_stack(dec, data + at,
				   (size_t)ks_min(ks_raw_get(data, l->frames, dec->big_endian),
						  (u64)((len - at) / dec->word_size)),
				   dec->word_size);
}

/*
 * kvfree_call_rcu(head, ptr); up to Linux 6.3 the second argument was how far into the object its head is. Without a
 * head it was the object even then.
 */
static u64 rcu_object(u64 head, u64 arg)
{
	enum { OFFSETS = 4096 };

	return head && arg < OFFSETS ? head - arg : arg;
}

/* The name of the cache of a bulk allocation. False: it lies outside of the record. */
static bool hook_cache(struct ks_rawdec *dec, const struct ks_rawlayout *l, const u8 *data,
		       size_t len, struct ks_site_memo *memo, u32 *ret_cache)
{
	u32 loc;

	*ret_cache = KS_NONE;
	if (!l->name.size)
		return true;
	loc = (u32)ks_raw_get(data, l->name, dec->big_endian);
	if ((loc & 0xffff) + (loc >> 16) > len)
		return false;
	*ret_cache =
		ks_rawdec_find_cache(dec, memo, (const char *)data + (loc & 0xffff), loc >> 16);
	return true;
}

u32 ks_rawdec_hook(struct ks_rawdec *dec, const u8 *data, size_t len, struct ks_event *ret_events,
		   u64 *ret_missed)
{
	const struct ks_rawlayout *l = &dec->layouts[(u32)ks_load(data, 2, dec->swap)];
	bool alloc = l->hook == KS_HOOK_BULK_ALLOC;
	struct ks_event ev = ks_event_blank(alloc ? KS_CACHE_ALLOC : KS_KFREE, 0, 0);
	struct ks_site_memo *memo;
	u32 count = 1, i;
	u64 all;

	*ret_missed = 0;
	if (len < l->min_size)
		return KS_NONE;
	memo = ks_rawdec_find_site(dec,
				   l->site.size ? ks_raw_get(data, l->site, dec->big_endian) : 0);
	if (!hook_cache(dec, l, data, len, memo, &ev.cache))
		return KS_NONE;
	ev.site = memo->site;
	ev.flags = l->hook == KS_HOOK_RCU ? KS_EV_RCU : KS_EV_BULK;
	if (l->pid.size)
		ev.pid = (u32)ks_raw_get(data, l->pid, dec->big_endian);
	ev.comm = ks_rawdec_find_comm(dec, ev.pid);
	if (alloc) {
		ev.bytes_alloc = ks_raw_get(data, l->alloc, dec->big_endian);
		ev.bytes_req = l->req.size ? ks_raw_get(data, l->req, dec->big_endian)
					   : ev.bytes_alloc;
	}
	if (l->hook == KS_HOOK_RCU) {
		ev.ptr = rcu_object(ks_raw_get(data, l->head, dec->big_endian),
				    ks_raw_get(data, l->ptr, dec->big_endian));
		ret_events[0] = ev;
		return count;
	}
	/* All that were asked for or none. Older recordings have no such field, and the number of those that were made. */
	if (l->made.size && !ks_raw_get(data, l->made, dec->big_endian))
		return 0;
	all = ks_raw_get(data, l->count, dec->big_endian);
	if (all >> 31) /* a negative number, or none that can be */
		return KS_NONE;
	count = (u32)ks_min(all, (u64)l->list_len);
	*ret_missed = all - count;
	for (i = 0; i < count; i++) {
		ev.ptr = ks_load(data + l->list_offset + i * 8u, 8, dec->swap);
		ret_events[i] = ev;
	}
	return count;
}

bool ks_rawdec_has_events(const struct ks_rawdec *dec)
{
	u32 i;

	for (i = 0; i < dec->layouts_len; i++)
		if (dec->layouts[i].kind != KS_KINDS)
			return true;
	return false;
}

enum ks_raw_class ks_rawdec_decode(struct ks_rawdec *dec, const u8 *data, size_t len,
				   struct ks_event *ev)
{
	return unlikely(dec->big_endian) ? ks_rawdec_decode_as(dec, data, len, true, false, ev)
					 : ks_rawdec_decode_as(dec, data, len, false, false, ev);
}
