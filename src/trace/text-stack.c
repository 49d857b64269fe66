// SPDX-License-Identifier: LGPL-2.1-only
/* The stack traces that ftrace and perf print behind an event. */
#include "trace/text-stack.h"

#include <errno.h>
#include <string.h>

#include "trace/text-scan.h"

/* === Data ================================================================================= */

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

/* What was read of the open stack becomes part of its note. */
static int close_stack(struct ks_stack_reader *reader, struct ks_stack_notes *notes,
		       struct ks_names *names)
{
	struct ks_stack_note *note;

	if (!reader->len)
		return 0;
	note = &notes->list.items[notes->list.len - 1];
	note->stack = ks_names_add_stack(names, reader->frames, reader->len);
	reader->len = 0;
	return note->stack == KS_NONE ? -ENOMEM : 0;
}

static int add_note(struct ks_stack_notes *notes, enum ks_note_what what, const struct ks_event *ev,
		    size_t at)
{
	struct ks_stack_note *note = ks_vec_push(&notes->list);

	if (!note)
		return -ENOMEM;
	*note = (struct ks_stack_note){
		.at = (u32)at, .pid = ev->pid, .stack = KS_NONE, .cpu = ev->cpu, .what = (u8)what
	};
	return 0;
}

static int add_frame(struct ks_stack_reader *reader, struct ks_names *names, const char *line,
		     size_t len)
{
	struct frame frame;
	u32 id;

	if (reader->len == KS_STACK_MAX || !scan_frame(line, len, &frame) || frame.is_user)
		return 0;
	id = ks_sites_add(&names->frames, frame.text, frame.len);
	if (id == KS_NONE)
		return -ENOMEM;
	reader->frames[reader->len++] = id;
	return 0;
}

/* === Public =============================================================================== */

void ks_stack_begin(struct ks_stack_reader *reader, struct ks_stack_notes *notes)
{
	reader->len = 0;
	notes->list.len = 0;
	notes->open = false;
	notes->after = KS_NOTE_MORE;
}

int ks_stack_line(struct ks_stack_reader *reader, struct ks_stack_notes *notes,
		  struct ks_names *names, enum ks_line_class class, const char *line, size_t len,
		  const struct ks_event *ev, size_t at)
{
	if (class == KS_LINE_FRAME) {
		if (!notes->open && add_note(notes, notes->after, ev, at))
			return -ENOMEM;
		notes->open = true;
		return add_frame(reader, names, line, len);
	}
	if (unlikely(notes->open) && close_stack(reader, notes, names))
		return -ENOMEM;
	notes->open = class == KS_LINE_STACK || class == KS_LINE_USER_STACK;
	notes->after = KS_NOTE_STRAY;
	if (class == KS_LINE_STACK)
		return add_note(notes, KS_NOTE_STACK, ev, at);
	if (class == KS_LINE_USER_STACK)
		return add_note(notes, KS_NOTE_USER_STACK, ev, at);
	if (class == KS_LINE_EVENT && ev->kind != KS_LOST) {
		notes->after = KS_NOTE_FRAMES;
		return 0;
	}
	/* A line with a header that was not understood is an event, too, and its stack its own. */
	if (class == KS_LINE_OTHER_EVENT ||
	    (class == KS_LINE_UNPARSED && ev->pid != KS_PID_UNKNOWN)) {
		notes->after = KS_NOTE_FRAMES;
		return add_note(notes, KS_NOTE_LINE, ev, at);
	}
	return 0;
}

int ks_stack_end(struct ks_stack_reader *reader, struct ks_stack_notes *notes,
		 struct ks_names *names)
{
	return notes->open ? close_stack(reader, notes, names) : 0;
}
