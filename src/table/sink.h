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

struct ks_sink {
	const struct ks_sink_ops *ops;
	const struct ks_column *columns; /* the caller's; they outlive the sink */
	size_t nr_columns;
};

/* NULL when there is no memory. Later, lack of memory fails the strbuf. */
struct ks_sink *ks_csv_sink_new(const struct ks_column *columns, size_t nr_columns,
				struct ks_strbuf *out);
struct ks_sink *ks_parquet_sink_new(const struct ks_column *columns, size_t nr_columns,
				    struct ks_strbuf *out);

/* Rows are elements of the array that the caller has opened, one a line. */
struct ks_sink *ks_json_sink_new(const struct ks_column *columns, size_t nr_columns,
				 struct ks_json *json);

/* Whether the string of a key is known in that column. */
static inline bool ks_sink_knows(const struct ks_sink *sink, unsigned int column, u32 key)
{
	return sink->ops->knows(sink, column, key);
}

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
 * For sinks: the strings of each column, escaped once and not with each of millions of rows.
 */
struct ks_words {
	struct ks_words_column {
		KS_VEC(struct ks_str) items; /* by key; s NULL = not known */
	} * columns;
	size_t nr_columns;
	size_t extra; /* bytes that a row takes beside its cells */
	void (*escape)(struct ks_strbuf *sb, const char *s, size_t len);
};

int ks_words_init(struct ks_words *words, size_t nr_columns,
		  void (*escape)(struct ks_strbuf *sb, const char *s, size_t len));
void ks_words_deinit(struct ks_words *words);

static inline bool ks_words_has(const struct ks_words *words, unsigned int column, u32 key)
{
	return key < words->columns[column].items.len && words->columns[column].items.items[key].s;
}

/*
 * Learns the new strings of a row, and makes room for all that the row takes: its strings, a number and
 * eight bytes of punctuation for each column, and @extra. Returns where to write, or NULL.
 */
char *ks_words_reserve(struct ks_words *words, struct ks_strbuf *out, const struct ks_sink *sink,
		       const struct ks_value *values);

static inline char *ks_words_put(const struct ks_words *words, unsigned int column, u32 key,
				 char *to)
{
	const struct ks_str *word = &words->columns[column].items.items[key];

	__builtin_memcpy(to, word->s, word->len);
	return to + word->len;
}

#endif
