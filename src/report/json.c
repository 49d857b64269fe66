// SPDX-License-Identifier: LGPL-2.1-only
/* A streaming JSON writer. */
#include "report/json.h"

#include <math.h>
#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static void quote(struct ks_json *json, const char *s)
{
	ks_strbuf_puts(json->out, "\"");
	ks_escape_json(json->out, s, strlen(s));
	ks_strbuf_puts(json->out, "\"");
}

static void newline(struct ks_json *json)
{
	unsigned int i;

	ks_strbuf_puts(json->out, "\n");
	for (i = 0; i < json->depth; i++)
		ks_strbuf_puts(json->out, " ");
}

/* The comma, the line and the member's name in front of a value. */
static void lead(struct ks_json *json, const char *key)
{
	if (!json->first)
		ks_strbuf_puts(json->out, ",");
	if (json->depth)
		newline(json);
	json->first = false;
	if (key) {
		quote(json, key);
		ks_strbuf_puts(json->out, ": ");
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
	if (!json->first)
		newline(json);
	json->first = false;
	ks_strbuf_puts(json->out, bracket);
}

/* === Public =============================================================================== */

void ks_json_init(struct ks_json *json, struct ks_strbuf *out)
{
	*json = (struct ks_json){ .out = out, .first = true };
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
	lead(json, key);
	ks_strbuf_printf(json->out, "%llu", (unsigned long long)value);
}

void ks_json_s64(struct ks_json *json, const char *key, s64 value)
{
	lead(json, key);
	ks_strbuf_printf(json->out, "%lld", (long long)value);
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

void ks_json_hex(struct ks_json *json, const char *key, u64 value)
{
	lead(json, key);
	ks_strbuf_printf(json->out, "\"0x%llx\"", (unsigned long long)value);
}

void ks_json_ratio(struct ks_json *json, const char *key, u64 part, u64 whole)
{
	u64 tenthousandths;

	lead(json, key);
	if (!whole) {
		ks_strbuf_puts(json->out, "null");
		return;
	}
	tenthousandths = (u64)((unsigned __int128)part * 10000 / whole);
	ks_strbuf_printf(json->out, "%llu.%04llu", (unsigned long long)(tenthousandths / 10000),
			 (unsigned long long)(tenthousandths % 10000));
}

void ks_json_raw(struct ks_json *json, const char *key, const struct ks_strbuf *text)
{
	lead(json, key);
	ks_strbuf_add(json->out, ks_strbuf_str(text), text->len);
}

void ks_json_next(struct ks_json *json)
{
	lead(json, NULL);
}

void ks_json_finish(struct ks_json *json)
{
	ks_strbuf_puts(json->out, "\n");
}
