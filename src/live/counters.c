// SPDX-License-Identifier: LGPL-2.1-only
/* Reads /proc/slabinfo and /proc/meminfo. */
#include "live/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* === Internals ============================================================================ */

static int read_text(const char *path, struct ks_strbuf *text, struct ks_diag *diag)
{
	char buf[16384];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 || (n < 0 && fd >= 0 && errno == EINTR)) {
		n = read(fd, buf, sizeof(buf));
		if (n > 0)
			ks_strbuf_add(text, buf, (size_t)n);
	}
	if (n < 0) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return ks_diag_set(diag, err, "%s: %s", path, strerror(-err));
	}
	close(fd);
	return text->failed ? ks_diag_nomem(diag, path) : 0;
}

static int add_line(struct ks_counters *c, const char *line, u64 page_size)
{
	u64 active, total, size, per_slab, pages, slabs;
	struct ks_counter *counter;
	char name[128];
	u32 number;

	if (sscanf(line,
		   "%127s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " : tunables %*u %*u %*u : slabdata %*u %" SCNu64,
		   name, &active, &total, &size, &per_slab, &pages, &slabs) != 7)
		return 0;
	/* The room first: a name without a counter would be one too many. */
	if (ks_vec_reserve(&c->items, c->items.len + 1))
		return -ENOMEM;
	number = ks_intern_add(&c->names, name, strlen(name));
	if (number == KS_NONE || (number == c->items.len && !ks_vec_push(&c->items)))
		return -ENOMEM;
	counter = &c->items.items[number];
	counter->active += active;
	counter->bytes += slabs * pages * page_size;
	counter->size = size;
	return 0;
}

/* === Public =============================================================================== */

int ks_counters_init(struct ks_counters *c)
{
	*c = (struct ks_counters){ 0 };
	return ks_intern_init(&c->names);
}

void ks_counters_deinit(struct ks_counters *c)
{
	ks_intern_deinit(&c->names);
	ks_vec_free(&c->items);
}

int ks_counters_parse(struct ks_counters *c, const char *text, u64 page_size)
{
	const char *line, *end;
	int err = 0;

	for (line = text; !err && *line; line = *end ? end + 1 : end) {
		char buf[512];

		end = strchrnul(line, '\n');
		if ((size_t)(end - line) >= sizeof(buf))
			continue;
		memcpy(buf, line, (size_t)(end - line));
		buf[end - line] = '\0';
		err = add_line(c, buf, page_size);
	}
	return err;
}

int ks_counters_read(struct ks_counters *c, struct ks_diag *diag)
{
	struct ks_strbuf text;
	int err;

	ks_strbuf_init(&text);
	err = read_text("/proc/slabinfo", &text, diag);
	if (!err && ks_counters_parse(c, ks_strbuf_str(&text), (u64)sysconf(_SC_PAGESIZE)))
		err = ks_diag_nomem(diag, "reading /proc/slabinfo");
	ks_strbuf_deinit(&text);
	return err;
}

void ks_live_memory_parse(struct ks_live_memory *m, const char *text)
{
	const struct {
		const char *name;
		u64 *into;
	} rows[] = {
		{ "MemTotal", &m->total },	     { "MemFree", &m->free },
		{ "MemAvailable", &m->available },   { "Slab", &m->slab },
		{ "SReclaimable", &m->reclaimable }, { "SUnreclaim", &m->unreclaimable },
		{ "PageTables", &m->page_tables },   { "KernelStack", &m->stacks },
		{ "VmallocUsed", &m->vmalloc },	     { "Percpu", &m->percpu },
		{ "AnonPages", &m->anon },	     { "Cached", &m->file },
	};
	const char *line, *end;
	char name[64];
	u64 kilobytes;
	size_t i;

	*m = (struct ks_live_memory){ 0 };
	for (line = text; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (sscanf(line, "%63[^:\n]: %" SCNu64, name, &kilobytes) != 2)
			continue;
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			if (!strcmp(name, rows[i].name))
				*rows[i].into = kilobytes * 1024;
	}
}

int ks_live_memory_read(struct ks_live_memory *m, struct ks_diag *diag)
{
	struct ks_strbuf text;
	int err;

	ks_strbuf_init(&text);
	err = read_text("/proc/meminfo", &text, diag);
	if (!err)
		ks_live_memory_parse(m, ks_strbuf_str(&text));
	ks_strbuf_deinit(&text);
	return err;
}

u64 ks_live_resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	u64 pages = 0;

	if (file && fscanf(file, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (u64)sysconf(_SC_PAGESIZE);
}
