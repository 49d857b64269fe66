/* SPDX-License-Identifier: GPL-2.0-only */
/* For the programs that run in a guest: fatal errors, and the functions of a test module. */
#ifndef MODULE_SYMBOLS_H
#define MODULE_SYMBOLS_H

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list args;

	printf("# %s: ", program_invocation_short_name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

struct symbol {
	uint64_t addr;
	char name[64];
};

static struct symbol symbols[256];
static unsigned int nr_symbols;

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void read_symbols(const char *module)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], name[256], mark[64];
	unsigned long long addr;
	char type;

	snprintf(mark, sizeof(mark), "[%s]", module);
	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, mark) || nr_symbols == 256)
			continue;
		if (sscanf(line, "%llx %c %255s", &addr, &type, name) != 3 || tolower(type) != 't')
			continue;
		symbols[nr_symbols].addr = addr;
		snprintf(symbols[nr_symbols++].name, sizeof(symbols[0].name), "%.63s", name);
	}
	if (!nr_symbols)
		fail("no symbols of %s in /proc/kallsyms", module);
	fclose(f);
	qsort(symbols, nr_symbols, sizeof(symbols[0]), by_addr);
}

/* The function of the module that an address is in, or NULL. */
static const char *symbol_of(uint64_t ip)
{
	const char *name = NULL;
	unsigned int i;

	for (i = 0; i < nr_symbols && symbols[i].addr < ip; i++)
		name = symbols[i].name;
	/* The last function has no end mark, and is shorter than a page. */
	return name && ip - symbols[i - 1].addr < 4096 ? name : NULL;
}

#endif
