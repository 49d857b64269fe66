// SPDX-License-Identifier: LGPL-2.1-only
/* The tables that events point into. */
#include "trace/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "trace/event.h"

/* === Data ================================================================================= */

static const char *const kind_names[] = {
	[KS_KMALLOC] = "kmalloc",
	[KS_KFREE] = "kfree",
	[KS_CACHE_ALLOC] = "kmem_cache_alloc",
	[KS_CACHE_FREE] = "kmem_cache_free",
	[KS_PAGE_ALLOC] = "mm_page_alloc",
	[KS_PAGE_FREE] = "mm_page_free",
	[KS_LOST] = "lost",
};
_Static_assert(ARRAY_SIZE(kind_names) == KS_KINDS, "a name for every kind");

/* === Internals ============================================================================ */

static bool parse_hex(const char *s, size_t len, u64 *ret_value)
{
	u64 v = 0;
	size_t i;

	if (len > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		s += 2;
		len -= 2;
	}
	if (!len || len > 16)
		return false;
	for (i = 0; i < len; i++) {
		u8 c = (u8)s[i] | 0x20;

		if (s[i] >= '0' && s[i] <= '9')
			v = v << 4 | (u64)(s[i] - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (u64)(c - 'a' + 10);
		else
			return false;
	}
	*ret_value = v;
	return true;
}

/*
 * A bare word of hex digits is an address when it is as long as one: a function may be called
 * "fade" or "add", none is called "ffffffff8110f8a2".
 */
static bool looks_like_address(const char *s, size_t len)
{
	return (len >= 2 && s[0] == '0' && s[1] == 'x') || len >= 8;
}

/* What the kernel's tracing puts between an event and the function that it is of. */
static bool is_tracer(const char *func)
{
	static const char *const beginnings[] = {
		"trace_event_raw_event_", "trace_event_buffer_",
		"__traceiter_",		  "perf_trace_",
		"__bpf_trace_",		  "bpf_trace_run",
		"__ftrace_trace_stack",	  "ftrace_trace_stack",
		"__trace_stack",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(func, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* Takes "func+0xoff/0xsize [module]" apart; what is missing stays empty. */
static int parse_site(struct ks_arena *arena, const struct ks_str *text, struct ks_site *ret)
{
	struct ks_site site = { .text = text->s, .func = "", .module = "" };
	const char *s = text->s, *end = s + text->len, *plus;
	const char *space = memchr(s, ' ', text->len);

	if (space && end - space > 3 && space[1] == '[' && end[-1] == ']') {
		site.module = ks_arena_strndup(arena, space + 2, (size_t)(end - space) - 3);
		if (!site.module)
			return -ENOMEM;
		end = space;
	}
	if (looks_like_address(s, (size_t)(end - s)) &&
	    parse_hex(s, (size_t)(end - s), &site.addr)) {
		*ret = site;
		return 0;
	}
	site.addr = 0;
	plus = memchr(s, '+', (size_t)(end - s));
	if (plus) {
		const char *slash = memchr(plus, '/', (size_t)(end - plus));

		if (slash)
			parse_hex(slash + 1, (size_t)(end - slash - 1), &site.extent);
		if (parse_hex(plus + 1, (size_t)((slash ? slash : end) - plus - 1), &site.offset))
			end = plus;
	}
	site.func = ks_arena_strndup(arena, s, (size_t)(end - s));
	if (!site.func)
		return -ENOMEM;
	site.tracer = is_tracer(site.func);
	*ret = site;
	return 0;
}

/* === Public =============================================================================== */

const char *ks_clock_name(enum ks_clock clock)
{
	static const char *const names[KS_CLOCKS] = {
		[KS_CLOCK_NONE] = "none",
		[KS_CLOCK_SECONDS] = "seconds",
		[KS_CLOCK_TICKS] = "ticks",
	};

	return clock < KS_CLOCKS ? names[clock] : "?";
}

const char *ks_kind_name(enum ks_kind kind)
{
	return kind < KS_KINDS ? kind_names[kind] : "?";
}

int ks_names_init(struct ks_names *names)
{
	memset(names, 0, sizeof(*names));
	if (ks_intern_init(&names->sites.texts) || ks_intern_init(&names->caches) ||
	    ks_intern_init(&names->comms) || ks_intern_init(&names->gfps) ||
	    ks_intern_init(&names->frames.texts) || ks_intern_init(&names->stacks)) {
		ks_names_deinit(names);
		return -ENOMEM;
	}
	return 0;
}

void ks_names_deinit(struct ks_names *names)
{
	ks_intern_deinit(&names->sites.texts);
	ks_vec_free(&names->sites.sites);
	ks_intern_deinit(&names->caches);
	ks_intern_deinit(&names->comms);
	ks_intern_deinit(&names->gfps);
	ks_intern_deinit(&names->frames.texts);
	ks_vec_free(&names->frames.sites);
	ks_intern_deinit(&names->stacks);
	ks_vec_free(&names->gfp_masks);
}

size_t ks_names_tracer_frames(const struct ks_names *names, const u32 *frames, size_t len)
{
	size_t i = 0;

	while (i + 1 < len && ks_sites_get(&names->frames, frames[i])->tracer)
		i++;
	return i;
}

u32 ks_names_add_stack(struct ks_names *names, const u32 *frames, size_t len)
{
	return ks_intern_add(&names->stacks, (const char *)frames, len * sizeof(*frames));
}

u32 ks_sites_add(struct ks_sites *sites, const char *text, size_t len)
{
	u32 id = ks_intern_add(&sites->texts, text, len);
	struct ks_str str;

	if (id == KS_NONE || id < sites->sites.len)
		return id;
	str = ks_intern_get(&sites->texts, id);
	if (!ks_vec_push(&sites->sites))
		return KS_NONE;
	if (parse_site(&sites->texts.arena, &str, &sites->sites.items[id]))
		return KS_NONE;
	return id;
}

u32 ks_sites_add_addr(struct ks_sites *sites, u64 addr, const char *text, size_t len)
{
	u32 id = ks_sites_add(sites, text, len);
	struct ks_strbuf sb;

	if (id == KS_NONE)
		return id;
	if (!sites->sites.items[id].addr)
		sites->sites.items[id].addr = addr;
	if (sites->sites.items[id].addr == addr)
		return id;
	ks_strbuf_init(&sb);
	ks_strbuf_add(&sb, text, len);
	ks_strbuf_printf(&sb, "@%llx", (unsigned long long)addr);
	id = sb.failed ? KS_NONE : ks_sites_add(sites, sb.s, sb.len);
	ks_strbuf_deinit(&sb);
	if (id != KS_NONE)
		sites->sites.items[id].addr = addr;
	return id;
}

u32 ks_sites_add_label(struct ks_sites *sites, const char *text, size_t len)
{
	u32 id = ks_sites_add(sites, text, len);

	if (id != KS_NONE) {
		struct ks_site *site = &sites->sites.items[id];

		*site = (struct ks_site){ .text = site->text, .func = "", .module = "" };
	}
	return id;
}
