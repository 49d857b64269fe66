// SPDX-License-Identifier: GPL-2.0-only
/* The library as others see it: this program includes its public headers alone and links nothing else of the project. */
#include "../unit/ks-test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <kmemscope/arrow.h>
#include <kmemscope/kmemscope.h>

#include "arrow-reader.h"

/* === Data ================================================================================= */

/* Three objects of two sites; one is freed. */
static const struct ks_event_data events[] = {
	{ .size = sizeof(events[0]),
	  .kind = KS_EVENT_KMALLOC,
	  .time_ns = 1000,
	  .address = 0x1000,
	  .bytes_requested = 50,
	  .bytes_allocated = 64,
	  .site = "make_it+0x10/0x20",
	  .comm = "maker",
	  .has = KS_EVENT_HAS_PID | KS_EVENT_HAS_CPU,
	  .pid = 7,
	  .cpu = 1 },
	{ .size = sizeof(events[0]),
	  .kind = KS_EVENT_CACHE_ALLOC,
	  .time_ns = 2000,
	  .address = 0x2000,
	  .bytes_requested = 192,
	  .bytes_allocated = 192,
	  .site = "other+0x4/0x80",
	  .cache = "dentry",
	  .comm = "b\xc3\xa4r\xff",
	  .has = KS_EVENT_HAS_PID,
	  .pid = 8 },
	{ .size = sizeof(events[0]),
	  .kind = KS_EVENT_KMALLOC,
	  .time_ns = 3000,
	  .address = 0x3000,
	  .bytes_requested = 64,
	  .bytes_allocated = 64,
	  .site = "make_it+0x10/0x20",
	  .comm = "maker" },
	{ .size = sizeof(events[0]),
	  .kind = KS_EVENT_KFREE,
	  .time_ns = 4000,
	  .address = 0x1000,
	  .site = "drop_it+0x1/0x2" },
};

enum { EVENTS = sizeof(events) / sizeof(events[0]) };

/* A capture of these, by callbacks. */
struct maker {
	size_t at;
	int fails, closed;
};

/* === Helpers ============================================================================== */

static int next(void *ctx, struct ks_event_data *ret_event, struct ks_diag *diag)
{
	struct maker *maker = ctx;

	if (maker->at == EVENTS)
		return maker->fails ? ks_diag_explain(diag, -EIO, "the maker broke") : 0;
	*ret_event = events[maker->at++];
	return 1;
}

static void closed(void *ctx)
{
	((struct maker *)ctx)->closed++;
}

static struct ks_capture *capture_of(struct maker *maker)
{
	const struct ks_capture_callbacks callbacks = {
		.size = sizeof(callbacks),
		.name = "a toy",
		.next = next,
		.close = closed,
	};
	struct ks_capture *capture;

	assert_int_equal(ks_capture_open_callbacks(&callbacks, maker, &capture, NULL), 0);
	return capture;
}

static struct ks_analyzer *analyzer_of(const struct ks_analyzer_options *options)
{
	struct ks_analyzer *analyzer;

	assert_int_equal(ks_analyzer_new(options, &analyzer, NULL), 0);
	return analyzer;
}

static struct ks_document *answer(struct ks_analyzer *analyzer, const char *report,
				  const struct ks_report_options *options)
{
	struct ks_diag *diag = ks_diag_new();
	struct ks_document *document = NULL;
	int err = ks_analyzer_answer(analyzer, report, options, &document, diag);

	if (err)
		print_error("%s: %s\n", report, ks_diag_text(diag));
	assert_int_equal(err, 0);
	ks_diag_free(diag);
	return document;
}

/* The live bytes of the row whose first column is so. */
static uint64_t live_of(const struct ks_table *table, const char *label)
{
	size_t row;

	for (row = 0; row < ks_table_rows(table); row++)
		if (!strcmp(ks_table_text(table, row, 0), label))
			return ks_table_u64(table, row,
					    (size_t)ks_table_column(table, "live_bytes"));
	return UINT64_MAX;
}

static int bytes_fd(const void *bytes, size_t len)
{
	int fd = memfd_create("capture", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* === Analyses ============================================================================= */

/* Several questions from one pass; each has its own answer. */
static void test_questions(void **state)
{
	const struct ks_report_options by_cache = { .size = sizeof(by_cache), .by = "cache" };
	const struct ks_report_options by_pid = { .size = sizeof(by_pid), .by = "pid" };
	struct maker maker = { 0 };
	struct ks_capture *capture = capture_of(&maker);
	struct ks_analyzer *analyzer = analyzer_of(NULL);
	struct ks_document *site, *cache, *leaks, *info, *none = NULL;
	const struct ks_table *table;
	uint64_t number;

	assert_int_equal(ks_analyzer_ask(analyzer, "report", NULL, NULL), 0);
	assert_int_equal(ks_analyzer_ask(analyzer, "report", &by_cache, NULL), 0);
	assert_int_equal(ks_analyzer_ask(analyzer, "leaks", NULL, NULL), 0);
	assert_int_equal(ks_analyzer_ask(analyzer, "info", NULL, NULL), 0);
	assert_int_equal(ks_analyzer_ask(analyzer, "timeline", NULL, NULL), 0);
	assert_int_equal(ks_analyzer_run(analyzer, capture, NULL), 0);
	ks_capture_close(capture);
	assert_int_equal(maker.closed, 0); /* the analysis has it */
	cache = answer(analyzer, "report", &by_cache);
	site = answer(analyzer, "report", NULL);
	leaks = answer(analyzer, "leaks", NULL);
	info = answer(analyzer, "info", NULL);
	ks_document_free(answer(analyzer, "timeline", NULL));
	ks_document_free(
		answer(analyzer, "timeline",
		       &(struct ks_report_options){ .size = sizeof(by_pid), .buckets = 1 }));
	assert_int_equal(ks_analyzer_answer(analyzer, "report", &by_pid, &none, NULL), -ENOENT);
	assert_int_equal(ks_analyzer_answer(analyzer, "frag", NULL, &none, NULL), -ENOENT);
	assert_null(none);
	assert_int_equal(ks_analyzer_ask(analyzer, "frag", NULL, NULL), -EBUSY);
	ks_analyzer_free(analyzer);
	assert_int_equal(maker.closed, 1);

	table = ks_document_main(site);
	assert_string_equal(ks_document_schema(site), "kmemscope-report-1");
	assert_int_equal(ks_table_rows(table), 2);
	assert_string_equal(ks_table_column_name(table, 0), "site");
	assert_int_equal(live_of(table, "make_it+0x10"), 64);
	assert_int_equal(live_of(table, "other+0x4"), 192);
	assert_int_equal(live_of(ks_document_main(cache), "dentry"), 192);
	assert_int_equal(
		ks_table_u64(table, KS_ROW_TOTAL, (size_t)ks_table_column(table, "live_bytes")),
		256);
	assert_string_equal(ks_document_text(site, "by"), "site");
	assert_string_equal(ks_document_text(cache, "by"), "cache");
	assert_int_equal(ks_document_number(info, "events_total", &number), 1);
	assert_int_equal(number, EVENTS);
	assert_int_equal(ks_document_number(info, "quality.lost_events", &number), 1);
	assert_int_equal(number, 0);
	assert_int_equal(ks_document_number(info, "lost_events", &number), 0);
	assert_string_equal(ks_document_text(info, "format"), "a toy");
	assert_ptr_equal(ks_document_find(leaks, "sites"), ks_document_main(leaks));
	ks_document_free(site);
	ks_document_free(cache);
	ks_document_free(leaks);
	ks_document_free(info);
}

/* Events as they come, with answers in between. */
static void test_feed(void **state)
{
	struct ks_analyzer *analyzer = analyzer_of(NULL);
	struct ks_document *early, *late;
	size_t i;

	assert_int_equal(ks_analyzer_ask(analyzer, "report", NULL, NULL), 0);
	assert_int_equal(ks_analyzer_feed(analyzer, &events[0], NULL), -EINVAL);
	assert_int_equal(ks_analyzer_begin(analyzer, NULL, NULL), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(ks_analyzer_feed(analyzer, &events[i], NULL), 0);
	early = answer(analyzer, "report", NULL);
	assert_int_equal(ks_analyzer_feed(analyzer, &events[3], NULL), 0);
	assert_int_equal(ks_analyzer_finish(analyzer, NULL), 0);
	assert_int_equal(ks_analyzer_finish(analyzer, NULL), -EINVAL);
	late = answer(analyzer, "report", NULL);
	ks_analyzer_free(analyzer);
	assert_int_equal(live_of(ks_document_main(early), "make_it+0x10"), 128);
	assert_int_equal(live_of(ks_document_main(late), "make_it+0x10"), 64);
	ks_document_free(early);
	ks_document_free(late);
}

/* A capture step by step ends where a whole run does. */
static void test_steps(void **state)
{
	struct maker maker = { 0 };
	struct ks_capture *capture = capture_of(&maker);
	struct ks_analyzer *analyzer = analyzer_of(NULL);
	struct ks_document *document;
	int more, steps = 0;

	assert_int_equal(ks_analyzer_ask(analyzer, "report", NULL, NULL), 0);
	assert_int_equal(ks_analyzer_begin(analyzer, capture, NULL), 0);
	while ((more = ks_analyzer_step(analyzer, NULL)) > 0)
		steps++;
	assert_int_equal(more, 0);
	assert_int_equal(steps, 1);
	document = answer(analyzer, "report", NULL);
	assert_int_equal(live_of(ks_document_main(document), "make_it+0x10"), 64);
	ks_document_free(document);
	ks_analyzer_free(analyzer);
	ks_capture_close(capture);
}

static void test_filter(void **state)
{
	static const struct {
		struct ks_analyzer_options options;
		uint64_t live;
	} cases[] = {
		{ { .site = "make_it" }, 64 },
		{ { .cache = "dentry" }, 192 },
		{ { .comm = "maker" }, 64 },
		{ { .filter = KS_FILTER_PID, .pid = 8 }, 192 },
		{ { .filter = KS_FILTER_CPU, .cpu = 1 }, 0 },
		{ { .filter = KS_FILTER_BYTES, .bytes = 192 }, 192 },
		{ { .filter = KS_FILTER_KMALLOC }, 64 },
		{ { .filter = KS_FILTER_CACHE }, 192 },
		{ { .since = "+0.000002" }, 64 },
		{ { .until = "+0.000002" }, 256 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_analyzer_options options = cases[i].options;
		struct maker maker = { 0 };
		struct ks_capture *capture = capture_of(&maker);
		struct ks_analyzer *analyzer;
		struct ks_document *document;
		uint64_t live;

		options.size = sizeof(options);
		analyzer = analyzer_of(&options);
		assert_int_equal(ks_analyzer_ask(analyzer, "report", NULL, NULL), 0);
		assert_int_equal(ks_analyzer_run(analyzer, capture, NULL), 0);
		document = answer(analyzer, "report", NULL);
		assert_int_equal(ks_document_number(document, "total.live_bytes", &live), 0);
		live = ks_table_u64(
			ks_document_main(document), KS_ROW_TOTAL,
			(size_t)ks_table_column(ks_document_main(document), "live_bytes"));
		if (live != cases[i].live)
			print_error("case %zu\n", i);
		assert_int_equal(live, cases[i].live);
		ks_document_free(document);
		ks_analyzer_free(analyzer);
		ks_capture_close(capture);
	}
}

/* The second has one object more. */
static void test_compare(void **state)
{
	struct ks_analyzer *sides[2];
	struct ks_document *document;
	const struct ks_table *table;
	size_t side, i;

	for (side = 0; side < 2; side++) {
		sides[side] = analyzer_of(NULL);
		assert_int_equal(ks_analyzer_ask(sides[side], "report", NULL, NULL), 0);
		assert_int_equal(ks_analyzer_begin(sides[side], NULL, NULL), 0);
		for (i = 0; i < 2 + side; i++)
			assert_int_equal(ks_analyzer_feed(sides[side], &events[i], NULL), 0);
		assert_int_equal(ks_analyzer_finish(sides[side], NULL), 0);
	}
	assert_int_equal(ks_analyzer_compare(sides[0], sides[1], NULL, &document, NULL), 0);
	table = ks_document_main(document);
	assert_true(ks_table_rows(table) >= 1);
	assert_int_equal(ks_table_s64(table, 0, (size_t)ks_table_column(table, "delta")), 64);
	ks_document_free(document);
	ks_analyzer_free(sides[0]);
	ks_analyzer_free(sides[1]);
}

/* === Objects ============================================================================== */

struct seen {
	struct ks_object items[8];
	size_t len;
	char text[512];
	int fail;
};

static int see(void *ctx, const struct ks_object *object, struct ks_diag *diag)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->text);

	assert_true(object->size >= sizeof(*object));
	seen->items[seen->len++] = *object;
	snprintf(seen->text + len, sizeof(seen->text) - len, "%s %s %s %s;", object->site,
		 object->comm, object->end, object->free_site);
	return seen->fail ? ks_diag_explain(diag, -ECANCELED, "enough") : 0;
}

static void test_objects(void **state)
{
	struct ks_diag *diag = ks_diag_new();
	struct seen seen = { 0 };
	struct maker maker = { 0 };
	struct ks_capture *capture = capture_of(&maker);
	struct ks_analyzer *analyzer = analyzer_of(NULL);

	assert_int_equal(ks_analyzer_ask_objects(analyzer, see, &seen, NULL), 0);
	assert_int_equal(ks_analyzer_ask_objects(analyzer, see, &seen, NULL), -EEXIST);
	assert_int_equal(ks_analyzer_run(analyzer, capture, NULL), 0);
	assert_int_equal(seen.len, 3);
	assert_string_equal(seen.text,
			    "make_it+0x10 maker freed drop_it+0x1;other+0x4 b\xc3\xa4r\xff live ;"
			    "make_it+0x10 maker live ;");
	assert_int_equal(seen.items[0].has,
			 KS_OBJECT_HAS_PID | KS_OBJECT_HAS_CPU | KS_OBJECT_HAS_END);
	assert_int_equal(seen.items[0].bytes_requested, 50);
	assert_int_equal(seen.items[0].end_time, 4000);
	assert_int_equal(seen.items[2].has, 0);
	ks_analyzer_free(analyzer);
	ks_capture_close(capture);

	/* What a callback returns ends the run, with its reason. */
	memset(&seen, 0, sizeof(seen));
	seen.fail = 1;
	maker = (struct maker){ 0 };
	capture = capture_of(&maker);
	analyzer = analyzer_of(NULL);
	assert_int_equal(ks_analyzer_ask_objects(analyzer, see, &seen, diag), 0);
	assert_int_equal(ks_analyzer_run(analyzer, capture, diag), -ECANCELED);
	assert_string_equal(ks_diag_text(diag), "enough");
	assert_int_equal(seen.len, 1);
	ks_analyzer_free(analyzer);
	ks_capture_close(capture);
	ks_diag_free(diag);
}

/* === Tables =============================================================================== */

static struct ks_document *objects_document(void)
{
	struct ks_report_options by_comm = { .size = sizeof(by_comm), .by = "comm" };
	struct ks_analyzer *analyzer = analyzer_of(NULL);
	struct ks_document *document;
	struct maker maker = { 0 };
	struct ks_capture *capture = capture_of(&maker);

	assert_int_equal(ks_analyzer_ask(analyzer, "report", &by_comm, NULL), 0);
	assert_int_equal(ks_analyzer_run(analyzer, capture, NULL), 0);
	ks_capture_close(capture);
	document = answer(analyzer, "report", &by_comm);
	ks_analyzer_free(analyzer);
	return document;
}

/* All that is asked wrongly is answered with nothing. */
static void test_bounds(void **state)
{
	struct ks_document *document = objects_document();
	const struct ks_table *table = ks_document_main(document);
	size_t columns = ks_table_columns(table), rows = ks_table_rows(table), c;

	assert_null(ks_table_column_name(table, columns));
	assert_null(ks_table_column_head(table, SIZE_MAX));
	assert_null(ks_table_column_unit(table, columns));
	assert_int_equal(ks_table_column_type(table, columns), KS_TYPE_NONE);
	assert_int_equal(ks_table_column(table, "no such column"), -ENOENT);
	for (c = 0; c <= columns; c++) {
		assert_false(ks_table_is_set(table, rows, c));
		assert_null(ks_table_text(table, rows, c));
		assert_int_equal(ks_table_u64(table, rows, c), 0);
		assert_int_equal(ks_table_s64(table, rows, c), 0);
		assert_int_equal(ks_table_bool(table, rows, c), 0);
		assert_int_equal(ks_table_list_len(table, rows, c), 0);
		assert_null(ks_table_list_text(table, 0, c, 0));
		assert_int_equal(ks_table_list_u64(table, rows, c, 0), 0);
		assert_null(ks_table_inner(table, rows, c));
	}
	assert_int_equal(ks_table_u64(table, 0, 0), 0); /* it is a text */
	assert_null(ks_table_text(table, 0, 1));	/* it is a number */
	assert_string_equal(
		ks_table_column_unit(table, (size_t)ks_table_column(table, "live_bytes")), "bytes");
	assert_null(ks_document_table(document, 99));
	assert_null(ks_document_find(document, "no such table"));
	assert_null(ks_document_text(document, "no such text"));
	assert_null(ks_report_name(99));
	assert_string_equal(ks_report_name(0), "info");
	assert_non_null(ks_report_summary(0));
	ks_document_free(document);
}

static void test_render(void **state)
{
	static const struct {
		const char *form, *has;
	} cases[] = {
		{ "text", "maker" },   { "json", "\"schema\": \"kmemscope-report-1\"" },
		{ "csv", "comm," },    { "markdown", "maker" },
		{ "parquet", "PAR1" },
	};
	struct ks_document *document = objects_document();
	char *bytes = NULL;
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(ks_document_render(document, cases[i].form, &bytes, &len, NULL),
				 0);
		assert_non_null(memmem(bytes, len, cases[i].has, strlen(cases[i].has)));
		assert_int_equal(bytes[len], 0);
		ks_free(bytes);
	}
	bytes = NULL;
	assert_int_equal(ks_document_render(document, "gif", &bytes, &len, NULL), -EINVAL);
	assert_null(bytes);
	ks_document_free(document);
}

/* The stream outlives the document, and has what the cells have. */
static void test_arrow(void **state)
{
	struct ks_document *document = objects_document(), *other = objects_document();
	const struct ks_table *table = ks_document_main(document);
	struct ArrowArrayStream stream;
	int64_t rows;
	char *text;

	assert_int_equal(ks_document_arrow(other, table, &stream, NULL), -EINVAL);
	assert_int_equal(ks_document_arrow(document, table, &stream, NULL), 0);
	assert_null(stream.get_last_error(&stream));
	ks_document_free(document);
	ks_document_free(other);
	text = arrow_read(&stream, &rows);
	assert_non_null(text);
	assert_null(stream.release);
	assert_int_equal(rows, 2);
	assert_non_null(strstr(text, "comm:u|"));
	assert_non_null(strstr(text, "live_bytes:L"));
	assert_non_null(
		strstr(text, "\nb\xc3\xa4r\xef\xbf\xbd|")); /* what is no UTF-8 is replaced */
	assert_non_null(strstr(text, "\nmaker|"));
	free(text);
}

/* A child that was moved out lives on when its parent is released, as the interface demands. */
static void test_arrow_moved(void **state)
{
	struct ks_document *document = objects_document();
	struct ArrowSchema schema, name;
	struct ArrowArray batch, names;
	struct ArrowArrayStream stream;
	const int32_t *ends;

	assert_int_equal(ks_document_arrow(document, ks_document_main(document), &stream, NULL), 0);
	ks_document_free(document);
	assert_int_equal(stream.get_schema(&stream, &schema), 0);
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	name = *schema.children[0];
	schema.children[0]->release = NULL;
	schema.release(&schema);
	names = *batch.children[0];
	batch.children[0]->release = NULL;
	batch.release(&batch);
	stream.release(&stream);
	assert_string_equal(name.name, "comm");
	assert_int_equal(names.length, 2);
	ends = names.buffers[1];
	assert_int_equal(ends[0], 0);
	assert_int_equal(((uintptr_t)names.buffers[1]) % 8, 0);
	name.release(&name);
	names.release(&names);
}

/* === Errors =============================================================================== */

static void test_sizes(void **state)
{
	struct {
		struct ks_report_options known;
		uint64_t unknown;
	} newer = { .known = { .size = sizeof(newer), .by = "cache" } };
	/* What a program of before has: its struct ends sooner. */
	struct {
		size_t size;
		uint32_t flags;
		uint32_t pad;
	} older = { .size = sizeof(older) };
	struct ks_analyzer *analyzer = analyzer_of(NULL);
	struct ks_diag *diag = ks_diag_new();

	assert_int_equal(ks_analyzer_ask(analyzer, "report", &newer.known, NULL), 0);
	newer.unknown = 1;
	assert_int_equal(ks_analyzer_ask(analyzer, "report", &newer.known, diag), -E2BIG);
	assert_int_equal(ks_diag_code(diag), -E2BIG);
	assert_non_null(strstr(ks_diag_text(diag), ks_version()));
	assert_int_equal(
		ks_analyzer_ask(analyzer, "leaks", (const struct ks_report_options *)&older, NULL),
		0);
	older.size = 0;
	assert_int_equal(
		ks_analyzer_ask(analyzer, "report", (const struct ks_report_options *)&older, NULL),
		-EINVAL);
	ks_analyzer_free(analyzer);
	ks_diag_free(diag);
}

static int run_bytes(const void *bytes, size_t len, struct ks_diag *diag)
{
	struct ks_analyzer *analyzer = analyzer_of(NULL);
	struct ks_capture *capture;
	int err;

	assert_int_equal(ks_capture_open_fd(bytes_fd(bytes, len), "some bytes", &capture, diag), 0);
	assert_int_equal(ks_analyzer_ask(analyzer, "leaks", NULL, diag), 0);
	err = ks_analyzer_run(analyzer, capture, diag);
	ks_capture_close(capture);
	ks_analyzer_free(analyzer);
	return err;
}

static void test_errors(void **state)
{
	static const char log[] =
		" bash-12 [000] 4.000001: kmalloc: call_site=f+0x1/0x2 ptr=00000000a1b2c3d4 bytes_req=8 "
		"bytes_alloc=8 gfp_flags=GFP_KERNEL\n";
	const struct ks_report_options bad_by = { .size = sizeof(bad_by), .by = "colour" };
	const struct ks_report_options bad_order = { .size = sizeof(bad_order), .order = "colour" };
	const struct ks_analyzer_options bad_time = { .size = sizeof(bad_time),
						      .since = "yesterday" };
	const struct ks_analyzer_options no_tree = { .size = sizeof(no_tree), .branch = "fs" };
	struct ks_event_data bad_event = { .size = sizeof(bad_event), .kind = 99 };
	struct maker maker = { .fails = 1 };
	struct ks_diag *diag = ks_diag_new();
	struct ks_analyzer *analyzer;
	struct ks_capture *capture = NULL;
	uint64_t offset;

	assert_string_equal(ks_diag_text(diag), "");
	assert_int_equal(ks_capture_open("/no/such/file", &capture, diag), -ENOENT);
	assert_non_null(strstr(ks_diag_text(diag), "/no/such/file"));
	assert_null(capture);
	assert_int_equal(ks_capture_open_fd(-1, "nothing", &capture, diag), -EBADF);
	assert_int_equal(run_bytes("", 0, diag), KS_ERROR_INPUT);
	assert_string_equal(ks_diag_text(diag), "some bytes: the file is empty");
	assert_int_equal(ks_diag_offset(diag, &offset), 0);
	assert_int_equal(run_bytes("\0\1\2\3\4\5\6\7", 8, diag), KS_ERROR_INPUT);
	assert_int_equal(run_bytes("\x17\x08\x44tracing6\0\0\0\xff\xff\xff\xff", 18, diag),
			 KS_ERROR_INPUT);
	assert_int_equal(ks_diag_offset(diag, &offset), 1);
	assert_in_range(offset, 10, 18);
	assert_int_equal(run_bytes(log, sizeof(log) - 1, diag), 0);

	analyzer = analyzer_of(NULL);
	assert_int_equal(ks_analyzer_ask(analyzer, "weather", NULL, diag), -ENOENT);
	assert_int_equal(ks_analyzer_ask(analyzer, "report", &bad_by, diag), -EINVAL);
	assert_non_null(strstr(ks_diag_text(diag), "'colour': choose one of site"));
	assert_int_equal(ks_analyzer_ask(analyzer, "report", &bad_order, diag), -EINVAL);
	assert_int_equal(ks_analyzer_begin(analyzer, NULL, diag), 0);
	assert_int_equal(ks_analyzer_feed(analyzer, &bad_event, diag), -EINVAL);
	bad_event = (struct ks_event_data){ .size = sizeof(bad_event),
					    .has = KS_EVENT_HAS_CPU,
					    .cpu = 65535 };
	assert_int_equal(ks_analyzer_feed(analyzer, &bad_event, diag), -EINVAL);
	ks_analyzer_free(analyzer);
	analyzer = NULL;
	assert_int_equal(ks_analyzer_new(&bad_time, &analyzer, diag), -EINVAL);
	assert_int_equal(ks_analyzer_new(&no_tree, &analyzer, diag), -EINVAL);
	assert_null(analyzer);

	/* Callbacks that fail; a second analysis of what is no file. */
	capture = capture_of(&maker);
	analyzer = analyzer_of(NULL);
	assert_int_equal(ks_analyzer_run(analyzer, capture, diag), -EIO);
	assert_string_equal(ks_diag_text(diag), "the maker broke");
	ks_analyzer_free(analyzer);
	analyzer = analyzer_of(NULL);
	assert_int_equal(ks_analyzer_run(analyzer, capture, diag), -EALREADY);
	ks_analyzer_free(analyzer);
	ks_capture_close(capture);
	assert_int_equal(maker.closed, 1);
	maker = (struct maker){ 0 };
	ks_capture_close(capture_of(&maker)); /* one that was never read */
	assert_int_equal(maker.closed, 1);
	ks_diag_free(diag);
	ks_diag_free(NULL);
	ks_document_free(NULL);
	ks_analyzer_free(NULL);
	ks_capture_close(NULL);
	ks_heap_close(NULL);
	ks_free(NULL);
}

/* === Files ================================================================================ */

/* Every file of the corpora, hostile ones among them: read, or refused with a reason. A file is read any number of times. */
static void test_corpus(void **state)
{
	const char *corpus = getenv("CORPUS");
	struct ks_diag *diag = ks_diag_new();
	char command[512], path[4096];
	int good = 0, bad = 0;
	FILE *list;

	assert_non_null(corpus);
	snprintf(
		command, sizeof(command),
		"find '%s'/capture '%s'/text '%s'/tracedat '%s'/perfdata '%s'/ksdb '%s'/kmap -type f | sort",
		corpus, corpus, corpus, corpus, corpus, corpus);
	list = popen(command, "r");
	while (fgets(path, sizeof(path), list)) {
		struct ks_document *document = NULL;
		struct ks_analyzer *analyzer;
		struct ks_capture *capture;
		int err;

		path[strcspn(path, "\n")] = '\0';
		assert_int_equal(ks_capture_open(path, &capture, diag), 0);
		analyzer = analyzer_of(NULL);
		assert_int_equal(ks_analyzer_ask(analyzer, "info", NULL, diag), 0);
		assert_int_equal(ks_analyzer_ask(analyzer, "leaks", NULL, diag), 0);
		err = ks_analyzer_run(analyzer, capture, diag);
		if (err) {
			assert_true(*ks_diag_text(diag));
			bad++;
		} else {
			ks_document_free(answer(analyzer, "info", NULL));
			err = ks_analyzer_answer(analyzer, "leaks", NULL, &document, diag);
			assert_true(!err || err == -ENODATA);
			ks_document_free(document);
			good++;
		}
		ks_analyzer_free(analyzer);
		ks_capture_close(capture);
		assert_int_equal(ks_capture_check(path, &document, diag), 0);
		ks_document_free(document);
	}
	assert_int_equal(pclose(list), 0);
	print_message("# %d read, %d refused\n", good, bad);
	assert_true(good > 20 && bad > 5);
	ks_diag_free(diag);
}

/* A DB of a capture, and the same answer from it, in one step. */
static void test_db(void **state)
{
	char *path = scratch_path("api.ksdb");
	struct maker maker = { 0 };
	struct ks_capture *capture = capture_of(&maker);
	struct ks_analyzer *analyzer = analyzer_of(NULL);
	struct ks_document *document;

	assert_int_equal(ks_analyzer_ask_db(analyzer, path, NULL), 0);
	assert_int_equal(ks_analyzer_run(analyzer, capture, NULL), 0);
	ks_analyzer_free(analyzer);
	ks_capture_close(capture);
	assert_int_equal(ks_capture_open(path, &capture, NULL), 0);
	analyzer = analyzer_of(NULL);
	assert_int_equal(ks_analyzer_ask(analyzer, "report", NULL, NULL), 0);
	assert_int_equal(ks_analyzer_begin(analyzer, capture, NULL), 0);
	assert_int_equal(ks_analyzer_step(analyzer, NULL), 0);
	document = answer(analyzer, "report", NULL);
	assert_int_equal(live_of(ks_document_main(document), "other+0x4"), 192);
	ks_document_free(document);
	ks_analyzer_free(analyzer);
	ks_capture_close(capture);
	unlink(path);
	free(path);
}

/* A snapshot that the tests' own generator made, if it is given one. */
static void test_heap(void **state)
{
	static const char *const questions[] = { "info", "census", "types" };
	const char *path = getenv("SNAPSHOT");
	struct ks_heap_options options = { .size = sizeof(options), .what = "no such type" };
	struct ks_diag *diag = ks_diag_new();
	struct ks_document *document = NULL;
	struct ks_heap *heap = NULL;
	size_t i;

	assert_int_equal(ks_heap_open("/no/such/file", &heap, diag), -ENOENT);
	assert_true(ks_heap_open("/dev/null", &heap, diag) < 0);
	assert_null(heap);
	if (!path)
		skip();
	assert_int_equal(ks_heap_open(path, &heap, diag), 0);
	for (i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		assert_int_equal(ks_heap_answer(heap, questions[i], NULL, &document, diag), 0);
		assert_non_null(ks_document_schema(document));
		ks_document_free(document);
	}
	document = NULL;
	assert_int_equal(ks_heap_answer(heap, "weather", NULL, &document, diag), -ENOENT);
	assert_int_equal(ks_heap_answer(heap, "show", NULL, &document, diag), -EINVAL);
	assert_int_equal(ks_heap_answer(heap, "show", &options, &document, diag), -ENOENT);
	assert_null(document);
	assert_int_equal(ks_heap_compare(heap, heap, NULL, &document, diag), 0);
	ks_document_free(document);
	ks_heap_close(heap);
	ks_diag_free(diag);
}

/* The sample of a map, and what is asked of it. */
static void test_map(void **state)
{
	static const char *const questions[] = { "report", "matrix", "lives", "sharing" };
	struct ks_map_question question = { .size = sizeof(question), .what = "no such site" };
	struct ks_diag *diag = ks_diag_new();
	struct ks_document *document = NULL;
	struct ks_map *map = NULL;
	char path[4096];
	size_t i;

	assert_int_equal(ks_map_open("/no/such/file", NULL, &map, diag), -ENOENT);
	assert_null(map);
	snprintf(path, sizeof(path), "%s/../../data/sample.kmap", getenv("CORPUS"));
	assert_int_equal(ks_map_open(path, NULL, &map, diag), 0);
	for (i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		assert_int_equal(ks_map_answer(map, questions[i], NULL, &document, diag), 0);
		assert_non_null(ks_document_main(document));
		assert_true(ks_table_rows(ks_document_main(document)) > 0);
		ks_document_free(document);
	}
	assert_int_equal(ks_map_compare(map, map, NULL, &document, diag), 0);
	ks_document_free(document);
	document = NULL;
	assert_int_equal(ks_map_answer(map, "weather", NULL, &document, diag), -ENOENT);
	assert_int_equal(ks_map_answer(map, "accesses", NULL, &document, diag), -EINVAL);
	assert_int_equal(ks_map_answer(map, "accesses", &question, &document, diag), -ENOENT);
	assert_int_equal(ks_map_answer(map, "touches", &question, &document, diag), -ENOENT);
	question.by = "compartment";
	assert_int_equal(ks_map_answer(map, "report", &question, &document, diag), -EINVAL);
	assert_null(document);
	question.by = "type";
	assert_int_equal(ks_map_answer(map, "report", &question, &document, diag), 0);
	ks_document_free(document);
	ks_map_close(map);
	ks_map_close(NULL);
	ks_diag_free(diag);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_questions), cmocka_unit_test(test_feed),
	cmocka_unit_test(test_steps),	  cmocka_unit_test(test_filter),
	cmocka_unit_test(test_compare),	  cmocka_unit_test(test_objects),
	cmocka_unit_test(test_bounds),	  cmocka_unit_test(test_render),
	cmocka_unit_test(test_arrow),	  cmocka_unit_test(test_arrow_moved),
	cmocka_unit_test(test_sizes),	  cmocka_unit_test(test_errors),
	cmocka_unit_test(test_corpus),	  cmocka_unit_test(test_db),
	cmocka_unit_test(test_heap),	  cmocka_unit_test(test_map),
};

KS_RUN(tests)
