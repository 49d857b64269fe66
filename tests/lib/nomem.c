// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocations that fail, for tests/nomem: linked into a second kmemscope with "ld --wrap", so that it is the
 * program's own calls that fail and no library's. NOMEM_AT=N makes the Nth allocation fail, and with
 * NOMEM_ON=1 all that come after it; NOMEM_COUNT=FILE has the number of allocations at the end. With
 * NOMEM_TRAP=1 it stops there, for "gdb -ex run -ex bt".
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic unsigned long calls;

/* Whether this allocation fails. */
static bool fails(void)
{
	unsigned long nr = ++calls;
	const char *at = getenv("NOMEM_AT");
	unsigned long wanted = at ? strtoul(at, NULL, 10) : 0;

	if (!wanted || (getenv("NOMEM_ON") ? nr < wanted : nr != wanted))
		return false;
	if (getenv("NOMEM_TRAP"))
		raise(SIGTRAP);
	errno = ENOMEM;
	return true;
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("NOMEM_COUNT");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (file) {
		fprintf(file, "%lu\n", calls);
		fclose(file);
	}
}

#define WRAP(type, name, params, ...)              \
	type __real_##name params;                 \
	type __wrap_##name params;                 \
	type __wrap_##name params                  \
	{                                          \
		if (fails())                       \
			return 0;                  \
		return __real_##name(__VA_ARGS__); \
	}

WRAP(void *, malloc, (size_t size), size)
WRAP(void *, calloc, (size_t n, size_t size), n, size)
WRAP(void *, realloc, (void *p, size_t size), p, size)
WRAP(void *, reallocarray, (void *p, size_t n, size_t size), p, n, size)
WRAP(void *, aligned_alloc, (size_t align, size_t size), align, size)
WRAP(char *, strdup, (const char *s), s)
WRAP(char *, strndup, (const char *s, size_t n), s, n)

int __real_vasprintf(char **ret, const char *format, va_list args);
int __wrap_vasprintf(char **ret, const char *format, va_list args);
int __wrap_asprintf(char **ret, const char *format, ...);

int __wrap_vasprintf(char **ret, const char *format, va_list args)
{
	return fails() ? -1 : __real_vasprintf(ret, format, args);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = __wrap_vasprintf(ret, format, args);
	va_end(args);
	return len;
}
