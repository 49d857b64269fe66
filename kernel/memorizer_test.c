// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suites, part of the module where CONFIG_MEMORIZER_KUNIT_TEST is set: what the unit tests
 * in user space can't see, and the same core once more with the kernel's own locks and pages.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/random.h>

#include "memorizer.h"

/* === Index ================================================================================ */

enum { SITE = 3, IMPLIED = 4 };

static int add(struct mz_index *idx, u64 key, u64 now)
{
	struct mz_object obj = { .key = key, .alloc_ns = now, .size = 16 };
	bool implied;

	return mz_index_add(idx, &obj, IMPLIED, GFP_NOWAIT, &implied);
}

static unsigned long release_all(struct mz_index *idx, struct mz_chain *chain)
{
	struct mz_object *obj;
	unsigned long nr = 0;

	for (; (obj = mz_chain_pop(chain)); nr++)
		mz_index_release(idx, obj);
	return nr;
}

static void index_life(struct kunit *test)
{
	struct mz_chain chain = { 0 };
	struct mz_index idx;
	unsigned long i, nr = 20000;

	KUNIT_ASSERT_EQ(test, mz_index_init(&idx, 3, 10000, get_random_u64()), 0);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, add(&idx, i * 8, i + 1), 0);
	KUNIT_EXPECT_EQ(test, mz_index_nr_live(&idx), nr);
	KUNIT_EXPECT_LE(test, atomic_long_read(&idx.nr_pages) * PAGE_SIZE,
			nr * 64 + 8 * 3 * PAGE_SIZE);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_TRUE(test, mz_index_end(&idx, i * 8, nr + i, SITE, false));
	KUNIT_EXPECT_FALSE(test, mz_index_end(&idx, 0, nr + i, SITE, false));
	mz_index_collect(&idx, &chain);
	for (i = 0; i < nr; i++) {
		struct mz_object *obj = mz_chain_pop(&chain);

		KUNIT_ASSERT_NOT_NULL(test, obj);
		KUNIT_ASSERT_EQ(test, mz_object_addr(obj), i * 8);
		mz_index_release(&idx, obj);
	}
	mz_index_shrink(&idx);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&idx.nr_pages), 0);
	KUNIT_EXPECT_NULL(test, idx.broken);
	mz_index_deinit(&idx);
}

static void index_exhaustion(struct kunit *test)
{
	struct mz_chain chain = { 0 };
	struct mz_index idx;
	unsigned long i, held = 0;

	KUNIT_ASSERT_EQ(test, mz_index_init(&idx, 1, 10, 1), 0);
	for (i = 0; i < 2000; i++)
		held += add(&idx, i * 8, i + 1) == 0;
	KUNIT_EXPECT_GT(test, held, 100);
	KUNIT_EXPECT_LT(test, held, 2000);
	KUNIT_EXPECT_LE(test, atomic_long_read(&idx.nr_pages), 10);
	mz_index_drop_live(&idx, 5000, SITE);
	mz_index_collect(&idx, &chain);
	KUNIT_EXPECT_EQ(test, release_all(&idx, &chain), held);
	KUNIT_EXPECT_EQ(test, add(&idx, 8, 6000), 0);
	mz_index_deinit(&idx);
}

struct churn {
	struct mz_index *idx;
	u64 base;
	unsigned long ends;
	struct completion done;
};

static int churn(void *data)
{
	struct churn *c = data;
	unsigned long i;

	for (i = 0; i < 20000; i++) {
		add(c->idx, c->base + i % 500 * 8, i);
		c->ends += mz_index_end(c->idx, c->base + i % 500 * 8, i, SITE, false);
		cond_resched();
	}
	complete(&c->done);
	return 0;
}

static void index_threads(struct kunit *test)
{
	static struct churn workers[4];
	struct mz_chain chain = { 0 };
	struct mz_index idx;
	unsigned long i, ends = 0, released = 0;

	KUNIT_ASSERT_EQ(test, mz_index_init(&idx, 2, 10000, 1), 0);
	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		workers[i] = (struct churn){ .idx = &idx, .base = i << 20 };
		init_completion(&workers[i].done);
		KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(churn, &workers[i], "mz_churn")));
	}
	for (i = 0; i < 50; i++) {
		mz_index_collect(&idx, &chain);
		released += release_all(&idx, &chain);
		mz_index_shrink(&idx);
		cond_resched();
	}
	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		wait_for_completion(&workers[i].done);
		ends += workers[i].ends;
	}
	mz_index_collect(&idx, &chain);
	released += release_all(&idx, &chain);
	KUNIT_EXPECT_EQ(test, ends, released);
	KUNIT_EXPECT_EQ(test, ends, 4 * 20000);
	KUNIT_EXPECT_NULL(test, idx.broken);
	mz_index_deinit(&idx);
}

static struct kunit_case index_cases[] = {
	KUNIT_CASE(index_life),
	KUNIT_CASE(index_exhaustion),
	KUNIT_CASE(index_threads),
	{},
};

/* === Tables =============================================================================== */

static void table_fills_up(struct kunit *test)
{
	struct mz_table table;
	u32 id, again;
	u64 key;

	KUNIT_ASSERT_EQ(test, mz_table_init(&table, 16, 8, 8), 0);
	for (key = 1; key <= 12; key++) {
		KUNIT_EXPECT_TRUE(test, mz_table_add(&table, &key, &id));
		KUNIT_EXPECT_TRUE(test, mz_table_find(&table, &key, &again));
		KUNIT_EXPECT_EQ(test, id, again);
		KUNIT_EXPECT_EQ(test, *(const u64 *)mz_table_entry(&table, id), key);
	}
	KUNIT_EXPECT_FALSE(test, mz_table_add(&table, &key, &id));
	KUNIT_EXPECT_EQ(test, id, MZ_ID_NONE);
	mz_table_deinit(&table);
}

static struct kunit_case table_cases[] = {
	KUNIT_CASE(table_fills_up),
	{},
};

/* === Records ============================================================================== */

static void record_line(struct kunit *test)
{
	struct memorizer_record record = {
		.addr = 0xffff888100000040,
		.alloc_ip = 0xffffffff81000010,
		.free_ip = MEMORIZER_IP_IMPLIED,
		.alloc_ns = 3000000,
		.free_ns = 5000000,
		.bytes_req = 77,
		.pid = 42,
		.comm = "a,b",
	};
	struct mz_clock clock = { .base_ns = 4000000, .base_jiffies = 1000, .tick_ns = 1000000 };
	static const char expected[] =
		"ffffffff81000010,42,ffff888100000040,77,999,1001,00000000deadbeef,a\\x2cb\n";
	char line[MZ_LINE_MAX];

	mz_record_text(&record, &clock, line, sizeof(line));
	KUNIT_EXPECT_STREQ(test, line, expected);
}

/* The value computed from nanoseconds is what jiffies was, give or take a tick. */
static void record_jiffies(struct kunit *test)
{
	u64 before = get_jiffies_64();
	struct mz_clock clock = mz_clock_sample();
	u64 computed = mz_clock_jiffies(&clock, mz_now());

	KUNIT_EXPECT_GE(test, computed + 1, before);
	KUNIT_EXPECT_LE(test, computed, get_jiffies_64() + 1);
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(record_line),
	KUNIT_CASE(record_jiffies),
	{},
};

/* === Modes ================================================================================ */

static void mode_numbers(struct kunit *test)
{
	struct mz_request request = { .mode = MZ_TASKS_AND_IRQS, .pid = 99 };

	KUNIT_EXPECT_EQ(test, mz_request_parse(-1, &request), -EINVAL);
	KUNIT_EXPECT_EQ(test, request.pid, 99);
	KUNIT_EXPECT_EQ(test, mz_request_parse(0, &request), 0);
	KUNIT_EXPECT_EQ(test, request.mode, MZ_OFF);
	KUNIT_EXPECT_EQ(test, mz_request_parse(2, &request), 0);
	KUNIT_EXPECT_EQ(test, request.mode, MZ_TASKS_AND_IRQS);
	KUNIT_EXPECT_EQ(test, request.pid, 0);
	KUNIT_EXPECT_EQ(test, mz_request_parse(4, &request), 0);
	KUNIT_EXPECT_EQ(test, request.mode, MZ_TASKS);
	KUNIT_EXPECT_EQ(test, request.pid, 4);
	KUNIT_EXPECT_EQ(test, mz_mode_set(-7), -EINVAL);
	KUNIT_EXPECT_EQ(test, mz_mode_set(PID_MAX_LIMIT + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)mz.mode, (int)MZ_OFF);
}

static void mode_wants(struct kunit *test)
{
	static const bool want[][4] = {
		/* task, marked task, softirq, hardirq */
		[MZ_OFF] = { false, false, false, false },
		[MZ_SYSTEM] = { true, true, true, true },
		[MZ_TASKS_AND_IRQS] = { false, true, true, true },
		[MZ_TASKS] = { false, true, false, false },
	};
	unsigned int mode;

	for (mode = 0; mode < ARRAY_SIZE(want); mode++) {
		WRITE_ONCE(mz.mode, mode);
		KUNIT_EXPECT_EQ(test, mz_wants(MEMORIZER_IN_TASK), want[mode][0]);
		KUNIT_EXPECT_EQ(test, mz_mark(current), 0);
		KUNIT_EXPECT_EQ(test, mz_wants(MEMORIZER_IN_TASK), want[mode][1]);
		mz_unmark(current);
		KUNIT_EXPECT_EQ(test, mz_wants(MEMORIZER_IN_SOFTIRQ), want[mode][2]);
		KUNIT_EXPECT_EQ(test, mz_wants(MEMORIZER_IN_HARDIRQ), want[mode][3]);
	}
	WRITE_ONCE(mz.mode, MZ_OFF);
}

static void mode_guard(struct kunit *test)
{
	int outer, inner, again;

	outer = mz_guard_enter();
	inner = mz_guard_enter();
	mz_guard_leave(outer);
	again = mz_guard_enter();
	mz_guard_leave(again);
	KUNIT_EXPECT_EQ(test, outer, MEMORIZER_IN_TASK);
	KUNIT_EXPECT_LT(test, inner, 0);
	KUNIT_EXPECT_EQ(test, again, MEMORIZER_IN_TASK);
}

/* The caller of mz_fail() may hold any lock, so nothing is printed while interrupts are off. */
static void mode_fail(struct kunit *test)
{
	unsigned long flags;
	bool pending;

	local_irq_save(flags);
	mz_fail("a test of the failure, not a failure");
	pending = irq_work_is_pending(&mz.failure);
	mz_fail("a second reason");
	local_irq_restore(flags);
	irq_work_sync(&mz.failure);
	KUNIT_EXPECT_TRUE(test, pending);
	KUNIT_EXPECT_STREQ(test, mz.failed, "a test of the failure, not a failure");
	KUNIT_EXPECT_EQ(test, mz_mode_set(MZ_SYSTEM), -EIO);
	WRITE_ONCE(mz.failed, NULL);
}

static struct kunit_case mode_cases[] = {
	KUNIT_CASE(mode_numbers),
	KUNIT_CASE(mode_wants),
	KUNIT_CASE(mode_guard),
	KUNIT_CASE(mode_fail),
	{},
};

/* === The queue of dead objects ============================================================ */

static void live_and_die(struct kunit *test, u64 from, u64 to)
{
	u64 key;

	for (key = from; key <= to; key++) {
		KUNIT_ASSERT_EQ(test, add(&mz.index, key * 8, key), 0);
		KUNIT_ASSERT_TRUE(test, mz_index_end(&mz.index, key * 8, 100 + key, SITE, false));
	}
}

static void expect_pop(struct kunit *test, u64 key)
{
	struct mz_object *obj = mz_dead_pop();

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, obj->key, key * 8);
	mz_dead_release(obj);
}

static void dead_order(struct kunit *test)
{
	struct mz_object *obj;

	KUNIT_EXPECT_FALSE(test, mz_dead_ready());
	KUNIT_EXPECT_NULL(test, mz_dead_pop());
	live_and_die(test, 1, 4);
	KUNIT_EXPECT_TRUE(test, mz_dead_ready());
	expect_pop(test, 1);
	live_and_die(test, 5, 6);
	obj = mz_dead_pop();
	KUNIT_ASSERT_NOT_NULL(test, obj);
	mz_dead_unpop(obj);
	expect_pop(test, 2);
	expect_pop(test, 3);
	expect_pop(test, 4);
	expect_pop(test, 5);
	expect_pop(test, 6);
	KUNIT_EXPECT_NULL(test, mz_dead_pop());
}

static void dead_printed(struct kunit *test)
{
	u64 first;

	live_and_die(test, 1, 5);
	KUNIT_EXPECT_EQ(test, mz_clear_printed(), 0);
	expect_pop(test, 1);
	first = mz.dead.taken;
	/* The reader of a snapshot has seen the next two, objects 2 and 3. */
	mz_dead_printed(first + 1);
	mz_dead_printed(first);
	KUNIT_EXPECT_EQ(test, mz_clear_printed(), 0);
	expect_pop(test, 4);
	KUNIT_EXPECT_EQ(test, mz_clear_dead(), 0);
	KUNIT_EXPECT_NULL(test, mz_dead_pop());
	KUNIT_EXPECT_EQ(test, atomic_long_read(&mz.index.nr_pages), 0);
}

static struct kunit_case dead_cases[] = {
	KUNIT_CASE(dead_order),
	KUNIT_CASE(dead_printed),
	{},
};

/* === Suites =============================================================================== */

static struct kunit_suite index_suite = { .name = "mz_index", .test_cases = index_cases };
static struct kunit_suite table_suite = { .name = "mz_table", .test_cases = table_cases };
static struct kunit_suite record_suite = { .name = "mz_record", .test_cases = record_cases };
static struct kunit_suite mode_suite = { .name = "mz_mode", .test_cases = mode_cases };
static struct kunit_suite dead_suite = { .name = "mz_dead", .test_cases = dead_cases };

kunit_test_suites(&index_suite, &table_suite, &record_suite, &mode_suite, &dead_suite);
