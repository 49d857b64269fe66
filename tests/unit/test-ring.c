// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of the ring buffer, written here as include/linux/ring_buffer.h of the kernel describes them, in both byte
 * orders and with both sizes of its long.
 */
#include "ks-test.h"

#include "trace/ring.h"

/* === Data ================================================================================= */

enum { PAGE = 128 };

struct page {
	u8 bytes[PAGE];
	size_t at; /* where the next record goes */
	struct ks_ring_format format;
};

static const struct ks_ring_format formats[] = {
	{ { 8, 16 }, PAGE, false },
	{ { 8, 16 }, PAGE, true },
	{ { 4, 12 }, PAGE, false },
	{ { 4, 12 }, PAGE, true },
};

/* === Helpers ============================================================================== */

static void store(struct page *page, size_t at, u64 value, size_t size)
{
	size_t i;

	assert_true(at + size <= PAGE);
	for (i = 0; i < size; i++)
		page->bytes[at + (page->format.big_endian ? size - 1 - i : i)] =
			(u8)(value >> 8 * i);
}

static void begin(struct page *page, struct ks_ring_format format, u64 ts)
{
	*page = (struct page){ .format = format, .at = format.header.data };
	memset(page->bytes, 0xee, sizeof(page->bytes));
	store(page, 0, ts, 8);
}

/* A record's first word: 5 bits of type, 27 of the time since the last one. */
static void put_head(struct page *page, u32 type, u32 delta)
{
	store(page, page->at, page->format.big_endian ? type << 27 | delta : delta << 5 | type, 4);
	page->at += 4;
}

static void put_word(struct page *page, u32 word)
{
	store(page, page->at, word, 4);
	page->at += 4;
}

/* @flags: those of the kernel's commit, in its upper bits. */
static void end(struct page *page, u64 flags)
{
	store(page, 8, (page->at - page->format.header.data) | flags,
	      page->format.header.commit_size);
}

static void check_record(struct ks_ring *ring, u64 ts, u32 len, u32 word)
{
	assert_true(ks_ring_next(ring));
	assert_true(ring->ts == ts);
	assert_int_equal(ring->len, len);
	if (len >= 4)
		assert_int_equal(ks_load(ring->data, 4, ring->swap), word);
}

/* === Tests ================================================================================ */

static void records_of_each_kind(const struct ks_ring_format *format)
{
	const u64 start = 0xf800000000001000ull; /* with bits above the 59 of a stamp */
	struct ks_ring ring;
	struct page page;

	begin(&page, *format, start);
	put_head(&page, 1, 5); /* 4 bytes */
	put_word(&page, 0x11223344);
	put_head(&page, 2, 7); /* 8 bytes */
	put_word(&page, 2);
	put_word(&page, 3);
	put_head(&page, 30, 9); /* time goes on by 9 and 2^27 times 3 */
	put_word(&page, 3);
	put_head(&page, 0, 1); /* its length is a word of its own, which counts itself */
	put_word(&page, 4 + 6);
	put_word(&page, 4);
	put_word(&page, 0);
	put_head(&page, 29, 2); /* taken back, 8 bytes; its time counts */
	put_word(&page, 8);
	put_word(&page, 0);
	put_head(&page, 31, 0x123); /* the time itself */
	put_word(&page, 0x40);
	put_head(&page, 1, 0);
	put_word(&page, 5);
	put_head(&page, 0, 3); /* the shortest long one */
	put_word(&page, 4);
	put_head(&page, 29, 0); /* the rest is empty */
	put_word(&page, 0xffffffff);
	end(&page, 0);

	ks_ring_init(&ring, *format);
	ks_ring_feed(&ring, page.bytes, PAGE);
	check_record(&ring, start + 5, 4, 0x11223344);
	check_record(&ring, start + 12, 8, 2);
	check_record(&ring, start + 12 + 9 + (3ull << 27) + 1, 6, 4);
	check_record(&ring, 0xf800000000000000ull | 0x40ull << 27 | 0x123, 4, 5);
	check_record(&ring, (0xf800000000000000ull | 0x40ull << 27 | 0x123) + 3, 0, 0);
	assert_false(ks_ring_next(&ring));
	assert_int_equal(ring.bad, 0);
	assert_false(ring.lost_here);
}

static void test_records(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		records_of_each_kind(&formats[i]);
}

/* One that fills the page to its last byte. */
static void test_full_page(void **state)
{
	size_t i, words;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		struct ks_ring ring;
		struct page page;

		begin(&page, formats[i], 0);
		words = (PAGE - page.at) / 4 - 1;
		put_head(&page, (u32)words, 1);
		page.at = PAGE;
		end(&page, 0);
		ks_ring_init(&ring, formats[i]);
		ks_ring_feed(&ring, page.bytes, PAGE);
		check_record(&ring, 1, (u32)words * 4, 0xeeeeeeee);
		assert_false(ks_ring_next(&ring));
		assert_int_equal(ring.bad, 0);
	}
}

/* What follows @type and @word would be beyond the end. @bad: whether that is damage. */
static void test_damage(void **state)
{
	static const struct {
		u32 type, delta, word;
		size_t cut; /* bytes of the record that the page has */
		bool fits;
	} cases[] = {
		{ 2, 1, 0, 8, false },	 { 2, 1, 0, 12, true },	  { 0, 1, 3, 12, false },
		{ 0, 1, 9, 12, false },	 { 0, 1, 8, 12, true },	  { 0, 1, 8, 4, false },
		{ 29, 1, 9, 12, false }, { 29, 1, 8, 12, true },  { 30, 1, 0, 4, false },
		{ 30, 1, 0, 8, true },	 { 31, 1, 0, 4, false },  { 31, 1, 0, 8, true },
		{ 1, 1, 0, 8, true },	 { 29, 0, 99, 12, true }, { 1, 1, 0, 11, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ks_ring ring;
		struct page page;
		size_t first;

		begin(&page, formats[0], 0);
		first = page.at;
		put_head(&page, cases[i].type, cases[i].delta);
		put_word(&page, cases[i].word);
		page.at = first + cases[i].cut;
		end(&page, 0);
		ks_ring_init(&ring, formats[0]);
		ks_ring_feed(&ring, page.bytes, PAGE);
		while (ks_ring_next(&ring))
			;
		assert_int_equal(ring.bad, !cases[i].fits);
	}
}

/* A page that says that it has more than a page is left out, and so is a part of one at the end. */
static void test_sizes(void **state)
{
	u8 bytes[3 * PAGE + 1] = { 0 };
	struct ks_ring ring;
	struct page page;

	begin(&page, formats[0], 10);
	put_head(&page, 1, 0);
	put_word(&page, 1);
	end(&page, 0);
	memcpy(bytes, page.bytes, PAGE);
	memcpy(bytes + 2 * PAGE, page.bytes, PAGE);
	page.at = PAGE + 1;
	end(&page, 0);
	memcpy(bytes + PAGE, page.bytes, PAGE);
	ks_ring_init(&ring, formats[0]);
	ks_ring_feed(&ring, bytes, sizeof(bytes));
	assert_int_equal(ring.bad, 1);
	check_record(&ring, 10, 4, 1);
	check_record(&ring, 10, 4, 1);
	assert_int_equal(ring.bad, 2);
	assert_false(ks_ring_next(&ring));
}

/* How many were lost stands behind the records, where there is room for it. */
static void test_losses(void **state)
{
	const u64 missed = 1ull << 31, stored = 1ull << 30;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t size = formats[i].header.commit_size;
		u8 bytes[4 * PAGE];
		struct ks_ring ring;
		struct page page;

		begin(&page, formats[i], 1); /* counted */
		put_head(&page, 1, 0);
		put_word(&page, 1);
		store(&page, page.at, 77, size);
		end(&page, missed | stored);
		memcpy(bytes, page.bytes, PAGE);
		begin(&page, formats[i],
		      2); /* not counted: what is behind the records is no number */
		put_head(&page, 1, 0);
		put_word(&page, 2);
		store(&page, page.at, 88, size);
		end(&page, missed);
		memcpy(bytes + PAGE, page.bytes, PAGE);
		begin(&page, formats[i], 3); /* no loss: the other flag alone means nothing */
		put_head(&page, 1, 0);
		put_word(&page, 3);
		end(&page, stored);
		memcpy(bytes + 2 * PAGE, page.bytes, PAGE);
		begin(&page, formats[i], 4); /* its number just fits */
		put_head(&page, 1, 0);
		put_word(&page, 4);
		put_head(&page, 29, 0);
		page.at = PAGE - size;
		store(&page, page.at, 99, size);
		end(&page, missed | stored);
		memcpy(bytes + 3 * PAGE, page.bytes, PAGE);

		ks_ring_init(&ring, formats[i]);
		ks_ring_feed(&ring, bytes, sizeof(bytes));
		check_record(&ring, 1, 4, 1);
		assert_true(ring.lost_here && ring.lost == 77);
		check_record(&ring, 2, 4, 2);
		assert_true(ring.lost_here && ring.lost == 0);
		check_record(&ring, 3, 4, 3);
		assert_false(ring.lost_here);
		check_record(&ring, 4, 4, 4);
		assert_true(ring.lost_here && ring.lost == 99);
		assert_false(ks_ring_next(&ring));
		assert_false(ring.lost_here);
	}
}

/* A page without records that tells of a loss: the next record has it. */
static void test_empty_page(void **state)
{
	const u64 missed = 1ull << 31, stored = 1ull << 30;
	u8 bytes[3 * PAGE];
	struct ks_ring ring;
	struct page page;
	size_t i;

	for (i = 0; i < 2; i++) {
		begin(&page, formats[0], 1);
		store(&page, page.at, 5 + i, 8);
		end(&page, missed | stored);
		memcpy(bytes + i * PAGE, page.bytes, PAGE);
	}
	begin(&page, formats[0], 3);
	put_head(&page, 1, 0);
	put_word(&page, 3);
	end(&page, 0);
	memcpy(bytes + 2 * PAGE, page.bytes, PAGE);
	ks_ring_init(&ring, formats[0]);
	ks_ring_feed(&ring, bytes, sizeof(bytes));
	check_record(&ring, 3, 4, 3);
	assert_true(ring.lost_here && ring.lost == 5 + 6);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_records), cmocka_unit_test(test_full_page),
	cmocka_unit_test(test_damage),	cmocka_unit_test(test_sizes),
	cmocka_unit_test(test_losses),	cmocka_unit_test(test_empty_page),
};

KS_RUN(tests)
