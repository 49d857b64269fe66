/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A document: tables, and what stands around them. For programs it is one JSON object: named values,
 * objects, lists and tables, in the order in which they were added. For people it is the tables, the
 * notes and the text between them, in the same order. Values and objects are in JSON alone, text is
 * for people alone, and tables and notes are in both.
 *
 * Like a table, a document remembers that memory ran out, and the renderers report it.
 */
#ifndef KS_TABLE_DOC_H
#define KS_TABLE_DOC_H

#include "table/table.h"

enum ks_part_kind {
	KS_PART_TEXT, /* a value: a string, and so on */
	KS_PART_U64,
	KS_PART_HEX,
	KS_PART_BOOL,
	KS_PART_TEXTS,
	KS_PART_OPEN,  /* an object begins */
	KS_PART_CLOSE, /* and ends */
	KS_PART_TOTAL, /* the totals of a table, as members of the object that is open */
	KS_PART_NOTE,
	KS_PART_TABLE,
	KS_PART_SAY,   /* text for people */
	KS_PART_BYTES, /* bytes in it */
};

/* In text: always, only where details were asked for, only where they were not. */
enum {
	KS_IN_TEXT = 1,
	KS_IN_JSON = 2,
	KS_IN_BOTH = 3,
	KS_IN_DETAIL = 4,
	KS_IN_BRIEF = 8,
};

struct ks_part {
	enum ks_part_kind kind;
	const char *name; /* in JSON */
	union ks_cell_value value;
	const char *
		text; /* of a note: what is said of the value; of KS_PART_SAY: all; of KS_PART_BYTES: the word */
	bool always; /* of a note: for people also where it is 0 */
	u8 width;    /* of KS_PART_BYTES */
	u8 where;    /* KS_IN_* */
};

struct ks_doc {
	const char *schema;
	struct ks_table *main; /* the table that is written as CSV: the first, unless changed */
	const char *headline;  /* what it comes to, in one line; NULL = nothing */
	int note_width;	       /* of the numbers of notes; 0 = as wide as they are, indented by 2 */
	u8 where;	       /* KS_IN_*: where what is added now is shown */
	bool detailed;	       /* text has the details */
	bool people;	       /* text has "1.9 MiB" in place of all digits */

	/* The rest is for ks_doc_* and for renderers. */
	KS_VEC(struct ks_part) parts;
	KS_VEC(struct ks_table *) tables; /* all, also those inside of rows */
	struct ks_arena arena;
	bool failed;
};

/* @schema names the kind of document and its version; it is the first member in JSON. */
struct ks_doc *ks_doc_new(const char *schema);
void ks_doc_free(struct ks_doc *doc);

/* What is added from now on is for people alone, for programs alone, or for both. */
void ks_doc_show_in(struct ks_doc *doc, unsigned int where);

/* Named values, in JSON. Strings are copied, names are not. */
void ks_doc_text(struct ks_doc *doc, const char *name, const char *value);
void ks_doc_u64(struct ks_doc *doc, const char *name, u64 value);
void ks_doc_hex(struct ks_doc *doc, const char *name, u64 value);
void ks_doc_bool(struct ks_doc *doc, const char *name, bool value);
void ks_doc_texts(struct ks_doc *doc, const char *name, const char *const *values, size_t len);

/* What is added in between is inside of an object, in JSON. */
void ks_doc_open(struct ks_doc *doc, const char *name);
void ks_doc_close(struct ks_doc *doc);

/* A counter: a named value in JSON, and a line for people where it is not 0, or @always. */
void ks_doc_note(struct ks_doc *doc, const char *name, u64 value, const char *text, bool always);

/* Text for people, which is copied and not escaped; from a capture, which is escaped. */
void ks_doc_say(struct ks_doc *doc, const char *fmt, ...) ks_printf(2, 3);
void ks_doc_say_escaped(struct ks_doc *doc, const char *s);

/* Bytes in text, at least @width wide: "1.9 MiB", or where digits are asked for their number and @word behind it. */
void ks_doc_say_bytes(struct ks_doc *doc, unsigned int width, u64 bytes, const char *word);

/* Text has numbers with units from now on, in all tables of the document. */
void ks_doc_for_people(struct ks_doc *doc);

/* A copy that lives as long as the document, for the names of columns; "" when there is no memory. */
const char *ks_doc_string(struct ks_doc *doc, const char *s);

/* A new table at this place. NULL, and the document failed, when there is no memory. */
struct ks_table *ks_doc_table(struct ks_doc *doc, const char *name, const struct ks_column *columns,
			      size_t nr_columns);

/* A new table that belongs to the document and has no place yet: KS_CELL_TABLE, or ks_doc_place(). */
struct ks_table *ks_doc_loose_table(struct ks_doc *doc, const char *name,
				    const struct ks_column *columns, size_t nr_columns);
void ks_doc_place(struct ks_doc *doc, struct ks_table *table, unsigned int where);

/* The totals of the table as members of the open object, in JSON. */
void ks_doc_total(struct ks_doc *doc, struct ks_table *table);

/* Whether memory ran out, for the document or for one of its tables. */
bool ks_doc_failed(const struct ks_doc *doc);

#endif
