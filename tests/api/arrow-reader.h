/* SPDX-License-Identifier: GPL-2.0-only */
/* A consumer of Arrow C streams, written from the specification: writes what it gets as lines of text. */
#ifndef KS_ARROW_READER_H
#define KS_ARROW_READER_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kmemscope/arrow.h>

static int arrow_is_null(const struct ArrowArray *array, int64_t i)
{
	const uint8_t *bits = array->buffers[0];

	i += array->offset;
	return array->null_count && bits && !(bits[i / 8] >> i % 8 & 1);
}

static void arrow_put(FILE *out, const struct ArrowSchema *schema, const struct ArrowArray *array,
		      int64_t i)
{
	const int32_t *ends = array->buffers[1];
	int64_t at = i + array->offset, item;

	if (arrow_is_null(array, i)) {
		fputs("null", out);
	} else if (!strcmp(schema->format, "u")) {
		fprintf(out, "%.*s", ends[at + 1] - ends[at],
			(const char *)array->buffers[2] + ends[at]);
	} else if (!strcmp(schema->format, "L")) {
		fprintf(out, "%" PRIu64, ((const uint64_t *)array->buffers[1])[at]);
	} else if (!strcmp(schema->format, "l")) {
		fprintf(out, "%" PRId64, ((const int64_t *)array->buffers[1])[at]);
	} else if (!strcmp(schema->format, "g")) {
		fprintf(out, "%.4f", ((const double *)array->buffers[1])[at]);
	} else if (!strcmp(schema->format, "b")) {
		fputs(((const uint8_t *)array->buffers[1])[at / 8] >> at % 8 & 1 ? "true" : "false",
		      out);
	} else if (!strcmp(schema->format, "+l")) {
		fputc('[', out);
		for (item = ends[at]; item < ends[at + 1]; item++) {
			if (item > ends[at])
				fputc(' ', out);
			arrow_put(out, schema->children[0], array->children[0], item);
		}
		fputc(']', out);
	} else {
		fprintf(out, "?%s", schema->format);
	}
}

/* Reads the stream to its end and releases all: "name:format|..." and a line for each row. NULL: it failed. */
static char *arrow_read(struct ArrowArrayStream *stream, int64_t *ret_rows)
{
	struct ArrowSchema schema;
	struct ArrowArray batch;
	char *text = NULL;
	size_t len;
	int64_t i, c, rows = 0;
	FILE *out = open_memstream(&text, &len);
	int err = stream->get_schema(stream, &schema);

	for (c = 0; !err && c < schema.n_children; c++)
		fprintf(out, "%s%s:%s", c ? "|" : "", schema.children[c]->name,
			schema.children[c]->format);
	fputc('\n', out);
	while (!err) {
		err = stream->get_next(stream, &batch);
		if (err || !batch.release)
			break;
		for (i = 0; i < batch.length; i++, rows++) {
			for (c = 0; c < batch.n_children; c++) {
				if (c)
					fputc('|', out);
				arrow_put(out, schema.children[c], batch.children[c], i);
			}
			fputc('\n', out);
		}
		batch.release(&batch);
	}
	schema.release(&schema);
	stream->release(stream);
	fclose(out);
	*ret_rows = rows;
	if (!err)
		return text;
	free(text);
	return NULL;
}

#endif
