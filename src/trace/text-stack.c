// SPDX-License-Identifier: LGPL-2.1-only
/* The stack traces that ftrace and perf print behind an event. */
#include "trace/text-stack.h"

#include <errno.h>
#include <string.h>

#include "trace/text-scan.h"

/* === Data ================================================================================= */

/* Events of other CPUs, or of an interrupt, may come between an event and its stack: so many. */
enum { LOOK_BACK = 256 };

/* The text of a frame in its line. */
struct frame {
	const char *text;
	size_t len;
	bool is_perf; /* as perf prints it */
	bool is_user; /* of a program */
};

/* === Internals ============================================================================ */

static size_t trimmed(const char *line, size_t len)
{
	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	return len;
}

/* " => kobject_set_name_vargs", maybe with offset and module; trace-cmd adds " (address)". */
static bool scan_ftrace(const char *p, const char *end, struct frame *ret)
{
	const char *paren;

	if (!ks_eat(&p, end, "=>"))
		return false;
	ks_skip_spaces(&p, end);
	paren = memmem(p, (size_t)(end - p), " (", 2);
	*ret = (struct frame){ .text = p, .len = (size_t)((paren ? paren : end) - p) };
	return ret->len;
}

/* Where the code of a frame is: "[kernel.kallsyms]", "[ext4]", or the file of a module. */
static bool is_kernel(const char *p, const char *end)
{
	static const char *const users[] = { "[unknown]", "[vdso]", "[vsyscall]", "[stack]",
					     "[heap]" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(users); i++)
		if (ks_eat(&p, end, users[i]))
			return false;
	return (p < end && *p == '[') || memmem(p, (size_t)(end - p), ".ko", 3);
}

/* "ffffffff81a6a2b8 kmalloc_trace+0x28 ([kernel.kallsyms])"; modules as "([ext4])". */
static bool scan_perf(const char *p, const char *end, struct frame *ret)
{
	const char *paren;
	unsigned int digits;
	u64 addr;

	if (!ks_scan_hex(&p, end, &addr, &digits) || digits < 8 || p >= end || *p != ' ')
		return false;
	ks_skip_spaces(&p, end);
	paren = memmem(p, (size_t)(end - p), " (", 2);
	*ret = (struct frame){ .text = p,
			       .len = (size_t)((paren ? paren : end) - p),
			       .is_perf = true,
			       .is_user = paren && !is_kernel(paren + 2, end) };
	return ret->len;
}

static bool scan_frame(const char *line, size_t len, struct frame *ret)
{
	const char *p = line, *end = line + trimmed(line, len);

	ks_skip_spaces(&p, end);
	return scan_ftrace(p, end, ret) || (p > line && scan_perf(p, end, ret));
}

/*
 * The last event of the same CPU and task that has no stack yet. An interrupt may put its own events
 * and stacks in between: a second stack is of the event before.
 */
static u32 find_event(const struct ks_event *header, const struct ks_event *events, size_t len)
{
	size_t i, first = len > LOOK_BACK ? len - LOOK_BACK : 0;

	for (i = len; i-- > first;)
		if (events[i].cpu == header->cpu && events[i].pid == header->pid &&
		    events[i].stack == KS_NONE)
			return (u32)i;
	return KS_NONE;
}

static bool is_stack_line(const char *line, const char *end)
{
	struct frame frame;

	return scan_frame(line, (size_t)(end - line), &frame) ||
	       memmem(line, (size_t)(end - line), "<stack trace", 12);
}

/* === Public =============================================================================== */

void ks_stack_reader_init(struct ks_stack_reader *reader, const struct ks_frame_filter *blame)
{
	*reader = (struct ks_stack_reader){ .blame = blame, .event = KS_NONE };
}

void ks_stack_pass(struct ks_stack_reader *reader)
{
	reader->event = KS_NONE;
	reader->reading = true;
}

int ks_stack_end(struct ks_stack_reader *reader, struct ks_names *names, struct ks_event *events)
{
	u32 len = reader->len;
	struct ks_event *ev;

	reader->reading = false;
	reader->len = 0;
	if (reader->event == KS_NONE || !len)
		return 0;
	ev = &events[reader->event];
	ev->stack = ks_names_add_stack(names, reader->frames, len);
	if (ev->stack == KS_NONE)
		return -ENOMEM;
	if (!reader->blame || ev->site == KS_NONE)
		return 0;
	ev->site = ks_blame(reader->blame, names, ev->site, ev->stack);
	return ev->site == KS_NONE ? -ENOMEM : 0;
}

int ks_stack_line(struct ks_stack_reader *reader, struct ks_names *names, const char *line,
		  size_t len, const struct ks_event *header, struct ks_event *events,
		  size_t events_len)
{
	struct frame frame;
	u32 id;

	if (!scan_frame(line, len, &frame)) {
		if (ks_stack_end(reader, names, events))
			return -ENOMEM;
		reader->event = find_event(header, events, events_len);
		reader->reading = true;
		return 0;
	}
	if (frame.is_perf && !reader->reading)
		reader->event = events_len ? (u32)events_len - 1 : KS_NONE;
	reader->reading = true;
	if (reader->event == KS_NONE || frame.is_user || reader->len == KS_STACK_MAX)
		return 0;
	id = ks_sites_add(&names->frames, frame.text, frame.len);
	if (id == KS_NONE)
		return -ENOMEM;
	reader->frames[reader->len++] = id;
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
