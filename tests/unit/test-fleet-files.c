// SPDX-License-Identifier: GPL-2.0-only
/*
 * Questions to a directory of tables. Values are taken at 0, 15, 30 and 45 minutes of an hour, so that slopes are whole
 * numbers: that of values y is the sum of (x - 3/8) * y over x = 0, 1/4, 1/2, 3/4, divided by 5/16. The answers beside the
 * questions were worked out by hand from that.
 */
#include "ks-test.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "fleet/files.h"
#include "fleet/question.h"
#include "table/render.h"

/* === Data ================================================================================= */

enum { START = 1700006400, HOUR = 3600, SPAN = 900, TIMES = 4 }; /* 2023-11-15 00:00 */

struct bench {
	char *dir;
	struct ks_files *files;
};

/* A batch that is being made. */
struct report {
	const char *host, *build;
	u32 at, uptime;
	const char *role; /* a label */
	u64 version;
};

/* === Helpers ============================================================================== */

static int forget(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct ks_diag diag;

	assert_non_null(b);
	b->dir = scratch_path("fleet-files");
	assert_int_equal(ks_files_open(b->dir, true, &b->files, &diag), 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	ks_files_close(b->files);
	assert_int_equal(nftw(b->dir, forget, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(b->dir);
	free(b);
	return 0;
}

static void begin(struct ks_fleet_batch *batch, const struct report *r)
{
	char boot[64];

	ks_fleet_batch_init(batch);
	snprintf(boot, sizeof(boot), "boot of %s", r->host);
	ks_fleet_batch_name(batch, NULL, KS_FLEET_HOST, r->host, &batch->host);
	ks_fleet_batch_name(batch, NULL, KS_FLEET_BOOT, boot, &batch->boot);
	ks_fleet_batch_name(batch, NULL, KS_FLEET_BUILD, r->build, &batch->build);
	batch->at = r->at;
	batch->span = SPAN;
	batch->uptime = r->uptime;
	batch->version = r->version;
	if (r->role)
		assert_int_equal(ks_fleet_batch_label(batch, "role", r->role), 0);
}

/* Names may be "". */
static void put(struct ks_fleet_batch *batch, const char *cache, const char *type, const char *site,
		const char *stack, const char *cgroup, s64 bytes, s64 objects)
{
	struct ks_fleet_row *row = ks_vec_push(&batch->rows);

	assert_non_null(row);
	ks_fleet_batch_name(batch, NULL, KS_FLEET_CACHE, cache, &row->cache);
	ks_fleet_batch_name(batch, NULL, KS_FLEET_TYPE, type, &row->type);
	ks_fleet_batch_name(batch, NULL, KS_FLEET_SITE, site, &row->site);
	ks_fleet_batch_name(batch, NULL, KS_FLEET_STACK, stack, &row->stack);
	ks_fleet_batch_name(batch, NULL, KS_FLEET_CGROUP, cgroup, &row->cgroup);
	row->live_bytes = bytes;
	row->live_objects = objects;
}

static void end(struct bench *b, struct ks_fleet_batch *batch)
{
	struct ks_diag diag;

	assert_int_equal(ks_files_add(b->files, batch, &diag), 0);
	ks_fleet_batch_deinit(batch);
}

/* Opens the directory again, for questions. */
static void flush(struct bench *b)
{
	struct ks_diag diag;

	assert_int_equal(ks_files_flush(b->files, &diag), 0);
	ks_files_close(b->files);
	b->files = NULL;
	assert_int_equal(ks_files_open(b->dir, false, &b->files, &diag), 0);
}

static struct ks_doc *ask(const struct bench *b, const struct ks_question *question)
{
	struct ks_store store = { .files = b->files };
	struct ks_doc *doc;
	struct ks_diag diag;

	if (ks_question_ask(&store, question, &doc, &diag))
		fail_msg("%s", diag.text);
	return doc;
}

/* The answer as CSV, without the line of names. */
static void check(const struct bench *b, const struct ks_question *question, const char *expected)
{
	struct ks_doc *doc = ask(b, question);
	struct ks_strbuf out;

	ks_strbuf_init(&out);
	ks_render_table_csv(doc->tables.items[0], &out);
	assert_string_equal(strchr(ks_strbuf_str(&out), '\n') + 1, expected);
	ks_strbuf_deinit(&out);
	ks_doc_free(doc);
}

/* === Three hosts, two hours =============================================================== */

/*
 * Series x on three hosts: "b" is too young in the first hour for its growth to count, and "a" has two stacks and
 * cgroups, of which one stays at 300 bytes. Slopes: a 1320 and 1000, b 4000 and 400, c -4000 and 0.
 */
static const struct {
	const char *host, *build;
	u32 uptime; /* at the start */
	const char *role;
	s64 bytes[2][TIMES];
} three[] = {
	{ "a", "one", 7200, "web", { { 1000, 1100, 1400, 2000 }, { 2000, 2250, 2500, 2750 } } },
	{ "b", "one", 7199, "db", { { 0, 1000, 2000, 3000 }, { 3000, 3100, 3200, 3300 } } },
	{ "c", "two", 90000, "web", { { 4000, 3000, 2000, 1000 }, { 1000, 1000, 1000, 1000 } } },
};

static void make_three(struct bench *b)
{
	size_t host, hour, i;

	for (hour = 0; hour < 2; hour++)
		for (i = 0; i < TIMES; i++)
			for (host = 0; host < ARRAY_SIZE(three); host++) {
				u32 after = (u32)(hour * HOUR + i * SPAN);
				s64 bytes = three[host].bytes[hour][i];
				struct ks_fleet_batch batch;

				begin(&batch,
				      &(struct report){ three[host].host, three[host].build,
							START + after, three[host].uptime + after,
							three[host].role, 2 + after });
				if (host == 0) {
					put(&batch, "kx", "tx", "sx", "out;in", "/g1", bytes - 300,
					    bytes / 10 - 30);
					put(&batch, "kx", "tx", "sx", "in", "/g2", 300, 30);
				} else {
					put(&batch, "kx", "tx", "sx", "", "", bytes, bytes / 10);
				}
				/* Another one: on c in the first hour, on a in the second, once. */
				if (host == 2 && !hour)
					put(&batch, "ky", "", "", "", "", 64, 1);
				if (host == 0 && hour && !i)
					put(&batch, "ky", "", "", "", "", 7000, 70);
				end(b, &batch);
			}
	flush(b);
}

static void test_top(void **state)
{
	static const struct {
		struct ks_question question;
		const char *answer; /* growth, and bytes and objects of the last hour */
	} cases[] = {
		/* 1320 - 4000 + 1400 + 0; 2750 + 3300 + 1000. The most growth comes first. */
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2 }, "0,7000,70,ky\n-1280,7050,705,kx\n" },
		{ { .by = KS_FLEET_BY_TYPE, .hours = 9 }, "0,7000,70,\n-1280,7050,705,tx\n" },
		{ { .by = KS_FLEET_BY_SITE, .hours = 2 }, "0,7000,70,\n-1280,7050,705,sx\n" },
		{ { .by = KS_FLEET_BY_BUILD, .hours = 2 },
		  "2720,13050,675,one\n-4000,1000,100,two\n" },
		{ { .by = KS_FLEET_BY_STACK, .hours = 2 },
		  "2320,2450,245,out;in\n0,300,30,in\n-3600,11300,500,\n" },
		{ { .by = KS_FLEET_BY_CGROUP, .hours = 2 },
		  "2320,2450,245,/g1\n0,300,30,/g2\n-3600,11300,500,\n" },
		{ { .by = KS_FLEET_BY_HOST, .hours = 2 },
		  "2320,9750,345,a\n400,3300,330,b\n-4000,1000,100,c\n" },
		{ { .by = KS_FLEET_BY_LABEL, .by_label = "role", .hours = 2 },
		  "400,3300,330,db\n-1680,10750,445,web\n" },
		{ { .by = KS_FLEET_BY_LABEL, .by_label = "rol", .hours = 2 },
		  "-1280,14050,775,\n" },
		/* The second hour alone, and the first one. */
		{ { .by = KS_FLEET_BY_CACHE, .hours = 1 }, "1400,7050,705,kx\n0,7000,70,ky\n" },
		{ { .by = KS_FLEET_BY_CACHE, .since = START + HOUR },
		  "1400,7050,705,kx\n0,7000,70,ky\n" },
		{ { .by = KS_FLEET_BY_CACHE, .until = START + HOUR, .hours = 1 },
		  "0,64,1,ky\n-2680,6000,600,kx\n" },
		/* Some of it. */
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .top = 1 }, "0,7000,70,ky\n" },
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .label = "role=web" },
		  "0,7000,70,ky\n-1680,3750,375,kx\n" },
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .label = "role=we" }, "" },
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .label = "roles=web" }, "" },
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .build = "one" },
		  "2720,6050,605,kx\n0,7000,70,ky\n" },
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .cache = "ky" }, "0,7000,70,ky\n" },
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .type = "tx" }, "-1280,7050,705,kx\n" },
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .site = "sx" }, "-1280,7050,705,kx\n" },
		{ { .by = KS_FLEET_BY_CACHE, .hours = 2, .host = "b" }, "400,3300,330,kx\n" },
	};
	struct bench *b = *state;
	size_t i;

	make_three(b);
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(b, &cases[i].question, cases[i].answer);
}

static void test_types(void **state)
{
	struct bench *b = *state;

	make_three(b);
	check(b, &(struct ks_question){ KS_ASK_TYPES, .hours = 2 },
	      "7050,705,-1280,2,2023-11-15 00:00:00,tx\n7000,70,0,2,2023-11-15 00:00:00,\n");
	/* A type is known since it was there, whatever is asked for. */
	check(b, &(struct ks_question){ KS_ASK_TYPES, .hours = 1 },
	      "7050,705,1400,2,2023-11-15 00:00:00,tx\n7000,70,0,1,2023-11-15 00:00:00,\n");
	check(b, &(struct ks_question){ KS_ASK_TYPES, .hours = 2, .build = "two" },
	      "1000,100,-4000,1,2023-11-15 00:00:00,tx\n0,0,0,1,2023-11-15 00:00:00,\n");
}

/* Hours, newest first; builds of an hour by their ids. Growth is by warm host. */
static void test_history(void **state)
{
	struct bench *b = *state;

	make_three(b);
	assert_true(ks_fleet_id(KS_FLEET_BUILD, "one", 3) < ks_fleet_id(KS_FLEET_BUILD, "two", 3));
	check(b, &(struct ks_question){ KS_ASK_HISTORY, .hours = 2 },
	      "2023-11-15 01:00:00,2,13050,675,6525,700,one\n"
	      "2023-11-15 01:00:00,1,1000,100,1000,0,two\n"
	      "2023-11-15 00:00:00,2,5000,500,2500,1320,one\n"
	      "2023-11-15 00:00:00,1,1064,101,1064,-4000,two\n");
	check(b, &(struct ks_question){ KS_ASK_HISTORY, .hours = 2, .cache = "ky" },
	      "2023-11-15 01:00:00,2,7000,70,3500,0,one\n"
	      "2023-11-15 00:00:00,1,64,1,64,0,two\n");
	check(b, &(struct ks_question){ KS_ASK_HISTORY, .hours = 2, .label = "role=db" },
	      "2023-11-15 01:00:00,1,3300,330,3300,400,one\n"
	      "2023-11-15 00:00:00,1,3000,300,3000,0,one\n");
}

/* Bytes, objects, the mean of its build, growth (of all hours, warm or not). */
static void test_host(void **state)
{
	struct bench *b = *state;

	make_three(b);
	check(b, &(struct ks_question){ KS_ASK_HOST, .hours = 2, .host = "a" },
	      "7000,70,3500,0,one,ky,,\n2750,275,3025,2320,one,kx,tx,sx\n");
	check(b, &(struct ks_question){ KS_ASK_HOST, .hours = 2, .host = "b" },
	      "3300,330,3025,4400,one,kx,tx,sx\n");
	check(b, &(struct ks_question){ KS_ASK_HOST, .hours = 2, .host = "c" },
	      "1000,100,1000,-4000,two,kx,tx,sx\n64,1,64,0,two,ky,,\n");
	check(b, &(struct ks_question){ KS_ASK_HOST, .hours = 2, .host = "c", .type = "tx" },
	      "1000,100,1000,-4000,two,kx,tx,sx\n");
}

/* A row of an answer, by a column of names. */
static size_t row_of(const struct ks_table *table, unsigned int column, const char *name)
{
	size_t row;

	for (row = 0; row < ks_table_len(table); row++)
		if (ks_table_state(table, row, column) != KS_CELL_UNSET &&
		    !strcmp(ks_table_cell(table, row, column)->text, name))
			return row;
	fail_msg("%s is not there", name);
	return 0;
}

static void test_diff(void **state)
{
	enum { BEFORE, AFTER, CHANGE, GROWTH, SIGMAS, CACHE };
	struct bench *b = *state;
	struct ks_doc *doc;
	const struct ks_table *t;

	make_three(b);
	doc = ask(b, &(struct ks_question){ KS_ASK_DIFF, .hours = 2, .builds = { "one", "two" } });
	t = doc->tables.items[0];
	assert_int_equal(ks_table_len(t), 2);
	assert_int_equal(row_of(t, CACHE, "ky"), 0); /* it changed by more */
	assert_int_equal(ks_table_cell(t, 0, BEFORE)->s64, 3500);
	assert_int_equal(ks_table_cell(t, 0, AFTER)->s64, 0);
	assert_int_equal(ks_table_cell(t, 0, CHANGE)->s64, -3500);
	assert_int_equal(ks_table_cell(t, 0, GROWTH)->s64, 0);
	assert_true(ks_table_cell(t, 0, SIGMAS)->number == 0);
	/*
	 * One: (1320 + 1400 / 2) / 2 = 1010 an hour, with an error of 0 in the first hour (one host) and 300 in
	 * the second (1000 and 400), their mean is 150. Two: -2000, by one host. t = -3010 / sqrt(150^2 + 1).
	 */
	assert_int_equal(ks_table_cell(t, 1, BEFORE)->s64, 3025);
	assert_int_equal(ks_table_cell(t, 1, AFTER)->s64, 1000);
	assert_int_equal(ks_table_cell(t, 1, CHANGE)->s64, -2025);
	assert_int_equal(ks_table_cell(t, 1, GROWTH)->s64, -3010);
	assert_true(fabs(ks_table_cell(t, 1, SIGMAS)->number + 2.0042) < 0.0005);
	ks_doc_free(doc);
	check(b,
	      &(struct ks_question){ KS_ASK_DIFF, .hours = 2, .builds = { "two", "one" },
				     .cache = "ky" },
	      "0,3500,3500,0,0,ky,,\n");
	/* A host that is not warm says what there is, and nothing of growth. */
	check(b,
	      &(struct ks_question){ KS_ASK_DIFF, .hours = 2, .until = START + HOUR,
				     .builds = { "two", "two" }, .cache = "ky" },
	      "64,64,0,0,0,ky,,\n");
}

static void test_names(void **state)
{
	static const struct ks_question unknown[] = {
		{ KS_ASK_TOP, .cache = "tx" },
		{ KS_ASK_TOP, .type = "kx" },
		{ KS_ASK_TOP, .site = "s" },
		{ KS_ASK_HOST, .host = "d" },
		{ KS_ASK_LEAKS, .build = "three" },
		{ KS_ASK_DIFF, .builds = { "three", "one" } },
		{ KS_ASK_DIFF, .builds = { "one", "three" } },
	};
	struct bench *b = *state;
	struct ks_store store;
	struct ks_doc *doc;
	struct ks_diag diag;
	size_t i;

	make_three(b);
	store = (struct ks_store){ .files = b->files };
	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		assert_int_equal(ks_question_ask(&store, &unknown[i], &doc, &diag), -ENOENT);
		assert_non_null(strstr(diag.text, "is known"));
	}
	doc = ask(b, &(struct ks_question){ KS_ASK_TOP, .hours = 1 });
	assert_int_equal(ks_question_until(doc), START + 2 * HOUR);
	ks_doc_free(doc);
	assert_null(ks_files_name(b->files, 1));
	assert_string_equal(ks_files_name(b->files, ks_fleet_id(KS_FLEET_HOST, "a", 1)), "a");
}

/* === What comes twice ===================================================================== */

static void put_version(struct bench *b, u64 version, const char *role, s64 bytes)
{
	struct ks_fleet_batch batch;

	begin(&batch, &(struct report){ "a", "one", START, 9000, role, version });
	put(&batch, "k", "", "", "", "", bytes, 1);
	end(b, &batch);
}

/* Of one interval the highest version counts, wherever it was. */
static void test_versions(void **state)
{
	static const struct ks_question by_label = { .by = KS_FLEET_BY_LABEL,
						     .by_label = "role",
						     .hours = 1 };
	struct bench *b = *state;
	struct ks_files_table reports = { 0 };
	struct ks_diag diag;

	put_version(b, 5, "five", 500);
	put_version(b, 7, "seven", 700);
	put_version(b, 6, "six", 600);
	flush(b);
	check(b, &by_label, "0,700,1,seven\n");
	ks_files_close(b->files);
	assert_int_equal(ks_files_open(b->dir, true, &b->files, &diag), 0);
	put_version(b, 6, "six", 601);
	flush(b);
	check(b, &by_label, "0,700,1,seven\n");
	ks_files_close(b->files);
	assert_int_equal(ks_files_open(b->dir, true, &b->files, &diag), 0);
	put_version(b, 8, "eight", 800);
	flush(b);
	check(b, &by_label, "0,800,1,eight\n");
	assert_int_equal(
		ks_files_read(b->files, KS_STORE_REPORTS, START, UINT32_MAX, &reports, &diag), 0);
	assert_int_equal(reports.items.len, KS_FILES_REPORT_COLUMNS);
	assert_int_equal(reports.items.items[KS_REPORT_VER], 8);
	assert_int_equal(reports.items.items[KS_REPORT_BYTES], 800);
	ks_vec_free(&reports.items);
}

/* One writes at a time. Files that are none of ours are left alone. */
static void test_directory(void **state)
{
	static const char *const others[] = { "2023-11-15T00.parquet.new", "2023-11-15T00",
					      "notes.parquet", "2023-11-15T25.parquet" };
	struct bench *b = *state;
	struct ks_files *second = NULL;
	struct ks_files_hours hours = { 0 };
	struct ks_files_table none = { 0 };
	struct ks_diag diag;
	char path[4096];
	size_t i;

	assert_int_equal(ks_files_open(b->dir, true, &second, &diag), -EWOULDBLOCK);
	assert_non_null(strstr(diag.text, "another process"));
	make_three(b);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/rows/%s", b->dir, others[i]);
		file = fopen(path, "w");
		assert_non_null(file);
		fclose(file);
	}
	assert_int_equal(ks_files_hours(b->files, KS_STORE_ROWS, &hours, &diag), 0);
	assert_int_equal(hours.items.len, 2);
	assert_int_equal(hours.items.items[0], START);
	assert_int_equal(hours.items.items[1], START + HOUR);
	ks_vec_free(&hours.items);
	assert_int_equal(ks_files_read(b->files, KS_STORE_ROWS, START - HOUR, 1, &none, &diag), 0);
	assert_int_equal(none.items.len, 0);
	assert_int_equal(ks_files_open("/nonexistent/dir", false, &second, &diag), -ENOENT);
	assert_int_equal(ks_files_open("/nonexistent/dir", true, &second, &diag), -ENOENT);
}

/* === Leaks ================================================================================ */

/*
 * Twelve hosts, four hours. Hosts 0 to 5 run "bad", 6 to 11 "good". All series grow by 10 bytes an hour more or less,
 * hosts with even numbers less. From the second hour on "leak" grows by 1000 more on all of "bad", and "alone" by 5000
 * on host 7.
 */
static s64 slope(const char *series, int host, int hour)
{
	s64 noise = host % 2 ? 10 : -10;

	if (hour && !strcmp(series, "leak") && host < 6)
		return 1000 + noise;
	if (hour && !strcmp(series, "alone") && host == 7)
		return 5000;
	return noise;
}

static void make_twelve(struct bench *b, int first, int hosts)
{
	static const char *const series[] = { "leak", "alone", "still" };
	int host, hour, i;
	size_t s;

	for (hour = 0; hour < 4; hour++)
		for (i = 0; i < TIMES; i++)
			for (host = first; host < hosts; host++) {
				struct ks_fleet_batch batch;
				char name[16];
				u32 after = (u32)(hour * HOUR + i * SPAN);

				snprintf(name, sizeof(name), "h%d", host);
				begin(&batch,
				      &(struct report){ name, host < 6 ? "bad" : "good",
							START + after, 9000 + after, NULL, 1 });
				for (s = 0; s < ARRAY_SIZE(series); s++)
					put(&batch, "k", series[s], "at", "", "",
					    100000 + 2 * slope(series[s], host, hour) * i, 1);
				end(b, &batch);
			}
	flush(b);
}

/*
 * The slopes above are doubled at steps of 15 minutes: a step is 2 * slope, an hour has four, so growth is 8 * slope.
 * The build's excess is 8000 bytes in three of four hours, its mean 6000. The variance of six hosts of 80 more or less is
 * 7680; that of the difference of two means 2560 an hour, the error sqrt(2561). t = 24000 / (4 * 50.606) with 20 degrees
 * of freedom.
 */
static void test_leaks(void **state)
{
	enum { PER_HOST, ALL, HOSTS, GROWING, SIGMAS, SINCE, FIRST, BUILD, CACHE, TYPE, SITE };
	struct bench *b = *state;
	const struct ks_table *t;
	struct ks_doc *doc;

	make_twelve(b, 0, 12);
	doc = ask(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 4 });
	t = doc->tables.items[0];
	assert_int_equal(ks_table_len(t), 1);
	assert_int_equal(ks_table_cell(t, 0, PER_HOST)->s64, 6000);
	assert_int_equal(ks_table_cell(t, 0, ALL)->s64, 36000);
	assert_int_equal(ks_table_cell(t, 0, HOSTS)->u64, 6);
	assert_int_equal(ks_table_cell(t, 0, GROWING)->u64, 6);
	/* (161 / 163) * sqrt(20 * ln(1 + 118.56^2 / 20)) */
	assert_true(fabs(ks_table_cell(t, 0, SIGMAS)->number - 11.3108) < 0.001);
	assert_string_equal(ks_table_cell(t, 0, SINCE)->text, "2023-11-15 01:00:00");
	assert_string_equal(ks_table_cell(t, 0, FIRST)->text, "2023-11-15 00:00:00");
	assert_string_equal(ks_table_cell(t, 0, BUILD)->text, "bad");
	assert_string_equal(ks_table_cell(t, 0, CACHE)->text, "k");
	assert_string_equal(ks_table_cell(t, 0, TYPE)->text, "leak");
	assert_string_equal(ks_table_cell(t, 0, SITE)->text, "at");
	ks_doc_free(doc);
	check(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 4, .sigmas = 11.4 }, "");
	check(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 4, .least = 6001 }, "");
	check(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 4, .build = "good" }, "");
	check(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 4, .type = "still" }, "");
	doc = ask(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 4, .least = 6000 });
	assert_int_equal(ks_table_len(doc->tables.items[0]), 1);
	ks_doc_free(doc);
	/* In the first hour there was no leak. */
	check(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 1, .until = START + HOUR }, "");
}

/* Four hosts of a build do not make a leak, five do. */
static void test_few_hosts(void **state)
{
	struct bench *b = *state;

	make_twelve(b, 2, 12);
	check(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 4, .sigmas = 1, .type = "leak" },
	      "");
}

static void test_five_hosts(void **state)
{
	struct bench *b = *state;
	struct ks_doc *doc;

	make_twelve(b, 1, 12);
	doc = ask(b, &(struct ks_question){ KS_ASK_LEAKS, .hours = 4, .type = "leak" });
	assert_int_equal(ks_table_len(doc->tables.items[0]), 1);
	assert_int_equal(ks_table_cell(doc->tables.items[0], 0, 2)->u64, 5);
	ks_doc_free(doc);
}

/* The other five hosts of its build: -80, -80, -80, 80, 80. */
static void test_outliers(void **state)
{
	struct bench *b = *state;
	struct ks_question q = { KS_ASK_OUTLIERS, .hours = 4 };

	make_twelve(b, 0, 12);
	check(b, &q, "40000,-16,3,2023-11-15 01:00:00,h7,good,k,alone,at\n");
	q.least = 40017;
	check(b, &q, "");
	q.least = 40016;
	check(b, &q, "40000,-16,3,2023-11-15 01:00:00,h7,good,k,alone,at\n");
	q.sigmas = 1000;
	check(b, &q, "");
	q.sigmas = 0;
	q.type = "leak";
	check(b, &q, "");
	q.type = NULL;
	q.hours = 2; /* twice is too rarely */
	check(b, &q, "");
}

/* === Who reports ========================================================================== */

static void put_report(struct bench *b, const char *host, u32 at, u64 lost, u64 skipped, u32 torn)
{
	struct ks_fleet_batch batch;

	begin(&batch, &(struct report){ host, "one", at, 9000, "web", 1 });
	batch.lost = lost;
	batch.skipped = skipped;
	batch.torn = torn;
	put(&batch, "k", "", "", "", "", 1, 1);
	end(b, &batch);
}

/* "YYYY-MM-DD hh:mm:ss" */
static void put_time(struct ks_strbuf *out, u32 at)
{
	time_t seconds = at;
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	ks_strbuf_puts(out, text);
}

/* Reports are of the future, so that none is late but those of an hour that is long past. */
static void test_quality(void **state)
{
	u32 now = ((u32)time(NULL) / HOUR + 2) * HOUR, i;
	static const struct {
		const char *host;
		u32 last; /* its last report, in intervals */
		/* intervals, missing, late, lost, skipped, torn, silent seconds */
		const char *counts;
	} expected[] = {
		{ "silent", 0, "1,0,0,0,0,0,3600" }, { "missing", 4, "4,1,0,0,0,0,0" },
		{ "lost", 4, "5,0,0,7,0,0,0" },	     { "skipped", 4, "5,0,0,0,2,0,0" },
		{ "torn", 4, "5,0,0,0,0,6,0" },
	};
	struct bench *b = *state;
	struct ks_strbuf want;
	struct ks_doc *doc;
	size_t row;

	for (i = 0; i < 5; i++) {
		u32 at = now + i * SPAN;

		put_report(b, "fine", at, 3, 4, 0);
		if (!i)
			put_report(b, "silent", at, 0, 0, 0);
		if (i < 2)
			put_report(b, "quiet", at, 0, 0, 0); /* for three intervals */
		if (i != 2)
			put_report(b, "missing", at, 0, 0, 0);
		put_report(b, "lost", at, 10 + (i > 1 ? 7 : 0), 0, 0);
		put_report(b, "skipped", at, 0, 20 + (i > 3 ? 2 : 0), 0);
		put_report(b, "torn", at, 0, 0, i % 2 ? 3 : 0);
	}
	flush(b);
	doc = ask(b, &(struct ks_question){ KS_ASK_QUALITY, .hours = 2 });
	assert_int_equal(ks_table_len(doc->tables.items[0]), ARRAY_SIZE(expected));
	assert_int_equal(row_of(doc->tables.items[0], 8, "silent"), 0);
	assert_int_equal(row_of(doc->tables.items[0], 8, "missing"), 1);
	ks_doc_free(doc);
	for (row = 0; row < ARRAY_SIZE(expected); row++) {
		ks_strbuf_init(&want);
		put_time(&want, now + expected[row].last * SPAN);
		ks_strbuf_printf(&want, ",%s,%s,one\n", expected[row].counts, expected[row].host);
		check(b,
		      &(struct ks_question){ KS_ASK_QUALITY, .hours = 2,
					     .host = expected[row].host },
		      ks_strbuf_str(&want));
		ks_strbuf_deinit(&want);
	}
	check(b, &(struct ks_question){ KS_ASK_QUALITY, .hours = 2, .label = "role=db" }, "");
	/* Of a window that ends before anything was missing. */
	check(b,
	      &(struct ks_question){ KS_ASK_QUALITY, .since = now, .until = now + 2 * SPAN,
				     .host = "missing" },
	      "");
}

static void test_late(void **state)
{
	struct bench *b = *state;

	put_report(b, "a", START, 0, 0, 0);
	put_report(b, "a", START + SPAN, 0, 0, 0);
	flush(b);
	check(b, &(struct ks_question){ KS_ASK_QUALITY, .hours = 1 },
	      "2023-11-15 00:15:00,2,0,2,0,0,0,0,a,one\n");
}

#define ON_FILES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_FILES(test_top),	  ON_FILES(test_types),	     ON_FILES(test_history),
	ON_FILES(test_host),	  ON_FILES(test_diff),	     ON_FILES(test_names),
	ON_FILES(test_versions),  ON_FILES(test_directory),  ON_FILES(test_leaks),
	ON_FILES(test_few_hosts), ON_FILES(test_five_hosts), ON_FILES(test_outliers),
	ON_FILES(test_quality),	  ON_FILES(test_late),
};

KS_RUN(tests)
