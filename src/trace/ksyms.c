// SPDX-License-Identifier: LGPL-2.1-only
/* Symbols from kallsyms text: parsed once, sorted by address, looked up by bisection. */
#include "trace/ksyms.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

/* A call site further than this behind the last symbol is in no function that we know. */
enum { MAX_FUNCTION = 1 << 20, MAX_NAME = 512, MAX_MODULE = 256 };

/* === Internals ============================================================================ */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Eight digits at once, for there are hundreds of thousands of lines: false where one is no digit.
 * In @text the first digit is the lowest byte.
 */
static bool parse_hex8(const char *p, u64 *ret_value)
{
	const u64 ones = 0x0101010101010101ull, high = 0x80 * ones;
	u64 text, lower, letters, digits;

	memcpy(&text, p, 8);
	text = le64toh(text);
	lower = text | 0x20 * ones; /* digits have this bit already */
	/* The top bit of each byte: it is at least 'a', at most 'f'; at least '0', at most '9'. */
	letters = (lower + (0x80 - 'a') * ones) & ~(lower + (0x7f - 'f') * ones);
	digits = (text + (0x80 - '0') * ones) & ~(text + (0x7f - '9') * ones);
	if ((text | ~(letters | digits)) & high)
		return false;
	/* 'a' & 0xf is 1. */
	lower = (lower & 0x0f * ones) + 9 * ((letters & high) >> 7);
	/* Pairs, then fours, then all, the first digit on top. */
	lower = (lower << 4 | lower >> 8) & 0x00ff00ff00ff00ffull;
	lower = (lower << 8 | lower >> 16) & 0x0000ffff0000ffffull;
	*ret_value = (lower << 16 | lower >> 32) & 0xffffffff;
	return true;
}

static const char *parse_addr(const char *p, const char *end, u64 *ret_addr)
{
	u64 addr = 0, half;
	int d;

	if (end - p >= 16 && parse_hex8(p, &addr) && parse_hex8(p + 8, &half)) {
		addr = addr << 32 | half;
		p += 16;
	} else {
		addr = 0;
	}
	for (; p < end && (d = hex_digit(*p)) >= 0; p++)
		addr = addr << 4 | (u64)d;
	*ret_addr = addr;
	return p;
}

static bool is_function(char type)
{
	return (type | 0x20) == 't' || (type | 0x20) == 'w' || (type | 0x20) == 'i';
}

/* The length of the name at the start of a line's rest, in front of a tab or a blank. */
static size_t name_len(const char *rest, size_t len)
{
	const char *tab = memchr(rest, '\t', len), *end = tab ? tab : rest + len;
	const char *space = memchr(rest, ' ', (size_t)(end - rest));

	return (size_t)((space ? space : end) - rest);
}

/* "address type name [module]", of which all but functions are left out. */
static bool parse_line(const char *text, const char *p, const char *end, struct ks_ksym *ret)
{
	const char *name;
	size_t len, own;
	u64 addr;

	p = parse_addr(p, end, &addr);
	if (end - p < 4 || p[0] != ' ' || p[2] != ' ' || !is_function(p[1]) || !addr)
		return false;
	name = p + 3;
	len = (size_t)(end - name);
	if (*name == '\t' || *name == ' ')
		return false;
	if (unlikely(len > MAX_NAME)) {
		own = name_len(name, len);
		if (own > MAX_NAME)
			return false;
		len = len > UINT16_MAX ? own : len; /* there is no module so far behind */
	}
	*ret = (struct ks_ksym){ addr, (u32)(name - text), (u16)len };
	return true;
}

/* The name in brackets at the end of a line's rest, behind the symbol's; NULL = that of no module. */
static const char *find_module(const char *rest, size_t len, size_t name, size_t *ret_len)
{
	while (name < len && (rest[name] == '\t' || rest[name] == ' '))
		name++;
	if (len - name <= 2 || len - name >= MAX_MODULE || rest[name] != '[' ||
	    rest[len - 1] != ']')
		return NULL;
	*ret_len = len - name - 2;
	return rest + name + 1;
}

/* By address; of several names for one, the one that the file has first. */
static int compare(const void *a, const void *b)
{
	const struct ks_ksym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool is_sorted(const struct ks_ksyms *tab)
{
	size_t i;

	for (i = 1; i < tab->syms.len; i++)
		if (compare(&tab->syms.items[i - 1], &tab->syms.items[i]) > 0)
			return false;
	return true;
}

/* The index of the last symbol at or below @addr, or -1. */
static ptrdiff_t find(const struct ks_ksyms *tab, u64 addr)
{
	size_t low = 0, high = tab->syms.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (tab->syms.items[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return (ptrdiff_t)low - 1;
}

/* === Public =============================================================================== */

int ks_ksyms_parse(struct ks_ksyms *tab, char *memory, size_t start, size_t len)
{
	const char *text = memory + start, *p = text, *end = text + ks_min(len, (size_t)UINT32_MAX);

	*tab = (struct ks_ksyms){ .memory = memory, .text = text };
	/* About what a line has; where there is not enough room, it grows as usual. */
	if (ks_vec_reserve(&tab->syms, len / 48 + 1)) {
		ks_ksyms_deinit(tab);
		return -ENOMEM;
	}
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;
		struct ks_ksym sym, *slot;

		if (parse_line(text, p, stop, &sym)) {
			slot = ks_vec_push(&tab->syms);
			if (!slot) {
				ks_ksyms_deinit(tab);
				return -ENOMEM;
			}
			*slot = sym;
		}
		p = stop + 1;
	}
	if (!is_sorted(tab))
		qsort(tab->syms.items, tab->syms.len, sizeof(*tab->syms.items), compare);
	return 0;
}

void ks_ksyms_deinit(struct ks_ksyms *tab)
{
	ks_vec_free(&tab->syms);
	free(tab->memory);
	*tab = (struct ks_ksyms){ 0 };
}

void ks_ksyms_print(const struct ks_ksyms *tab, u64 addr, struct ks_strbuf *sb)
{
	ptrdiff_t at = find(tab, addr), first = at, next = at + 1;
	const struct ks_ksym *sym;
	const char *rest, *module;
	size_t name, module_len;
	u64 size;

	if (at < 0 || addr - tab->syms.items[at].addr > MAX_FUNCTION) {
		ks_strbuf_printf(sb, "0x%llx", (unsigned long long)addr);
		return;
	}
	while (first > 0 && tab->syms.items[first - 1].addr == tab->syms.items[at].addr)
		first--;
	sym = &tab->syms.items[first];
	size = (size_t)next < tab->syms.len ? tab->syms.items[next].addr - sym->addr : 0;
	rest = tab->text + sym->name;
	name = name_len(rest, sym->len);
	ks_strbuf_add(sb, rest, name);
	ks_strbuf_printf(sb, "+0x%llx", (unsigned long long)(addr - sym->addr));
	if (size && size <= MAX_FUNCTION)
		ks_strbuf_printf(sb, "/0x%llx", (unsigned long long)size);
	module = find_module(rest, sym->len, name, &module_len);
	if (module) {
		ks_strbuf_puts(sb, " [");
		ks_strbuf_add(sb, module, module_len);
		ks_strbuf_puts(sb, "]");
	}
}
