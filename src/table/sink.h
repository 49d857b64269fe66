/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Tables that are too long to be kept: rows go to a sink as they come, and what the sink writes may be
 * taken from its strbuf at any time. The list of columns is that of a table.
 *
 * Rows of a capture repeat few strings, so a string goes with a key: a small number that always stands
 * for the same string in its column. The string itself is needed only where the sink does not know the
 * key yet.
 */
#ifndef KS_TABLE_SINK_H
#define KS_TABLE_SINK_H

#include "base/intern.h"
#include "table/json.h"
#include "table/table.h"

/* A cell: KS_CELL_TEXT by key, or a number of KS_CELL_U64, KS_CELL_U32 or KS_CELL_HEX. */
struct ks_value {
	u64 number;
	const char *text; /* NULL where the sink knows the key */
	u32 key;
	bool set;
};

struct ks_sink;

struct ks_sink_ops {
	bool (*knows)(const struct ks_sink *sink, unsigned int column, u32 key);
	void (*row)(struct ks_sink *sink, const struct ks_value *values);
	void (*end)(struct ks_sink *sink);
	void (*free)(struct ks_sink *sink);
};

struct ks_words;

struct ks_sink {
	const struct ks_sink_ops *ops;
	const struct ks_column *columns; /* the caller's; they outlive the sink */
	size_t nr_columns;
	const struct ks_words *words; /* what it knows, where it keeps that; NULL = ask ops */
};

/* NULL when there is no memory. Later, lack of memory fails the strbuf. */
struct ks_sink *ks_csv_sink_new(const struct ks_column *columns, size_t nr_columns,
				struct ks_strbuf *out);
struct ks_sink *ks_parquet_sink_new(const struct ks_column *columns, size_t nr_columns,
				    struct ks_strbuf *out);

/* Rows are elements of the array that the caller has opened, one a line. */
struct ks_sink *ks_json_sink_new(const struct ks_column *columns, size_t nr_columns,
				 struct ks_json *json);

/* A value for each column. */
static inline void ks_sink_row(struct ks_sink *sink, const struct ks_value *values)
{
	sink->ops->row(sink, values);
}

/* Writes what comes after the last row. */
static inline void ks_sink_end(struct ks_sink *sink)
{
	sink->ops->end(sink);
}

static inline void ks_sink_free(struct ks_sink *sink)
{
	if (sink)
		sink->ops->free(sink);
}

/*
 * For sinks: the strings of each column, escaped once and not with each of millions of rows. A string is
 * stored with room behind it, so that a short one can be copied as KS_WORD_COPY bytes, which takes no call.
 */
enum { KS_WORD_COPY = 32 };

struct ks_words {
	struct ks_words_column {
		KS_VEC(struct ks_str) items; /* by key; s NULL = not known */
		size_t longest;
	} * columns;
	unsigned int *texts; /* the columns of text */
	size_t nr_columns, nr_texts;
	size_t extra; /* bytes that a row takes beside its cells */
	void (*escape)(struct ks_strbuf *sb, const char *s, size_t len);
};

int ks_words_init(struct ks_words *words, const struct ks_column *columns, size_t nr_columns,
		  void (*escape)(struct ks_strbuf *sb, const char *s, size_t len));
void ks_words_deinit(struct ks_words *words);

static inline bool ks_words_has(const struct ks_words *words, unsigned int column, u32 key)
{
	const struct ks_words_column *mine = &words->columns[column];

	return key < mine->items.len && mine->items.items[key].s;
}

/* Whether the string of a key is known in that column. */
static inline bool ks_sink_knows(const struct ks_sink *sink, unsigned int column, u32 key)
{
	return sink->words ? ks_words_has(sink->words, column, key)
			   : sink->ops->knows(sink, column, key);
}

/*
 * Learns the new strings of a row, and makes room for all that the row takes: its strings, a number and
 * eight bytes of punctuation for each column, and @extra. Returns where to write, or NULL.
 */
char *ks_words_reserve(struct ks_words *words, struct ks_strbuf *out,
		       const struct ks_value *values);

/* Copies what has KS_WORD_COPY bytes of room behind it, at both ends. */
static inline char *ks_copy_word(char *to, const char *s, size_t len)
{
	if (likely(len <= KS_WORD_COPY))
		__builtin_memcpy(to, s, KS_WORD_COPY);
	else
		__builtin_memcpy(to, s, len);
	return to + len;
}

static inline char *ks_words_put(const struct ks_words *words, unsigned int column, u32 key,
				 char *to)
{
	const struct ks_str *word = &words->columns[column].items.items[key];

	return ks_copy_word(to, word->s, word->len);
}

#endif
