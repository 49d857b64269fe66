// SPDX-License-Identifier: LGPL-2.1-only
/* The sections and options of a trace.dat, in memory. */
#include "trace/tracedat-sketch.h"

#include <stdlib.h>
#include <string.h>

#include "trace/zframe.h"
#include "trace/tracedat.h"

/* === Data ================================================================================= */

enum { META_LEVEL = 3 }; /* of compression */

static const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/* === Internals ============================================================================ */

static void put_text(struct ks_strbuf *sb, const struct ks_strbuf *text, unsigned int size_bytes)
{
	ks_td_put(sb, text->len, size_bytes);
	ks_strbuf_add(sb, text->s, text->len);
}

static void put_option_u64(struct ks_strbuf *options, u32 id, u64 value, unsigned int size)
{
	ks_td_put(options, id, 2);
	ks_td_put(options, size, 4);
	ks_td_put(options, value, size);
}

/* Appends a compressed section. */
static void put_section(struct ks_td_sketch *sk, u32 id, const struct ks_strbuf *content)
{
	size_t bound = ks_zframe_bound(content->len);
	void *packed = malloc(bound);
	size_t len;

	if (!packed || content->failed) {
		sk->failed = true;
		free(packed);
		return;
	}
	len = ks_zframe_make(packed, bound, content->s, content->len, META_LEVEL);
	if (!len) {
		sk->failed = true;
	} else {
		ks_td_put_section_header(&sk->text, id, KS_TD_FL_COMPRESSED, 0, len + 8);
		ks_td_put(&sk->text, len, 4);
		ks_td_put(&sk->text, content->len, 4);
		ks_strbuf_add(&sk->text, packed, len);
	}
	free(packed);
}

/* The same, with the option that points to it. */
static void add_section(struct ks_td_sketch *sk, u32 id, const struct ks_strbuf *content)
{
	put_option_u64(&sk->options, id, sk->base + sk->text.len, 8);
	put_section(sk, id, content);
}

/* The ranges of one buffer are [*first, end); returns the end. */
static size_t buffer_end(const struct ks_td_ranges *ranges, size_t first)
{
	const struct ks_td_range *items = ranges->items.items;
	size_t end = first;

	while (end < ranges->items.len && !((items[end].cpu ^ items[first].cpu) & (u32)KS_TD_FREES))
		end++;
	return end;
}

/* The option of one buffer. All of them lie in one section of pages. */
static void put_buffer(struct ks_td_sketch *sk, const struct ks_td_meta *meta, u64 section,
		       const struct ks_td_ranges *ranges, size_t first, size_t end)
{
	bool frees = first < end && ranges->items.items[first].cpu & KS_TD_FREES;
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	ks_td_put(&sb, section, 8);
	/* The top buffer has no name: some readers look at no other. */
	ks_td_put_string(&sb, frees ? KS_TD_FREES_NAME : "");
	ks_td_put_string(&sb, meta->clock);
	ks_td_put(&sb, meta->ring_page_size, 4);
	ks_td_put(&sb, end - first, 4);
	for (; first < end; first++) {
		const struct ks_td_range *range = &ranges->items.items[first];

		ks_td_put(&sb, range->cpu & ~(u32)KS_TD_FREES, 4);
		ks_td_put(&sb, range->offset, 8);
		ks_td_put(&sb, range->size, 8);
	}
	ks_td_put_option(&sk->options, KS_TD_OPT_BUFFER, sb.s, sb.len);
	sk->failed |= sb.failed;
	ks_strbuf_deinit(&sb);
}

/* The options of all buffers; there is a top one even where it has no pages. */
static void put_buffers(struct ks_td_sketch *sk, const struct ks_td_meta *meta, u64 section,
			const struct ks_td_ranges *ranges)
{
	size_t at = 0, end;

	if (!ranges->items.len || ranges->items.items[0].cpu & KS_TD_FREES)
		put_buffer(sk, meta, section, ranges, 0, 0);
	for (; at < ranges->items.len; at = end) {
		end = buffer_end(ranges, at);
		put_buffer(sk, meta, section, ranges, at, end);
	}
}

/* === Public =============================================================================== */

void ks_td_sketch_deinit(struct ks_td_sketch *sk)
{
	ks_strbuf_deinit(&sk->text);
	ks_strbuf_deinit(&sk->options);
}

void ks_td_put(struct ks_strbuf *sb, u64 v, unsigned int size)
{
	u8 bytes[8];
	unsigned int i;

	for (i = 0; i < size; i++)
		bytes[i] = (u8)(v >> 8 * (big_endian ? size - 1 - i : i));
	ks_strbuf_add(sb, bytes, size);
}

void ks_td_put_string(struct ks_strbuf *sb, const char *s)
{
	ks_strbuf_add(sb, s, strlen(s) + 1);
}

void ks_td_put_section_header(struct ks_strbuf *sb, u32 id, u32 flags, u32 name, u64 size)
{
	ks_td_put(sb, id, 2);
	ks_td_put(sb, flags, 2);
	ks_td_put(sb, name, 4);
	ks_td_put(sb, size, 8);
}

void ks_td_put_option(struct ks_strbuf *options, u32 id, const void *data, size_t len)
{
	ks_td_put(options, id, 2);
	ks_td_put(options, len, 4);
	ks_strbuf_add(options, data, len);
}

void ks_td_sketch_begin(struct ks_td_sketch *sk, const struct ks_td_meta *meta)
{
	ks_strbuf_add(&sk->text, "\x17\x08\x44tracing7", 12);
	ks_td_put(&sk->text, big_endian, 1);
	ks_td_put(&sk->text, sizeof(long), 1);
	ks_td_put(&sk->text, meta->page_size, 4);
	ks_td_put_string(&sk->text, "zstd");
	ks_td_put_string(&sk->text, ks_zframe_version());
	sk->options_at = sk->text.len;
	ks_td_put(&sk->text, 0, 8);
}

void ks_td_sketch_metadata(struct ks_td_sketch *sk, const struct ks_td_meta *meta)
{
	struct ks_strbuf sb;
	size_t i;

	ks_strbuf_init(&sb);
	ks_td_put_string(&sb, "header_page");
	put_text(&sb, &meta->header_page, 8);
	ks_td_put_string(&sb, "header_event");
	put_text(&sb, &meta->header_event, 8);
	add_section(sk, KS_TD_SEC_HEADER, &sb);

	sb.len = 0;
	ks_td_put(&sb, meta->ftrace_formats.len, 4);
	for (i = 0; i < meta->ftrace_formats.len; i++)
		put_text(&sb, &meta->ftrace_formats.items[i], 8);
	add_section(sk, KS_TD_SEC_FTRACE, &sb);

	sb.len = 0;
	ks_td_put(&sb, meta->hook_formats.len ? 2 : 1, 4);
	ks_td_put_string(&sb, "kmem");
	ks_td_put(&sb, meta->kmem_formats.len, 4);
	for (i = 0; i < meta->kmem_formats.len; i++)
		put_text(&sb, &meta->kmem_formats.items[i], 8);
	if (meta->hook_formats.len) {
		ks_td_put_string(&sb, KS_META_HOOKS);
		ks_td_put(&sb, meta->hook_formats.len, 4);
	}
	for (i = 0; i < meta->hook_formats.len; i++)
		put_text(&sb, &meta->hook_formats.items[i], 8);
	add_section(sk, KS_TD_SEC_EVENTS, &sb);

	sb.len = 0;
	put_text(&sb, &meta->kallsyms, 4);
	add_section(sk, KS_TD_SEC_KALLSYMS, &sb);

	sb.len = 0;
	put_text(&sb, &meta->printk, 4);
	add_section(sk, KS_TD_SEC_PRINTK, &sb);
	ks_strbuf_deinit(&sb);
}

void ks_td_sketch_cmdlines(struct ks_td_sketch *sk, const struct ks_td_meta *meta)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	put_text(&sb, &meta->cmdlines, 8);
	add_section(sk, KS_TD_SEC_CMDLINES, &sb);
	ks_strbuf_deinit(&sb);
}

void ks_td_sketch_census(struct ks_td_sketch *sk, const struct ks_td_meta *meta,
			 enum ks_census_when when)
{
	if (!meta->census[when].len || sk->own.len == KS_TD_OWN_MAX)
		return;
	sk->own.at[sk->own.len++] = sk->base + sk->text.len;
	put_section(sk, KS_TD_SEC_CENSUS, &meta->census[when]);
}

void ks_td_sketch_machine(struct ks_td_sketch *sk, const struct ks_td_meta *meta)
{
	struct ks_strbuf sb;
	size_t i;

	ks_strbuf_init(&sb);
	ks_strbuf_printf(&sb, "[%s]", meta->clock);
	ks_td_put_option(&sk->options, KS_TD_OPT_CLOCK, ks_strbuf_str(&sb), sb.len + 1);
	ks_td_put_option(&sk->options, KS_TD_OPT_UNAME, meta->uname, strlen(meta->uname) + 1);
	/* Other readers only show this text; kmemscope finds the recorder's threads in it. */
	sb.len = 0;
	ks_strbuf_puts(&sb, "kmemscope " KS_VERSION);
	for (i = 0; i < meta->self.items.len; i++)
		ks_strbuf_printf(&sb, "%s%u", i ? "," : KS_TD_SELF, meta->self.items.items[i]);
	for (i = 0; i < meta->nodes.items.len; i++)
		ks_strbuf_printf(&sb, "%s%u", i ? "," : KS_TD_NODES, meta->nodes.items.items[i]);
	for (i = 0; i < sk->own.len; i++)
		ks_strbuf_printf(&sb, "%s%llu", i ? "," : KS_TD_OWN,
				 (unsigned long long)sk->own.at[i]);
	ks_td_about_print(&meta->about, &sb);
	ks_td_put_option(&sk->options, KS_TD_OPT_VERSION, ks_strbuf_str(&sb), sb.len + 1);
	put_option_u64(&sk->options, KS_TD_OPT_CPUCOUNT, meta->cpus, 4);
	for (i = 0; i < meta->cpu_stats.len; i++)
		ks_td_put_option(&sk->options, KS_TD_OPT_CPUSTAT,
				 ks_strbuf_str(&meta->cpu_stats.items[i]),
				 meta->cpu_stats.items[i].len + 1);
	sk->failed |= sb.failed;
	ks_strbuf_deinit(&sb);
}

void ks_td_sketch_end(struct ks_td_sketch *sk)
{
	put_option_u64(&sk->options, KS_TD_OPT_DONE, 0, 8);
	sk->options_offset = sk->base + sk->text.len;
	ks_td_put_section_header(&sk->text, KS_TD_OPT_DONE, 0, 0, sk->options.len);
	ks_strbuf_add(&sk->text, sk->options.s, sk->options.len);
	sk->failed |= sk->text.failed || sk->options.failed;
}

u64 ks_td_sketch_pages_at(struct ks_td_sketch *sk, const struct ks_td_meta *meta,
			  const struct ks_td_ranges *ranges)
{
	size_t end = 6 + 8, before = sk->options.len, len; /* end: the option that ends them */

	/* Their length does not depend on the places that they tell. */
	put_buffers(sk, meta, 0, ranges);
	len = sk->options.len;
	sk->options.len = before;
	return sk->base + sk->text.len + KS_TD_SECTION_HEADER + len + end + KS_TD_SECTION_HEADER;
}

void ks_td_sketch_end_pages(struct ks_td_sketch *sk, const struct ks_td_meta *meta,
			    const struct ks_td_ranges *ranges, u64 size)
{
	u64 section = ks_td_sketch_pages_at(sk, meta, ranges) - KS_TD_SECTION_HEADER;

	put_buffers(sk, meta, section, ranges);
	ks_td_sketch_end(sk);
	ks_td_put_section_header(&sk->text, KS_TD_OPT_BUFFER, KS_TD_FL_COMPRESSED, 0, size);
	sk->failed |= sk->text.failed;
}

void ks_td_sketch_point(struct ks_td_sketch *sk)
{
	struct ks_strbuf offset;

	ks_strbuf_init(&offset);
	ks_td_put(&offset, sk->options_offset, 8);
	sk->failed |= offset.failed;
	if (!sk->failed)
		memcpy(sk->text.s + sk->options_at, offset.s, 8);
	ks_strbuf_deinit(&offset);
}
