// SPDX-License-Identifier: LGPL-2.1-only
/* Symbols from kallsyms text: parsed once, sorted by address, looked up by bisection. */
#include "trace/ksyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

/* A call site further than this behind the last symbol is in no function that we know. */
enum { MAX_FUNCTION = 1 << 20 };

/* === Internals ============================================================================ */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "address type name [module]", of which all but functions are left out. */
static bool parse_line(const char *text, const char *p, const char *end, struct ks_ksym *ret)
{
	const char *name, *tab;
	u64 addr = 0;
	int d;

	for (; p < end && (d = hex_digit(*p)) >= 0; p++)
		addr = addr << 4 | (u64)d;
	if (end - p < 4 || p[0] != ' ' || p[2] != ' ' || !strchr("tTwWiI", p[1]) || !addr)
		return false;
	name = p + 3;
	for (tab = name; tab < end && *tab != '\t' && *tab != ' '; tab++)
		;
	if (tab == name || tab - name > 512)
		return false;
	*ret = (struct ks_ksym){ .addr = addr,
				 .name = (u32)(name - text),
				 .len = (u16)(tab - name) };
	while (tab < end && (*tab == '\t' || *tab == ' '))
		tab++;
	if (end - tab > 2 && end - tab < 256 && *tab == '[' && end[-1] == ']') {
		ret->module = (u32)(tab + 1 - text);
		ret->module_len = (u16)(end - tab - 2);
	}
	return true;
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

int ks_ksyms_parse(struct ks_ksyms *tab, char *text, size_t len)
{
	const char *p = text, *end = text + ks_min(len, (size_t)UINT32_MAX);

	*tab = (struct ks_ksyms){ .text = text };
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
	free(tab->text);
	tab->text = NULL;
}

void ks_ksyms_print(const struct ks_ksyms *tab, u64 addr, struct ks_strbuf *sb)
{
	ptrdiff_t at = find(tab, addr), first = at, next = at + 1;
	const struct ks_ksym *sym;
	u64 size;

	if (at < 0 || addr - tab->syms.items[at].addr > MAX_FUNCTION) {
		ks_strbuf_printf(sb, "0x%llx", (unsigned long long)addr);
		return;
	}
	while (first > 0 && tab->syms.items[first - 1].addr == tab->syms.items[at].addr)
		first--;
	sym = &tab->syms.items[first];
	size = (size_t)next < tab->syms.len ? tab->syms.items[next].addr - sym->addr : 0;
	ks_strbuf_add(sb, tab->text + sym->name, sym->len);
	ks_strbuf_printf(sb, "+0x%llx", (unsigned long long)(addr - sym->addr));
	if (size && size <= MAX_FUNCTION)
		ks_strbuf_printf(sb, "/0x%llx", (unsigned long long)size);
	if (sym->module_len) {
		ks_strbuf_puts(sb, " [");
		ks_strbuf_add(sb, tab->text + sym->module, sym->module_len);
		ks_strbuf_puts(sb, "]");
	}
}
