// SPDX-License-Identifier: GPL-2.0-only
/*
 * A trace.dat reads the same whoever loads its pages, and however they are cut. The captures are made
 * here by CPUs whose clocks tie and go backwards, with losses, empty and damaged pages, records of
 * others and stack traces, so that each of these comes to lie at the edge of a piece; what they hold is
 * counted while they are made. The files of the fuzzers' corpus are read as well.
 */
#include "ks-test.h"

#include <errno.h>
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <zstd.h>

#include "base/pack.h"
#include "base/strbuf.h"
#include "trace/formats.h"
#include "trace/tracedat-writer.h"

enum {
	CPUS = 4, /* the last has no records */
	PAGE = 1024,
	PAGES = 40, /* a CPU */
	BLOCK = 3,  /* pages */
	HEADER = 16,
	STAT_LOST = 5,
};

enum { ID_STACK = 4, ID_KMALLOC = 20, ID_KFREE, ID_CACHE, ID_PAGE, ID_OTHER };

struct cpu {
	struct ks_strbuf pages;
	u64 now;
};

struct made {
	struct cpu cpus[CPUS];
	u64 events, lost, windows, other, stacks, bad;
	u32 rng;
};

static u32 roll(struct made *made, u32 sides)
{
	made->rng = made->rng * 1664525u + 1013904223u;
	return (made->rng >> 8) % sides;
}

/* === Pages ================================================================================ */

/* The file is of a little-endian machine, wherever it is made. */
static void put(struct ks_strbuf *sb, u64 value, unsigned int size)
{
	ks_pack_uint(sb, value, size);
}

static void put_common(struct ks_strbuf *sb, u32 id, u32 pid)
{
	put(sb, id, 2);
	put(sb, 0, 2);
	put(sb, pid, 4);
}

/* The content of a record; what it is is counted. */
static void make_record(struct made *made, struct ks_strbuf *sb)
{
	static const char *const names[] = { "dentry", "a",
					     "inode_cache_of_a_very_long_name_indeed_yes" };
	const char *name = names[roll(made, 3)];
	u32 kind = roll(made, 12), i;

	if (kind < 4) { /* kmalloc */
		put_common(sb, ID_KMALLOC, 10 + roll(made, 4));
		put(sb, 0xffffffff81000000 + 0x1000ull * roll(made, 50), 8);
		put(sb, 0xffff888000000000 + 64ull * roll(made, 300), 8);
		put(sb, 10, 8);
		put(sb, 16, 8);
		put(sb, 0xcc0 + roll(made, 3), 4);
		put(sb, 0, 4);
		made->events++;
	} else if (kind < 7) {
		put_common(sb, ID_KFREE, roll(made, 20) ? 12 : 0);
		put(sb, 0xffffffff81000000 + 0x1000ull * roll(made, 50), 8);
		put(sb, 0xffff888000000000 + 64ull * roll(made, 300), 8);
		made->events++;
	} else if (kind < 9) { /* a cache's object, with a name that may lie outside */
		bool bad = !roll(made, 8);

		put_common(sb, ID_CACHE, 13);
		put(sb, 0xffffffff81000000 + 0x1000ull * roll(made, 50), 8);
		put(sb, 0xffff888000000000 + 64ull * roll(made, 300), 8);
		put(sb, (bad ? 4000u : (u32)strlen(name) + 1) << 16 | 28, 4);
		ks_strbuf_add(sb, name, strlen(name) + 1);
		made->events += !bad;
		made->bad += bad;
	} else if (kind < 10) { /* pages, sometimes of an order that no machine has */
		bool bad = !roll(made, 8);

		put_common(sb, ID_PAGE, 14);
		put(sb, roll(made, 100), 8);
		put(sb, bad ? 60 : 1, 4);
		put(sb, 0xdc0, 4);
		made->events += !bad;
		made->bad += bad;
	} else if (kind < 11) {
		put_common(sb, ID_OTHER, 15);
		made->other++;
	} else {
		u32 depth = 1 + roll(made, 4);

		put_common(sb, ID_STACK, 12);
		put(sb, depth, 8);
		for (i = 0; i < depth; i++)
			put(sb, 0xffffffff81000010 + 0x1000ull * roll(made, 6), 8);
		made->stacks++;
	}
	while (sb->len % 4)
		put(sb, 0, 1);
}

/* Time mostly goes on by little, stands still, or jumps; now and then it goes back. */
static void put_record(struct made *made, struct cpu *cpu, struct ks_strbuf *page)
{
	struct ks_strbuf record;
	u64 delta = roll(made, 3);

	if (!roll(made, 30)) {
		u64 to = cpu->now - roll(made, 20); /* an absolute time */

		put(page, (to & ((1 << 27) - 1)) << 5 | 31, 4);
		put(page, to >> 27, 4);
		cpu->now = to;
	} else if (!roll(made, 30)) { /* a record that a filter took back */
		put(page, 1 << 5 | 29, 4);
		put(page, 8, 4);
		put(page, 0, 4);
		cpu->now++;
	}
	ks_strbuf_init(&record);
	make_record(made, &record);
	cpu->now += delta;
	if (record.len > 112) {
		put(page, delta << 5, 4);
		put(page, record.len + 4, 4);
	} else {
		put(page, delta << 5 | record.len / 4, 4);
	}
	ks_strbuf_add(page, record.s, record.len);
	ks_strbuf_deinit(&record);
}

static void put_page(struct made *made, struct cpu *cpu, bool last)
{
	struct ks_strbuf page;
	u64 start = cpu->now, commit, lost = 0;
	bool missed = last || !roll(made, 6), counted = false;
	u32 kind = last ? 0 : roll(made, 10);

	ks_strbuf_init(&page);
	if (kind) /* else there is no record in it */
		while (page.len < PAGE - HEADER - 200 && roll(made, 40))
			put_record(made, cpu, &page);
	commit = page.len;
	if (kind == 1 && page.len < PAGE - HEADER - 8) { /* its end makes no sense */
		put(&page, 0xffffffff, 4);
		commit = page.len;
		made->bad++;
	}
	if (kind == 2 && !page.len) { /* it cannot have so many bytes */
		commit = PAGE;
		made->bad++;
		missed = false;
	}
	if (missed) {
		counted = roll(made, 2);
		lost = counted ? 1 + roll(made, 9) : 0;
		commit |= 1u << 31 | (counted ? 1u << 30 : 0) | 0xffffffff00000000;
		made->lost += lost;
	}
	if (counted)
		put(&page, lost, 8);
	put(&cpu->pages, start, 8);
	put(&cpu->pages, commit, 8);
	ks_strbuf_add(&cpu->pages, page.s, page.len);
	while (cpu->pages.len % PAGE)
		put(&cpu->pages, 0, 1);
	ks_strbuf_deinit(&page);
}

static void make_pages(struct made *made, u32 seed)
{
	int i, j;

	*made = (struct made){ .rng = seed };
	for (i = 0; i < CPUS; i++)
		ks_strbuf_init(&made->cpus[i].pages);
	for (i = 0; i < CPUS - 1; i++) {
		made->cpus[i].now = 1000000;
		for (j = 0; j < PAGES; j++)
			put_page(made, &made->cpus[i], j == PAGES - 1);
	}
}

static void free_pages(struct made *made)
{
	int i;

	for (i = 0; i < CPUS; i++)
		ks_strbuf_deinit(&made->cpus[i].pages);
}

/* === Files ================================================================================ */

#define COMMON                                                                          \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"          \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define SITE_PTR                                                            \
	"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n" \
	"\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"

static const char stack_format[] =
	"name: kernel_stack\nID: 4\n" COMMON "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n";

static const char *const formats[] = {
	"name: kmalloc\nID: 20\n" COMMON SITE_PTR
	"\tfield:size_t bytes_req;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:size_t bytes_alloc;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int gfp_flags;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:int node;\toffset:44;\tsize:4;\tsigned:1;\n",
	"name: kfree\nID: 21\n" COMMON SITE_PTR,
	"name: kmem_cache_free\nID: 22\n" COMMON SITE_PTR
	"\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:1;\n",
	"name: mm_page_alloc\nID: 23\n" COMMON
	"\tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int order;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int gfp_flags;\toffset:20;\tsize:4;\tsigned:0;\n",
};

static const char page_format[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:1008;\tsigned:1;\n";

static const char statistics[] = "CPU: 3\nentries: 0\noverrun: 5\n";

static void put_text(struct ks_strbuf *sb, const char *text, unsigned int size)
{
	put(sb, strlen(text), size);
	ks_strbuf_puts(sb, text);
}

static void put_option(struct ks_strbuf *sb, u32 id, const char *text)
{
	put(sb, id, 2);
	put(sb, strlen(text) + 1, 4);
	ks_strbuf_add(sb, text, strlen(text) + 1);
}

static void write_file(const char *path, const struct ks_strbuf *sb)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, sb->s, sb->len), (ssize_t)sb->len);
	close(fd);
}

/* Version 6: pages as they are. */
static void write_plain(const struct made *made, const char *path)
{
	struct ks_strbuf sb;
	size_t at, i;

	ks_strbuf_init(&sb);
	ks_strbuf_add(&sb, "\x17\x08\x44tracing6\0", 12);
	put(&sb, 0, 1);
	put(&sb, 8, 1);
	put(&sb, PAGE, 4);
	ks_strbuf_add(&sb, "header_page", 12);
	put_text(&sb, page_format, 8);
	ks_strbuf_add(&sb, "header_event", 13);
	put_text(&sb, "none", 8);
	put(&sb, 1, 4);
	put_text(&sb, stack_format, 8);
	put(&sb, 1, 4);
	ks_strbuf_add(&sb, "kmem", 5);
	put(&sb, ARRAY_SIZE(formats), 4);
	for (i = 0; i < ARRAY_SIZE(formats); i++)
		put_text(&sb, formats[i], 8);
	put_text(&sb, "ffffffff81000000 T first\nffffffff81004000 T second\n", 4);
	put_text(&sb, "", 4);
	put_text(&sb, "10 ten\n12 twelve\n", 8);
	put(&sb, CPUS, 4);
	ks_strbuf_add(&sb, "options  ", 10);
	put_option(&sb, 2, statistics);
	put_option(&sb, 9, "kmemscope self=13");
	put(&sb, 0, 2);
	ks_strbuf_add(&sb, "flyrecord", 10);
	at = sb.len + CPUS * 16 + 8;
	for (i = 0; i < CPUS; i++) {
		put(&sb, at, 8);
		put(&sb, made->cpus[i].pages.len, 8);
		at += made->cpus[i].pages.len;
	}
	put(&sb, 0, 8);
	for (i = 0; i < CPUS; i++)
		ks_strbuf_add(&sb, made->cpus[i].pages.s, made->cpus[i].pages.len);
	assert_false(sb.failed);
	write_file(path, &sb);
	ks_strbuf_deinit(&sb);
}

static void fill_meta(struct ks_td_meta *meta)
{
	struct ks_strbuf *sb;
	size_t i;

	ks_td_meta_init(meta);
	ks_strbuf_puts(&meta->header_page, page_format);
	ks_strbuf_puts(&meta->header_event, "none");
	sb = ks_vec_push(&meta->ftrace_formats);
	ks_strbuf_init(sb);
	ks_strbuf_puts(sb, stack_format);
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		sb = ks_vec_push(&meta->kmem_formats);
		ks_strbuf_init(sb);
		ks_strbuf_puts(sb, formats[i]);
	}
	ks_strbuf_puts(&meta->kallsyms, "ffffffff81000000 T first\nffffffff81004000 T second\n");
	ks_strbuf_puts(&meta->cmdlines, "10 ten\n12 twelve\n");
	sb = ks_vec_push(&meta->cpu_stats);
	ks_strbuf_init(sb);
	ks_strbuf_puts(sb, statistics);
	strcpy(meta->clock, "local");
	meta->page_size = 4096;
	meta->ring_page_size = PAGE;
	meta->cpus = CPUS;
}

/* Version 7 in blocks of a few pages; a block that is damaged ends its CPU where it is a journal. */
static void write_blocks(const struct made *made, const char *path, bool finish, int damaged)
{
	struct ks_diag diag = { 0 };
	struct ks_td_writer *writer;
	struct ks_td_meta meta;
	char stored[2 * BLOCK * PAGE];
	size_t len, at;
	u32 cpu, seq;

	fill_meta(&meta);
	assert_int_equal(ks_td_writer_open(path, &meta, &writer, &diag), 0);
	for (cpu = 0; cpu < CPUS - 1; cpu++)
		for (at = 0, seq = 0; at < made->cpus[cpu].pages.len; at += BLOCK * PAGE, seq++) {
			size_t piece = ks_min((size_t)BLOCK * PAGE, made->cpus[cpu].pages.len - at);

			len = ZSTD_compress(stored, sizeof(stored), made->cpus[cpu].pages.s + at,
					    piece, 1);
			assert_false(ZSTD_isError(len));
			if (damaged == (int)seq)
				memset(stored, 0, len);
			assert_int_equal(ks_td_writer_block(writer, cpu, seq, stored, (u32)len,
							    (u32)piece, &diag),
					 0);
		}
	if (finish)
		assert_int_equal(ks_td_writer_finish(writer, &meta, &diag), 0);
	else
		ks_td_writer_leave(writer);
	ks_td_meta_deinit(&meta);
}

/* What is in the file, at most a few bytes. */
static void assert_file(const char *path, const char *text)
{
	char got[16] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_true(fread(got, 1, sizeof(got) - 1, file) > 0);
	fclose(file);
	assert_int_equal(strncmp(got, text, strlen(text)), 0);
}

static void make_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A capture is a file of its own: links are not followed, and what is no file is refused and stays. */
static void test_names(void **state)
{
	char *path = scratch_path("capture.dat"), *other = scratch_path("other");
	struct ks_diag diag = { 0 };
	struct ks_td_writer *writer;
	struct ks_td_meta meta;
	struct stat st;

	(void)state;
	fill_meta(&meta);
	make_file(other, "precious");
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(ks_td_writer_open(path, &meta, &writer, &diag), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	ks_td_writer_leave(writer);
	assert_file(other, "precious");
	assert_file(path, "\x17\x08\x44tracing");

	/* Somebody else's, who has it open and whom it is readable for. */
	assert_int_equal(chmod(other, 0644), 0);
	assert_int_equal(ks_td_writer_open(other, &meta, &writer, &diag), 0);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	ks_td_writer_abort(writer);
	unlink(path);

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ks_td_writer_open(path, &meta, &writer, &diag), -EINVAL);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	unlink(path);
	ks_td_meta_deinit(&meta);
	free(path);
	free(other);
}

/* === Reading ============================================================================== */

static void print_name(struct ks_strbuf *sb, const struct ks_intern *in, u32 id)
{
	struct ks_str s = ks_intern_get(in, id);

	ks_strbuf_printf(sb, " %u ", id);
	ks_strbuf_add(sb, s.s, s.len);
}

/* @bare: without what a bare reader may leave out. */
static void print_event(struct ks_strbuf *sb, const struct ks_names *names,
			const struct ks_event *ev, bool bare)
{
	ks_strbuf_printf(sb, "%u %llu %llx %llu %llu", ev->kind, (unsigned long long)ev->ts,
			 (unsigned long long)ev->ptr, (unsigned long long)ev->bytes_req,
			 (unsigned long long)ev->bytes_alloc);
	print_name(sb, &names->sites.texts, ev->site);
	print_name(sb, &names->stacks, ev->stack);
	if (!bare) {
		print_name(sb, &names->caches, ev->cache);
		print_name(sb, &names->comms, ev->comm);
		print_name(sb, &names->gfps, ev->gfp);
		ks_strbuf_printf(sb, " %d", ev->node);
	}
	ks_strbuf_printf(sb, " %u %u %u\n", ev->pid, ev->cpu, ev->flags);
}

static void print_info(struct ks_strbuf *sb, const struct ks_source *source)
{
	const struct ks_binary_info *info = &source->info.binary;
	size_t i;

	ks_strbuf_printf(sb, "other %llu stacks %llu self %llu bad %llu alone %llu\n",
			 (unsigned long long)info->other_events, (unsigned long long)info->stacks,
			 (unsigned long long)info->self_events,
			 (unsigned long long)info->bad_records,
			 (unsigned long long)source->info.stacks_alone);
	for (i = 0; i < info->cpus.len; i++) {
		const struct ks_cpu_info *cpu = &info->cpus.items[i];

		ks_strbuf_printf(sb, "cpu %u: %llu %llu %llu %llu %llu %llu %llu\n", cpu->cpu,
				 (unsigned long long)cpu->events, (unsigned long long)cpu->lost,
				 (unsigned long long)cpu->lost_windows,
				 (unsigned long long)cpu->first_ts,
				 (unsigned long long)cpu->last_ts,
				 (unsigned long long)cpu->backwards, (unsigned long long)cpu->bad);
	}
}

struct sums {
	u64 events, lost, other, stacks, self, bad;
};

/* How a capture is read and shown. */
struct way {
	u32 workers, read_size;
	bool stacks, bare;
	bool brief; /* shown as if it were bare */
};

/* All that a capture says, in @sb. An error is part of it. */
static struct sums read_all(const char *path, struct way way, struct ks_strbuf *sb)
{
	struct ks_source_opts opts = { .stacks = way.stacks, .bare = way.bare };
	struct ks_diag diag = { 0 };
	struct sums sums = { 0 };
	struct ks_source *source;
	struct ks_input *input;
	struct ks_batch batch;
	size_t i;
	int err;

	sb->len = 0;
	assert_int_equal(ks_input_open(path, &input, &diag), 0);
	err = ks_tracedat_source_open_cut(input, &opts, way.read_size, way.workers, &source, &diag);
	if (err) {
		ks_strbuf_printf(sb, "error %d %s\n", err, diag.text);
		return sums;
	}
	while (!(err = ks_source_next(source, &batch, &diag)) && batch.count)
		for (i = 0; i < batch.count; i++) {
			print_event(sb, &source->names, &batch.events[i], way.brief);
			if (batch.events[i].kind == KS_LOST)
				sums.lost += batch.events[i].lost.count;
			else
				sums.events++;
		}
	if (err) { /* events in front of it may or may not be there */
		sb->len = 0;
		ks_strbuf_printf(sb, "error %d %s\n", err, diag.text);
	} else {
		print_info(sb, source);
	}
	sums.other = source->info.binary.other_events;
	sums.stacks = source->info.binary.stacks;
	sums.self = source->info.binary.self_events;
	sums.bad = source->info.binary.bad_records;
	ks_source_close(source);
	return sums;
}

/* Compares all ways to read a file with the way of a single thread. */
static struct sums compare(const char *path)
{
	static const u32 workers[] = { 1, 2, 3, 8 }, sizes[] = { PAGE, 3 * PAGE, 256 * 1024 };
	struct ks_strbuf serial, parallel;
	struct sums sums = { 0 };
	size_t i, j, stacks;

	ks_strbuf_init(&serial);
	ks_strbuf_init(&parallel);
	for (stacks = 0; stacks < 2; stacks++) {
		sums = read_all(path, (struct way){ 0, 64 * 1024, stacks }, &serial);
		for (i = 0; i < ARRAY_SIZE(workers); i++)
			for (j = 0; j < ARRAY_SIZE(sizes); j++) {
				read_all(path, (struct way){ workers[i], sizes[j], stacks },
					 &parallel);
				assert_string_equal(serial.s, parallel.s);
			}
		/* What is left of an event does not depend on what was left out. */
		read_all(path, (struct way){ 0, PAGE, stacks, .brief = true }, &serial);
		read_all(path, (struct way){ 1, PAGE, stacks, true, true }, &parallel);
		assert_string_equal(serial.s, parallel.s);
	}
	ks_strbuf_deinit(&serial);
	ks_strbuf_deinit(&parallel);
	return sums;
}

/* === Tests ================================================================================ */

/* @more events were lost on the CPU that has no records, as its statistics say. */
static void check_sums(const struct made *made, struct sums sums, u64 more)
{
	assert_int_equal(sums.events + sums.self, made->events);
	assert_int_equal(sums.lost, made->lost + more);
	assert_int_equal(sums.other, made->other);
	assert_int_equal(sums.stacks, made->stacks);
	assert_int_equal(sums.bad, made->bad);
}

static void test_made(void **state)
{
	char *path = scratch_path("made.dat");
	struct made made;
	struct sums sums;
	u32 seed;

	for (seed = 1; seed <= 12; seed++) {
		make_pages(&made, seed);
		write_plain(&made, path);
		sums = compare(path);
		check_sums(&made, sums, STAT_LOST);
		assert_true(sums.self > 0 && sums.events > 500 && sums.bad > 0);
		unlink(path);

		write_blocks(&made, path, true, -1);
		check_sums(&made, compare(path), STAT_LOST); /* of a CPU that only they name */
		unlink(path);
		free_pages(&made);
	}
	free(path);
}

/* A chunk that cannot be decompressed: an error of a finished file, the end of a CPU in a journal. */
static void test_damaged(void **state)
{
	char *path = scratch_path("damaged.dat");
	struct ks_strbuf sb;
	struct made made;
	int block;

	make_pages(&made, 77);
	ks_strbuf_init(&sb);
	for (block = -1; block < PAGES / BLOCK; block += 4) {
		write_blocks(&made, path, false, block);
		compare(path);
		unlink(path);
	}
	write_blocks(&made, path, true, 5);
	compare(path);
	read_all(path, (struct way){ 2, PAGE }, &sb);
	assert_non_null(strstr(sb.s, "error "));
	unlink(path);
	ks_strbuf_deinit(&sb);
	free_pages(&made);
	free(path);
}

/* A file that was cut off anywhere among its pages. */
static void test_cut(void **state)
{
	char *path = scratch_path("cut.dat");
	struct made made;
	off_t size;
	int fd, i;

	make_pages(&made, 99);
	write_plain(&made, path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	size = lseek(fd, 0, SEEK_END);
	for (i = 0; i < 8; i++) {
		size -= 7 * PAGE + 100;
		assert_int_equal(ftruncate(fd, size), 0);
		compare(path);
	}
	close(fd);
	unlink(path);
	free_pages(&made);
	free(path);
}

/* A reader that is closed in the middle leaves no thread and no memory behind. */
static void test_closed_early(void **state)
{
	char *path = scratch_path("early.dat");
	struct ks_diag diag = { 0 };
	struct ks_source *source;
	struct ks_input *input;
	struct ks_batch batch;
	struct made made;
	int i;

	make_pages(&made, 5);
	write_plain(&made, path);
	for (i = 0; i < 20; i++) {
		assert_int_equal(ks_input_open(path, &input, &diag), 0);
		assert_int_equal(ks_tracedat_source_open_cut(input, NULL, PAGE, 3, &source, &diag),
				 0);
		if (i % 2)
			assert_int_equal(ks_source_next(source, &batch, &diag), 0);
		ks_source_close(source);
	}
	unlink(path);
	free_pages(&made);
	free(path);
}

static void test_corpus(void **state)
{
	const char *corpus = getenv("CORPUS");
	struct dirent *entry;
	char path[1024];
	int files = 0;
	DIR *dir;

	assert_non_null(corpus);
	snprintf(path, sizeof(path), "%s/tracedat", corpus);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/tracedat/%s", corpus, entry->d_name);
		compare(path);
		files++;
	}
	closedir(dir);
	assert_true(files > 10);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_made),   cmocka_unit_test(test_damaged),
	cmocka_unit_test(test_cut),    cmocka_unit_test(test_closed_early),
	cmocka_unit_test(test_corpus), cmocka_unit_test(test_names),
};

KS_RUN(tests)
