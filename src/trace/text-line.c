// SPDX-License-Identifier: LGPL-2.1-only
/*
 * One line of a text log: first the header (text-header.c), then the event with its key=value
 * fields, which are found by name and never by column.
 */
#include "trace/text-line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trace/event-names.h"
#include "trace/text-header.h"
#include "trace/text-scan.h"

/* === Data ================================================================================= */

enum { MEMO_MAX = 128 };

/*
 * A site mostly allocates or frees the same thing: what follows its pointer is then the same text
 * again, and has the same meaning.
 */
struct memo {
	u64 bytes_req, bytes_alloc;
	u32 cache, gfp;
	s32 node;
	u8 kind;
	u8 len; /* 0 = nothing yet */
	char text[MEMO_MAX];
};

struct ks_line_parser {
	KS_VEC(struct memo) memos; /* by site */
	struct ks_names names;
	struct ks_header_parser headers;
	u64 ptrs_wide, ptrs_low;
	bool nomem; /* a table could not grow */
};

/* Which fields a line had. */
enum seen {
	SEEN_SITE = 1 << 0,
	SEEN_PTR = 1 << 1,
	SEEN_REQ = 1 << 2,
	SEEN_ALLOC = 1 << 3,
	SEEN_PFN = 1 << 4,
	SEEN_PAGE = 1 << 5,
	SEEN_ORDER = 1 << 6,
};

/* === Internals: fields ==================================================================== */

static bool interned(struct ks_line_parser *parser, u32 id, u32 *ret_id)
{
	parser->nomem |= id == KS_NONE;
	*ret_id = id;
	return id != KS_NONE;
}

/* A value must end at a blank or at the end of the line: else two lines ran into one another. */
static inline bool at_gap(const char *p, const char *end)
{
	return p == end || *p == ' ';
}

static bool scan_site(struct ks_line_parser *parser, const char **p, const char *end, u32 *ret_site)
{
	const char *word, *close;
	size_t len;

	if (!ks_scan_word(p, end, &word, &len))
		return false;
	if (end - *p > 2 && (*p)[1] == '[') { /* " [module]" */
		close = memchr(*p, ']', (size_t)(end - *p));
		if (close) {
			*p = close + 1;
			len = (size_t)(*p - word);
		}
	}
	return interned(parser, ks_sites_add(&parser->names.sites, word, len), ret_site);
}

/*
 * An address as %p ever printed it: bare digits in full width, 0x and digits, "(null)" behind a row
 * of blanks, "(nil)", or the words for a pointer that is not shown. Bare digits of another length are
 * half a line.
 */
static bool scan_ptr(struct ks_line_parser *parser, const char **p, const char *end, u64 *ret_ptr,
		     u8 *flags)
{
	unsigned int n;

	if (likely(ks_scan_hex(p, end, ret_ptr, &n))) {
		if (n == 1 && !*ret_ptr && *p < end && **p == 'x') {
			++*p;
			return ks_scan_hex(p, end, ret_ptr, &n) && at_gap(*p, end);
		}
		if (n == 16 && *ret_ptr) {
			parser->ptrs_wide++;
			parser->ptrs_low += !(*ret_ptr >> 32);
		}
		return (n == 16 || n == 8) && at_gap(*p, end);
	}
	*ret_ptr = 0;
	ks_skip_spaces(p, end);
	if (ks_eat(p, end, "(null)") || ks_eat(p, end, "(nil)"))
		return at_gap(*p, end);
	if (ks_eat(p, end, "(____ptrval____)") || ks_eat(p, end, "(__ptrval__)") ||
	    ks_eat(p, end, "(ptrval)")) {
		*flags |= KS_EV_NO_PTR;
		return at_gap(*p, end);
	}
	return false;
}

/* Cache names may hold blanks: the name ends where the next field begins. */
static bool scan_cache(struct ks_line_parser *parser, const char **p, const char *end,
		       u32 *ret_cache)
{
	const char *start = *p, *next = ks_find_blank(start, end);

	while (next < end && !((size_t)(end - next) > 11 && !memcmp(next, " bytes_req=", 11)))
		next = ks_find_blank(next + 1, end);
	*p = next;
	return interned(parser, ks_intern_add(&parser->names.caches, start, (size_t)(*p - start)),
			ret_cache);
}

static bool scan_gfp(struct ks_line_parser *parser, const char **p, const char *end, u32 *ret_gfp)
{
	const char *word;
	size_t len;

	if (!ks_scan_word(p, end, &word, &len))
		return false;
	return interned(parser, ks_intern_add(&parser->names.gfps, word, len), ret_gfp);
}

static bool scan_node(const char **p, const char *end, s32 *ret_node)
{
	s64 node;

	if (!ks_scan_sdec(p, end, &node) || node < -1 || node > INT16_MAX)
		return false;
	*ret_node = (s32)node;
	return true;
}

/* One field by its name. Unknown ones are passed over: a newer kernel may print more. */
static bool scan_field(struct ks_line_parser *parser, const char **p, const char *end,
		       struct ks_event *ev, unsigned int *seen)
{
	const char *word;
	unsigned int n;
	size_t len;

	if (ks_eat(p, end, "call_site=")) {
		*seen |= SEEN_SITE;
		return scan_site(parser, p, end, &ev->site);
	}
	if (ks_eat(p, end, "ptr=")) {
		*seen |= SEEN_PTR;
		return scan_ptr(parser, p, end, &ev->ptr, &ev->flags);
	}
	if (ks_eat(p, end, "name="))
		return scan_cache(parser, p, end, &ev->cache);
	if (ks_eat(p, end, "bytes_req=")) {
		*seen |= SEEN_REQ;
		return ks_scan_dec(p, end, &ev->bytes_req);
	}
	if (ks_eat(p, end, "bytes_alloc=")) {
		*seen |= SEEN_ALLOC;
		return ks_scan_dec(p, end, &ev->bytes_alloc);
	}
	if (ks_eat(p, end, "gfp_flags="))
		return scan_gfp(parser, p, end, &ev->gfp);
	if (ks_eat(p, end, "node="))
		return scan_node(p, end, &ev->node);
	if (ks_eat(p, end, "page=")) {
		u64 page;

		*seen |= SEEN_PAGE;
		if (!scan_ptr(parser, p, end, &page, &ev->flags))
			return false;
		ev->flags &= (u8)~KS_EV_NO_PTR; /* the frame number is what pairs */
		ev->page.address = page;
		return true;
	}
	if (ks_eat(p, end, "pfn=")) {
		*seen |= SEEN_PFN;
		if (ks_eat(p, end, "0x"))
			return ks_scan_hex(p, end, &ev->page.frame, &n);
		return ks_scan_dec(p, end, &ev->page.frame);
	}
	if (ks_eat(p, end, "order=")) {
		*seen |= SEEN_ORDER;
		return ks_scan_dec(p, end, &ev->page.order);
	}
	return ks_scan_word(p, end, &word, &len);
}

static bool scan_fields(struct ks_line_parser *parser, const char *p, const char *end,
			struct ks_event *ev, unsigned int *seen)
{
	for (;;) {
		ks_skip_spaces(&p, end);
		if (p == end)
			return true;
		if (!scan_field(parser, &p, end, ev, seen) || !at_gap(p, end))
			return false;
	}
}

static bool recall_tail(const struct ks_line_parser *parser, const char *tail, const char *end,
			struct ks_event *ev)
{
	const struct memo *memo;

	if (ev->site >= parser->memos.len)
		return false;
	memo = &parser->memos.items[ev->site];
	if (!memo->len || memo->len != end - tail || memo->kind != ev->kind ||
	    !ks_same_bytes(memo->text, tail, memo->len))
		return false;
	ev->bytes_req = memo->bytes_req;
	ev->bytes_alloc = memo->bytes_alloc;
	ev->cache = memo->cache;
	ev->gfp = memo->gfp;
	ev->node = memo->node;
	return true;
}

static bool remember_tail(struct ks_line_parser *parser, const char *tail, const char *end,
			  const struct ks_event *ev)
{
	struct memo *memo;

	if (end - tail > MEMO_MAX)
		return true;
	while (parser->memos.len <= ev->site)
		if (!ks_vec_push(&parser->memos)) {
			parser->nomem = true;
			return true;
		}
	memo = &parser->memos.items[ev->site];
	memo->bytes_req = ev->bytes_req;
	memo->bytes_alloc = ev->bytes_alloc;
	memo->cache = ev->cache;
	memo->gfp = ev->gfp;
	memo->node = ev->node;
	memo->kind = ev->kind;
	memo->len = (u8)(end - tail);
	memcpy(memo->text, tail, memo->len);
	return true;
}

/*
 * The order in which every kernel so far prints the fields of a slab event, without a look at any
 * other: most of a log takes this way. False: something is different, so look for names instead.
 */
static bool scan_slab_fast(struct ks_line_parser *parser, const char *p, const char *end,
			   struct ks_event *ev)
{
	const char *tail;

	if (!ks_eat(&p, end, "call_site=") || !scan_site(parser, &p, end, &ev->site) ||
	    !ks_eat(&p, end, " ptr=") || !scan_ptr(parser, &p, end, &ev->ptr, &ev->flags))
		return false;
	tail = p;
	if (recall_tail(parser, tail, end, ev))
		return true;
	if (ks_eat(&p, end, " name=") && !scan_cache(parser, &p, end, &ev->cache))
		return false;
	if (!ks_kind_is_alloc(ev->kind))
		return p == end ? remember_tail(parser, tail, end, ev) : false;
	if (!ks_eat(&p, end, " bytes_req=") || !ks_scan_dec(&p, end, &ev->bytes_req) ||
	    !ks_eat(&p, end, " bytes_alloc=") || !ks_scan_dec(&p, end, &ev->bytes_alloc) ||
	    !ks_eat(&p, end, " gfp_flags=") || !scan_gfp(parser, &p, end, &ev->gfp))
		return false;
	if (ks_eat(&p, end, " node=") && !scan_node(&p, end, &ev->node))
		return false;
	if (p < end && !ks_eat(&p, end, " accounted=true") && !ks_eat(&p, end, " accounted=false"))
		return false;
	return p == end ? remember_tail(parser, tail, end, ev) : false;
}

/* === Internals: events ==================================================================== */

static bool finish_slab(struct ks_event *ev, unsigned int seen)
{
	unsigned int need = SEEN_PTR | SEEN_SITE;

	if (ks_kind_is_alloc(ev->kind))
		need |= SEEN_REQ | SEEN_ALLOC;
	return (seen & need) == need;
}

/* scan_field() left what the line says in ev->page. */
static bool finish_page(struct ks_event *ev, unsigned int seen)
{
	u64 page = ev->page.address, pfn = ev->page.frame, order = ev->page.order;
	bool failed = (seen & SEEN_PAGE) && !page;

	if (!(seen & SEEN_PFN) || !(seen & SEEN_ORDER) || order > KS_ORDER_MAX)
		return false;
	/* A failed allocation has no page, and 0 or ~0 as its frame. */
	ev->ptr = failed || pfn == UINT64_MAX ? UINT64_MAX : pfn;
	ev->bytes_alloc = 1ull << (order + KS_PAGE_SHIFT);
	ev->bytes_req = ks_kind_is_alloc(ev->kind) ? ev->bytes_alloc : 0;
	return true;
}

static void blank_fields(struct ks_event *ev)
{
	ev->ptr = 0;
	ev->bytes_req = 0;
	ev->bytes_alloc = 0;
	ev->site = KS_NONE;
	ev->cache = KS_NONE;
	ev->gfp = KS_NONE;
	ev->node = -1;
	ev->flags = 0;
}

static enum ks_line_class parse_event(struct ks_line_parser *parser, const char *p, const char *end,
				      struct ks_event *ev)
{
	unsigned int seen = 0;
	bool ok;

	ks_skip_spaces(&p, end);
	if (p < end && *p == '(') { /* trace-cmd repeats the call site in front */
		const char *close = memchr(p, ')', (size_t)(end - p));

		if (!close)
			return KS_LINE_UNPARSED;
		p = close + 1;
		ks_skip_spaces(&p, end);
	}
	if (!ks_kind_is_page(ev->kind)) {
		if (likely(scan_slab_fast(parser, p, end, ev)))
			return KS_LINE_EVENT;
		blank_fields(ev);
	}
	ok = scan_fields(parser, p, end, ev, &seen) &&
	     (ks_kind_is_page(ev->kind) ? finish_page(ev, seen) : finish_slab(ev, seen));
	return ok ? KS_LINE_EVENT : KS_LINE_UNPARSED;
}

/* The event's name with its colon; *@p is left behind it. */
static bool scan_event_name(const char **p, const char *end, u8 *ret_kind)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ks_event_names); i++) {
		size_t len = ks_event_names[i].len;

		if ((size_t)(end - *p) > len && (*p)[len] == ':' &&
		    !memcmp(*p, ks_event_names[i].name, len)) {
			*p += len + 1;
			*ret_kind = ks_event_names[i].kind;
			return true;
		}
	}
	return false;
}

/*
 * "CPU:1 [LOST 12 EVENTS]" of the kernel, "CPU:1 [12 EVENTS DROPPED]" of trace-cmd, which puts
 * "instance: " in front where there are instances.
 */
static bool parse_lost(const char *p, const char *end, struct ks_event *ev)
{
	const char *word;
	u64 cpu, count = 0;
	size_t len;

	ks_skip_spaces(&p, end);
	if (!(end - p > 4 && !memcmp(p, "CPU:", 4))) {
		if (!ks_scan_word(&p, end, &word, &len) || word[len - 1] != ':')
			return false;
		ks_skip_spaces(&p, end);
	}
	if (!ks_eat(&p, end, "CPU:") || !ks_scan_dec(&p, end, &cpu) || !ks_eat(&p, end, " ["))
		return false;
	if (ks_eat(&p, end, "LOST ")) {
		if (!ks_scan_dec(&p, end, &count))
			return false;
	} else if (!ks_eat(&p, end, "EVENTS DROPPED") &&
		   !(ks_scan_dec(&p, end, &count) && ks_eat(&p, end, " EVENTS DROPPED"))) {
		return false;
	}
	ev->kind = KS_LOST;
	ev->cpu = (u16)ks_min(cpu, (u64)KS_CPU_UNKNOWN - 1);
	ev->lost.count = count;
	return true;
}

/* "# entries-in-buffer/entries-written: 205/8205   #P:2": the difference was overwritten. */
static enum ks_line_class parse_comment(const char *p, const char *end, struct ks_event *ev)
{
	u64 kept, written;

	if (!ks_eat(&p, end, "# entries-in-buffer/entries-written: ") ||
	    !ks_scan_dec(&p, end, &kept) || !ks_eat(&p, end, "/") ||
	    !ks_scan_dec(&p, end, &written) || written <= kept)
		return KS_LINE_COMMENT;
	ev->lost.count = written - kept;
	return KS_LINE_OVERWRITTEN;
}

/* Lines without the header of an event. */
static enum ks_line_class parse_headerless(struct ks_line_parser *parser, const char *line,
					   const char *end, struct ks_event *ev)
{
	const char *p = line;
	unsigned int n;
	u64 addr;

	ks_skip_spaces(&p, end);
	if (p == end)
		return KS_LINE_COMMENT;
	if (ks_eat(&p, end, "=> "))
		return KS_LINE_FRAME;
	if (ks_eat(&p, end, "<stack trace")) /* the option "nocontext-info" */
		return KS_LINE_STACK;
	if (ks_eat(&p, end, "<user stack trace"))
		return KS_LINE_USER_STACK;
	if (p == line && *p == '#')
		return parse_comment(p, end, ev);
	if (parse_lost(p, end, ev))
		return KS_LINE_EVENT;
	if (p == line &&
	    (ks_eat(&p, end, "cpus=") || ks_eat(&p, end, "version = ") ||
	     (ks_eat(&p, end, "CPU ") && end - p > 9 && !memcmp(end - 9, " is empty", 9))))
		return KS_LINE_COMMENT;
	if (scan_event_name(&p, end, &ev->kind)) /* the same option */
		return parse_event(parser, p, end, ev);
	/* A frame of "perf script": an address, then a symbol. */
	if (p > line && ks_scan_hex(&p, end, &addr, &n) && n >= 8 && p < end && *p == ' ')
		return KS_LINE_FRAME;
	return KS_LINE_UNPARSED;
}

/* === Public =============================================================================== */

int ks_line_parser_new(struct ks_line_parser **ret_parser)
{
	struct ks_line_parser *parser = calloc(1, sizeof(*parser));

	if (!parser || ks_names_init(&parser->names)) {
		free(parser);
		return -ENOMEM;
	}
	*ret_parser = parser;
	return 0;
}

void ks_line_parser_free(struct ks_line_parser *parser)
{
	if (!parser)
		return;
	ks_names_deinit(&parser->names);
	ks_vec_free(&parser->memos);
	free(parser);
}

struct ks_names *ks_line_parser_names(struct ks_line_parser *parser)
{
	return &parser->names;
}

enum ks_clock ks_line_parser_clock(const struct ks_line_parser *parser)
{
	return parser->headers.clock;
}

void ks_line_parser_ptr_stats(const struct ks_line_parser *parser, u64 *ret_wide, u64 *ret_low)
{
	*ret_wide = parser->ptrs_wide;
	*ret_low = parser->ptrs_low;
}

int ks_line_parse(struct ks_line_parser *parser, const char *line, size_t len,
		  enum ks_line_class *ret_class, struct ks_event *ret_event)
{
	const char *p = line, *end = line + len;
	struct ks_event *ev = ret_event;
	enum ks_line_class class;

	*ev = (struct ks_event){
		.comm = KS_NONE, .stack = KS_NONE, .pid = KS_PID_UNKNOWN, .cpu = KS_CPU_UNKNOWN
	};
	blank_fields(ev);
	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (!ks_header_parse(&parser->headers, &parser->names.comms, &p, end, ev)) {
		class = parse_headerless(parser, line, end, ev);
	} else {
		parser->nomem |= ev->comm == KS_NONE;
		ks_skip_spaces(&p, end);
		(void)ks_eat(&p, end, "kmem:"); /* perf puts the subsystem in front */
		if (likely(scan_event_name(&p, end, &ev->kind))) {
			class = parse_event(parser, p, end, ev);
		} else if (ks_eat(&p, end, "PERF_RECORD_LOST lost ")) {
			ev->kind = KS_LOST;
			class = ks_scan_dec(&p, end, &ev->lost.count) ? KS_LINE_EVENT
								      : KS_LINE_UNPARSED;
		} else if (memmem(p, (size_t)(end - p), "<stack trace", 12)) {
			class = KS_LINE_STACK;
		} else if (ks_eat(&p, end, "<user stack trace") || ks_eat(&p, end, "user_stack:")) {
			class = KS_LINE_USER_STACK;
		} else {
			class = KS_LINE_OTHER_EVENT;
		}
	}
	*ret_class = class;
	return parser->nomem ? -ENOMEM : 0;
}
