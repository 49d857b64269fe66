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
	static const char room[KS_WORD_COPY];
	struct ks_words_column *mine = &words->columns[column];
	struct ks_strbuf text;
	size_t len;

	while (mine->items.len <= value->key)
		if (!ks_vec_push(&mine->items))
			return -ENOMEM;
	ks_strbuf_init(&text);
	words->escape(&text, value->text, strlen(value->text));
	len = text.len;
	ks_strbuf_add(&text, room, sizeof(room));
	if (text.failed) {
		ks_strbuf_deinit(&text);
		return -ENOMEM;
	}
	mine->items.items[value->key] = (struct ks_str){ text.s, (u32)len };
	mine->longest = ks_max(mine->longest, len);
	return 0;
}

/* === Public =============================================================================== */

int ks_words_init(struct ks_words *words, const struct ks_column *columns, size_t nr_columns,
		  void (*escape)(struct ks_strbuf *sb, const char *s, size_t len))
{
	unsigned int i;

	*words = (struct ks_words){ .nr_columns = nr_columns, .escape = escape };
	words->columns = calloc(nr_columns + 1, sizeof(*words->columns));
	words->texts = calloc(nr_columns + 1, sizeof(*words->texts));
	if (!words->columns || !words->texts) {
		ks_words_deinit(words);
		return -ENOMEM;
	}
	for (i = 0; i < nr_columns; i++)
		if (columns[i].kind == KS_CELL_TEXT)
			words->texts[words->nr_texts++] = i;
	return 0;
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
	free(words->texts);
}

char *ks_words_reserve(struct ks_words *words, struct ks_strbuf *out, const struct ks_value *values)
{
	size_t i, room = words->extra + words->nr_columns * (KS_DIGITS_MAX + AROUND) + KS_WORD_COPY;

	for (i = 0; i < words->nr_texts; i++) {
		unsigned int column = words->texts[i];

		if (values[column].set &&
		    unlikely(!ks_words_has(words, column, values[column].key)) &&
		    learn(words, column, &values[column])) {
			out->failed = true;
			return NULL;
		}
		room += words->columns[column].longest;
	}
	if (unlikely(out->failed || ks_reserve(out->s, out->cap, out->len + room))) {
		out->failed = true;
		return NULL;
	}
	return out->s + out->len;
}
