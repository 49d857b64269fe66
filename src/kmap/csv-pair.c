// SPDX-License-Identifier: LGPL-2.1-only
/* The "accesses" half of a CSV pair, found by alloc_index. */
#include "kmap/csv-pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"
#include "input/input.h"
#include "kmap/line.h"
#include "kmap/buffer.h"

/* === Data ================================================================================= */

struct row {
	struct ks_kmap_access access;
	u32 index; /* number in the map */
	u32 line;  /* keeps the file's order among equals */
};

struct range {
	u32 first, len;
	bool taken;
};

struct ks_kmap_csv_pair {
	struct ks_map64 indices;
	KS_VEC(struct row) rows;
	KS_VEC(struct range) ranges;		/* by number in the map */
	KS_VEC(struct ks_kmap_access) accesses; /* in the order of ranges */
};

/* === Internals ============================================================================ */

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int add_row(struct ks_kmap_csv_pair *pair, u64 index, const struct ks_kmap_access *access)
{
	u32 number = ks_map64_add(&pair->indices, index);
	struct row *row = number == KS_NONE ? NULL : ks_vec_push(&pair->rows);

	if (!row || pair->rows.len >= KS_NONE)
		return -ENOMEM;
	*row = (struct row){ *access, number, (u32)pair->rows.len };
	return 0;
}

static int read_rows(struct ks_kmap_csv_pair *pair, struct ks_kmap_buffer *buffer,
		     struct ks_kmap_quality *quality, struct ks_diag *diag)
{
	static const char head[] = "alloc_index,access_ip,", pid[] = "pid,";
	struct ks_kmap_access access;
	const char *line;
	bool has_pid;
	size_t len;
	u64 index;
	int err = ks_kmap_buffer_line(buffer, &line, &len, diag);

	if (err)
		return err;
	if (!line || len < sizeof(head) - 1 || strncmp(line, head, sizeof(head) - 1))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: is no accesses file: it must begin with %s...",
				   ks_input_name(buffer->input), head);
	has_pid = !strncmp(line + sizeof(head) - 1, pid, sizeof(pid) - 1);
	for (;;) {
		err = ks_kmap_buffer_line(buffer, &line, &len, diag);
		if (err || !line)
			return err;
		if (len == SIZE_MAX || !ks_kmap_line_parse_csv(line, len, has_pid, &index, &access))
			quality->bad_lines++;
		else if (add_row(pair, index, &access))
			return ks_diag_nomem(diag, "reading accesses");
	}
}

/* From rows in the order of the file to one range an object. */
static int make_ranges(struct ks_kmap_csv_pair *pair)
{
	size_t i;

	if (ks_vec_reserve(&pair->ranges, pair->indices.keys.len) ||
	    ks_vec_reserve(&pair->accesses, pair->rows.len))
		return -ENOMEM;
	if (pair->rows.len)
		qsort(pair->rows.items, pair->rows.len, sizeof(*pair->rows.items), compare_rows);
	for (i = 0; i < pair->rows.len; i++) {
		u32 number = pair->rows.items[i].index;

		if (number == pair->ranges.len)
			*(struct range *)ks_vec_push(&pair->ranges) =
				(struct range){ .first = (u32)i };
		pair->ranges.items[number].len++;
		pair->accesses.items[pair->accesses.len++] = pair->rows.items[i].access;
	}
	ks_vec_free(&pair->rows);
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_csv_pair_new(struct ks_input *input, struct ks_kmap_quality *quality,
			 struct ks_kmap_csv_pair **ret_pair, struct ks_diag *diag)
{
	struct ks_kmap_csv_pair *pair = calloc(1, sizeof(*pair));
	struct ks_kmap_buffer buffer = { 0 };
	int err = 0;

	if (!pair || ks_map64_init(&pair->indices) || ks_kmap_buffer_init(&buffer, input))
		err = ks_diag_nomem(diag, "reading accesses");
	if (!err)
		err = ks_kmap_buffer_fill(&buffer, diag);
	if (!err)
		err = read_rows(pair, &buffer, quality, diag);
	if (!err && make_ranges(pair))
		err = ks_diag_nomem(diag, "sorting accesses");
	ks_kmap_buffer_deinit(&buffer);
	if (err)
		ks_kmap_csv_pair_free(pair);
	else
		*ret_pair = pair;
	return err;
}

void ks_kmap_csv_pair_free(struct ks_kmap_csv_pair *pair)
{
	if (!pair)
		return;
	ks_map64_deinit(&pair->indices);
	ks_vec_free(&pair->rows);
	ks_vec_free(&pair->ranges);
	ks_vec_free(&pair->accesses);
	free(pair);
}

void ks_kmap_csv_pair_take(struct ks_kmap_csv_pair *pair, struct ks_kmap_object *object,
			   struct ks_kmap_quality *quality)
{
	u32 number = ks_map64_find(&pair->indices, object->alloc_time);
	struct range *range;

	if (number == KS_NONE)
		return;
	range = &pair->ranges.items[number];
	if (range->taken) {
		quality->shared_indices++;
		return;
	}
	range->taken = true;
	object->accesses = pair->accesses.items + range->first;
	object->nr_accesses = range->len;
}

void ks_kmap_csv_pair_finish(struct ks_kmap_csv_pair *pair, struct ks_kmap_quality *quality)
{
	size_t i;

	for (i = 0; i < pair->ranges.len; i++) {
		if (!pair->ranges.items[i].taken)
			quality->orphan_accesses += pair->ranges.items[i].len;
		pair->ranges.items[i].taken =
			true; /* counted once, however often the end is read */
	}
}
