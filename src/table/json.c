// SPDX-License-Identifier: LGPL-2.1-only
/* The JSON writer. */
#include "table/json.h"

#include <math.h>
#include <string.h>

#include "base/digits.h"
#include "base/escape.h"

/* === Internals ============================================================================ */

static void quote(struct ks_json *json, const char *s)
{
	ks_strbuf_add(json->out, "\"", 1);
	ks_escape_json(json->out, s, strlen(s));
	ks_strbuf_add(json->out, "\"", 1);
}

static void newline(struct ks_json *json)
{
	static const char line[] = "\n                ";
	size_t depth = json->depth, most = sizeof(line) - 2;

	ks_strbuf_add(json->out, line, 1 + ks_min(depth, most));
	for (; depth > most; depth--)
		ks_strbuf_add(json->out, " ", 1);
}

/* The comma, the line and the member's name in front of a value. */
static void lead(struct ks_json *json, const char *key)
{
	bool compact = json->style == KS_JSON_COMPACT;

	if (!json->first)
		ks_strbuf_add(json->out, ",", 1);
	if (compact && json->break_before)
		ks_strbuf_add(json->out, "\n", 1);
	else if (!compact && json->depth)
		newline(json);
	json->break_before = false;
	json->first = false;
	if (key) {
		quote(json, key);
		ks_strbuf_puts(json->out, compact ? ":" : ": ");
	}
}

static void open_with(struct ks_json *json, const char *key, const char *bracket)
{
	lead(json, key);
	ks_strbuf_puts(json->out, bracket);
	json->depth++;
	json->first = true;
}

static void close_with(struct ks_json *json, const char *bracket)
{
	json->depth--;
	if (!json->first && json->style == KS_JSON_INDENTED)
		newline(json);
	json->first = false;
	ks_strbuf_puts(json->out, bracket);
}

/* === Public =============================================================================== */

void ks_json_init(struct ks_json *json, struct ks_strbuf *out, enum ks_json_style style)
{
	*json = (struct ks_json){ .out = out, .style = style, .first = true };
}

void ks_json_object(struct ks_json *json, const char *key)
{
	open_with(json, key, "{");
}

void ks_json_array(struct ks_json *json, const char *key)
{
	open_with(json, key, "[");
}

void ks_json_end_object(struct ks_json *json)
{
	close_with(json, "}");
}

void ks_json_end_array(struct ks_json *json)
{
	close_with(json, "]");
}

void ks_json_string(struct ks_json *json, const char *key, const char *value)
{
	lead(json, key);
	quote(json, value);
}

void ks_json_u64(struct ks_json *json, const char *key, u64 value)
{
	char text[KS_DIGITS_MAX];

	lead(json, key);
	ks_strbuf_add(json->out, text, (size_t)(ks_put_decimal(text, value) - text));
}

void ks_json_s64(struct ks_json *json, const char *key, s64 value)
{
	char text[KS_DIGITS_MAX + 1] = "-";
	char *end = ks_put_decimal(text + (value < 0), value < 0 ? -(u64)value : (u64)value);

	lead(json, key);
	ks_strbuf_add(json->out, text, (size_t)(end - text));
}

void ks_json_double(struct ks_json *json, const char *key, double value)
{
	lead(json, key);
	if (isfinite(value))
		ks_strbuf_printf(json->out, "%.6g", value);
	else
		ks_strbuf_puts(json->out, "null");
}

void ks_json_bool(struct ks_json *json, const char *key, bool value)
{
	lead(json, key);
	ks_strbuf_puts(json->out, value ? "true" : "false");
}

void ks_json_null(struct ks_json *json, const char *key)
{
	lead(json, key);
	ks_strbuf_puts(json->out, "null");
}

void ks_json_hex(struct ks_json *json, const char *key, u64 value)
{
	char text[KS_DIGITS_MAX];

	lead(json, key);
	ks_strbuf_add(json->out, "\"", 1);
	ks_strbuf_add(json->out, text, (size_t)(ks_put_hex(text, value) - text));
	ks_strbuf_add(json->out, "\"", 1);
}

void ks_json_raw(struct ks_json *json, const char *key, const struct ks_strbuf *text)
{
	lead(json, key);
	ks_strbuf_add(json->out, ks_strbuf_str(text), text->len);
	json->out->failed |= text->failed;
}

void ks_json_next(struct ks_json *json)
{
	lead(json, NULL);
}

void ks_json_break(struct ks_json *json)
{
	json->break_before = true;
}

void ks_json_finish(struct ks_json *json)
{
	ks_strbuf_puts(json->out, "\n");
}
