// SPDX-License-Identifier: LGPL-2.1-only
/* A stream of objects from an access map in any form. */
#include "kmap/reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "input/input.h"
#include "kmap/binary.h"
#include "kmap/framing.h"
#include "kmap/line.h"
#include "kmap/csv-pair.h"
#include "kmap/buffer.h"

/* === Data ================================================================================= */

struct ks_kmap_reader {
	struct ks_input *input, *accesses_input; /* the second: NULL = no second file */
	struct ks_kmap_buffer buffer;
	struct ks_kmap_dialect dialect;
	struct ks_kmap_info info;
	struct ks_kmap_quality quality;
	struct ks_kmap_binary binary;
	struct ks_kmap_csv_pair *pair; /* NULL = no second file */
	KS_VEC(struct ks_kmap_access) accesses;
	struct ks_kmap_object object; /* whose accesses are being read, if has_object */
	struct ks_strbuf names;	      /* of that object: its line may leave the buffer */
	struct ks_kmap_parsed ahead;  /* the object line that ended it, if has_ahead */
	struct ks_strbuf ahead_names;
	bool has_object, has_ahead;
};

/* === Internals ============================================================================ */

static int refuse(const struct ks_kmap_reader *reader, struct ks_diag *diag)
{
	const struct ks_kmap_buffer *buffer = &reader->buffer;
	const char *name = ks_input_name(buffer->input);
	size_t i, n = ks_min(buffer->len, (size_t)64);

	if (!buffer->len)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: the file is empty", name);
	for (i = 0; i < n; i++)
		if (!isprint((u8)buffer->buf[i]) && !isspace((u8)buffer->buf[i]))
			return ks_diag_set(diag, KS_EBADINPUT,
					   "%s: is binary data of no known format", name);
	for (n = 0; n < ks_min(buffer->len, (size_t)60) && buffer->buf[n] != '\n'; n++)
		;
	if (!strncmp(buffer->buf, "alloc_index,", 12))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: is the second file of a CSV pair; give the allocations as "
				   "the map, and this one with --accesses",
				   name);
	return ks_diag_set(diag, KS_EBADINPUT,
			   "%s: no line of an access map in its first %zu bytes; it begins: %.*s%s",
			   name, buffer->len, (int)n, buffer->buf,
			   memmem(buffer->buf, buffer->len, "kmalloc: ", 9)
				   ? "; it is a log: 'kmemscope account' reads it"
				   : "");
}

static int start(struct ks_kmap_reader *reader, unsigned int fields, struct ks_diag *diag)
{
	struct ks_kmap_buffer *buffer = &reader->buffer;
	int err = ks_kmap_buffer_fill(buffer, diag);

	if (err)
		return err;
	reader->info.time = "ticks";
	if (ks_kmap_is_header(buffer->buf, buffer->len)) {
		reader->info.form = KS_KMAP_BINARY;
		reader->info.time = "ns";
		return ks_kmap_binary_start(&reader->binary, buffer, &reader->info, diag);
	}
	/* The byte behind the buffer is a newline, and ends a last line that has none. */
	if (!ks_kmap_dialect_detect(buffer->buf, buffer->len + buffer->at_end, &reader->dialect))
		return refuse(reader, diag);
	if (fields)
		reader->dialect.fields = fields;
	reader->info.fields = reader->dialect.fields;
	if (!reader->accesses_input)
		return 0;
	reader->info.form = KS_KMAP_CSV_PAIR;
	return ks_kmap_csv_pair_new(reader->accesses_input, &reader->quality, &reader->pair, diag);
}

static void rebase(struct ks_slice *slice, const char *from, const char *to)
{
	slice->s = to + (slice->s - from);
}

/* Keeps the names of an object line in @names; they are one piece, from the type to the line's end. */
static int keep_names(struct ks_kmap_object *object, const char *line_end, struct ks_strbuf *names)
{
	const char *from = object->type_name.len ? object->type_name.s : object->comm.s;

	names->len = 0;
	ks_strbuf_add(names, from, (size_t)(line_end - from));
	if (names->failed)
		return -ENOMEM;
	if (!names->s) {
		object->comm = object->cache = object->type_name = object->new_type =
			(struct ks_slice){ "", 0 };
		return 0;
	}
	rebase(&object->comm, from, names->s);
	rebase(&object->cache, from, names->s);
	rebase(&object->type_name, from, names->s);
	rebase(&object->new_type, from, names->s);
	return 0;
}

static int add_access(struct ks_kmap_reader *reader, const struct ks_kmap_access *access)
{
	struct ks_kmap_access *slot;

	if (!reader->has_object) {
		reader->quality.orphan_accesses++;
		return 0;
	}
	slot = ks_vec_push(&reader->accesses);
	if (!slot)
		return -ENOMEM;
	*slot = *access;
	return 0;
}

static void count_bad(struct ks_kmap_reader *reader, u64 offset)
{
	if (!reader->quality.bad_lines++)
		reader->quality.first_bad_offset = offset;
}

static void finish_object(struct ks_kmap_reader *reader, struct ks_kmap_object *ret_object)
{
	reader->has_object = false;
	*ret_object = reader->object;
	ret_object->accesses = reader->accesses.items;
	ret_object->nr_accesses = reader->accesses.len;
	if (reader->pair)
		ks_kmap_csv_pair_take(reader->pair, ret_object, &reader->quality);
}

/* Begins the object whose line was read while the one before it was in hand. */
static void begin_object(struct ks_kmap_reader *reader)
{
	struct ks_strbuf names = reader->names;

	reader->object = reader->ahead.object;
	reader->names = reader->ahead_names;
	reader->ahead_names = names;
	reader->accesses.len = 0;
	reader->has_object = true;
	reader->has_ahead = false;
}

static void note_anchor(struct ks_kmap_info *info, const struct ks_kmap_object *object)
{
	if (info->anchor_name[0] || object->comm.len >= sizeof(info->anchor_name))
		return;
	memcpy(info->anchor_name, object->comm.s, object->comm.len);
	info->anchor = object->addr;
}

static __attribute__((noinline)) int next_text(struct ks_kmap_reader *reader,
					       enum ks_kmap_item *ret_item,
					       struct ks_kmap_object *ret_object,
					       struct ks_kmap_call *ret_call, struct ks_diag *diag)
{
	enum ks_kmap_line class;
	const char *line;
	size_t len;
	int err;

	if (reader->has_ahead)
		begin_object(reader);
	for (;;) {
		u64 offset = reader->buffer.offset + reader->buffer.pos;

		err = ks_kmap_buffer_line(&reader->buffer, &line, &len, diag);
		if (err)
			return err;
		if (!line)
			break;
		class = len == SIZE_MAX
				? KS_KMAP_LINE_BAD
				: ks_kmap_line_parse(&reader->dialect, line, len, &reader->ahead);
		switch (class) {
		case KS_KMAP_LINE_ACCESS:
			err = add_access(reader, &reader->ahead.access);
			break;
		case KS_KMAP_LINE_OBJECT:
			if (ks_kmap_is_anchor(&reader->ahead.object)) {
				note_anchor(&reader->info, &reader->ahead.object);
				break;
			}
			reader->quality.short_lines += reader->ahead.short_of_fields;
			err = keep_names(&reader->ahead.object, line + len, &reader->ahead_names);
			reader->has_ahead = !err;
			if (!err && reader->has_object) {
				*ret_item = KS_KMAP_OBJECT;
				finish_object(reader, ret_object);
				return 0;
			}
			if (!err)
				begin_object(reader);
			break;
		case KS_KMAP_LINE_CALL:
			*ret_item = KS_KMAP_CALL;
			*ret_call = reader->ahead.call;
			return 0;
		case KS_KMAP_LINE_BAD:
			count_bad(reader, offset);
			break;
		case KS_KMAP_LINE_COMMENT:
			break;
		}
		if (err)
			return ks_diag_nomem(diag, "reading an access map");
	}
	*ret_item = reader->has_object ? KS_KMAP_OBJECT : KS_KMAP_END;
	if (reader->has_object)
		finish_object(reader, ret_object);
	else if (reader->pair)
		ks_kmap_csv_pair_finish(reader->pair, &reader->quality);
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_reader_new(struct ks_input *input, struct ks_input *accesses, unsigned int fields,
		       struct ks_kmap_reader **ret_reader, struct ks_diag *diag)
{
	struct ks_kmap_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader) {
		ks_input_close(input);
		ks_input_close(accesses);
		return ks_diag_nomem(diag, "reading an access map");
	}
	reader->input = input;
	reader->accesses_input = accesses;
	err = ks_kmap_buffer_init(&reader->buffer, input)
		      ? ks_diag_nomem(diag, "reading an access map")
		      : start(reader, fields, diag);
	if (err) {
		ks_kmap_reader_free(reader);
		return err;
	}
	*ret_reader = reader;
	return 0;
}

int ks_kmap_reader_open(const char *path, const char *accesses, unsigned int fields,
			struct ks_kmap_reader **ret_reader, struct ks_diag *diag)
{
	struct ks_input *input, *second = NULL;
	int err = ks_input_open(path, &input, diag);

	if (err)
		return err;
	if (accesses)
		err = ks_input_open(accesses, &second, diag);
	if (err) {
		ks_input_close(input);
		return err;
	}
	return ks_kmap_reader_new(input, second, fields, ret_reader, diag);
}

void ks_kmap_reader_free(struct ks_kmap_reader *reader)
{
	if (!reader)
		return;
	ks_kmap_buffer_deinit(&reader->buffer);
	ks_kmap_csv_pair_free(reader->pair);
	ks_kmap_binary_deinit(&reader->binary);
	ks_vec_free(&reader->accesses);
	ks_strbuf_deinit(&reader->names);
	ks_strbuf_deinit(&reader->ahead_names);
	ks_input_close(reader->accesses_input);
	ks_input_close(reader->input);
	free(reader);
}

void ks_kmap_reader_progress(const struct ks_kmap_reader *reader, u64 *ret_done, u64 *ret_total)
{
	ks_input_progress(reader->input, ret_done, ret_total);
}

int ks_kmap_next(struct ks_kmap_reader *reader, enum ks_kmap_item *ret_item,
		 struct ks_kmap_object *ret_object, struct ks_kmap_call *ret_call,
		 struct ks_diag *diag)
{
	int err;

	if (reader->info.form == KS_KMAP_BINARY)
		err = ks_kmap_binary_next(&reader->binary, &reader->buffer, &reader->info,
					  &reader->quality, ret_item, ret_object, ret_call, diag);
	else
		err = next_text(reader, ret_item, ret_object, ret_call, diag);
	reader->info.bytes = reader->buffer.offset + reader->buffer.pos;
	return err;
}

const struct ks_kmap_quality *ks_kmap_reader_quality(const struct ks_kmap_reader *reader)
{
	return &reader->quality;
}

const struct ks_kmap_info *ks_kmap_reader_info(const struct ks_kmap_reader *reader)
{
	return &reader->info;
}
