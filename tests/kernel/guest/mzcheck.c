// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checks in the guest that a shell cannot do. Each command prints why it fails.
 *   mzcheck kmap FILE      FILE holds exactly the objects of mztest/expect, among those of mztest
 *   mzcheck bin FILE       the same, FILE being from kmap_bin or kmap_stream_bin
 *   mzcheck relay FILE...  the same for the cpuN files of kmemtrace; gaps equal total_overruns
 *   mzcheck stream NAME    properties of the stream file NAME; see stream_tests
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../include/uapi/memorizer.h"
#include "module-symbols.h"

#define DEBUGFS "/sys/kernel/debug/"

/* === Expectations ========================================================================= */

struct expectation {
	unsigned long long addr, size;
	char alloc[64], free[64], comm[64];
	bool met;
};

static struct expectation expected[512];
static unsigned int nr_expected, nr_met;

static void read_expectations(void)
{
	FILE *f = fopen(DEBUGFS "mztest/expect", "r");
	struct expectation *e = expected;

	if (!f)
		fail("mztest/expect: %m");
	while (fscanf(f, "%llx %llu %63s %63s %63s", &e->addr, &e->size, e->alloc, e->free,
		      e->comm) == 5)
		e++;
	nr_expected = e - expected;
	fclose(f);
}

/* An object that a file shows; @free_ip 0 is live. */
static void meet(uint64_t addr, uint64_t size, uint64_t alloc_ip, uint64_t free_ip,
		 const char *comm)
{
	const char *alloc = symbol_of(alloc_ip), *freed = symbol_of(free_ip);
	unsigned int i;

	if (!alloc)
		return;
	if (!freed)
		freed = free_ip == MEMORIZER_IP_IMPLIED ? "0xdeadbeef" : free_ip ? "?" : "-";
	for (i = 0; i < nr_expected; i++) {
		struct expectation *e = &expected[i];

		if (!e->met && e->addr == addr && e->size == size && !strcmp(e->alloc, alloc) &&
		    !strcmp(e->free, freed) &&
		    (!strcmp(e->comm, "-") ? strcmp(comm, "softirq") && strcmp(comm, "hardirq")
					   : !strcmp(e->comm, comm))) {
			e->met = true;
			nr_met++;
			return;
		}
	}
	/* The pages that the slab allocator allocated for one of our objects are objects too. */
	if (addr % 4096 == 0 && size % 4096 == 0 && strcmp(alloc, "mztest_alloc_pages"))
		return;
	fail("unexpected object %llx size %llu from %s freed by %s comm %s",
	     (unsigned long long)addr, (unsigned long long)size, alloc, freed, comm);
}

static void all_met(void)
{
	unsigned int i;

	for (i = 0; i < nr_expected; i++) {
		if (!expected[i].met)
			fail("missing: %llx size %llu from %s freed by %s (%u of %u seen)",
			     expected[i].addr, expected[i].size, expected[i].alloc,
			     expected[i].free, nr_met, nr_expected);
	}
}

/* === Files ================================================================================ */

static void check_kmap(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned long long alloc_ip, addr, size, alloc_time, free_time, free_ip;
	char line[512], comm[128];
	int pid, end;

	if (!f)
		fail("%s: %m", path);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%16llx,%d,%16llx,%llu,%llu,%llu,%16llx,%127[^,\n]%n", &alloc_ip,
			   &pid, &addr, &size, &alloc_time, &free_time, &free_ip, comm,
			   &end) != 8 ||
		    line[end] != '\n')
			fail("not a line of eight fields: %s", line);
		if (!alloc_time != !size)
			fail("no time of allocation: %s", line);
		if (free_time && free_time < alloc_time)
			fail("freed before it was allocated: %s", line);
		/* Only mztest asks for 20000 bytes, which are whole pages. */
		if (size == 20000 && free_ip == MEMORIZER_IP_IMPLIED)
			fail("one allocation became two objects: %s", line);
		meet(addr, size, alloc_ip, free_ip, comm);
	}
	fclose(f);
}

/* The next record; false at the end. Headers are skipped: files may be concatenated. */
static bool next_record(FILE *f, struct memorizer_record *r)
{
	union {
		struct memorizer_header header;
		struct memorizer_record record;
	} u;
	size_t rest = sizeof(u.record) - sizeof(u.header), got;

	while ((got = fread(&u, 1, sizeof(u.header), f)) == sizeof(u.header)) {
		if (u.header.magic != MEMORIZER_MAGIC) {
			if (fread((char *)&u + sizeof(u.header), rest, 1, f) != 1)
				fail("ends within a record");
			*r = u.record;
			return true;
		}
		if (u.header.version != MEMORIZER_ABI_VERSION ||
		    u.header.header_size != sizeof(u.header) ||
		    u.header.record_size != sizeof(*r) ||
		    u.header.access_size != sizeof(struct memorizer_access) ||
		    strcmp(u.header.anchor_name, "kfree"))
			fail("wrong header");
	}
	if (got)
		fail("ends within a record");
	return false;
}

/*
 * Ended objects are in the order of their frees, live objects in the order of their allocations. A stream is collected from
 * one part of the index after the other: what ends meanwhile, in a part that was collected already, comes a bit late.
 */
#define LATE_NS 200000000

static void check_times(const struct memorizer_record *r)
{
	static uint64_t last_free, last_alloc;
	bool ended = r->flags & MEMORIZER_FREED;

	if (ended ? r->free_ns < r->alloc_ns || r->free_ns + LATE_NS < last_free
		  : r->free_ns || r->free_ip || r->alloc_ns < last_alloc)
		fail("wrong times: %llu %llu", r->alloc_ns, r->free_ns);
	if (ended && r->free_ns > last_free)
		last_free = r->free_ns;
	else if (!ended)
		last_alloc = r->alloc_ns;
}

/* Whether an object has the name of the cache that the function takes objects of its size from. */
static bool has_cache(const struct memorizer_record *r, const char *alloc)
{
	if (!strcmp(alloc, "mztest_alloc_reborn"))
		return !strncmp(r->cache, r->bytes_req == 200 ? "mztest_first" : "mztest_second",
				12);
	if (!strcmp(alloc, "mztest_callers_grow"))
		return !strcmp(r->cache, "mztest_growing");
	return !strcmp(r->cache,
		       strstr(alloc, "cache") || strstr(alloc, "bulk") ? "mztest_cache" : "");
}

static void check_bin(const char *path)
{
	FILE *f = fopen(path, "r");
	struct memorizer_access access;
	struct memorizer_record r;
	uint32_t magic;

	if (!f || fread(&magic, sizeof(magic), 1, f) != 1 || magic != MEMORIZER_MAGIC)
		fail("%s: no header: %m", path);
	rewind(f);
	while (next_record(f, &r)) {
		const char *alloc = symbol_of(r.alloc_ip);

		check_times(&r);
		if ((r.context == MEMORIZER_IN_TASK) != (r.pid >= 0) || (r.pid < 0) != (r.tgid < 0))
			fail("pid %d, tgid %d in context %u", r.pid, r.tgid, r.context);
		if (alloc && r.kind == MEMORIZER_PAGES)
			alloc = NULL;
		if (alloc && r.bytes_alloc < r.bytes_req)
			fail("%s: %llu of %llu bytes", alloc, r.bytes_alloc, r.bytes_req);
		if (alloc && !has_cache(&r, alloc))
			fail("%s: cache \"%.32s\"", alloc, r.cache);
		if (alloc && !strcmp(alloc, "mztest_alloc_small") &&
		    (r.bytes_alloc < 128 || r.kind != MEMORIZER_KMALLOC || !r.gfp || !r.tgid))
			fail("%s: %llu bytes, kind %u, gfp %x, tgid %d", alloc, r.bytes_alloc,
			     r.kind, r.gfp, r.tgid);
		meet(r.addr, r.bytes_req, r.alloc_ip, r.free_ip, r.comm);
		for (; r.accesses; r.accesses--)
			if (fread(&access, sizeof(access), 1, f) != 1)
				fail("ends within the accesses of an object");
	}
	fclose(f);
}

/* === The relay log ======================================================================== */

static struct kmemtrace_alloc *events;
static unsigned int nr_events;

static void read_relay(const char *path)
{
	FILE *f = fopen(path, "r");
	int32_t last = 0;

	if (!f)
		fail("%s: %m", path);
	for (;;) {
		struct kmemtrace_alloc *e;

		events = realloc(events, (nr_events + 1) * sizeof(*events));
		e = &events[nr_events];
		memset(e, 0, sizeof(*e));
		if (fread(&e->event, sizeof(e->event), 1, f) != 1)
			break;
		if (e->event.event_id > 1 || e->event.type_id > 1 ||
		    e->event.event_size != (e->event.event_id ? 24 : 48))
			fail("%s: bad record %u,%u,%u", path, e->event.event_id, e->event.type_id,
			     e->event.event_size);
		if (e->event.sequence <= last)
			fail("%s: sequence %d after %d", path, e->event.sequence, last);
		last = e->event.sequence;
		if (!e->event.event_id &&
		    fread((char *)e + sizeof(e->event), sizeof(*e) - sizeof(e->event), 1, f) != 1)
			fail("%s: ends within a record", path);
		if (!e->event.event_id && (!e->bytes_req || e->bytes_alloc < e->bytes_req))
			fail("%s: %llu of %llu bytes", path, e->bytes_alloc, e->bytes_req);
		nr_events++;
	}
	fclose(f);
}

static int by_sequence(const void *a, const void *b)
{
	const struct kmemtrace_alloc *x = a, *y = b;

	return x->event.sequence < y->event.sequence ? -1 : 1;
}

static void check_relay(void)
{
	unsigned long missing, overruns = 0;
	unsigned int i, j;
	FILE *f;

	if (!nr_events)
		fail("the log is empty");
	qsort(events, nr_events, sizeof(*events), by_sequence);
	missing = events[nr_events - 1].event.sequence - nr_events;
	f = fopen(DEBUGFS "kmemtrace/total_overruns", "r");
	if (!f || fscanf(f, "%lu", &overruns) != 1)
		fail("total_overruns: %m");
	fclose(f);
	/* Drops after the last record are not visible as a gap. */
	if (missing > overruns || (!missing && overruns > 0))
		fail("%lu numbers missing, %lu overruns", missing, overruns);
	if (getenv("EXPECT_OVERRUNS") && !missing)
		fail("nothing was dropped");
	for (i = 0; i < nr_events; i++) {
		struct kmemtrace_alloc *a = &events[i];
		uint64_t free_ip = 0;

		if (a->event.event_id || !symbol_of(a->event.call_site))
			continue;
		for (j = i + 1; j < nr_events && !free_ip; j++) {
			if (events[j].event.event_id && events[j].event.ptr == a->event.ptr)
				free_ip = events[j].event.call_site;
		}
		meet(a->event.ptr, a->bytes_req, a->event.call_site, free_ip, "?");
	}
}

/* === Properties of the streams ============================================================ */

static int open_stream(const char *name, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "memorizer/%s", name);
	fd = open(path, O_RDONLY | flags);
	if (fd < 0)
		fail("%s: %m", path);
	return fd;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail("%s: %m", path);
	close(fd);
}

/* Everything that is there now. */
static size_t drain(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, buf + len, size - len)) > 0)
		len += n;
	if (n != -1 || errno != EAGAIN)
		fail("an empty stream gave %zd, %m", n);
	return len;
}

static void run_pattern(const char *name)
{
	write_file(DEBUGFS "mztest/run", name);
}

/* Runs a pattern and stops recording: reading with splice() allocates, so it would never finish. */
static void run_only(const char *name)
{
	run_pattern(name);
	write_file(DEBUGFS "memorizer/memorizer_enabled", "0");
}

static void on_alarm(int unused)
{
}

static void stream_nonblock(const char *name)
{
	static char buf[1 << 22];
	int fd = open_stream(name, O_NONBLOCK);

	drain(fd, buf, sizeof(buf));
	run_pattern("task");
	if (!drain(fd, buf, sizeof(buf)))
		fail("nothing came");
	if (read(fd, buf, 0) != 0)
		fail("a read of nothing");
	if (lseek(fd, 0, SEEK_SET) != -1 || errno != ESPIPE)
		fail("a stream can't seek");
	close(fd);
}

/* A reader blocks while there is nothing to read, and a signal interrupts it. */
static void stream_signal(const char *name)
{
	static char buf[1 << 22];
	struct sigaction action = { .sa_handler = on_alarm };
	int fd = open_stream(name, O_NONBLOCK);
	ssize_t n;

	drain(fd, buf, sizeof(buf));
	fcntl(fd, F_SETFL, 0);
	sigaction(SIGALRM, &action, NULL);
	ualarm(200000, 200000);
	/* Objects of this process may still end. */
	do {
		n = read(fd, buf, sizeof(buf));
	} while (n > 0);
	if (n != -1 || errno != EINTR)
		fail("a signal did not end the read: %zd, %m", n);
	close(fd);
}

/* The free of an object wakes a sleeping reader, and a reader in poll(). */
static void stream_wake(const char *name)
{
	static char buf[1 << 22];
	int fd = open_stream(name, O_NONBLOCK), i, status;

	for (i = 0; i < 2; i++) {
		pid_t child;

		drain(fd, buf, sizeof(buf));
		child = fork();
		if (!child) {
			struct pollfd p = { .fd = fd, .events = POLLIN };

			if (i == 0 && poll(&p, 1, 30000) != 1)
				_exit(1);
			fcntl(fd, F_SETFL, 0);
			alarm(30);
			_exit(read(fd, buf, sizeof(buf)) <= 0);
		}
		usleep(200000);
		run_pattern("task");
		waitpid(child, &status, 0);
		if (status)
			fail("%s was not woken", i ? "read" : "poll");
		fcntl(fd, F_SETFL, O_NONBLOCK);
	}
	drain(fd, buf, sizeof(buf));
	close(fd);
}

/* Reading byte by byte loses nothing: the objects are the same and complete. */
static void stream_bytes(const char *name)
{
	static char buf[1 << 20];
	int fd = open_stream(name, O_NONBLOCK), out;
	size_t len = 0;

	run_pattern("clear");
	drain(fd, buf, sizeof(buf));
	close(fd);
	run_only("task");
	fd = open_stream(name, O_NONBLOCK);
	while (len < sizeof(buf) && read(fd, buf + len, 1) == 1)
		len++;
	close(fd);
	out = open("/tmp/bytes", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(out, buf, len) != (ssize_t)len)
		fail("write: %m");
	close(out);
}

/* If a reader closes the file in the middle of an object, the next reader gets that object. */
static void stream_leave(const char *name)
{
	static char buf[1 << 20];
	int fd = open_stream(name, O_NONBLOCK), out;
	size_t len;

	run_pattern("clear");
	drain(fd, buf, sizeof(buf));
	close(fd);
	run_only("task");
	fd = open_stream(name, O_NONBLOCK);
	/* Into the first object: behind the header where there is one. */
	if (read(fd, buf, 76) != 76)
		fail("read: %m");
	close(fd);
	fd = open_stream(name, O_NONBLOCK);
	len = drain(fd, buf, sizeof(buf));
	close(fd);
	out = open("/tmp/bytes", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(out, buf, len) != (ssize_t)len)
		fail("write: %m");
	close(out);
}

static void stream_splice(const char *name)
{
	static char buf[1 << 20];
	int fd = open_stream(name, O_NONBLOCK), out, pipes[2];
	ssize_t n;

	run_pattern("clear");
	drain(fd, buf, sizeof(buf));
	close(fd);
	run_only("task");
	fd = open_stream(name, O_NONBLOCK);
	out = open("/tmp/bytes", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (pipe(pipes))
		fail("pipe: %m");
	while ((n = splice(fd, NULL, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK)) > 0) {
		while (n > 0) {
			ssize_t moved = splice(pipes[0], NULL, out, NULL, n, 0);

			if (moved <= 0)
				fail("splice to a file: %m");
			n -= moved;
		}
	}
	if (n != -1 || errno != EAGAIN)
		fail("splice: %zd, %m", n);
	close(out);
	close(fd);
}

/* Several readers: each object goes to exactly one of them. */
static void stream_share(const char *name)
{
	static char buf[1 << 20];
	int out = open("/tmp/bytes", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	int fd = open_stream(name, O_NONBLOCK), i, status;
	pid_t children[4];

	run_pattern("clear");
	drain(fd, buf, sizeof(buf));
	close(fd);
	run_only("task");
	for (i = 0; i < 4; i++) {
		children[i] = fork();
		if (!children[i]) {
			size_t len;

			fd = open_stream(name, O_NONBLOCK);
			len = drain(fd, buf, sizeof(buf));
			_exit(write(out, buf, len) != (ssize_t)len);
		}
	}
	for (i = 0; i < 4; i++) {
		waitpid(children[i], &status, 0);
		if (status)
			fail("a reader failed");
	}
	close(out);
}

static void stream_errors(const char *name)
{
	void *volatile bad_address = (void *)8;
	char path[128];
	int fd;

	run_only("task");
	fd = open_stream(name, O_NONBLOCK);
	if (read(fd, bad_address, 100) != -1 || errno != EFAULT)
		fail("a bad address: %m");
	close(fd);
	snprintf(path, sizeof(path), DEBUGFS "memorizer/%s", name);
	fd = open(path, O_WRONLY);
	if (fd >= 0 && write(fd, "x", 1) != -1)
		fail("could be written to");
	close(fd);
}

static const struct {
	const char *name;
	void (*run)(const char *file);
} stream_tests[] = {
	{ "nonblock", stream_nonblock }, { "signal", stream_signal }, { "wake", stream_wake },
	{ "bytes", stream_bytes },	 { "leave", stream_leave },   { "splice", stream_splice },
	{ "share", stream_share },	 { "errors", stream_errors },
};

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 3)
		fail("usage: see the source");
	if (!strcmp(argv[1], "stream")) {
		for (i = 0; argc == 4 && i < sizeof(stream_tests) / sizeof(stream_tests[0]); i++) {
			if (!strcmp(argv[3], stream_tests[i].name)) {
				stream_tests[i].run(argv[2]);
				return 0;
			}
		}
		fail("no such test");
	}
	read_symbols("mztest");
	read_expectations();
	if (!nr_expected)
		fail("nothing is expected");
	if (!strcmp(argv[1], "kmap")) {
		check_kmap(argv[2]);
	} else if (!strcmp(argv[1], "bin")) {
		check_bin(argv[2]);
	} else if (!strcmp(argv[1], "relay")) {
		for (i = 2; i < (unsigned int)argc; i++)
			read_relay(argv[i]);
		check_relay();
	} else {
		fail("no such command");
	}
	all_met();
	return 0;
}
