// SPDX-License-Identifier: LGPL-2.1-only
/* Orders, groups, and the lines of an answer. */
#include "fleet/files-group.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* === Internals ============================================================================ */

static int compare_parts(const u64 *a, const u64 *b, const struct ks_order *order, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned int part = order->parts[i];

		if (a[part] != b[part])
			return a[part] < b[part] ? -1 : 1;
	}
	return 0;
}

static int compare_keys(const void *left, const void *right, void *order)
{
	return compare_parts(left, right, order, ((const struct ks_order *)order)->len);
}

static int compare_lines(const void *left, const void *right)
{
	const struct ks_line *a = left, *b = right;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(a->order); i++)
		if (a->order[i] > b->order[i] || a->order[i] < b->order[i])
			return a->order[i] > b->order[i] ? -1 : 1;
	for (i = 0; i < ARRAY_SIZE(a->ids); i++)
		if (a->ids[i] != b->ids[i])
			return a->ids[i] < b->ids[i] ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static s64 whole(double value)
{
	return value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? INT64_MIN : (s64)value;
}

static struct ks_line *end_line(struct ks_lines *lines, double first, double second)
{
	struct ks_line *line = ks_vec_push(&lines->items);

	ks_strbuf_puts(&lines->text, "\n");
	if (line) {
		line->order[0] = first;
		line->order[1] = second;
		line->at = lines->at;
		line->len = lines->text.len - lines->at;
	} else {
		lines->text.failed = true;
	}
	lines->at = lines->text.len;
	return line;
}

/* === Public =============================================================================== */

void ks_group_sort(void *items, size_t len, size_t size, const struct ks_order *order)
{
	if (len)
		qsort_r(items, len, size, compare_keys, (void *)(uintptr_t)order);
}

size_t ks_group_end(const void *items, size_t len, size_t size, const struct ks_order *order,
		    size_t first)
{
	const char *bytes = items;
	size_t end = first + 1;

	while (end < len &&
	       !compare_parts((const u64 *)(const void *)(bytes + first * size),
			      (const u64 *)(const void *)(bytes + end * size), order, order->group))
		end++;
	return end;
}

void ks_lines_init(struct ks_lines *lines)
{
	*lines = (struct ks_lines){ 0 };
	ks_strbuf_init(&lines->text);
}

void ks_lines_deinit(struct ks_lines *lines)
{
	ks_vec_free(&lines->items);
	ks_strbuf_deinit(&lines->text);
}

void ks_lines_s64(struct ks_lines *lines, s64 value)
{
	ks_strbuf_printf(&lines->text, "%" PRId64 "\t", value);
}

void ks_lines_whole(struct ks_lines *lines, double value)
{
	ks_lines_s64(lines, whole(value));
}

void ks_lines_double(struct ks_lines *lines, double value)
{
	ks_strbuf_printf(&lines->text, "%.17g\t", value);
}

void ks_lines_time(struct ks_lines *lines, u32 seconds)
{
	time_t at = seconds;
	struct tm tm;

	gmtime_r(&at, &tm);
	ks_strbuf_printf(&lines->text, "%04d-%02d-%02d %02d:%02d:%02d\t", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void ks_lines_end(struct ks_lines *lines, double first, double second, const u64 *ids,
		  size_t nr_ids)
{
	struct ks_line *line;
	size_t i;

	for (i = 0; i < nr_ids; i++)
		ks_strbuf_printf(&lines->text, "%s%" PRIu64, i ? "\t" : "", ids[i]);
	line = end_line(lines, first, second);
	if (line)
		memcpy(line->ids, ids, nr_ids * sizeof(*ids));
}

void ks_lines_end_text(struct ks_lines *lines, double first, double second, const char *text)
{
	for (; *text; text++) {
		static const char from[] = "\t\n\\", to[] = "tn\\";
		const char *special = strchr(from, *text);

		if (special)
			ks_strbuf_printf(&lines->text, "\\%c", to[special - from]);
		else
			ks_strbuf_add(&lines->text, text, 1);
	}
	end_line(lines, first, second);
}

int ks_lines_put(struct ks_lines *lines, u64 top, struct ks_strbuf *answer)
{
	size_t i;

	if (lines->items.len)
		qsort(lines->items.items, lines->items.len, sizeof(*lines->items.items),
		      compare_lines);
	for (i = 0; !lines->text.failed && i < lines->items.len && i < top; i++)
		ks_strbuf_add(answer, lines->text.s + lines->items.items[i].at,
			      lines->items.items[i].len);
	return lines->text.failed || answer->failed ? -ENOMEM : 0;
}
