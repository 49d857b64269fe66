// SPDX-License-Identifier: LGPL-2.1-only
/* The file that holds a budget: one rule a line. */
#include "analysis/budget.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

/* === Data ================================================================================= */

enum { BUDGET_BYTES_MAX = 1 << 20 };

static const char *const scope_names[] = { "total", "site",    "function", "module", "directory",
					   "cache", "process", "size",	   "type" };
_Static_assert(ARRAY_SIZE(scope_names) == KS_SCOPES, "a name for every scope");

static const char *const limit_names[] = { "live", "waste", "rate",	 "objects",
					   "size", "holes", "hot-lines", "mixed-lines" };
_Static_assert(ARRAY_SIZE(limit_names) == KS_LIMITS, "a name for every kind");

/* A part of a line. */
struct span {
	const char *s, *end;
};

/* === Internals ============================================================================ */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span line)
{
	while (line.s < line.end && is_blank(*line.s))
		line.s++;
	while (line.s < line.end && is_blank(line.end[-1]))
		line.end--;
	return line;
}

/* A comment begins with a # at the head of the line or behind a blank: names may hold one inside. */
static struct span without_comment(struct span line)
{
	const char *s;

	for (s = line.s; s < line.end; s++)
		if (*s == '#' && (s == line.s || is_blank(s[-1]))) {
			line.end = s;
			break;
		}
	return trim(line);
}

static struct span take_first(struct span *line)
{
	struct span word = { line->s, line->s };

	while (word.end < line->end && !is_blank(*word.end))
		word.end++;
	line->s = word.end;
	*line = trim(*line);
	return word;
}

static struct span take_last(struct span *line)
{
	struct span word = { line->end, line->end };

	while (word.s > line->s && !is_blank(word.s[-1]))
		word.s--;
	line->end = word.s;
	*line = trim(*line);
	return word;
}

static int find_name(const char *const *names, size_t len, struct span word)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (strlen(names[i]) == (size_t)(word.end - word.s) &&
		    !memcmp(names[i], word.s, (size_t)(word.end - word.s)))
			return (int)i;
	return -EINVAL;
}

static bool is_bytes(enum ks_limit_kind kind)
{
	return !strcmp(ks_limit_kind_unit(kind), "bytes");
}

/* "1500", "64K", "10M", "2G"; a rate may say "/s"; what is no bytes has no unit. */
static int parse_limit(struct span word, enum ks_limit_kind kind, u64 *ret_limit)
{
	static const char units[] = "KMG";
	const char *unit;
	u64 value = 0;

	if (kind == KS_LIMIT_RATE && word.end - word.s > 2 && !memcmp(word.end - 2, "/s", 2))
		word.end -= 2;
	if (word.s == word.end || *word.s < '0' || *word.s > '9')
		return -EINVAL;
	for (; word.s < word.end && *word.s >= '0' && *word.s <= '9'; word.s++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (u64)(*word.s - '0'), &value))
			return -ERANGE;
	if (word.s < word.end) {
		unit = memchr(units, *word.s++, sizeof(units) - 1);
		if (!unit || !is_bytes(kind) || word.s != word.end ||
		    __builtin_mul_overflow(value, 1ull << 10 * (unit - units + 1), &value))
			return -EINVAL;
	}
	*ret_limit = value;
	return 0;
}

/* The size of an object as captures name it: "4K" is "4096". NULL: there is no memory, or it is a *. */
static int parse_size_name(struct ks_budget *budget, struct span word, const char **ret_name)
{
	char digits[24];
	u64 size;

	if (word.end - word.s == 1 && *word.s == '*')
		return 0;
	if (parse_limit(word, KS_LIMIT_LIVE, &size))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)size);
	*ret_name = ks_arena_strndup(&budget->arena, digits, strlen(digits));
	return 0;
}

static int parse_rule(struct ks_budget *budget, const char *path, u32 line_no, struct span line,
		      struct ks_diag *diag)
{
	struct span first = take_first(&line), limit = take_last(&line), what = take_last(&line);
	int scope = find_name(scope_names, KS_SCOPES, first);
	int kind = find_name(limit_names, KS_LIMITS, what);
	struct ks_rule rule = { .line = line_no }, *slot;

	if (scope < 0)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s:%u: '%.*s': a rule begins with total, site, function, "
				   "module, directory, cache, process, size or type",
				   path, line_no, (int)(first.end - first.s), first.s);
	if (kind < 0)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s:%u: '%.*s': what is limited is live, waste, rate or "
				   "objects; of a type also size, holes, hot-lines or mixed-lines",
				   path, line_no, (int)(what.end - what.s), what.s);
	if (ks_limit_is_layout((enum ks_limit_kind)kind) && scope != KS_SCOPE_TYPE)
		return ks_diag_set(diag, KS_EBADINPUT, "%s:%u: only a type has %s", path, line_no,
				   limit_names[kind]);
	if (parse_limit(limit, (enum ks_limit_kind)kind, &rule.limit))
		return ks_diag_set(diag, KS_EBADINPUT, "%s:%u: '%.*s': give a number of %s", path,
				   line_no, (int)(limit.end - limit.s), limit.s,
				   is_bytes((enum ks_limit_kind)kind)
					   ? "bytes, as 1500, 64K, 10M, 2G"
					   : ks_limit_kind_unit((enum ks_limit_kind)kind));
	rule.scope = (enum ks_scope_kind)scope;
	rule.kind = (enum ks_limit_kind)kind;
	if ((line.s == line.end) != (rule.scope == KS_SCOPE_TOTAL))
		return ks_diag_set(diag, KS_EBADINPUT, "%s:%u: %s", path, line_no,
				   rule.scope == KS_SCOPE_TOTAL ? "the total has no name"
								: "of which? the name is missing");
	if (rule.scope == KS_SCOPE_DIRECTORY && memchr(line.s, '*', (size_t)(line.end - line.s)))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s:%u: a directory holds all that is below it, and takes no *",
				   path, line_no);
	if (rule.scope == KS_SCOPE_SIZE && parse_size_name(budget, line, &rule.name))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s:%u: '%.*s': give a size as 192 or 4K, or * for all of them",
				   path, line_no, (int)(line.end - line.s), line.s);
	while (rule.scope == KS_SCOPE_DIRECTORY && line.end - line.s > 1 && line.end[-1] == '/')
		line.end--;
	if (!rule.name)
		rule.name = ks_arena_strndup(&budget->arena, line.s, (size_t)(line.end - line.s));
	slot = ks_vec_push(&budget->rules);
	if (!rule.name || !slot)
		return ks_diag_nomem(diag, "reading a budget");
	*slot = rule;
	return 0;
}

static int read_whole(const char *path, struct ks_strbuf *text, struct ks_diag *diag)
{
	FILE *file = fopen(path, "re");
	char bytes[4096];
	size_t n;
	int err = 0;

	if (!file)
		return ks_diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
	while ((n = fread(bytes, 1, sizeof(bytes), file)) && text->len <= BUDGET_BYTES_MAX)
		ks_strbuf_add(text, bytes, n);
	if (ferror(file))
		err = ks_diag_set(diag, -EIO, "%s: cannot read", path);
	else if (text->len > BUDGET_BYTES_MAX)
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: is too long for a budget", path);
	else if (text->failed)
		err = ks_diag_nomem(diag, "reading a budget");
	fclose(file);
	return err;
}

/* === Public =============================================================================== */

const char *ks_scope_kind_name(enum ks_scope_kind kind)
{
	return kind < KS_SCOPES ? scope_names[kind] : "?";
}

const char *ks_limit_kind_name(enum ks_limit_kind kind)
{
	return kind < KS_LIMITS ? limit_names[kind] : "?";
}

const char *ks_limit_kind_unit(enum ks_limit_kind kind)
{
	if (kind == KS_LIMIT_OBJECTS)
		return "objects";
	return kind == KS_LIMIT_HOT_LINES || kind == KS_LIMIT_MIXED_LINES ? "cache lines" : "bytes";
}

int ks_budget_parse(struct ks_budget *budget, const char *path, const char *text, size_t len,
		    struct ks_diag *diag)
{
	const char *s = text, *end = text + len;
	u32 line_no = 0;
	int err = 0;

	*budget = (struct ks_budget){ 0 };
	ks_arena_init(&budget->arena);
	if (memchr(text, '\0', len))
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: is no text", path);
	while (s < end && !err) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		struct span line = { s, newline ? newline : end };

		s = newline ? newline + 1 : end;
		line_no++;
		line = without_comment(line);
		if (line.s < line.end)
			err = parse_rule(budget, path, line_no, line, diag);
	}
	if (!err && !budget->rules.len)
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: there is no rule in it", path);
	if (err)
		ks_budget_deinit(budget);
	return err;
}

int ks_budget_load(struct ks_budget *budget, const char *path, struct ks_diag *diag)
{
	struct ks_strbuf text;
	int err;

	ks_strbuf_init(&text);
	err = read_whole(path, &text, diag);
	if (!err)
		err = ks_budget_parse(budget, path, ks_strbuf_str(&text), text.len, diag);
	ks_strbuf_deinit(&text);
	return err;
}

void ks_budget_deinit(struct ks_budget *budget)
{
	ks_vec_free(&budget->rules);
	ks_arena_deinit(&budget->arena);
}
