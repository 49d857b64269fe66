// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel module's access records, compiled in user space: made, incremented by threads, added
 * up.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include "../../kernel/pages.h"
#include "../../kernel/record.h"
#include "../../kernel/spans.h"

#include <cmocka.h>

bool user_pages_exhausted;

/* === Helpers ============================================================================== */

enum {
	TEXT = 0x10000,
	PER_PAGE = 169, /* records of 24 bytes */
};

static void setup(struct mz_index *idx, long max_pages, u32 reserve)
{
	assert_int_equal(mz_index_init(idx, 2, max_pages, 0x7654321), 0);
	idx->reserve = reserve;
}

static struct mz_object *add(struct mz_index *idx, u64 key)
{
	struct mz_object obj = { .key = key, .alloc_ns = 1, .size = 8 };
	bool implied;

	assert_int_equal(mz_index_add(idx, &obj, 1, 0, &implied), 0);
	return mz_index_find(idx, key);
}

static bool count(struct mz_index *idx, struct mz_object *obj, s32 ip, u32 by, u32 times, u32 bytes)
{
	struct mz_access *access = mz_index_access(idx, obj, ip, by, 0, false);

	if (!access)
		return false;
	access->sums += mz_sums(times, bytes, 0);
	return true;
}

static struct mz_object *end_and_collect(struct mz_index *idx, u64 key)
{
	struct mz_chain chain = { 0 };

	assert_true(mz_index_end(idx, key, 9, 2, false));
	mz_index_collect(idx, &chain);
	assert_int_equal(chain.nr, 1);
	return mz_chain_pop(&chain);
}

static void teardown(struct mz_index *idx)
{
	idx->reserve = 0;
	mz_index_shrink(idx);
	assert_int_equal(mz_index_nr_accesses(idx), 0);
	assert_int_equal(atomic_long_read(&idx->nr_pages), 0);
	assert_null(idx->broken);
	mz_index_deinit(idx);
}

/* === Tests ================================================================================ */

/* Objects that no allocator handed out, and those that turn out to be something else. */
static void test_made(void **state)
{
	struct mz_object values = {
		.key = mz_made_key(0x2000), .alloc_ns = 3, .size = 64, .pid = 7
	};
	struct mz_object owner = { .pid = 11, .tgid = 12, .comm = 13 };
	struct mz_object *obj, *made;
	struct mz_chain chain = { 0 };
	struct mz_index idx;

	setup(&idx, 100, 6);
	assert_null(mz_index_make(&idx, &values));
	assert_true(idx.hungry);
	while (mz_index_refill(&idx, 1, 0))
		;
	made = mz_index_make(&idx, &values);
	assert_non_null(made);
	assert_int_equal(mz_object_addr(made), 0x2000);
	values.size = 65;
	assert_ptr_equal(mz_index_make(&idx, &values), made);
	assert_int_equal(made->size, 64);
	assert_true(count(&idx, made, 0x20, mz_who(7, 0, true, 0), 3, 12));

	/* At the same address, three objects of three kinds. */
	obj = add(&idx, mz_key(0x2000, true));
	assert_ptr_not_equal(obj, made);
	assert_ptr_not_equal(add(&idx, mz_key(0x2000, false)), obj);
	assert_true(mz_index_retype(&idx, obj, 5, &owner));
	assert_int_equal(obj->alloc_site, 5);
	assert_int_equal(obj->pid, 11);
	assert_int_equal(obj->tgid, 12);
	assert_int_equal(obj->comm, 13);
	assert_true(mz_index_retype(&idx, obj, 6, NULL));
	assert_int_equal(obj->alloc_site, 6);
	assert_int_equal(obj->pid, 11);

	/* They alone end, and within the range alone. */
	mz_index_end_made(&idx, 0x2001, 0x3000, 9);
	mz_index_end_made(&idx, 0, 0x1fff, 9);
	assert_int_equal(mz_index_nr_live(&idx), 3);
	mz_index_end_made(&idx, 0x2000, 0x2000, 9);
	assert_int_equal(mz_index_nr_live(&idx), 2);
	mz_index_collect(&idx, &chain);
	assert_ptr_equal(mz_chain_pop(&chain), made);
	assert_int_equal(made->free_site, MZ_ID_NONE);
	assert_false(mz_index_retype(&idx, made, 5, NULL));
	mz_index_release(&idx, made);
	mz_index_drop_live(&idx, 9, 1);
	mz_index_collect(&idx, &chain);
	while ((obj = mz_chain_pop(&chain)))
		mz_index_release(&idx, obj);
	teardown(&idx);
}

static void test_sums(void **state)
{
	struct memorizer_access sum;
	const struct mz_access *at;
	struct mz_index idx;
	struct mz_object *obj;
	char line[128];
	int len;

	setup(&idx, 100, 2);
	obj = add(&idx, 0x1000);
	/* One thread on two processors, and a range operation that reads and writes. */
	assert_true(count(&idx, obj, 0x20, mz_who(7, 0, true, 0), 3, 12));
	assert_true(count(&idx, obj, 0x20, mz_who(7, 0, true, 1), 4, 16));
	assert_true(count(&idx, obj, 0x20, mz_who(7, 0, false, 1), 1, 100));
	assert_true(count(&idx, obj, 0x20, mz_who(8, 0, true, 0), 5, 5));
	/* Two kinds of interrupt. */
	assert_true(count(&idx, obj, 0x20, mz_who(0, 1, true, 0), 6, 6));
	assert_true(count(&idx, obj, 0x20, mz_who(0, 2, true, 0), 7, 7));
	/* A module below the kernel. */
	assert_true(count(&idx, obj, -0x10, mz_who(7, 0, false, 0), 8, 64));
	assert_int_equal(mz_index_nr_accesses(&idx), 7);

	obj = end_and_collect(&idx, 0x1000);
	mz_accesses_sort(obj);
	assert_int_equal(mz_accesses_count(obj), 6);

	at = mz_accesses_next(mz_object_accesses(obj), TEXT, true, &sum);
	assert_int_equal(sum.ip, TEXT - 0x10);
	assert_int_equal(sum.reads, 8);
	assert_int_equal(sum.bytes_read, 64);
	assert_int_equal(sum.writes, 0);
	at = mz_accesses_next(at, TEXT, true, &sum);
	assert_int_equal(sum.pid, -1);
	assert_int_equal(sum.context, MEMORIZER_IN_SOFTIRQ);
	assert_int_equal(sum.writes, 6);
	at = mz_accesses_next(at, TEXT, true, &sum);
	assert_int_equal(sum.context, MEMORIZER_IN_HARDIRQ);
	assert_int_equal(sum.writes, 7);
	at = mz_accesses_next(at, TEXT, true, &sum);
	assert_int_equal(sum.pid, 7);
	assert_int_equal(sum.cpu, 0);
	assert_int_equal(sum.writes, 3);
	assert_int_equal(sum.reads, 0);
	assert_int_equal(sum.bytes_written, 12);
	at = mz_accesses_next(at, TEXT, true, &sum);
	assert_int_equal(sum.pid, 7);
	assert_int_equal(sum.cpu, 1);
	assert_int_equal(sum.writes, 4);
	assert_int_equal(sum.reads, 1);
	assert_int_equal(sum.bytes_written, 16);
	assert_int_equal(sum.bytes_read, 100);
	at = mz_accesses_next(at, TEXT, true, &sum);
	assert_int_equal(sum.pid, 8);
	assert_null(at);

	/* The text form does not distinguish kinds of interrupts, nor processors. */
	at = mz_accesses_next(mz_object_accesses(obj), TEXT, false, &sum);
	at = mz_accesses_next(at, TEXT, false, &sum);
	assert_int_equal(sum.writes, 13);
	len = mz_access_text(&sum, line, sizeof(line));
	assert_int_equal(len, (int)strlen(line));
	assert_string_equal(line, "  0000000000010020,-1,13,0\n");
	at = mz_accesses_next(at, TEXT, false, &sum);
	assert_int_equal(sum.writes, 7);
	assert_int_equal(sum.bytes_read, 100);

	mz_index_release(&idx, obj);
	teardown(&idx);
}

/* A record is found again, unless it is full; many records are freed with their object. */
static void test_find_and_release(void **state)
{
	struct mz_access *first, *second;
	struct memorizer_access sum;
	struct mz_index idx;
	struct mz_object *obj;
	u64 total = 0;
	u32 i;

	setup(&idx, 1000, 30);
	obj = add(&idx, 0x1000);
	mz_index_refill(&idx, 1000, 0);
	first = mz_index_access(&idx, obj, 1, 2, 0, false);
	assert_ptr_equal(first, mz_index_access(&idx, obj, 1, 2, 0, false));
	first->sums += mz_sums(500000, 0, 0);
	assert_false(mz_sums_have_room(first->sums));
	second = mz_index_access(&idx, obj, 1, 2, 0, true);
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(second, mz_index_access(&idx, obj, 1, 2, 0, false));
	second->sums += mz_sums(5, 0, 0);
	/* So many records later that they are not found again: each time a new record is made. */
	for (i = 0; i < 3000; i++)
		assert_true(count(&idx, obj, 100 + i % 50, 2, 1, 1));

	obj = end_and_collect(&idx, 0x1000);
	mz_accesses_sort(obj);
	assert_int_equal(mz_accesses_count(obj), 51);
	for (const struct mz_access *at = mz_object_accesses(obj); at;) {
		at = mz_accesses_next(at, TEXT, true, &sum);
		assert_int_equal(sum.reads, sum.ip == TEXT + 1 ? 500005 : 60);
		total += sum.bytes_read;
	}
	assert_int_equal(total, 3000);
	mz_index_release(&idx, obj);
	teardown(&idx);
}

/* The sums of the only instruction at @offset, or of those that vary. */
static void sum_at(struct mz_object *obj, u32 offset, u8 flags, u64 reads, u64 bytes)
{
	const struct mz_access *at = mz_object_accesses(obj);
	struct memorizer_access sum;
	u64 found_reads = 0, found_bytes = 0;

	while (at) {
		at = mz_accesses_next(at, TEXT, true, &sum);
		if (sum.offset != offset)
			continue;
		assert_int_equal(sum.flags, flags);
		found_reads += sum.reads;
		found_bytes += sum.bytes_read;
	}
	assert_int_equal(found_reads, reads);
	assert_int_equal(found_bytes, bytes);
}

static struct mz_access *read_at(struct mz_index *idx, struct mz_object *obj, s32 ip, u64 offset,
				 u32 width)
{
	struct mz_access *access = mz_index_access(idx, obj, ip, 2, mz_spot_of(offset), false);

	assert_non_null(access);
	access->sums += mz_sums(1, width, 0);
	return access;
}

/* A record for each offset, up to a few. */
static void test_spots(void **state)
{
	const u8 one = MEMORIZER_HAS_SPOT, many = one | MEMORIZER_OFFSET_VARIES;
	struct mz_access *access;
	struct mz_index idx;
	struct mz_object *obj;
	u32 i;

	assert_int_equal(sizeof(struct mz_access), 24);
	setup(&idx, 1000, 30);
	mz_index_refill(&idx, 1000, 0);

	/* Two offsets in turn, not beside each other. */
	obj = add(&idx, 0x1000);
	for (i = 0; i < 10; i++)
		read_at(&idx, obj, 1, i % 2 ? 40 : 8, 8);
	/* Another instruction is no concern of theirs. */
	read_at(&idx, obj, 5, 16, 8);
	obj = end_and_collect(&idx, 0x1000);
	mz_accesses_sort(obj);
	assert_int_equal(mz_accesses_count(obj), 3);
	sum_at(obj, 8, one, 5, 40);
	sum_at(obj, 40, one, 5, 40);
	mz_index_release(&idx, obj);

	/* A loop over bytes, in either direction. */
	obj = add(&idx, 0x1000);
	for (i = 0; i < 100; i++) {
		read_at(&idx, obj, 1, 20 + i, 1);
		read_at(&idx, obj, 7, 400 - 4 * i, 4);
	}
	obj = end_and_collect(&idx, 0x1000);
	mz_accesses_sort(obj);
	assert_int_equal(mz_accesses_count(obj), 2);
	sum_at(obj, 20, many, 100, 100);
	sum_at(obj, 400, many, 100, 400);
	mz_index_release(&idx, obj);

	/* More offsets than there are records for. Those that have one keep it. */
	obj = add(&idx, 0x1000);
	for (i = 0; i < 2 * MZ_SPOTS_MAX; i++)
		read_at(&idx, obj, 1, 64 * i, 8);
	read_at(&idx, obj, 1, 64, 8);
	obj = end_and_collect(&idx, 0x1000);
	mz_accesses_sort(obj);
	assert_int_equal(mz_accesses_count(obj), MZ_SPOTS_MAX + 1);
	sum_at(obj, 0, one, 1, 8);
	sum_at(obj, 64, one, 2, 16);
	sum_at(obj, 64 * MZ_SPOTS_MAX, many, MZ_SPOTS_MAX, 8 * MZ_SPOTS_MAX);
	mz_index_release(&idx, obj);

	/* Beyond what a record can say, and the last that it can. */
	obj = add(&idx, 0x1000);
	read_at(&idx, obj, 1, 0x7ffe, 1);
	read_at(&idx, obj, 1, 0x7fff, 1);
	read_at(&idx, obj, 1, 0x10007ffe, 1);
	obj = end_and_collect(&idx, 0x1000);
	mz_accesses_sort(obj);
	assert_int_equal(mz_accesses_count(obj), 2);
	sum_at(obj, 0x7ffe, one, 1, 1);
	sum_at(obj, 0x7fff, many, 2, 2);
	mz_index_release(&idx, obj);

	/* Lengths, and a record that is full: the next one is of the same spot. */
	obj = add(&idx, 0x1000);
	access = read_at(&idx, obj, 1, 24, 100);
	mz_access_vary(access, MZ_SPOT_LENGTHS);
	assert_ptr_equal(read_at(&idx, obj, 1, 24, 50), access);
	access->sums += mz_sums(0, 1 << 27, 0);
	assert_false(mz_sums_have_room(access->sums));
	access = mz_index_access(&idx, obj, 1, 2, mz_spot_of(24), true);
	assert_int_equal(mz_access_spot(access), 24);
	assert_ptr_equal(read_at(&idx, obj, 1, 24, 50), access);
	obj = end_and_collect(&idx, 0x1000);
	mz_accesses_sort(obj);
	assert_int_equal(mz_accesses_count(obj), 1);
	sum_at(obj, 24, one | MEMORIZER_LENGTH_VARIES, 3, 200 + (1 << 27));
	mz_index_release(&idx, obj);
	teardown(&idx);
}

/* A part of the reserve at a time. */
static void test_refill(void **state)
{
	struct mz_index idx;

	setup(&idx, 100, 5); /* in each of four shards */
	assert_true(mz_index_refill(&idx, 7, 0));
	assert_int_equal(atomic_long_read(&idx.nr_pages), 7);
	assert_true(idx.hungry);
	assert_false(mz_index_refill(&idx, 13, 0));
	assert_int_equal(atomic_long_read(&idx.nr_pages), 20);
	assert_false(idx.hungry);
	assert_false(mz_index_refill(&idx, 0, 0));
	idx.reserve = 50;
	assert_false(mz_index_refill(&idx, 1000, 0));
	assert_int_equal(atomic_long_read(&idx.nr_pages), 100);
	teardown(&idx);
}

/* Without a page there is no record, and this is counted. Existing records stay. */
static void test_exhausted(void **state)
{
	struct mz_index idx;
	struct mz_object *obj;
	u32 i, made = 0;

	setup(&idx, 20, 2);
	obj = add(&idx, 0x1000);
	mz_index_refill(&idx, 1000, 0);
	for (i = 0; i < 1000; i++)
		made += count(&idx, obj, i, 2, 1, 1);
	assert_int_equal(made, 2 * PER_PAGE);
	assert_true(idx.hungry);
	mz_index_refill(&idx, 1000, 0);
	assert_false(idx.hungry);
	assert_true(count(&idx, obj, 5000, 2, 1, 1));
	/* No more than the budget, however much is requested. */
	for (i = 0; i < 10000; i++) {
		mz_index_refill(&idx, 1000, 0);
		count(&idx, obj, 6000 + i, 2, 1, 1);
	}
	assert_true(atomic_long_read(&idx.nr_pages) <= 20);
	/* And no more is requested until some is available. */
	assert_false(idx.hungry);
	idx.max_pages++;
	assert_false(count(&idx, obj, 5, 3, 1, 1));
	assert_true(idx.hungry);
	mz_index_release(&idx, end_and_collect(&idx, 0x1000));
	teardown(&idx);
}

/* The end of an index gives back the reserve: the sanitizer of the build looks for leaks, too. */
static void test_deinit(void **state)
{
	struct mz_index idx;

	setup(&idx, 100, 5);
	add(&idx, 0x1000);
	assert_false(mz_index_refill(&idx, 100, 0));
	assert_true(atomic_long_read(&idx.nr_pages) >= 20);
	mz_index_deinit(&idx);
	assert_int_equal(atomic_long_read(&idx.nr_pages), 0);
}

/* The smallest possible reserve works too. */
static void test_reserve_of_one(void **state)
{
	struct mz_index idx;
	struct mz_object *obj;
	u32 i;

	setup(&idx, 100, 1);
	obj = add(&idx, 0x1000);
	for (i = 0; i < PER_PAGE; i++)
		assert_true(count(&idx, obj, i, 2, 1, 1));
	idx.hungry = false;
	assert_false(count(&idx, obj, 1000, 2, 1, 1));
	assert_true(idx.hungry);
	mz_index_refill(&idx, 1000, 0);
	assert_true(count(&idx, obj, 1000, 2, 1, 1));
	mz_index_release(&idx, end_and_collect(&idx, 0x1000));
	teardown(&idx);
}

/* === Walks ================================================================================ */

struct walker {
	struct mz_visitor visitor;
	struct mz_index *idx;
	struct mz_object *obj;
	u32 nr_rooms, nr_visits, next_ip;
	struct mz_access *head; /* of the records when the object was visited */
};

/* Without a lock, so others may go on: the object gets further records. */
static int make_room(struct mz_visitor *visitor, unsigned int nr)
{
	struct walker *walker = container_of(visitor, struct walker, visitor);

	/* However many records the object has, it is one object. */
	assert_int_equal(nr, 1);
	visitor->room = nr;
	walker->nr_rooms++;
	assert_true(count(walker->idx, walker->obj, walker->next_ip++, 2, 1, 1));
	return 0;
}

static void visit(struct mz_visitor *visitor, struct mz_object *obj)
{
	struct walker *walker = container_of(visitor, struct walker, visitor);

	assert_true(visitor->room > 0);
	visitor->room--;
	assert_ptr_equal(obj, walker->obj);
	walker->head = mz_object_accesses(obj);
	walker->nr_visits++;
}

/* The records of a visited object are read after the lock is gone, while more of them are made. */
static void test_walk_with_many_records(void **state)
{
	enum { RECORDS = 100000 };
	static bool seen[RECORDS + 1];
	struct walker walker = { .visitor = { .make_room = make_room, .visit = visit } };
	const struct mz_access *access;
	const raw_spinlock_t *lock;
	struct mz_object *obj;
	struct mz_index idx;
	unsigned long before;
	u32 nr = 0, i;

	setup(&idx, 10000, 8);
	walker.idx = &idx;
	walker.obj = add(&idx, 0x1000);
	while (walker.next_ip < RECORDS) {
		mz_index_refill(&idx, 1000, 0);
		assert_true(count(&idx, walker.obj, walker.next_ip++, 2, 1, 1));
	}
	assert_int_equal(mz_index_walk(&idx, &walker.visitor), 0);
	assert_int_equal(walker.nr_rooms, 1);
	assert_int_equal(walker.nr_visits, 1);
	/* After the walk the object gets another record, and ends. */
	assert_true(count(&idx, walker.obj, walker.next_ip, 2, 1, 1));
	obj = end_and_collect(&idx, 0x1000);

	memset(seen, 0, sizeof(seen));
	for (access = walker.head; access; access = access->next, nr++) {
		assert_true(access->ip <= RECORDS);
		assert_false(seen[access->ip]);
		seen[access->ip] = true;
	}
	assert_int_equal(nr, RECORDS + 1);
	for (i = 0; i <= RECORDS; i++)
		assert_true(seen[i]);
	/* They are released in parts, with the lock open in between. */
	lock = &mz_page_of(obj)->shard->lock;
	before = lock->nr_taken;
	mz_index_release(&idx, obj);
	assert_true(lock->nr_taken - before >= RECORDS / 1024);
	teardown(&idx);
}

/* === Threads ============================================================================== */

enum { THREADS = 4, OBJECTS = 64, ROUNDS = 200000 };

struct worker {
	struct mz_index *idx;
	u32 cpu;
	u64 dropped;
	u64 counted[OBJECTS];
};

static void *work(void *data)
{
	struct worker *worker = data;
	u32 i, state = worker->cpu + 1;

	for (i = 0; i < ROUNDS; i++) {
		u32 n;
		struct mz_object *obj;

		state = state * 1664525 + 1013904223;
		n = (state >> 16) % OBJECTS;
		obj = mz_index_find(worker->idx, 0x1000 + n * 0x100);
		assert_non_null(obj);
		if (count(worker->idx, obj, state >> 30, mz_who(1, 0, true, worker->cpu), 1, 4))
			worker->counted[n]++;
		else
			worker->dropped++;
	}
	return NULL;
}

/* Objects and their ends in between, in the same shards. */
static void *churn(void *data)
{
	struct mz_index *idx = data;
	u32 i;

	for (i = 0; i < ROUNDS / 10; i++) {
		u64 key = 0x1000000 + i % 512 * 0x40;
		struct mz_object *obj = add(idx, key);

		count(idx, obj, 1, mz_who(2, 0, false, 9), 1, 1);
		assert_true(mz_index_end(idx, key, i, 2, false));
	}
	return NULL;
}

static void test_threads(void **state)
{
	static struct worker workers[THREADS];
	pthread_t threads[THREADS + 1];
	struct mz_chain chain = { 0 };
	struct mz_object *obj;
	u64 seen[OBJECTS] = { 0 }, churned = 0;
	struct mz_index idx;
	u32 i, j;

	setup(&idx, 20000, 8);
	for (i = 0; i < OBJECTS; i++)
		add(&idx, 0x1000 + i * 0x100);
	mz_index_refill(&idx, 1000, 0);
	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .idx = &idx, .cpu = i };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	assert_int_equal(pthread_create(&threads[THREADS], NULL, churn, &idx), 0);
	for (i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);

	mz_index_drop_live(&idx, 10, 0);
	mz_index_collect(&idx, &chain);
	while ((obj = mz_chain_pop(&chain))) {
		struct memorizer_access sum;
		const struct mz_access *at;

		mz_accesses_sort(obj);
		for (at = mz_object_accesses(obj); at;) {
			at = mz_accesses_next(at, TEXT, true, &sum);
			if (obj->key < 0x1000000)
				seen[(obj->key - 0x1000) / 0x100] += sum.writes;
			else
				churned += sum.reads;
			assert_int_equal(sum.bytes_written, sum.writes * 4);
		}
		mz_index_release(&idx, obj);
	}
	for (i = 0; i < OBJECTS; i++) {
		u64 expected = 0;

		for (j = 0; j < THREADS; j++)
			expected += workers[j].counted[i];
		assert_int_equal(seen[i], expected);
	}
	for (j = 0; j < THREADS; j++)
		assert_int_equal(workers[j].dropped, 0);
	assert_int_equal(churned, ROUNDS / 10);
	teardown(&idx);
}

/* === Spans ================================================================================ */

static void test_spans(void **state)
{
	struct mz_spans spans;
	struct mz_span span;
	unsigned long i;

	assert_int_equal(mz_spans_init(&spans, 100), 0);
	assert_false(mz_spans_find(&spans, 0x1000, &span));
	/* In no order: 7 and 100 have no common divisor. */
	for (i = 0; i < 100; i++) {
		unsigned long start = 0x1000 * (1 + i * 7 % 100);

		assert_true(mz_spans_add(&spans, start, start + 0x800));
	}
	assert_false(mz_spans_add(&spans, 0x1000000, 0x1000001));
	for (i = 1; i <= 100; i++) {
		assert_true(mz_spans_find(&spans, 0x1000 * i, &span));
		assert_int_equal(span.start, 0x1000 * i);
		assert_true(mz_spans_find(&spans, 0x1000 * i + 0x7ff, &span));
		assert_int_equal(span.end, 0x1000 * i + 0x800);
		assert_false(mz_spans_find(&spans, 0x1000 * i + 0x800, &span));
		assert_false(mz_spans_find(&spans, 0x1000 * i - 1, &span));
	}
	assert_false(mz_spans_remove(&spans, 0x1001));
	for (i = 1; i <= 100; i += 2)
		assert_true(mz_spans_remove(&spans, 0x1000 * i));
	for (i = 1; i <= 100; i++)
		assert_int_equal(mz_spans_find(&spans, 0x1000 * i, &span), i % 2 == 0);
	mz_spans_deinit(&spans);
}

/* Spans whose end was not seen: the new span takes over their addresses and their memory. */
static void test_spans_stale(void **state)
{
	struct mz_spans spans;
	struct mz_span span;

	assert_int_equal(mz_spans_init(&spans, 3), 0);
	assert_true(mz_spans_add(&spans, 0x1000, 0x3000));
	assert_true(mz_spans_add(&spans, 0x4000, 0x5000));
	assert_true(mz_spans_add(&spans, 0x6000, 0x8000));
	assert_false(mz_spans_add(&spans, 0x3000, 0x4000));
	/* Overlaps the end of the first, all of the second and the start of the third. */
	assert_true(mz_spans_add(&spans, 0x2000, 0x7000));
	assert_true(mz_spans_find(&spans, 0x4800, &span));
	assert_int_equal(span.start, 0x2000);
	assert_int_equal(span.end, 0x7000);
	assert_false(mz_spans_find(&spans, 0x1800, &span));
	assert_false(mz_spans_find(&spans, 0x7000, &span));
	assert_true(mz_spans_add(&spans, 0x1000, 0x2000));
	assert_true(mz_spans_add(&spans, 0x7000, 0x8000));
	assert_false(mz_spans_add(&spans, 0x8000, 0x9000));
	/* The same start again, in a table that is full. */
	assert_true(mz_spans_add(&spans, 0x7000, 0x7800));
	assert_false(mz_spans_find(&spans, 0x7800, &span));
	mz_spans_clear(&spans);
	assert_false(mz_spans_find(&spans, 0x2000, &span));
	assert_false(mz_spans_remove(&spans, 0x2000));
	assert_true(mz_spans_add(&spans, 0x8000, 0x9000));
	mz_spans_deinit(&spans);
}

struct span_writer {
	struct mz_spans *spans;
	bool stop;
};

static void *move_spans(void *data)
{
	struct span_writer *writer = data;

	while (!__atomic_load_n(&writer->stop, __ATOMIC_RELAXED)) {
		assert_true(mz_spans_add(writer->spans, 0x100, 0x200));
		assert_true(mz_spans_remove(writer->spans, 0x100));
	}
	return NULL;
}

/* A span that is always present is always found, while others are added and removed before it. */
static void test_spans_change(void **state)
{
	struct mz_spans spans;
	struct span_writer writer = { .spans = &spans };
	struct mz_span span;
	pthread_t thread;
	u32 i;

	assert_int_equal(mz_spans_init(&spans, 10), 0);
	for (i = 1; i < 6; i++)
		assert_true(mz_spans_add(&spans, i * 0x1000, i * 0x1000 + 0x1000));
	assert_int_equal(pthread_create(&thread, NULL, move_spans, &writer), 0);
	for (i = 0; i < 300000; i++) {
		unsigned long addr = 0x1000 + i * 37 % 0x5000;

		assert_true(mz_spans_find(&spans, addr, &span));
		assert_int_equal(span.start, addr & ~0xfffUL);
		assert_int_equal(span.end, span.start + 0x1000);
	}
	__atomic_store_n(&writer.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	mz_spans_deinit(&spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_find_and_release),
		cmocka_unit_test(test_spots),
		cmocka_unit_test(test_refill),
		cmocka_unit_test(test_exhausted),
		cmocka_unit_test(test_deinit),
		cmocka_unit_test(test_reserve_of_one),
		cmocka_unit_test(test_walk_with_many_records),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_spans_stale),
		cmocka_unit_test(test_spans_change),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
