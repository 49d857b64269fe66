// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the accesses in a KMAP with what mzaccess/expect says, exactly: what each function of
 * that module did to each object, and that it did nothing to any other object. In binary maps the
 * kinds of the objects must be right, too, those of kmalloc() must have a cache, and times must be
 * finer than ticks.
 *   mzcount text|bin FILE [task]
 * With "task", only what was done in task context is expected.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../include/uapi/memorizer.h"
#include "module-symbols.h"

/*
 * The function whose accesses count, or NULL: other functions of the module may use objects freely.
 */
static const char *function_of(uint64_t ip)
{
	const char *name = symbol_of(ip);

	if (!name || strncmp(name, "mzaccess_", 9) || !strcmp(name, "mzaccess_init") ||
	    !strcmp(name, "mzaccess_exit"))
		return NULL;
	return name;
}

/* === Sums ================================================================================= */

struct sum {
	unsigned long long addr;
	char function[64];
	bool irq;
	unsigned int kind, counted_kind;
	unsigned long long expected[4], counted[4]; /* writes, reads, and the bytes of both */
};

static struct sum sums[1024];
static unsigned int nr_sums;

static struct sum *sum_of(unsigned long long addr, const char *function, bool irq)
{
	struct sum *s;

	for (s = sums; s < sums + nr_sums; s++) {
		if (s->addr == addr && s->irq == irq && !strcmp(s->function, function))
			return s;
	}
	if (nr_sums++ == 1024)
		fail("too many objects");
	s->addr = addr;
	s->irq = irq;
	snprintf(s->function, sizeof(s->function), "%s", function);
	return s;
}

static void read_expectations(bool only_task)
{
	FILE *f = fopen("/sys/kernel/debug/mzaccess/expect", "r");
	char function[64], context[8];
	unsigned long long addr, n[4];
	unsigned int kind;

	if (!f)
		fail("mzaccess/expect: %m");
	while (fscanf(f, "%llx %63s %7s %llu %llu %llu %llu %u", &addr, function, context, &n[0],
		      &n[1], &n[2], &n[3], &kind) == 8) {
		bool irq = !strcmp(context, "irq");
		struct sum *s = sum_of(addr, function, irq);
		unsigned int i;

		s->kind = kind;

		for (i = 0; i < 4 && !(irq && only_task); i++)
			s->expected[i] += n[i];
	}
	if (!nr_sums)
		fail("nothing is expected");
	fclose(f);
}

static void count(unsigned long long addr, unsigned int kind, const struct memorizer_access *access)
{
	const char *function = function_of(access->ip);
	struct sum *s;

	if (!function)
		return;
	s = sum_of(addr, function, access->pid == -1);
	s->counted_kind = kind;
	s->counted[0] += access->writes;
	s->counted[1] += access->reads;
	s->counted[2] += access->bytes_written;
	s->counted[3] += access->bytes_read;
}

static void compare(bool bytes)
{
	unsigned int i, j, wrong = 0;

	for (i = 0; i < nr_sums; i++) {
		struct sum *s = &sums[i];

		for (j = 0; j < (bytes ? 4 : 2); j++) {
			static const char *const what[] = { "writes", "reads", "bytes written",
							    "bytes read" };

			if (s->expected[j] == s->counted[j])
				continue;
			printf("# %llx %s %s: %llu %s, expected %llu\n", s->addr, s->function,
			       s->irq ? "irq" : "task", s->counted[j], what[j], s->expected[j]);
			wrong++;
		}
		if (bytes && s->kind && s->counted_kind != s->kind) {
			printf("# %llx %s: of kind %u, expected %u\n", s->addr, s->function,
			       s->counted_kind, s->kind);
			wrong++;
		}
	}
	if (wrong)
		fail("%u counts are wrong", wrong);
}

/* === Files ================================================================================ */

/* Reads a stream too, up to the place where there is nothing to read yet. */
static FILE *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		fail("%s: %m", path);
	return fdopen(fd, "r");
}

static void read_text(const char *path)
{
	FILE *f = open_file(path);
	struct memorizer_access access = { 0 };
	unsigned long long addr = 0, ip, writes, reads, last_ip = 0;
	int end, pid, last_pid = -2;
	char line[512];

	while (fgets(line, sizeof(line), f)) {
		if (line[0] != ' ') {
			if (sscanf(line, "%*16x,%*d,%16llx,", &addr) != 1)
				fail("not an object: %s", line);
			last_ip = 0;
			last_pid = -2;
			continue;
		}
		if (sscanf(line, "  %16llx,%d,%llu,%llu%n", &ip, &pid, &writes, &reads, &end) !=
			    4 ||
		    line[end] != '\n' || !addr)
			fail("not an access: %s", line);
		if (ip < last_ip || (ip == last_ip && pid <= last_pid) || !(writes + reads))
			fail("out of order, or empty: %s", line);
		last_ip = ip;
		last_pid = pid;
		access.ip = ip;
		access.pid = pid;
		access.writes = writes;
		access.reads = reads;
		count(addr, 0, &access);
	}
	fclose(f);
}

static void read_binary(const char *path)
{
	FILE *f = open_file(path);
	struct memorizer_header header;
	struct memorizer_record record;
	struct memorizer_access access;
	unsigned int nr = 0, coarse = 0;

	if (fread(&header, sizeof(header), 1, f) != 1)
		fail("%s: no header: %m", path);
	if (header.access_size != sizeof(access) || header.record_size != sizeof(record))
		fail("wrong header");
	if (header.version == MEMORIZER_ABI_CALLS &&
	    fseek(f, (long)(header.calls * sizeof(struct memorizer_call)), SEEK_CUR))
		fail("%s: calls: %m", path);
	while (fread(&record, sizeof(record), 1, f) == 1) {
		nr++;
		coarse += record.alloc_ns % 1000000 == 0;
		if (record.kind == MEMORIZER_KMALLOC && record.bytes_alloc <= 4096 &&
		    strncmp(record.cache, "kmalloc-", 8))
			fail("an object of kmalloc() of the cache '%.32s'", record.cache);
		for (; record.accesses; record.accesses--) {
			if (fread(&access, sizeof(access), 1, f) != 1)
				fail("ends within the accesses of an object");
			if ((access.context == MEMORIZER_IN_TASK) != (access.pid >= 0))
				fail("pid %d in context %u", access.pid, access.context);
			count(record.addr, record.kind, &access);
		}
	}
	fclose(f);
	if (nr > 10 && coarse == nr)
		fail("all times are multiples of a millisecond");
}

int main(int argc, char **argv)
{
	bool binary = argc > 2 && !strcmp(argv[1], "bin");

	if (argc < 3)
		fail("usage: see the source");
	read_symbols("mzaccess");
	read_expectations(argc > 3);
	if (binary)
		read_binary(argv[2]);
	else
		read_text(argv[2]);
	compare(binary);
	return 0;
}
