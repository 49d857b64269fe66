// SPDX-License-Identifier: GPL-2.0-only
/* Questions to graphs that were made by hand, and to random ones, where slow and obvious ways give the same answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "heap/dominators.h"
#include "heap/made.h"
#include "heap/unreachable.h"
#include "heap/ways.h"

/* === Data ================================================================================= */

enum { NODES_MAX = 40 };

/* A graph as a matrix. Objects are 16 bytes, but for number i that is of size 16 << i % 3. */
struct matrix {
	u32 objects, roots;
	bool edge[NODES_MAX][NODES_MAX]; /* from object to object */
	bool root[NODES_MAX][NODES_MAX]; /* from root to object */
	enum ks_root_kind kind[NODES_MAX];
	bool doubled; /* some edges are two, as in a list with one member */
};

/* === Internals: snapshots ================================================================= */

static u64 size_of(u32 object)
{
	return 16u << object % 3;
}

static struct ks_snapshot *make(const struct matrix *m)
{
	struct ks_snapshot *s;
	struct ks_heap_type *type;
	u32 i, k;

	assert_int_equal(ks_snapshot_new(&s, NULL), 0);
	for (i = 0; i < 3; i++) {
		struct ks_heap_cache *cache = ks_vec_push(&s->caches);

		*cache = (struct ks_heap_cache){ .name = "c", .size = (u32)size_of(i) };
	}
	type = ks_vec_push(&s->types);
	type->name = "?";
	s->count = m->objects;
	s->addr = calloc(m->objects + 1, sizeof(*s->addr));
	s->cache = calloc(m->objects + 1, sizeof(*s->cache));
	s->type = calloc(m->objects + 1, sizeof(*s->type));
	s->known_by = calloc(m->objects + 1, 1);
	s->cgroup = calloc(m->objects + 1, sizeof(*s->cgroup));
	s->checksum = calloc(m->objects + 1, sizeof(*s->checksum));
	s->ref_first = calloc(m->objects + 1, sizeof(*s->ref_first));
	s->root_first = calloc(m->roots + 1, sizeof(*s->root_first));
	for (i = 0; i < m->objects; i++) {
		s->addr[i] = 0xffff888000000000 + i * 64;
		s->cache[i] = (u16)(i % 3);
		s->checksum[i] = i;
		for (k = 0; k < 2 * m->objects; k++)
			if (m->edge[i][k % m->objects] &&
			    (k < m->objects || (m->doubled && k % 3 == 0)))
				*(struct ks_heap_ref *)ks_vec_push(&s->refs) =
					(struct ks_heap_ref){ k % m->objects, (u16)k, 0 };
		s->ref_first[i + 1] = (u32)s->refs.len;
	}
	for (i = 0; i < m->roots; i++) {
		*(struct ks_heap_root *)ks_vec_push(&s->roots) =
			(struct ks_heap_root){ m->kind[i], "", 4096 * i };
		for (k = 0; k < m->objects; k++)
			if (m->root[i][k])
				*(struct ks_heap_ref *)ks_vec_push(&s->root_refs) =
					(struct ks_heap_ref){ k, (u16)k, 0 };
		s->root_first[i + 1] = (u32)s->root_refs.len;
	}
	return s;
}

/* === Internals: slow and obvious ways ===================================================== */

/* Marks what can be reached from roots of these kinds without going through @without (an object, or NODES_MAX). */
static void reach(const struct matrix *m, u32 kinds, u32 without, bool *reached)
{
	bool more = true;
	u32 i, k;

	memset(reached, 0, NODES_MAX * sizeof(*reached));
	for (i = 0; i < m->roots; i++)
		for (k = 0; k < m->objects; k++)
			reached[k] |= m->root[i][k] && kinds >> m->kind[i] & 1 && k != without;
	while (more) {
		more = false;
		for (i = 0; i < m->objects; i++)
			for (k = 0; k < m->objects; k++)
				if (reached[i] && m->edge[i][k] && k != without && !reached[k])
					more = reached[k] = true;
	}
}

static u64 bytes_lost(const struct matrix *m, u32 without)
{
	bool all[NODES_MAX], rest[NODES_MAX];
	u64 bytes = 0;

	reach(m, ~0u, NODES_MAX, all);
	reach(m, ~0u, without, rest);
	for (u32 i = 0; i < m->objects; i++)
		bytes += all[i] && !rest[i] ? size_of(i) : 0;
	return bytes;
}

/* === Internals: comparisons =============================================================== */

static u32 way_length(const struct ks_snapshot *s, const struct ks_ways *ways, u32 object)
{
	u32 length = 0, from;

	for (;; object = from) {
		from = ways->from[object];
		assert_int_not_equal(from, KS_NONE);
		assert_non_null(ks_ways_ref(s, from, object));
		length++;
		assert_in_range(length, 1, NODES_MAX);
		if (from & KS_FROM_ROOT)
			return length;
	}
}

/* The fewest steps from any root of these kinds; NODES_MAX = there is no way. */
static void distances(const struct matrix *m, u32 kinds, u32 *distance)
{
	u32 i, k, round;

	for (k = 0; k < m->objects; k++)
		distance[k] = NODES_MAX;
	for (i = 0; i < m->roots; i++)
		for (k = 0; k < m->objects; k++)
			if (m->root[i][k] && kinds >> m->kind[i] & 1)
				distance[k] = 1;
	for (round = 0; round < m->objects; round++)
		for (i = 0; i < m->objects; i++)
			for (k = 0; k < m->objects; k++)
				if (m->edge[i][k] && distance[i] + 1 < distance[k])
					distance[k] = distance[i] + 1;
}

static void compare(const struct matrix *m)
{
	struct ks_snapshot *s = make(m);
	struct ks_candidates_list list;
	struct ks_dominators *d;
	struct ks_ways *ways;
	bool all[NODES_MAX], data[NODES_MAX];
	u32 distance[NODES_MAX], i, lost = 0;
	u64 bytes, set[1], expected, all_bytes;

	assert_int_equal(ks_ways_find(s, &ways, NULL), 0);
	assert_int_equal(ks_dominators_find(s, &d, NULL), 0);
	assert_int_equal(ks_unreachable_find(s, &list, NULL), 0);
	reach(m, ~0u, NODES_MAX, all);
	reach(m, 1 << KS_ROOT_DATA, NODES_MAX, data);
	distances(m, 1 << KS_ROOT_DATA, distance);
	for (i = 0; i < m->objects; i++) {
		u32 node = d->first_object + i;

		assert_int_equal(ways->from[i] != KS_NONE, all[i]);
		assert_int_equal(d->above[node] != KS_NONE, all[i]);
		assert_int_equal(d->retained[node], all[i] ? bytes_lost(m, i) : size_of(i));
		if (data[i])
			assert_int_equal(way_length(s, ways, i), distance[i]);
		if (!all[i])
			assert_int_equal(list.items.items[lost++].object, i);
		/* A set of one retains what that one does. */
		set[0] = 1ull << i;
		assert_int_equal(ks_dominators_of_set(d, set, &bytes), 0);
		assert_int_equal(bytes, d->retained[node]);
	}
	assert_int_equal(list.items.len, lost);
	/* A set of all retains all, the roots what can be reached. */
	set[0] = ~0ull;
	for (i = 0, all_bytes = 0, expected = 0; i < m->objects; i++) {
		all_bytes += size_of(i);
		expected += all[i] ? size_of(i) : 0;
	}
	assert_int_equal(ks_dominators_of_set(d, set, &bytes), 0);
	assert_int_equal(bytes, all_bytes);
	assert_int_equal(d->retained[0], expected);
	ks_candidates_deinit(&list);
	ks_dominators_free(d);
	ks_ways_free(ways);
	ks_snapshot_free(s);
}

/* === Tests ================================================================================ */

/* Root -> 0 -> {1, 2} -> 3 -> 4, and 4 -> 3: neither of 1 and 2 holds 3 alone, 0 does. 5 and 6 hold each other. */
static void test_by_hand(void **state)
{
	struct matrix m = { .objects = 7, .roots = 1 };
	struct ks_snapshot *s;
	struct ks_dominators *d;
	u64 set = 1 << 3 | 1 << 4 | 1 << 1, bytes;

	m.root[0][0] = true;
	m.edge[0][1] = m.edge[0][2] = m.edge[1][3] = m.edge[2][3] = true;
	m.edge[3][4] = m.edge[4][3] = m.edge[5][6] = m.edge[6][5] = true;
	s = make(&m);
	assert_int_equal(ks_dominators_find(s, &d, NULL), 0);
	assert_int_equal(d->first_object, 2);
	assert_int_equal(d->above[2 + 0], 1);
	assert_int_equal(d->above[2 + 1], 2 + 0);
	assert_int_equal(d->above[2 + 2], 2 + 0);
	assert_int_equal(d->above[2 + 3], 2 + 0);
	assert_int_equal(d->above[2 + 4], 2 + 3);
	assert_int_equal(d->above[2 + 5], KS_NONE);
	/* Sizes are 16, 32, 64, 16, 32, 64, 16. */
	assert_int_equal(d->retained[2 + 4], 32);
	assert_int_equal(d->retained[2 + 3], 16 + 32);
	assert_int_equal(d->retained[2 + 0], 16 + 32 + 64 + 16 + 32);
	assert_int_equal(d->retained[2 + 5], 64);
	/* 4 is below 3, so it counts once. */
	assert_int_equal(ks_dominators_of_set(d, &set, &bytes), 0);
	assert_int_equal(bytes, 32 + 16 + 32);
	ks_dominators_free(d);
	ks_snapshot_free(s);
	compare(&m);
}

/* A way of variables is taken, though a stack's and a struct page's are shorter. */
static void test_worth_of_roots(void **state)
{
	struct matrix m = { .objects = 4, .roots = 3 };
	struct ks_snapshot *s;
	struct ks_ways *ways;

	m.kind[0] = KS_ROOT_STRUCTS;
	m.kind[1] = KS_ROOT_STACK;
	m.kind[2] = KS_ROOT_DATA;
	m.root[0][2] = m.root[1][2] = m.root[2][0] = true;
	m.edge[0][1] = m.edge[1][2] = true;
	m.root[0][3] = m.root[1][3] = true;
	s = make(&m);
	assert_int_equal(ks_ways_find(s, &ways, NULL), 0);
	assert_int_equal(ways->from[0], KS_FROM_ROOT | 2);
	assert_int_equal(ways->from[2], 1);
	assert_int_equal(ways->from[3], KS_FROM_ROOT | 1);
	ks_ways_free(ways);
	ks_snapshot_free(s);
}

/* 0 holds 2 by a field that is no pointer, and 1, which holds 2: the longer way is the surer. 3 has no other. */
static void test_doubtful(void **state)
{
	struct matrix m = { .objects = 4, .roots = 1 };
	struct ks_snapshot *s;
	struct ks_ways *ways;

	m.root[0][0] = true;
	m.edge[0][1] = m.edge[0][2] = m.edge[1][2] = m.edge[0][3] = true;
	s = make(&m);
	*(struct ks_heap_type *)ks_vec_push(&s->types) =
		(struct ks_heap_type){ .name = "t", .size = 64, .fields = 3 };
	for (u32 i = 0; i < 3; i++)
		*(struct ks_heap_field *)ks_vec_push(&s->fields) =
			(struct ks_heap_field){ (i + 1) * 8, i ? "number?" : "pointer" };
	s->type[0] = 1;
	assert_int_equal(ks_ways_find(s, &ways, NULL), 0);
	assert_int_equal(ways->from[1], 0);
	assert_int_equal(ways->from[2], 1);
	assert_int_equal(ways->from[3], 0);
	assert_int_equal(ways->reached, 4);
	ks_ways_free(ways);
	ks_snapshot_free(s);
}

static void test_random(void **state)
{
	u64 seed = 88172645463325252ull;

	for (u32 round = 0; round < 300; round++) {
		struct matrix m = { .objects = round % (NODES_MAX + 1), .roots = 1 + round % 3 };
		u32 edges = m.objects * (1 + round / 100), i;

		for (i = 0; m.objects && i < edges + 3; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			if (i < edges)
				m.edge[seed % m.objects][(seed >> 32) % m.objects] = true;
			else
				m.root[i % m.roots][(seed >> 32) % m.objects] = true;
		}
		for (i = 0; i < m.objects; i++)
			m.edge[i][i] = false;
		m.kind[1] = KS_ROOT_STACK;
		m.kind[2] = KS_ROOT_STRUCTS;
		m.doubled = round % 2;
		compare(&m);
	}
}

/* A list of many, each with a way back, as the kernel's lists are: no recursion, no walk that grows with the square. */
static void test_long_list(void **state)
{
	enum { LEN = 300000 };
	struct matrix none = { 0 };
	struct ks_snapshot *s = make(&none);
	struct ks_dominators *d;
	u32 i;

	s->count = LEN;
	s->cache = realloc(s->cache, LEN * sizeof(*s->cache));
	s->ref_first = realloc(s->ref_first, (LEN + 1) * sizeof(*s->ref_first));
	s->root_first = realloc(s->root_first, 2 * sizeof(*s->root_first));
	for (i = 0; i < LEN; i++) {
		s->cache[i] = 0;
		s->ref_first[i] = (u32)s->refs.len;
		if (i + 1 < LEN)
			((struct ks_heap_ref *)ks_vec_push(&s->refs))->to = i + 1;
		if (i)
			((struct ks_heap_ref *)ks_vec_push(&s->refs))->to = i - 1;
	}
	s->ref_first[LEN] = (u32)s->refs.len;
	ks_vec_push(&s->roots);
	ks_vec_push(&s->root_refs);
	s->root_first[0] = 0;
	s->root_first[1] = 1;
	assert_int_equal(ks_dominators_find(s, &d, NULL), 0);
	for (i = 0; i < LEN; i++) {
		assert_int_equal(d->above[2 + i], 1 + i);
		assert_int_equal(d->retained[2 + i], (u64)(LEN - i) * 16);
	}
	ks_dominators_free(d);
	ks_snapshot_free(s);
}

/* Twice the same address, and twice the same contents. */
static void test_confirm(void **state)
{
	struct matrix m = { .objects = 6, .roots = 1 };
	struct ks_snapshot *first, *second;
	struct ks_candidates_list before, after;

	m.root[0][0] = true;
	first = make(&m);
	m.root[0][1] = true;
	second = make(&m);
	second->checksum[2] = 77;
	second->addr[5] += 16;
	assert_int_equal(ks_unreachable_find(first, &before, NULL), 0);
	assert_int_equal(ks_unreachable_find(second, &after, NULL), 0);
	assert_int_equal(before.items.len, 5);
	assert_int_equal(after.items.len, 4);
	assert_false(after.twice);
	ks_unreachable_confirm(&after, &before);
	assert_true(after.twice);
	assert_int_equal(after.items.len, 2);
	assert_int_equal(after.items.items[0].object, 3);
	assert_int_equal(after.items.items[1].object, 4);
	ks_candidates_deinit(&before);
	ks_candidates_deinit(&after);
	ks_snapshot_free(first);
	ks_snapshot_free(second);
}

/* A task's timers are on a list of its signals, which is not followed; each timer names these signals. */
static void test_tasks(void **state)
{
	static const char text[] = "cache task_struct 4096 3900\n"
				   "cache signals 1024 1000\n"
				   "cache timers 256 256\n"
				   "type task_struct 3900\n"
				   "field task_struct 512 signal\n"
				   "type signal_struct 1000\n"
				   "field signal_struct 64 posix_timers.first\n"
				   "type k_itimer 256\n"
				   "field k_itimer 8 list.next\n"
				   "field k_itimer 64 it_signal\n"
				   "field k_itimer 72 name\n"
				   "object 0x1000 task_struct task_struct cache\n"
				   "object 0x2000 task_struct task_struct cache\n"
				   "object 0x3000 signals signal_struct cache\n"
				   "object 0x4000 signals signal_struct cache\n"
				   "object 0x5000 timers k_itimer cache\n"
				   "object 0x5100 timers k_itimer cache\n"
				   "object 0x5200 timers k_itimer cache\n"
				   "object 0x5300 timers k_itimer cache\n"
				   "object 0x5400 timers ? unknown\n"
				   "ref 0x1000 512 0x3000\n"
				   "ref 0x2000 512 0x4000\n"
				   "ref 0x5000 8 0x5100\n"
				   "ref 0x5000 64 0x3000\n"
				   "ref 0x5100 8 0x5200\n"
				   "ref 0x5100 64 0x3000\n"
				   "ref 0x5200 64 0x4000\n"
				   "ref 0x5200 72 0x5400\n"
				   "ref 0x5300 8 0x5000\n";
	struct ks_snapshot *s;
	u32 *task;
	size_t line;

	s = made_snapshot(text, &line);
	assert_non_null(s);
	assert_int_equal(ks_ways_from_tasks(s, &task, NULL), 0);
	assert_int_equal(task[2], 0);
	assert_int_equal(task[3], 1);
	assert_int_equal(task[4], 0);
	assert_int_equal(task[5], 0);
	assert_int_equal(task[6], 1);
	assert_int_equal(task[7], KS_NONE); /* it names nobody */
	assert_int_equal(task[8], 1);	    /* what such a timer holds */
	free(task);
	ks_snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand), cmocka_unit_test(test_worth_of_roots),
		cmocka_unit_test(test_random),	cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_confirm), cmocka_unit_test(test_doubtful),
		cmocka_unit_test(test_tasks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
