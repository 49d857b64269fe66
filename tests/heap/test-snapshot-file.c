// SPDX-License-Identifier: GPL-2.0-only
/* Snapshots as files: what is loaded is what was saved, and a file that is not right is refused with the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "heap/made.h"
#include "heap/snapshot-file.h"
#include "heap/snapshot-format.h"

/* === Data ================================================================================= */

enum { ROOT_REFS = KS_HS_ROOT_BLOCK + 1000 };

static const char small[] = "kernel 6.18.0 x86_64 box 1234-5678\n"
			    "taken 1700000000123456789 5000000000 123456\n"
			    "memory slab 300\n"
			    "memory free 1000000\n"
			    "total 4194304\n"
			    "quality 0 7\n"
			    "quality 9 3\n"
			    "node 3 12 40 2 4000\n"
			    "node 1 4 10 0 1000\n"
			    "cache filp 256 232 reclaimable\n"
			    "cache kmalloc-64 64 64\n"
			    "cache large 8192 8192 large\n"
			    "census filp 4 16 5 77\n"
			    "merged filp other\n"
			    "merged filp third\n"
			    "type file 232\n"
			    "field file 16 f_op\n"
			    "field file 64 f_path.dentry\n"
			    "type name[] 0\n"
			    "cgroup /shop\n"
			    "cgroup /shop/till\n"
			    "object 0xffff888000001000 filp file cache 1 0xdeadbeef\n"
			    "object 0xffff888000001100 filp file cache 2 1\n"
			    "object 0xffff888000001400 filp file cache 65535 2\n"
			    "object 0xffff888000002040 kmalloc-64 name[] field 0 4294967295\n"
			    "object 0xffff888000004000 large ? unknown\n"
			    "ref 0xffff888000001000 16 0xffff888000002040 8\n"
			    "ref 0xffff888000001000 64 0xffff888000001100\n"
			    "ref 0xffff888000001100 16 0xffff888000002040 524280\n"
			    "ref 0xffff888000004000 8000 0xffff888000001000\n"
			    "root 0 init_task 0xffffffff82000000\n"
			    "rootref 72 0xffff888000001000\n"
			    "rootref 8 0xffff888000004000 16\n"
			    "root 5 - 0xffffea0000000000\n"
			    "root 2 bash/17 0xffffc90000004000\n"
			    "rootref 0 0xffff888000002040\n";

/* === Internals ============================================================================ */

static char path[] = "snapshot-XXXXXX";

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static struct ks_snapshot *make(const char *text)
{
	size_t line;
	struct ks_snapshot *s = made_snapshot(text, &line);

	if (!s)
		fail_msg("line %zu makes no sense", line);
	return s;
}

static void assert_same_caches(const struct ks_snapshot *a, const struct ks_snapshot *b)
{
	size_t i, k;

	assert_int_equal(a->caches.len, b->caches.len);
	for (i = 0; i < a->caches.len; i++) {
		const struct ks_heap_cache *x = &a->caches.items[i], *y = &b->caches.items[i];

		assert_string_equal(x->name, y->name);
		assert_int_equal(x->size, y->size);
		assert_int_equal(x->object_size, y->object_size);
		assert_int_equal(x->reclaimable, y->reclaimable);
		assert_int_equal(x->large, y->large);
		assert_memory_equal(&x->census, &y->census, sizeof(x->census));
		assert_true(x->slabinfo == y->slabinfo);
		assert_int_equal(x->nr_merged, y->nr_merged);
		for (k = 0; k < x->nr_merged; k++)
			assert_string_equal(x->merged[k], y->merged[k]);
	}
}

static void assert_same_tables(const struct ks_snapshot *a, const struct ks_snapshot *b)
{
	size_t i, k;

	assert_int_equal(a->types.len, b->types.len);
	for (i = 0; i < a->types.len; i++) {
		const struct ks_heap_type *x = &a->types.items[i], *y = &b->types.items[i];

		assert_string_equal(x->name, y->name);
		assert_int_equal(x->size, y->size);
		assert_int_equal(x->fields, y->fields);
		for (k = 0; k < x->fields; k++) {
			const struct ks_heap_field *f = &a->fields.items[x->first_field + k];
			const struct ks_heap_field *g = &b->fields.items[y->first_field + k];

			assert_int_equal(f->offset, g->offset);
			assert_string_equal(f->name, g->name);
		}
	}
	assert_int_equal(a->cgroups.len, b->cgroups.len);
	for (i = 0; i < a->cgroups.len; i++)
		assert_string_equal(a->cgroups.items[i], b->cgroups.items[i]);
	assert_int_equal(a->labels.len, b->labels.len);
	for (i = 0; i < a->labels.len; i++) {
		assert_int_equal(a->labels.items[i].object, b->labels.items[i].object);
		assert_string_equal(a->labels.items[i].name, b->labels.items[i].name);
	}
}

static void assert_same_refs(const struct ks_heap_ref *a, const struct ks_heap_ref *b, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		assert_int_equal(a[i].to, b[i].to);
		assert_int_equal(a[i].at, b[i].at);
		assert_int_equal(a[i].inside, b[i].inside);
	}
}

static void assert_same_graph(const struct ks_snapshot *a, const struct ks_snapshot *b)
{
	size_t i;

	assert_int_equal(!a->ref_first, !b->ref_first);
	if (!a->ref_first)
		return;
	assert_int_equal(a->refs.len, b->refs.len);
	assert_memory_equal(a->ref_first, b->ref_first, (a->count + 1ul) * sizeof(*a->ref_first));
	assert_same_refs(a->refs.items, b->refs.items, a->refs.len);
	assert_int_equal(a->roots.len, b->roots.len);
	assert_int_equal(a->root_refs.len, b->root_refs.len);
	assert_memory_equal(a->root_first, b->root_first,
			    (a->roots.len + 1) * sizeof(*a->root_first));
	assert_memory_equal(a->root_bytes, b->root_bytes, sizeof(a->root_bytes));
	assert_same_refs(a->root_refs.items, b->root_refs.items, a->root_refs.len);
	for (i = 0; i < a->roots.len; i++) {
		assert_int_equal(a->roots.items[i].kind, b->roots.items[i].kind);
		assert_string_equal(a->roots.items[i].name, b->roots.items[i].name);
		assert_true(a->roots.items[i].addr == b->roots.items[i].addr);
	}
}

static void assert_same(const struct ks_snapshot *a, const struct ks_snapshot *b)
{
	size_t count = a->count;

	assert_string_equal(a->release, b->release);
	assert_string_equal(a->machine, b->machine);
	assert_string_equal(a->host, b->host);
	assert_string_equal(a->boot, b->boot);
	assert_string_equal(a->memory_by, b->memory_by);
	assert_true(a->taken_ns == b->taken_ns && a->uptime_ns == b->uptime_ns &&
		    a->duration_ns == b->duration_ns && a->total == b->total);
	assert_int_equal(a->no_functions, b->no_functions);
	assert_memory_equal(a->kinds, b->kinds, sizeof(a->kinds));
	assert_memory_equal(a->quality, b->quality, sizeof(a->quality));
	assert_int_equal(a->nodes.len, b->nodes.len);
	if (a->nodes.len)
		assert_memory_equal(a->nodes.items, b->nodes.items,
				    a->nodes.len * sizeof(*a->nodes.items));
	assert_same_caches(a, b);
	assert_same_tables(a, b);
	assert_int_equal(a->count, b->count);
	if (count) {
		assert_memory_equal(a->addr, b->addr, count * sizeof(*a->addr));
		assert_memory_equal(a->cache, b->cache, count * sizeof(*a->cache));
		assert_memory_equal(a->type, b->type, count * sizeof(*a->type));
		assert_memory_equal(a->known_by, b->known_by, count * sizeof(*a->known_by));
		assert_memory_equal(a->cgroup, b->cgroup, count * sizeof(*a->cgroup));
		assert_memory_equal(a->checksum, b->checksum, count * sizeof(*a->checksum));
	}
	assert_same_graph(a, b);
}

static void round_trip(const struct ks_snapshot *s)
{
	struct ks_diag diag = { 0 };
	struct ks_snapshot *loaded;

	assert_int_equal(ks_snapshot_save(s, path, NULL, NULL, &diag), 0);
	if (ks_snapshot_load(path, &loaded, &diag))
		fail_msg("%s", diag.text);
	assert_same(s, loaded);
	ks_snapshot_free(loaded);
}

static void save_small(void)
{
	struct ks_snapshot *s = make(small);
	struct ks_diag diag;

	assert_int_equal(ks_snapshot_save(s, path, NULL, NULL, &diag), 0);
	ks_snapshot_free(s);
}

static size_t read_file(u8 *bytes, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, bytes, size);

	close(fd);
	assert_in_range(n, 1, size - 1);
	return (size_t)n;
}

static void write_file(const u8 *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void assert_refused(const char *why)
{
	struct ks_snapshot *s;
	struct ks_diag diag = { 0 };

	assert_int_equal(ks_snapshot_load(path, &s, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, path));
	if (!strstr(diag.text, why))
		fail_msg("'%s' does not say '%s'", diag.text, why);
}

/* Objects in three caches without end, each with references to its neighbours and to a few others. */
static struct ks_snapshot *make_many(u32 count, bool graph)
{
	struct ks_snapshot *s = make("cache a 64 64\ncache b 192 192\ncache c 8 8\n"
				     "type x 64\ntype y 192\n");
	u32 i, k, state = 1;
	u64 refs = 0;

	s->addr = realloc(s->addr, (count + 1ul) * sizeof(*s->addr));
	s->cache = realloc(s->cache, (count + 1ul) * sizeof(*s->cache));
	s->type = realloc(s->type, (count + 1ul) * sizeof(*s->type));
	s->known_by = realloc(s->known_by, count + 1ul);
	s->cgroup = realloc(s->cgroup, (count + 1ul) * sizeof(*s->cgroup));
	s->checksum = realloc(s->checksum, (count + 1ul) * sizeof(*s->checksum));
	s->count = count;
	for (i = 0; i < count; i++) {
		state = state * 1664525 + 1013904223;
		s->addr[i] = i ? s->addr[i - 1] + 192 + (state >> 30) * 192 : 0xffff888000000000;
		s->cache[i] = (u16)(i / 20 % 3);
		s->type[i] = s->cache[i] == 2 ? 0 : s->cache[i] + 1u;
		s->known_by[i] = s->type[i] ? KS_KNOWN_FIELD : KS_KNOWN_NOT;
		s->cgroup[i] = state & 1 ? 0 : UINT16_MAX;
		s->checksum[i] = state;
	}
	if (!graph)
		return s;
	s->ref_first = calloc(count + 1ul, sizeof(*s->ref_first));
	s->root_first = calloc(2, sizeof(*s->root_first));
	assert_int_equal(ks_vec_reserve(&s->refs, 4ul * count), 0);
	assert_int_equal(ks_vec_reserve(&s->roots, 1), 0);
	assert_int_equal(ks_vec_reserve(&s->root_refs, ROOT_REFS), 0);
	for (i = 0; i < count; i++) {
		for (k = 0; k < i % 4; k++) {
			state = state * 1664525 + 1013904223;
			s->refs.items[refs++] =
				(struct ks_heap_ref){ state % count, (u16)(k * 21845), (u16)state };
		}
		s->ref_first[i + 1] = (u32)refs;
	}
	s->refs.len = (size_t)refs;
	s->roots.items[0] = (struct ks_heap_root){ KS_ROOT_PAGES, "", 4096 };
	s->roots.len = 1;
	for (i = 0; i < ROOT_REFS; i++)
		s->root_refs.items[i] = (struct ks_heap_ref){ i * 7 % count, (u16)(i * 3), (u16)i };
	s->root_refs.len = s->root_first[1] = ROOT_REFS;
	s->root_bytes[KS_ROOT_PAGES] = 1 << 30;
	return s;
}

/* === Tests ================================================================================ */

static void test_round_trip(void **state)
{
	struct ks_snapshot *s = make(small);
	struct ks_heap_label labels[] = { { 1, "log" }, { 4, "bash/17" } };

	(void)state;
	assert_int_equal(s->count, 5);
	assert_int_equal(s->refs.len, 4);
	assert_int_equal(s->refs.items[2].inside, 65535);
	s->no_functions = true;
	assert_int_equal(ks_vec_reserve(&s->labels, 2), 0);
	memcpy(s->labels.items, labels, sizeof(labels));
	s->labels.len = 2;
	round_trip(s);
	ks_snapshot_free(s);
}

/* Labels are found by their object, wherever in the list it stands. */
static void test_labels(void **state)
{
	static const struct ks_heap_label labels[] = { { 1, "a" },  { 2, "b" },	 { 5, "c" },
						       { 9, "d" },  { 10, "e" }, { 700, "f" },
						       { 701, "g" } };
	struct ks_snapshot s = { 0 };
	size_t count, i;
	u32 object;

	(void)state;
	assert_int_equal(ks_vec_reserve(&s.labels, ARRAY_SIZE(labels)), 0);
	memcpy(s.labels.items, labels, sizeof(labels));
	for (count = 0; count <= ARRAY_SIZE(labels); count++) {
		s.labels.len = count;
		for (object = 0; object < 710; object++) {
			const char *expected = "";

			for (i = 0; i < count; i++)
				if (labels[i].object == object)
					expected = labels[i].name;
			assert_string_equal(ks_snapshot_label(&s, object), expected);
		}
	}
	ks_vec_free(&s.labels);
}

static void test_empty(void **state)
{
	struct ks_snapshot *s = make("");

	(void)state;
	round_trip(s);
	ks_snapshot_free(s);
	s = make("graph\n");
	assert_non_null(s->ref_first);
	round_trip(s);
	ks_snapshot_free(s);
}

/* A block more or less at each end of a block. */
static void test_blocks(void **state)
{
	static const u32 counts[] = { KS_HS_BLOCK - 1, KS_HS_BLOCK, KS_HS_BLOCK + 1,
				      5 * KS_HS_BLOCK + 77 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct ks_snapshot *s = make_many(counts[i], i != 2);

		round_trip(s);
		ks_snapshot_free(s);
	}
}

/* A checksum of each object is 4 bytes, and nothing here can be foreseen but the addresses. */
static void test_small_file(void **state)
{
	struct ks_snapshot *s = make_many(200000, false);
	struct ks_diag diag;
	struct stat st;

	(void)state;
	assert_int_equal(ks_snapshot_save(s, path, NULL, NULL, &diag), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_in_range(st.st_size, 200000 * 4, 200000 * 6);
	ks_snapshot_free(s);
}

/* Wherever the file ends and whichever byte is wrong: it is refused, and never as something else. */
/* A frame of zstd can be written in more than one way: what is read of it is the same then, to the last byte. */
static bool is_the_same(const u8 *whole, size_t len)
{
	struct ks_snapshot *s;
	struct ks_diag diag;
	u8 again[8192];

	if (ks_snapshot_load(path, &s, &diag))
		return false;
	assert_int_equal(ks_snapshot_save(s, path, NULL, NULL, &diag), 0);
	ks_snapshot_free(s);
	return read_file(again, sizeof(again)) == len && !memcmp(again, whole, len);
}

static void test_damage(void **state)
{
	u8 bytes[8192], whole[8192];
	size_t len, i, same = 0;

	(void)state;
	save_small();
	len = read_file(bytes, sizeof(bytes));
	write_file(bytes, 0);
	assert_refused("the file is empty");
	for (i = 1; i < len; i++) {
		write_file(bytes, i);
		assert_refused(i < 8 ? "is not a snapshot of a heap" : "damaged");
	}
	memcpy(whole, bytes, len);
	for (i = 0; i < len; i++) {
		bytes[i] ^= 0x11;
		write_file(bytes, len);
		if (i >= 16 && is_the_same(whole, len))
			same++;
		else
			assert_refused(i < 8	? "is not a snapshot of a heap"
				       : i < 16 ? "version"
						: "damaged");
		bytes[i] ^= 0x11;
	}
	assert_in_range(same, 0, 4);
}

static void test_other_files(void **state)
{
	struct ks_snapshot *s;
	struct ks_diag diag = { 0 };

	(void)state;
	write_file((const u8 *)"# tracer: nop\n", 14);
	assert_refused("is not a snapshot of a heap");
	assert_int_equal(ks_snapshot_load("/nonexistent/file", &s, &diag), -ENOENT);
	assert_int_equal(ks_snapshot_load("/dev/null", &s, &diag), -EINVAL);
	assert_int_equal(ks_snapshot_load(".", &s, &diag), -EINVAL);
	s = make(small);
	assert_int_equal(ks_snapshot_save(s, "/nonexistent/file", NULL, NULL, &diag), -ENOENT);
	assert_int_equal(ks_snapshot_save(s, "/dev/null", NULL, NULL, &diag), -EINVAL);
	ks_snapshot_free(s);
}

static int stop(void *arg, u64 done, u64 all)
{
	assert_in_range(done, 1, all);
	return ++*(int *)arg == 2;
}

/* Who stops it finds the file that was there before. */
static void test_stop(void **state)
{
	struct ks_snapshot *s = make_many(40 * KS_HS_BLOCK, false), *old;
	struct ks_diag diag;
	int calls = 0;

	(void)state;
	save_small();
	assert_int_equal(ks_snapshot_save(s, path, stop, &calls, &diag), -EINTR);
	assert_int_equal(calls, 2);
	assert_int_equal(ks_snapshot_load(path, &old, &diag), 0);
	assert_int_equal(old->count, 5);
	ks_snapshot_free(old);
	ks_snapshot_free(s);
}

static void test_find(void **state)
{
	struct ks_snapshot *s = make(small);

	(void)state;
	assert_int_equal(ks_snapshot_find(s, 0xffff888000000fff), KS_NONE);
	assert_int_equal(ks_snapshot_find(s, 0xffff888000001000), 0);
	assert_int_equal(ks_snapshot_find(s, 0xffff8880000010ff), 0);
	assert_int_equal(ks_snapshot_find(s, 0xffff888000001100), 1);
	assert_int_equal(ks_snapshot_find(s, 0xffff888000001200), KS_NONE);
	assert_int_equal(ks_snapshot_find(s, 0xffff888000005fff), 4);
	assert_int_equal(ks_snapshot_find(s, 0xffff888000006000), KS_NONE);
	ks_snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_labels),
		cmocka_unit_test(test_empty),	    cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_small_file),  cmocka_unit_test(test_damage),
		cmocka_unit_test(test_other_files), cmocka_unit_test(test_stop),
		cmocka_unit_test(test_find),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
