// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as an access map; and, where a line "--" splits them, as a CSV pair. */
#include "fuzz.h"

#include "base/num.h"
#include "kmap/census.h"
#include "kmap/fields.h"
#include "kmap/framing.h"

static void check(const struct ks_kmap_census *census)
{
	uint64_t objects = 0;
	size_t i;

	for (i = 0; i < census->sites.len; i++) {
		const struct ks_kmap_stat *stat = &census->sites.items[i].stat;

		objects += stat->objects;
		FUZZ_ASSERT(stat->live_objects + stat->ended <= stat->objects);
		FUZZ_ASSERT(stat->cold_objects <= stat->objects);
		FUZZ_ASSERT(stat->cold_bytes <= stat->unread_bytes);
		ks_kmap_mean_bytes(census, stat);
	}
	FUZZ_ASSERT(objects == census->nr_objects);
	for (i = 0; i < census->edges.len; i++) {
		FUZZ_ASSERT(census->edges.items[i].site < census->sites.len);
		FUZZ_ASSERT(census->edges.items[i].code < census->codes.keys.len);
	}
}

/*
 * Objects that are complete in a part are complete in the whole, and each piece ends at the end of
 * an object.
 */
static void check_framing(const uint8_t *data, size_t size)
{
	struct ks_kmap_framing framing = { 0 }, again = { 0 };
	size_t all = ks_kmap_framing_whole(&framing, data, size, false), part;

	FUZZ_ASSERT(all <= size);
	part = ks_kmap_framing_whole(&again, data, size / 2, false);
	FUZZ_ASSERT(part <= size / 2 && part <= all);
	FUZZ_ASSERT(ks_kmap_framing_whole(&again, data + part, size - part, true) <= size - part);
	ks_kmap_framing_pass(&framing, data + all, size - all);
	FUZZ_ASSERT(ks_kmap_framing_whole(&framing, data, size, false) <= size);
}

/* The number of objects does not depend on the size of the pieces. */
static void check_counter(const uint8_t *data, size_t size, bool text)
{
	struct ks_kmap_counter whole = { .text = text }, pieces = { .text = text };
	size_t at;

	ks_kmap_counter_add(&whole, data, size);
	for (at = 0; at < size; at++)
		ks_kmap_counter_add(&pieces, data + at, 1);
	FUZZ_ASSERT(whole.objects == pieces.objects && whole.bytes == pieces.bytes);
	FUZZ_ASSERT(whole.last_begin == pieces.last_begin && whole.last_begin <= size);
}

/* No access may be lost on the way from the map to its fields. */
static void add_up_fields(const struct ks_kmap_census *census)
{
	struct ks_kmap_places *places;
	struct ks_kmap_fields *fields;
	struct ks_diag diag = { 0 };
	u64 spots = 0, structs = 0;
	size_t i;

	if (ks_kmap_places_new(census, NULL, &places, &diag))
		return;
	if (!ks_kmap_fields_new(census, places, NULL, &fields, &diag)) {
		for (i = 0; i < census->spots.spots.len; i++)
			spots = ks_add_sat(spots, census->spots.spots.items[i].reads);
		for (i = 0; i < fields->structs.len; i++)
			structs = ks_add_sat(structs, fields->structs.items[i].reads);
		FUZZ_ASSERT(spots == structs);
		ks_kmap_fields_free(fields);
	}
	ks_kmap_places_free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *split = memmem(data, size, "\n--\n", 4);
	size_t len = split ? (size_t)(split - data) : size;
	struct ks_kmap_census *census;
	struct ks_kmap_reader *reader;
	struct ks_diag diag = { 0 };

	char path[64], second_path[64];
	int fd, second_fd = -1, err;

	check_framing(data, size);
	check_counter(data, size, true);
	check_counter(data, size, false);
	fd = fuzz_file(data, len, path);
	if (split)
		second_fd = fuzz_file(split + 4, size - len - 4, second_path);
	err = ks_kmap_reader_open(path, split ? second_path : NULL, 0, &reader, &diag);
	close(fd);
	if (second_fd >= 0)
		close(second_fd);
	if (err) {
		FUZZ_ASSERT(diag.err);
		return 0;
	}
	if (!ks_kmap_census_read(reader, KS_KMAP_WITH_SPOTS, NULL, NULL, &census, &diag)) {
		add_up_fields(census);
		check(census);
		ks_kmap_census_free(census);
	}
	ks_kmap_reader_free(reader);
	return 0;
}
