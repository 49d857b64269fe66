// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as the lines of a text log. */
#include "fuzz.h"

#include "trace/text-line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_line_parser *parser;
	char *text = malloc(size + KS_LINE_SLACK);
	const char *p = text, *end = text + size;

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
		p += len + 1;
	}
	ks_line_parser_free(parser);
	free(text);
	return 0;
}
