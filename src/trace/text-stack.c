// SPDX-License-Identifier: LGPL-2.1-only
/* The stack traces that ftrace prints behind an event. */
#include "trace/text-stack.h"

#include <errno.h>
#include <string.h>

#include "trace/text-scan.h"

/* === Internals ============================================================================ */

/* The text of a frame: " => kobject_set_name_vargs", maybe with offset and module. */
static bool scan_frame(const char *line, size_t len, const char **ret_text, size_t *ret_len)
{
	const char *p = line, *end = line + len;

	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	ks_skip_spaces(&p, end);
	if (!ks_eat(&p, end, "=>"))
		return false;
	ks_skip_spaces(&p, end);
	*ret_text = p;
	*ret_len = (size_t)(end - p);
	return p < end;
}

static size_t name_len(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len && text[i] != '+' && text[i] != ' ';)
		i++;
	return i;
}

static bool skips(const struct ks_stack_reader *reader, const char *func, size_t len)
{
	return reader->filter->skip(reader->filter->ctx, func, len);
}

/*
 * The last event of the same CPU and task that had no stack yet, if its site is one to pass over. An
 * interrupt may put its own event and stack in between: a second stack is of the event before.
 */
static u32 find_event(struct ks_stack_reader *reader, const struct ks_names *names,
		      const struct ks_event *header, const struct ks_event *events, size_t len)
{
	size_t i, first = len > KS_STACK_LOOK_BACK ? len - KS_STACK_LOOK_BACK : 0;

	for (i = len; i-- > first;) {
		u32 *owner = &reader->owners[i % KS_STACK_LOOK_BACK];
		const char *func;

		if (events[i].cpu != header->cpu || events[i].pid != header->pid || *owner == i)
			continue;
		*owner = (u32)i;
		func = ks_sites_get(&names->sites, events[i].site)->func;
		return *func && skips(reader, func, strlen(func)) ? (u32)i : KS_NONE;
	}
	return KS_NONE;
}

static bool is_stack_line(const char *line, const char *end)
{
	const char *text;
	size_t len;

	return scan_frame(line, (size_t)(end - line), &text, &len) ||
	       memmem(line, (size_t)(end - line), "<stack trace>", 13);
}

/* === Public =============================================================================== */

void ks_stack_reader_init(struct ks_stack_reader *reader, const struct ks_frame_filter *filter)
{
	*reader = (struct ks_stack_reader){ .filter = filter, .event = KS_NONE };
	memset(reader->owners, 0xff, sizeof(reader->owners)); /* KS_NONE */
}

int ks_stack_line(struct ks_stack_reader *reader, struct ks_line_parser *parser, const char *line,
		  size_t len, const struct ks_event *header, struct ks_event *events,
		  size_t events_len)
{
	const struct ks_names *names = ks_line_parser_names(parser);
	const char *text, *func;
	size_t text_len, func_len;
	u32 site;

	if (!scan_frame(line, len, &text, &text_len)) {
		reader->event = find_event(reader, names, header, events, events_len);
		reader->passed_site = false;
		return 0;
	}
	if (reader->event == KS_NONE)
		return 0;
	func_len = name_len(text, text_len);
	if (!reader->passed_site) {
		func = ks_sites_get(&names->sites, events[reader->event].site)->func;
		reader->passed_site = strlen(func) == func_len && !memcmp(func, text, func_len);
		return 0;
	}
	if (skips(reader, text, func_len))
		return 0;
	site = ks_line_parser_add_site(parser, text, text_len);
	if (site == KS_NONE)
		return -ENOMEM;
	events[reader->event].site = site;
	reader->event = KS_NONE;
	return 0;
}

char *ks_stack_cut(char *text, char *newline)
{
	char *end = newline, *start;

	while (end > text) {
		start = memrchr(text, '\n', (size_t)(end - text));
		if (!start)
			break;
		if (!is_stack_line(start + 1, end))
			return start;
		end = start;
	}
	return newline;
}
