// SPDX-License-Identifier: LGPL-2.1-only
/* Event format files: fields, and the flag table of __print_flags(). */
#include "trace/evformat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum {
	MAX_RECORD = 65536, /* offsets beyond it are nonsense */
	MAX_NESTING = 64,   /* parentheses in a flag's expression; real ones have 20 */
	MAX_FIELDS = 128,
	MAX_FLAGS = 256,
};

/* A constant expression of C as the preprocessor left it: numbers, casts, | & ~ << + - and (). */
struct expr {
	const char *p, *end;
	unsigned int depth;
	bool bad;
};

/* === Internals: the flag table ============================================================ */

static void skip_blanks(struct expr *e)
{
	while (e->p < e->end && (*e->p == ' ' || *e->p == '\t' || *e->p == '\n'))
		e->p++;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool eat(struct expr *e, const char *token)
{
	size_t len = strlen(token);

	skip_blanks(e);
	if ((size_t)(e->end - e->p) < len || memcmp(e->p, token, len))
		return false;
	e->p += len;
	return true;
}

/* "( gfp_t)" and "(unsigned long)" say nothing about the value. */
static bool skip_cast(struct expr *e)
{
	const char *p = e->p;
	bool word = false;

	if (p >= e->end || *p != '(')
		return false;
	for (p++; p < e->end && (*p == ' ' || *p == '*' || is_word(*p)); p++) {
		if (!word && *p >= '0' && *p <= '9')
			return false;
		word |= is_word(*p);
	}
	if (!word || p >= e->end || *p != ')')
		return false;
	e->p = p + 1;
	return true;
}

static u64 eval_or(struct expr *e);

static u64 eval_number(struct expr *e)
{
	char digits[40], *stop;
	size_t n = 0;
	u64 v;

	while (e->p < e->end && is_word(*e->p) && n < sizeof(digits) - 1)
		digits[n++] = *e->p++;
	digits[n] = '\0';
	if (!n || digits[0] < '0' || digits[0] > '9') {
		e->bad = true; /* a name that the kernel did not replace */
		return 0;
	}
	v = strtoull(digits, &stop, 0);
	e->bad |= strspn(stop, "uUlL") != strlen(stop);
	return v;
}

static u64 eval_unary(struct expr *e)
{
	u64 v;

	skip_blanks(e);
	if (e->depth >= MAX_NESTING || e->p >= e->end)
		e->bad = true;
	if (e->bad)
		return 0;
	e->depth++;
	if (eat(e, "~")) {
		v = ~eval_unary(e);
	} else if (skip_cast(e)) {
		v = eval_unary(e);
	} else if (eat(e, "(")) {
		v = eval_or(e);
		e->bad |= !eat(e, ")");
	} else {
		v = eval_number(e);
	}
	e->depth--;
	return v;
}

static u64 eval_sum(struct expr *e)
{
	u64 v = eval_unary(e);

	while (!e->bad) {
		if (eat(e, "+"))
			v += eval_unary(e);
		else if (eat(e, "-"))
			v -= eval_unary(e);
		else
			break;
	}
	return v;
}

static u64 eval_shift(struct expr *e)
{
	u64 v = eval_sum(e), by;

	while (!e->bad && eat(e, "<<")) {
		by = eval_sum(e);
		v = by < 64 ? v << by : 0;
	}
	return v;
}

static u64 eval_and(struct expr *e)
{
	u64 v = eval_shift(e);

	while (!e->bad && eat(e, "&"))
		v &= eval_shift(e);
	return v;
}

static u64 eval_or(struct expr *e)
{
	u64 v = eval_and(e);

	while (!e->bad && eat(e, "|"))
		v |= eval_and(e);
	return v;
}

/* Behind a flag that we could not evaluate: go on at the next one. */
static bool next_brace(struct expr *e)
{
	const char *brace = memchr(e->p, '{', (size_t)(e->end - e->p));

	if (!brace)
		return false;
	e->p = brace + 1;
	return true;
}

/* "{expression, "name"}, ..." of the table that decodes gfp_flags. */
static int parse_flags(struct ks_evformat *fmt, const char *text, const char *end)
{
	static const char start[] = "__print_flags(REC->gfp_flags";
	const char *table = memmem(text, (size_t)(end - text), start, sizeof(start) - 1);
	struct expr e = { .p = table, .end = end };

	if (!table)
		return 0;
	while (next_brace(&e) && fmt->flags.len < MAX_FLAGS) {
		struct ks_flag *flag;
		const char *name, *quote;
		u64 mask;

		e.bad = false;
		e.depth = 0;
		mask = eval_or(&e);
		if (e.bad || !eat(&e, ",") || !eat(&e, "\""))
			continue;
		name = e.p;
		quote = memchr(name, '"', (size_t)(end - name));
		if (!quote)
			break;
		e.p = quote;
		if (!mask || (size_t)(quote - name) >= sizeof(flag->name))
			continue;
		flag = ks_vec_push(&fmt->flags);
		if (!flag)
			return -ENOMEM;
		flag->mask = mask;
		memcpy(flag->name, name, (size_t)(quote - name));
	}
	return 0;
}

/* === Internals: fields ==================================================================== */

/* The number behind @key in a line, or false. */
static bool number_after(const char *p, const char *end, const char *key, u32 *ret)
{
	const char *at = memmem(p, (size_t)(end - p), key, strlen(key));
	u64 v = 0;

	if (!at)
		return false;
	for (at += strlen(key); at < end && *at >= '0' && *at <= '9' && v < UINT32_MAX; at++)
		v = v * 10 + (u64)(*at - '0');
	*ret = (u32)ks_min(v, (u64)UINT32_MAX);
	return true;
}

/* "	field:unsigned long call_site;	offset:8;	size:8;	signed:0;" */
static int parse_field(struct ks_evformat *fmt, const char *p, const char *end)
{
	const char *semicolon = memchr(p, ';', (size_t)(end - p)), *name, *name_end;
	struct ks_field f = { 0 }, *slot;
	u32 is_signed = 0;

	if (!semicolon || !number_after(semicolon, end, "offset:", &f.offset) ||
	    !number_after(semicolon, end, "size:", &f.size))
		return 0; /* not a field after all */
	number_after(semicolon, end, "signed:", &is_signed);
	f.is_signed = is_signed;
	f.data_loc = memmem(p, (size_t)(semicolon - p), "__data_loc", 10);
	name_end = semicolon;
	if (name_end > p && name_end[-1] == ']') { /* "char comm[16]" */
		const char *bracket = memrchr(p, '[', (size_t)(name_end - p));

		if (bracket)
			name_end = bracket;
	}
	for (name = name_end; name > p && is_word(name[-1]); name--)
		;
	if ((size_t)(name_end - name) >= sizeof(f.name))
		return 0; /* longer than any that we ask for */
	memcpy(f.name, name, (size_t)(name_end - name));
	if (f.offset > MAX_RECORD || f.size > MAX_RECORD || fmt->fields.len >= MAX_FIELDS)
		return KS_EBADINPUT;
	slot = ks_vec_push(&fmt->fields);
	if (!slot)
		return -ENOMEM;
	*slot = f;
	return 0;
}

static int parse_line(struct ks_evformat *fmt, const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (end - p > 6 && !memcmp(p, "name: ", 6)) {
		size_t len = (size_t)(end - p) - 6;

		if (len >= sizeof(fmt->name))
			return KS_EBADINPUT;
		memcpy(fmt->name, p + 6, len);
	} else if (end - p > 4 && !memcmp(p, "ID: ", 4)) {
		number_after(p, end, "ID: ", &fmt->id);
	} else if (end - p > 6 && !memcmp(p, "field:", 6)) {
		return parse_field(fmt, p + 6, end);
	} else if (end - p > 10 && !memcmp(p, "print fmt:", 10)) {
		return parse_flags(fmt, p, end);
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_evformat_parse_header(struct ks_evformat *fmt, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	int err = 0;

	*fmt = (struct ks_evformat){ .id = UINT32_MAX };
	while (!err && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		err = parse_line(fmt, p, stop);
		p = stop + 1;
	}
	if (err)
		ks_evformat_deinit(fmt);
	return err;
}

int ks_evformat_parse(struct ks_evformat *fmt, const char *text, size_t len)
{
	int err = ks_evformat_parse_header(fmt, text, len);

	if (err)
		return err;
	if (fmt->name[0] && fmt->id <= UINT16_MAX)
		return 0;
	ks_evformat_deinit(fmt);
	return KS_EBADINPUT;
}

void ks_evformat_deinit(struct ks_evformat *fmt)
{
	ks_vec_free(&fmt->fields);
	ks_vec_free(&fmt->flags);
}

const struct ks_field *ks_evformat_field(const struct ks_evformat *fmt, const char *name)
{
	size_t i;

	for (i = 0; i < fmt->fields.len; i++)
		if (!strcmp(fmt->fields.items[i].name, name))
			return &fmt->fields.items[i];
	return NULL;
}

void ks_evformat_print_flags(const struct ks_evformat *fmt, u64 value, struct ks_strbuf *sb)
{
	const char *bar = "";
	size_t i;

	if (!value) {
		ks_strbuf_puts(sb, "none");
		return;
	}
	for (i = 0; i < fmt->flags.len && value; i++) {
		const struct ks_flag *flag = &fmt->flags.items[i];

		if ((value & flag->mask) != flag->mask)
			continue;
		ks_strbuf_printf(sb, "%s%s", bar, flag->name);
		value &= ~flag->mask;
		bar = "|";
	}
	if (value)
		ks_strbuf_printf(sb, "%s0x%llx", bar, (unsigned long long)value);
}
