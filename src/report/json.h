/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A streaming JSON writer: keeps track of commas, indentation and nesting. Strings are escaped, so
 * that the document is valid whatever a trace holds. Inside an object, `key` is the member's name;
 * inside an array it is NULL.
 */
#ifndef KS_REPORT_JSON_H
#define KS_REPORT_JSON_H

#include "base/strbuf.h"

struct ks_json {
	struct ks_strbuf *out;
	unsigned int depth;
	bool first; /* nothing written yet at this depth */
};

void ks_json_init(struct ks_json *json, struct ks_strbuf *out);

void ks_json_object(struct ks_json *json, const char *key);
void ks_json_array(struct ks_json *json, const char *key);
void ks_json_end_object(struct ks_json *json);
void ks_json_end_array(struct ks_json *json);

void ks_json_string(struct ks_json *json, const char *key, const char *value);
void ks_json_u64(struct ks_json *json, const char *key, u64 value);
void ks_json_s64(struct ks_json *json, const char *key, s64 value);
void ks_json_bool(struct ks_json *json, const char *key, bool value);

/* An address, as a string: JSON's numbers do not hold 64 bits. */
void ks_json_hex(struct ks_json *json, const char *key, u64 value);

/* Six significant digits; null if it is not a number. */
void ks_json_double(struct ks_json *json, const char *key, double value);

/* A ratio in [0, 1] with four decimals, or null. */
void ks_json_ratio(struct ks_json *json, const char *key, u64 part, u64 whole);

/* A value that is JSON already. */
void ks_json_raw(struct ks_json *json, const char *key, const struct ks_strbuf *text);

/* The next element of an array follows; the caller writes it. */
void ks_json_next(struct ks_json *json);

/* Ends the document with a newline. */
void ks_json_finish(struct ks_json *json);

#endif
