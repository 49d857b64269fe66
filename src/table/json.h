/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The JSON writer: keeps track of commas, lines and nesting. Strings are escaped, so that the document
 * is valid whatever a trace holds. Inside an object, `key` is the member's name; inside an array it is
 * NULL.
 */
#ifndef KS_TABLE_JSON_H
#define KS_TABLE_JSON_H

#include "base/strbuf.h"

enum ks_json_style {
	KS_JSON_INDENTED, /* a line for each value */
	KS_JSON_COMPACT,  /* no blanks; lines break only where ks_json_break() says so */
};

struct ks_json {
	struct ks_strbuf *out;
	enum ks_json_style style;
	unsigned int depth;
	bool first;	   /* nothing written yet at this depth */
	bool break_before; /* the next value begins a line */
};

void ks_json_init(struct ks_json *json, struct ks_strbuf *out, enum ks_json_style style);

void ks_json_object(struct ks_json *json, const char *key);
void ks_json_array(struct ks_json *json, const char *key);
void ks_json_end_object(struct ks_json *json);
void ks_json_end_array(struct ks_json *json);

void ks_json_string(struct ks_json *json, const char *key, const char *value);
void ks_json_u64(struct ks_json *json, const char *key, u64 value);
void ks_json_s64(struct ks_json *json, const char *key, s64 value);
void ks_json_bool(struct ks_json *json, const char *key, bool value);
void ks_json_null(struct ks_json *json, const char *key);

/* An address, as a string: JSON's numbers do not hold 64 bits. */
void ks_json_hex(struct ks_json *json, const char *key, u64 value);

/* Six significant digits; null if it is not a number. */
void ks_json_double(struct ks_json *json, const char *key, double value);

/* A value that is JSON already. */
void ks_json_raw(struct ks_json *json, const char *key, const struct ks_strbuf *text);

/* The next element of an array follows; the caller writes it. */
void ks_json_next(struct ks_json *json);

/* The next value begins a line, in the compact style. */
void ks_json_break(struct ks_json *json);

/* Ends the document with a newline. */
void ks_json_finish(struct ks_json *json);

#endif
