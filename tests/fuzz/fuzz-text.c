// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as the lines of a text log, and as a whole log, which gives the same result wherever it
 * is cut.
 */
#include "fuzz.h"

#include "base/strbuf.h"
#include "trace/formats.h"
#include "trace/text-line.h"

static size_t parse_lines(const uint8_t *data, size_t size)
{
	struct ks_line_parser *parser;
	char *text = malloc(size + KS_LINE_SLACK);
	const char *p = text, *end = text + size;
	size_t longest = 0;

	FUZZ_ASSERT(text && !ks_line_parser_new(&parser));
	memcpy(text, data, size);
	memset(text + size, '1', KS_LINE_SLACK);
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((newline ? newline : end) - p);
		enum ks_line_class class;
		struct ks_event ev;

		FUZZ_ASSERT(!ks_line_parse(parser, p, len, &class, &ev));
		FUZZ_ASSERT(class <= KS_LINE_UNPARSED);
		if (class == KS_LINE_EVENT) {
			const struct ks_names *names = ks_line_parser_names(parser);

			FUZZ_ASSERT(ev.kind < KS_KINDS);
			FUZZ_ASSERT(ev.site == KS_NONE || ev.site < names->sites.sites.len);
			FUZZ_ASSERT(ev.comm == KS_NONE || ev.comm < names->comms.strs.len);
			FUZZ_ASSERT(ev.cache == KS_NONE || ev.cache < names->caches.strs.len);
			FUZZ_ASSERT(ev.gfp == KS_NONE || ev.gfp < names->gfps.strs.len);
		}
		longest = ks_max(longest, len);
		p += len + 1;
	}
	ks_line_parser_free(parser);
	free(text);
	return longest;
}

/* All events with their stacks, and the counts. */
static void read_cut(const char *path, size_t chunk_size, u32 workers, struct ks_strbuf *sb)
{
	struct ks_source_opts opts = { .stacks = true };
	struct ks_diag diag = { 0 };
	struct ks_input *input;
	struct ks_source *trace;
	struct ks_batch batch;
	size_t i;
	int err;

	FUZZ_ASSERT(!ks_input_open(path, &input, &diag));
	FUZZ_ASSERT(!ks_text_source_open_cut(input, &opts, chunk_size, workers, &trace, &diag));
	while (!(err = ks_source_next(trace, &batch, &diag)) && batch.count)
		for (i = 0; i < batch.count; i++) {
			const struct ks_event *ev = &batch.events[i];

			FUZZ_ASSERT(ev->stack == KS_NONE ||
				    ev->stack < trace->names.stacks.strs.len);
			ks_strbuf_printf(sb, "%d %llx %u %u %u\n", ev->kind,
					 (unsigned long long)ev->ptr, ev->site, ev->comm,
					 ev->stack);
		}
	ks_strbuf_printf(sb, "%d %llu %llu %llu\n", err, (unsigned long long)trace->info.text.lines,
			 (unsigned long long)trace->info.text.unparsed,
			 (unsigned long long)trace->info.stacks_alone);
	ks_source_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t longest = parse_lines(data, size);
	struct ks_strbuf log, whole, cut;
	char path[64];
	int fd;

	ks_strbuf_init(&log);
	ks_strbuf_init(&whole);
	ks_strbuf_init(&cut);
	ks_strbuf_puts(&log, "\n"); /* so it is not taken for a compressed file */
	ks_strbuf_add(&log, (const char *)data, size);
	fd = fuzz_file(log.s, log.len, path);
	/* On this thread: starting others takes a hundred times as long. test-text-stacks has them. */
	read_cut(path, log.len + 1, 0, &whole);
	read_cut(path, longest + 2, 0, &cut);
	FUZZ_ASSERT(whole.len == cut.len && !memcmp(whole.s, cut.s, whole.len));
	ks_strbuf_deinit(&log);
	ks_strbuf_deinit(&whole);
	ks_strbuf_deinit(&cut);
	close(fd);
	return 0;
}
