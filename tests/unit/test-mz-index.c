// SPDX-License-Identifier: GPL-2.0-only
/* The kernel module's object index, compiled in user space: compared with a plain model. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include "../../kernel/index.h"

#include <cmocka.h>

bool user_pages_exhausted;

/* === Helpers ============================================================================== */

enum { SITE = 7, IMPLIED = 9 };

static struct mz_index make_index(long max_pages)
{
	struct mz_index idx;

	assert_int_equal(mz_index_init(&idx, 2, max_pages, 0x1234567), 0);
	return idx;
}

static int add(struct mz_index *idx, u64 key, u64 now)
{
	struct mz_object obj = { .key = key, .alloc_ns = now, .size = 8, .pid = 4194303 };
	bool implied;

	return mz_index_add(idx, &obj, IMPLIED, 0, &implied);
}

static bool end(struct mz_index *idx, u64 key, u64 now)
{
	return mz_index_end(idx, key, now, SITE, false);
}

static unsigned long release_all(struct mz_index *idx, struct mz_chain *chain)
{
	struct mz_object *obj;
	unsigned long nr = 0;

	while ((obj = mz_chain_pop(chain))) {
		mz_index_release(idx, obj);
		nr++;
	}
	return nr;
}

static u32 next_random(u32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* === Tests ================================================================================ */

static void test_life_of_an_object(void **state)
{
	struct mz_index idx = make_index(100);
	struct mz_chain chain = { 0 };
	struct mz_object *obj;

	assert_int_equal(atomic_long_read(&idx.nr_pages), 0);
	assert_false(end(&idx, 0x1000, 5));
	assert_int_equal(add(&idx, 0x1000, 10), 0);
	assert_int_equal(mz_index_nr_live(&idx), 1);
	assert_true(mz_index_has(&idx, 0x1000));
	assert_true(mz_index_reassign(&idx, 0x1000, 55));
	assert_false(mz_index_reassign(&idx, 0x2000, 56));
	assert_false(mz_index_has_freed(&idx));
	assert_true(end(&idx, 0x1000, 20));
	assert_false(end(&idx, 0x1000, 21));
	assert_int_equal(mz_index_nr_live(&idx), 0);
	assert_true(mz_index_has_freed(&idx));

	mz_index_collect(&idx, &chain);
	assert_false(mz_index_has_freed(&idx));
	assert_int_equal(chain.nr, 1);
	obj = mz_chain_pop(&chain);
	assert_int_equal(mz_object_addr(obj), 0x1000);
	assert_int_equal(obj->alloc_ns, 10);
	assert_int_equal(obj->free_ns, 20);
	assert_int_equal(obj->alloc_site, 55);
	assert_int_equal(obj->free_site, SITE);
	assert_int_equal(obj->pid, 4194303);
	assert_false(obj->implied);
	assert_null(chain.first);
	assert_null(chain.last);
	mz_index_release(&idx, obj);
	mz_index_shrink(&idx);
	assert_int_equal(atomic_long_read(&idx.nr_pages), 0);
	assert_null(idx.broken);
	mz_index_deinit(&idx);
}

/* A slab page and the object at its start are two objects at one address. */
static void test_two_levels(void **state)
{
	struct mz_index idx = make_index(100);

	assert_int_equal(add(&idx, mz_key(0x2000, true), 1), 0);
	assert_int_equal(add(&idx, mz_key(0x2000, false), 2), 0);
	assert_int_equal(mz_index_nr_live(&idx), 2);
	assert_true(end(&idx, mz_key(0x2000, false), 3));
	assert_true(mz_index_has(&idx, mz_key(0x2000, true)));
	mz_index_deinit(&idx);
}

static void test_implied_free(void **state)
{
	struct mz_index idx = make_index(100);
	struct mz_object obj = { .key = 0x3000, .alloc_ns = 30 };
	struct mz_chain chain = { 0 };
	bool implied;

	assert_int_equal(add(&idx, 0x3000, 10), 0);
	assert_int_equal(mz_index_add(&idx, &obj, IMPLIED, 0, &implied), 0);
	assert_true(implied);
	assert_int_equal(mz_index_nr_live(&idx), 1);
	mz_index_collect(&idx, &chain);
	assert_int_equal(chain.nr, 1);
	assert_true(chain.first->implied);
	assert_int_equal(chain.first->alloc_ns, 10);
	assert_int_equal(chain.first->free_ns, 30);
	assert_int_equal(chain.first->free_site, IMPLIED);
	release_all(&idx, &chain);
	mz_index_deinit(&idx);
}

/* Even if there is no memory for the new object, the old one has ended. */
static void test_exhaustion(void **state)
{
	struct mz_index idx = make_index(30);
	struct mz_chain chain = { 0 };
	unsigned long held = 0, nr_full, i;
	bool implied;

	for (i = 0; i < 5000; i++)
		held += add(&idx, 0x10000 + i * 64, i) == 0;
	assert_true(held > 500);
	assert_true(held < 30 * 73);
	assert_int_equal(mz_index_nr_live(&idx), held);
	assert_true(atomic_long_read(&idx.nr_pages) <= 30);
	nr_full = held;

	/* Existing objects are still followed to their end. */
	for (i = 0; i < 5000; i++)
		held -= end(&idx, 0x10000 + i * 64, 6000 + i);
	assert_int_equal(held, 0);
	assert_int_not_equal(add(&idx, 0x10000, 11000), -1);

	mz_index_collect(&idx, &chain);
	assert_int_equal(release_all(&idx, &chain), nr_full);
	mz_index_drop_live(&idx, 0, 0);
	mz_index_collect(&idx, &chain);
	release_all(&idx, &chain);
	mz_index_shrink(&idx);
	assert_int_equal(atomic_long_read(&idx.nr_pages), 0);

	/* Then there is room again. The same holds if the system has no free page. */
	assert_int_equal(add(&idx, 0x10000, 12000), 0);
	user_pages_exhausted = true;
	for (i = 1; add(&idx, 0x10000 + i * 64, 12000 + i) == 0; i++)
		assert_true(i < 5000);
	mz_index_add(&idx, &(struct mz_object){ .key = 0x10000, .alloc_ns = 20000 }, IMPLIED, 0,
		     &implied);
	user_pages_exhausted = false;
	assert_true(implied);
	assert_null(idx.broken);
	mz_index_deinit(&idx);
}

/* Memory beside the index comes out of the same bound, and only what is not in use. */
static void test_set_aside(void **state)
{
	struct mz_index idx = make_index(30);
	unsigned long held = 0, i;

	assert_false(mz_index_set_aside(&idx, 31));
	assert_int_equal(idx.max_pages, 30);
	assert_true(mz_index_set_aside(&idx, 10));
	for (i = 0; i < 5000; i++)
		held += add(&idx, 0x10000 + i * 64, i) == 0;
	assert_true(held > 300);
	assert_int_equal(atomic_long_read(&idx.nr_pages), 20);
	assert_false(mz_index_set_aside(&idx, 1));
	assert_int_equal(idx.nr_aside, 10);
	assert_int_equal(atomic_long_read(&idx.nr_pages), 20);

	/* What is put back can be used again. */
	mz_index_put_back(&idx, 10);
	assert_int_equal(idx.nr_aside, 0);
	assert_int_equal(idx.max_pages, 30);
	for (i = 0; i < 5000; i++)
		held += add(&idx, 0x1000000 + i * 64, i) == 0;
	assert_int_equal(atomic_long_read(&idx.nr_pages), 30);
	mz_index_deinit(&idx);
}

/* No more than 64 bytes an object, all included, once there are many. */
static void test_memory_for_each_object(void **state)
{
	struct mz_index idx = make_index(1000000);
	unsigned long i, nr = 1000000;

	for (i = 0; i < nr; i++)
		assert_int_equal(add(&idx, 0xffff888000000000ull + i * 32, i), 0);
	assert_true(atomic_long_read(&idx.nr_pages) * PAGE_SIZE <= nr * 64);
	for (i = 0; i < nr; i++)
		assert_true(mz_index_has(&idx, 0xffff888000000000ull + i * 32));
	assert_null(idx.broken);
	mz_index_deinit(&idx);
}

static void test_collects_in_order_of_frees(void **state)
{
	struct mz_index idx = make_index(1000);
	struct mz_chain chain = { 0 };
	struct mz_object *obj;
	u64 last = 0, nr = 0;
	unsigned long i;

	for (i = 0; i < 1000; i++)
		assert_int_equal(add(&idx, i * 16, i), 0);
	/* 7 and 1000 have no common divisor: a permutation. */
	for (i = 0; i < 500; i++)
		assert_true(end(&idx, i * 7 % 1000 * 16, 2000 + i));
	mz_index_collect(&idx, &chain);
	for (; i < 1000; i++)
		assert_true(end(&idx, i * 7 % 1000 * 16, 2000 + i));
	mz_index_collect(&idx, &chain);
	assert_int_equal(chain.nr, 1000);
	for (obj = chain.first; obj; obj = obj->next) {
		assert_int_equal(obj->free_ns, 2000 + nr);
		assert_int_equal(obj->key, nr * 7 % 1000 * 16);
		assert_true(obj->free_ns > last);
		last = obj->free_ns;
		nr++;
	}
	assert_ptr_equal(chain.last->next, NULL);

	mz_chain_sort_by_alloc(&chain);
	for (obj = chain.first, nr = 0; obj; obj = obj->next, nr++)
		assert_int_equal(obj->alloc_ns, nr);
	assert_int_equal(nr, 1000);
	release_all(&idx, &chain);
	mz_index_deinit(&idx);
}

/* Clocks of two processors may disagree: a lifetime is never negative, a chain never unsorted. */
static void test_clock_steps_back(void **state)
{
	struct mz_index idx;
	struct mz_chain chain = { 0 };

	assert_int_equal(mz_index_init(&idx, 1, 100, 1), 0);
	assert_int_equal(add(&idx, 0x10, 100), 0);
	assert_true(end(&idx, 0x10, 90));
	assert_int_equal(add(&idx, 0x10, 100), 0);
	assert_true(end(&idx, 0x10, 80));
	mz_index_collect(&idx, &chain);
	assert_int_equal(chain.first->free_ns, 100);
	assert_int_equal(chain.last->free_ns, 100);
	release_all(&idx, &chain);
	mz_index_deinit(&idx);
}

/* How often the locks of all shards were taken. */
static unsigned long locks_taken(const struct mz_index *idx)
{
	unsigned long i, nr = 0;

	for (i = 0; i < 1UL << idx->shard_bits; i++)
		nr += idx->shards[i].lock.nr_taken;
	return nr;
}

static unsigned long nr_buckets(const struct mz_index *idx)
{
	unsigned long i, nr = 0;

	for (i = 0; i < 1UL << idx->shard_bits; i++)
		nr += idx->shards[i].nr_buckets;
	return nr;
}

struct counter {
	struct mz_visitor visitor;
	unsigned long nr_visits;
	unsigned int max_nr;
};

static int count_room(struct mz_visitor *visitor, unsigned int nr)
{
	struct counter *counter = container_of(visitor, struct counter, visitor);

	if (nr > counter->max_nr)
		return -ENOMEM;
	visitor->room = nr;
	return 0;
}

static void count_visit(struct mz_visitor *visitor, struct mz_object *obj)
{
	struct counter *counter = container_of(visitor, struct counter, visitor);

	assert_true(visitor->room > 0);
	visitor->room--;
	counter->nr_visits++;
	obj->gen++;
}

static void test_walk(void **state)
{
	struct mz_index idx = make_index(1000);
	struct counter counter = {
		.visitor = { .make_room = count_room, .visit = count_visit },
		.max_nr = 32,
	};
	struct mz_chain chain = { 0 };
	struct mz_object *obj;
	unsigned long i;

	for (i = 0; i < 3000; i++)
		assert_int_equal(add(&idx, i * 16, i), 0);
	assert_int_equal(mz_index_walk(&idx, &counter.visitor), 0);
	assert_int_equal(counter.nr_visits, 3000);
	mz_index_drop_live(&idx, 1, 0);
	mz_index_collect(&idx, &chain);
	for (obj = chain.first; obj; obj = obj->next)
		assert_int_equal(obj->gen, 1);
	release_all(&idx, &chain);

	assert_int_equal(add(&idx, 16, 1), 0);
	counter.visitor.room = 0;
	counter.max_nr = 0;
	assert_int_equal(mz_index_walk(&idx, &counter.visitor), -ENOMEM);
	mz_index_deinit(&idx);
}

/* However many objects there are, a lock is held for one bucket of them at a time. */
static void test_short_locks(void **state)
{
	struct mz_index idx = make_index(1000);
	struct counter counter = {
		.visitor = { .visit = count_visit, .room = UINT32_MAX },
	};
	unsigned long i, before;

	for (i = 0; i < 3000; i++)
		assert_int_equal(add(&idx, i * 16, i), 0);
	assert_true(nr_buckets(&idx) >= 1000);
	before = locks_taken(&idx);
	assert_int_equal(mz_index_walk(&idx, &counter.visitor), 0);
	assert_int_equal(counter.nr_visits, 3000);
	assert_true(locks_taken(&idx) - before >= nr_buckets(&idx));

	before = locks_taken(&idx);
	mz_index_drop_live(&idx, 1, 0);
	assert_true(locks_taken(&idx) - before >= nr_buckets(&idx));
	mz_index_deinit(&idx);
}

static void test_release_twice_is_noticed(void **state)
{
	struct mz_index idx = make_index(100);
	struct mz_chain chain = { 0 };
	struct mz_object *obj;

	assert_int_equal(add(&idx, 16, 1), 0);
	assert_int_equal(add(&idx, 16, 2), 0);
	mz_index_collect(&idx, &chain);
	obj = mz_chain_pop(&chain);
	mz_index_release(&idx, obj);
	assert_null(idx.broken);
	mz_index_release(&idx, obj);
	assert_string_equal(idx.broken, "object released twice");
	assert_int_equal(mz_index_nr_live(&idx), 1);
	mz_index_deinit(&idx);
}

/* Random operations, compared with an array of the expected objects. */
static void test_against_model(void **state)
{
	enum { KEYS = 4096, STEPS = 400000 };
	static u64 alloc_time[KEYS];
	struct mz_index idx = make_index(100000);
	struct mz_chain chain = { 0 };
	unsigned long live = 0, freed = 0;
	u32 random = 42;
	u64 now;

	for (now = 1; now <= STEPS; now++) {
		u32 key = next_random(&random) % KEYS;
		struct mz_object obj = { .key = key * 8, .alloc_ns = now };
		bool implied;

		switch (next_random(&random) % 16) {
		case 0:
			mz_index_collect(&idx, &chain);
			assert_int_equal(chain.nr, freed);
			if (next_random(&random) % 4 == 0) {
				assert_int_equal(release_all(&idx, &chain), freed);
				freed = 0;
				mz_index_shrink(&idx);
			}
			break;
		case 1 ... 8:
			assert_int_equal(mz_index_add(&idx, &obj, IMPLIED, 0, &implied), 0);
			assert_int_equal(implied, alloc_time[key] != 0);
			live += !implied;
			freed += implied;
			alloc_time[key] = now;
			break;
		default:
			assert_int_equal(end(&idx, key * 8, now), alloc_time[key] != 0);
			live -= alloc_time[key] != 0;
			freed += alloc_time[key] != 0;
			alloc_time[key] = 0;
			break;
		}
		assert_int_equal(mz_index_nr_live(&idx), live);
	}
	assert_null(idx.broken);
	release_all(&idx, &chain);
	mz_index_deinit(&idx);
	assert_int_equal(atomic_long_read(&idx.nr_pages), 0);
}

/* === Threads ============================================================================== */

struct worker {
	struct mz_index *idx;
	u64 base;
	unsigned long frees;
};

static void *churn(void *data)
{
	struct worker *worker = data;
	u64 i;

	for (i = 0; i < 100000; i++) {
		add(worker->idx, worker->base + i % 1000 * 16, i);
		worker->frees += end(worker->idx, worker->base + i % 1000 * 16, i);
	}
	return NULL;
}

static void test_threads_share_an_index(void **state)
{
	struct mz_index idx = make_index(100000);
	struct worker workers[4];
	struct mz_chain chain = { 0 };
	pthread_t threads[4];
	unsigned long released = 0;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .idx = &idx, .base = i * 0x100000 };
		assert_int_equal(pthread_create(&threads[i], NULL, churn, &workers[i]), 0);
	}
	/*
	 * Pages that were taken for an insertion are released during it: no object may be dropped
	 * because of that.
	 */
	while (released < 300000) {
		mz_index_collect(&idx, &chain);
		released += release_all(&idx, &chain);
		mz_index_shrink(&idx);
	}
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(workers[i].frees, 100000);
	mz_index_collect(&idx, &chain);
	released += release_all(&idx, &chain);
	assert_int_equal(released, 400000);
	assert_int_equal(mz_index_nr_live(&idx), 0);
	assert_null(idx.broken);
	mz_index_deinit(&idx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_of_an_object),
		cmocka_unit_test(test_two_levels),
		cmocka_unit_test(test_implied_free),
		cmocka_unit_test(test_exhaustion),
		cmocka_unit_test(test_set_aside),
		cmocka_unit_test(test_memory_for_each_object),
		cmocka_unit_test(test_collects_in_order_of_frees),
		cmocka_unit_test(test_clock_steps_back),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_short_locks),
		cmocka_unit_test(test_release_twice_is_noticed),
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_threads_share_an_index),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
