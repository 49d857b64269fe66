// SPDX-License-Identifier: LGPL-2.1-only
/* One piece of a text log, line by line. */
#include "trace/text-chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum { SAMPLE_MAX = 400 }; /* bytes kept of a line that was not understood */

/* === Internals ============================================================================ */

static int keep_sample(struct ks_text_chunk *chunk, const char *line, size_t len)
{
	char **sample;

	if (chunk->info.text.samples.len >= KS_UNPARSED_KEPT)
		return 0;
	sample = ks_vec_push(&chunk->info.text.samples);
	if (!sample)
		return -ENOMEM;
	*sample = strndup(line, ks_min(len, (size_t)SAMPLE_MAX));
	return *sample ? 0 : -ENOMEM;
}

static int parse_line(struct ks_chunk_parser *parser, struct ks_text_chunk *chunk, const char *line,
		      size_t len)
{
	struct ks_source_info *info = &chunk->info;
	enum ks_line_class class;
	struct ks_event *ev;

	if (ks_vec_reserve(&chunk->events, chunk->events.len + 1))
		return -ENOMEM;
	ev = &chunk->events.items[chunk->events.len];
	if (ks_line_parse(parser->lines, line, len, &class, ev))
		return -ENOMEM;
	info->text.lines++;
	if (parser->stacks &&
	    ks_stack_line(&parser->stack, &chunk->notes, ks_line_parser_names(parser->lines), class,
			  line, len, ev, chunk->events.len))
		return -ENOMEM;
	switch (class) {
	case KS_LINE_EVENT:
		chunk->events.len++;
		return 0;
	case KS_LINE_OTHER_EVENT:
		info->text.other_events++;
		return 0;
	case KS_LINE_OVERWRITTEN:
		info->overwritten += ev->lost.count;
		info->text.comments++;
		return 0;
	case KS_LINE_COMMENT:
		info->text.comments++;
		return 0;
	case KS_LINE_STACK:
	case KS_LINE_USER_STACK:
	case KS_LINE_FRAME:
		info->text.stack_lines++;
		return 0;
	case KS_LINE_UNPARSED:
		break;
	}
	info->text.unparsed++;
	return keep_sample(chunk, line, len);
}

static int announce_names(struct ks_chunk_parser *parser, struct ks_text_chunk *chunk)
{
	const struct ks_names *names = ks_line_parser_names(parser->lines);
	const struct ks_intern *tables[KS_TEXT_TABLES] = {
		[KS_TEXT_SITES] = &names->sites.texts,	 [KS_TEXT_CACHES] = &names->caches,
		[KS_TEXT_COMMS] = &names->comms,	 [KS_TEXT_GFPS] = &names->gfps,
		[KS_TEXT_FRAMES] = &names->frames.texts, [KS_TEXT_STACKS] = &names->stacks,
	};
	int table;

	for (table = 0; table < KS_TEXT_TABLES; table++) {
		u32 *known = &parser->announced[table];

		for (; *known < tables[table]->strs.len; ++*known) {
			struct ks_str *name = ks_vec_push(&chunk->new_names[table]);

			if (!name)
				return -ENOMEM;
			*name = tables[table]->strs.items[*known];
		}
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_chunk_parse(struct ks_chunk_parser *parser, struct ks_text_chunk *chunk)
{
	const char *p = chunk->text, *end = p + chunk->len;

	ks_stack_begin(&parser->stack, &chunk->notes);
	if (chunk->info.text.lines) /* one that was dropped for its length */
		chunk->notes.after = KS_NOTE_STRAY;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((newline ? newline : end) - p);

		if (parse_line(parser, chunk, p, len))
			return -ENOMEM;
		p += len + 1;
	}
	if (ks_stack_end(&parser->stack, &chunk->notes, ks_line_parser_names(parser->lines)))
		return -ENOMEM;
	chunk->clock = ks_line_parser_clock(parser->lines);
	return announce_names(parser, chunk);
}

void ks_chunk_reset(struct ks_text_chunk *chunk)
{
	int table;
	size_t i;

	for (i = 0; i < chunk->info.text.samples.len; i++)
		free(chunk->info.text.samples.items[i]);
	ks_vec_free(&chunk->info.text.samples);
	memset(&chunk->info, 0, sizeof(chunk->info));
	chunk->events.len = 0;
	for (table = 0; table < KS_TEXT_TABLES; table++)
		chunk->new_names[table].len = 0;
}

void ks_chunk_deinit(struct ks_text_chunk *chunk)
{
	int table;

	ks_chunk_reset(chunk);
	ks_vec_free(&chunk->events);
	ks_vec_free(&chunk->notes.list);
	for (table = 0; table < KS_TEXT_TABLES; table++)
		ks_vec_free(&chunk->new_names[table]);
	free(chunk->text);
}
