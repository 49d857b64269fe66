// SPDX-License-Identifier: LGPL-2.1-only
/* The strings of sinks. */
#include "table/sink.h"

#include <errno.h>
#include <string.h>

#include "base/digits.h"

/* === Data ================================================================================= */

/* Bytes around a cell, beside its name: quotes, colon, comma, blanks. */
enum { AROUND = 8 };

/* === Internals ============================================================================ */

static int learn(struct ks_words *words, unsigned int column, const struct ks_value *value)
{
	struct ks_words_column *mine = &words->columns[column];
	struct ks_strbuf text;

	while (mine->items.len <= value->key)
		if (!ks_vec_push(&mine->items))
			return -ENOMEM;
	ks_strbuf_init(&text);
	words->escape(&text, value->text, strlen(value->text));
	if (!text.failed && !text.s)
		text.s = calloc(1, 1); /* "" is a string too */
	if (text.failed || !text.s) {
		ks_strbuf_deinit(&text);
		return -ENOMEM;
	}
	mine->items.items[value->key] = (struct ks_str){ text.s, (u32)text.len };
	return 0;
}

/* === Public =============================================================================== */

int ks_words_init(struct ks_words *words, size_t nr_columns,
		  void (*escape)(struct ks_strbuf *sb, const char *s, size_t len))
{
	words->columns = calloc(nr_columns + 1, sizeof(*words->columns));
	words->nr_columns = nr_columns;
	words->extra = 0;
	words->escape = escape;
	return words->columns ? 0 : -ENOMEM;
}

void ks_words_deinit(struct ks_words *words)
{
	size_t i, j;

	for (i = 0; words->columns && i < words->nr_columns; i++) {
		for (j = 0; j < words->columns[i].items.len; j++)
			free((char *)words->columns[i].items.items[j].s);
		ks_vec_free(&words->columns[i].items);
	}
	free(words->columns);
}

char *ks_words_reserve(struct ks_words *words, struct ks_strbuf *out, const struct ks_sink *sink,
		       const struct ks_value *values)
{
	size_t room = 2 + words->extra;
	unsigned int i;

	for (i = 0; i < sink->nr_columns; i++) {
		room += KS_DIGITS_MAX + AROUND;
		if (sink->columns[i].kind != KS_CELL_TEXT || !values[i].set)
			continue;
		if (unlikely(!ks_words_has(words, i, values[i].key)) &&
		    learn(words, i, &values[i])) {
			out->failed = true;
			return NULL;
		}
		room += words->columns[i].items.items[values[i].key].len;
	}
	if (unlikely(out->failed || ks_reserve(out->s, out->cap, out->len + room))) {
		out->failed = true;
		return NULL;
	}
	return out->s + out->len;
}
