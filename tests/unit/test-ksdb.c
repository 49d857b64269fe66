// SPDX-License-Identifier: GPL-2.0-only
/* The DB file: what was written is read back, and damage is refused. */
#include "ks-test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "analysis/match.h"
#include "base/hash.h"
#include "db/ksdb.h"
#include "source/open.h"

enum { EVENTS = 150000 }; /* more than two blocks */

static char *path;
static struct ks_event *written;

static u32 rng_state = 1;

static u32 rnd(u32 n)
{
	rng_state = rng_state * 1664525 + 1013904223;
	return (u32)((u64)(rng_state >> 8) * n >> 24);
}

static struct ks_event random_event(u64 *ts)
{
	struct ks_event ev = { .site = rnd(3),
			       .cache = KS_NONE,
			       .comm = rnd(2),
			       .gfp = KS_NONE,
			       .stack = rnd(4) ? rnd(2) : KS_NONE,
			       .pid = rnd(100),
			       .node = -1,
			       .cpu = (u16)rnd(8),
			       .kind = (u8)rnd(KS_LOST) };

	*ts += rnd(5000);
	if (rnd(40000) == 0)
		*ts += 1ull << 40; /* a long pause: wide time stamps in this block */
	if (rnd(1000) == 0)
		*ts -= 3; /* another CPU's clock */
	ev.ts = *ts;
	ev.ptr = rnd(50) ? 0xffff888000000000ull + rnd(20000) * 64ull : 0;
	if (ks_kind_is_alloc(ev.kind)) {
		ev.bytes_req = rnd(4000);
		ev.bytes_alloc = ev.bytes_req + rnd(100);
		ev.gfp = rnd(2);
		ev.node = (s32)rnd(3) - 1;
	}
	if (ev.kind == KS_CACHE_ALLOC || ev.kind == KS_CACHE_FREE)
		ev.cache = rnd(2);
	if (ks_kind_is_page(ev.kind))
		ev.site = KS_NONE;
	return ev;
}

static void add_names(struct ks_names *names)
{
	assert_int_equal(ks_names_init(names), 0);
	assert_int_equal(ks_sites_add(&names->sites, "alpha+0x1/0x2", 13), 0);
	assert_int_equal(ks_sites_add(&names->sites, "beta+0x1/0x2 [mod]", 18), 1);
	assert_int_equal(ks_sites_add(&names->sites, "ffffffff81000010", 16), 2);
	assert_int_equal(ks_intern_add(&names->caches, "dentry", 6), 0);
	assert_int_equal(ks_intern_add(&names->caches, "odd name", 8), 1);
	assert_int_equal(ks_intern_add(&names->comms, "bash", 4), 0);
	assert_int_equal(ks_intern_add(&names->comms, "", 0), 1);
	assert_int_equal(ks_intern_add(&names->gfps, "GFP_KERNEL", 10), 0);
	assert_int_equal(ks_intern_add(&names->gfps, "GFP_NOFS", 8), 1);
	assert_int_equal(ks_sites_add(&names->frames, "inner+0x1/0x2", 13), 0);
	assert_int_equal(ks_sites_add(&names->frames, "outer+0x1/0x2 [mod]", 19), 1);
	assert_int_equal(ks_names_add_stack(names, (u32[]){ 0, 1 }, 2), 0);
	assert_int_equal(ks_names_add_stack(names, (u32[]){ 1 }, 1), 1);
}

static u64 hash_of(const struct ks_matcher *matcher, const struct ks_event *ev)
{
	return ks_live_hash(&matcher->live[ks_level_of(ev->kind)], ev->ptr);
}
static const struct ks_host host = { "6.12.0-test", "riscv64", 12 };
static const u16 nodes[] = { 0, 0, 1, UINT16_MAX, 1, 0 };

/* Writes the DB that the tests read. */
static int setup(void **state)
{
	struct ks_db_writer *writer;
	struct ks_matcher matcher;
	struct ks_strbuf summary;
	struct ks_diag diag = { 0 };
	struct ks_names names;
	struct ks_match match;
	u64 ts = 1ull << 41;
	u32 i;

	(void)state;
	path = scratch_path("db");
	written = calloc(EVENTS, sizeof(*written));
	add_names(&names);
	assert_int_equal(ks_matcher_init(&matcher), 0);
	assert_int_equal(ks_db_writer_new(path, &writer, &diag), 0);
	for (i = 0; i < EVENTS; i++) {
		written[i] = random_event(&ts);
		assert_int_equal(ks_matcher_step(&matcher, &written[i],
						 hash_of(&matcher, &written[i]), &match),
				 0);
		assert_int_equal(ks_db_writer_add(writer, &written[i], &match, &diag), 0);
		ks_matcher_commit(&matcher, &written[i], &match, false);
	}
	ks_strbuf_init(&summary);
	ks_strbuf_puts(&summary, "any bytes");
	ks_db_writer_set_nodes(writer, nodes, ARRAY_SIZE(nodes));
	assert_int_equal(ks_db_writer_finish(writer, &names, &host, &summary, &diag), 0);
	ks_strbuf_deinit(&summary);
	ks_db_writer_free(writer);
	ks_matcher_deinit(&matcher);
	ks_names_deinit(&names);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	free(path);
	free(written);
	return 0;
}

static void test_round_trip(void **state)
{
	struct ks_source *trace;
	struct ks_diag diag = { 0 };
	struct ks_batch batch;
	const u32 *frames;
	size_t at = 0, i;

	(void)state;
	assert_int_equal(ks_source_open(path, NULL, &trace, &diag), 0);
	assert_string_equal(ks_sites_get(&trace->names.sites, 1)->module, "mod");
	assert_string_equal(ks_intern_get(&trace->names.caches, 1).s, "odd name");
	assert_string_equal(trace->info.host.kernel, host.kernel);
	assert_string_equal(trace->info.host.arch, host.arch);
	assert_int_equal(trace->info.host.cpus, host.cpus);
	assert_int_equal(trace->info.cpu_nodes.len, ARRAY_SIZE(nodes));
	assert_memory_equal(trace->info.cpu_nodes.items, nodes, sizeof(nodes));
	frames = ks_names_stack(&trace->names, 0, &i);
	assert_int_equal(i, 2);
	assert_string_equal(ks_sites_get(&trace->names.frames, frames[0])->func, "inner");
	assert_string_equal(ks_sites_get(&trace->names.frames, frames[1])->module, "mod");
	for (;;) {
		assert_int_equal(ks_source_next(trace, &batch, &diag), 0);
		if (!batch.count)
			break;
		for (i = 0; i < batch.count; i++, at++)
			assert_memory_equal(&batch.events[i], &written[at], sizeof(*written));
	}
	assert_int_equal(at, EVENTS);
	ks_source_close(trace);
}

static void test_mode(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* Reads the whole file into a hash; -1 = refused, with a message that names the file. */
static int read_all(const char *file, u64 *ret_events, u64 *ret_hash)
{
	struct ks_db_block block = { 0 };
	struct ks_diag diag = { 0 };
	struct ks_source *source;
	struct ks_db *db;
	u64 events = 0, hash = 0;
	size_t i, len;
	int err = ks_source_open(file, NULL, &source, &diag);

	if (!err && !source->db) {
		ks_source_close(source);
		return -1;
	}
	if (!err) {
		db = source->db;
		assert_non_null(ks_db_summary(db, &len));
		for (i = 0; i < ks_db_blocks(db) && !err; i++) {
			err = ks_db_block_read(db, i,
					       KS_DB_TASKS | KS_DB_TIMES | KS_DB_SLOTS | KS_DB_PTRS,
					       &block, &diag);
			if (err)
				break;
			events += block.count;
			hash = ks_hash_bytes(block.shape_of, block.count * 2, hash);
			hash = ks_hash_bytes(block.task_of, block.count * 2, hash);
			hash = ks_hash_bytes(block.ts, block.count * 8, hash);
			hash = ks_hash_bytes(block.slots, block.slots_len * 4, hash);
			hash = ks_hash_bytes(block.ptrs, block.ptrs_len * 8, hash);
			hash = ks_hash_bytes(block.shapes, block.shapes_len * sizeof(*block.shapes),
					     hash);
			hash = ks_hash_bytes(block.tasks, block.tasks_len * sizeof(*block.tasks),
					     hash);
		}
		ks_db_block_deinit(&block);
		ks_source_close(source);
	}
	if (err) {
		assert_int_equal(err, KS_EBADINPUT);
		assert_non_null(strstr(diag.text, file));
		return -1;
	}
	*ret_events = events;
	*ret_hash = hash;
	return 0;
}

static char *load(size_t *ret_len)
{
	struct stat st;
	char *data;
	int fd = open(path, O_RDONLY);

	assert_int_equal(fstat(fd, &st), 0);
	data = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return data;
}

static void store(const char *file, const char *data, size_t len)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/*
 * A flipped bit is found anywhere: in every byte of head and tail, and in many bytes between. A few
 * bits of a zstd frame have no meaning; if one of them is flipped, the same content must be read.
 */
static void test_damage(void **state)
{
	char *copy = scratch_path("damaged");
	size_t len, at, step;
	char *data = load(&len);
	u64 events, hash, right, harmless = 0;

	(void)state;
	store(copy, data, len);
	assert_int_equal(read_all(copy, &events, &right), 0);
	assert_int_equal(events, EVENTS);
	for (at = 0; at < len; at += step) {
		step = at < 64 || at + 400 > len ? 1 : len / 300;
		data[at] ^= 0x01;
		store(copy, data, len);
		if (!read_all(copy, &events, &hash)) {
			assert_true(hash == right);
			harmless++;
		}
		data[at] ^= 0x01;
	}
	assert_true(harmless < 10);
	unlink(copy);
	free(copy);
	free(data);
}

static void test_truncation(void **state)
{
	char *copy = scratch_path("short");
	size_t len, keep;
	char *data = load(&len);
	u64 events, hash;

	(void)state;
	for (keep = 0; keep < len; keep += keep < 64 ? 1 : len / 50) {
		store(copy, data, keep);
		assert_int_equal(read_all(copy, &events, &hash), -1);
	}
	unlink(copy);
	free(copy);
	free(data);
}

static void test_newer_version(void **state)
{
	char *copy = scratch_path("newer");
	struct ks_diag diag = { 0 };
	struct ks_source *source;
	size_t len;
	char *data = load(&len);

	(void)state;
	data[8] = 3;
	store(copy, data, len);
	assert_int_equal(ks_source_open(copy, NULL, &source, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "version 3"));
	unlink(copy);
	free(copy);
	free(data);
}

/* An unfinished DB leaves nothing behind, and never changes an older file of its name. */
static void test_unfinished(void **state)
{
	char *other = scratch_path("unfinished");
	struct ks_match match = { .op = KS_OP_NOTHING };
	struct ks_diag diag = { 0 };
	struct ks_db_writer *writer;
	char *command;

	(void)state;
	store(other, "precious", 8);
	assert_int_equal(ks_db_writer_new(other, &writer, &diag), 0);
	assert_int_equal(ks_db_writer_add(writer, &written[0], &match, &diag), 0);
	ks_db_writer_free(writer);
	assert_true(asprintf(&command,
			     "[ \"$(cat %s)\" = precious ] && [ \"$(ls %s* | wc -l)\" = 1 ]", other,
			     other) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	unlink(other);
	free(other);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_mode),
	cmocka_unit_test(test_damage),	      cmocka_unit_test(test_truncation),
	cmocka_unit_test(test_newer_version), cmocka_unit_test(test_unfinished),
};

int main(void)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
