/* SPDX-License-Identifier: GPL-2.0-only */
/* For the tests of access maps: hand-made files as inputs, what a census says of them, and binary records. */
#ifndef KS_TESTS_KMAP_MAPS_H
#define KS_TESTS_KMAP_MAPS_H

#include "ks-test.h"

#include <sys/mman.h>

#include "base/io.h"
#include "base/pack.h"
#include "input/input.h"
#include "kmap/views.h"
#include "uapi/memorizer.h"

/* === Census =============================================================================== */

/* A file in memory with these bytes, as an input. */
static inline struct ks_input *input_of(const void *data, size_t len)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct ks_input *input;
	struct ks_diag diag = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(ks_pwrite_all(fd, data, len, 0), 0);
	if (ks_input_open_fd(fd, "map", &input, &diag))
		fail_msg("%s", diag.text);
	return input;
}

static inline struct ks_kmap_census *census_of(const void *data, size_t len, const char *accesses)
{
	struct ks_input *second = accesses ? input_of(accesses, strlen(accesses)) : NULL;
	struct ks_kmap_census *census = NULL;
	struct ks_kmap_reader *reader;
	struct ks_diag diag = { 0 };

	if (ks_kmap_reader_new(input_of(data, len), second, 0, &reader, &diag))
		fail_msg("%s", diag.text);
	if (ks_kmap_census_read(reader, 0, NULL, NULL, &census, &diag))
		fail_msg("%s", diag.text);
	ks_kmap_reader_free(reader);
	return census;
}

static inline struct ks_kmap_census *census_of_text(const char *text)
{
	return census_of(text, strlen(text), NULL);
}

static inline struct ks_kmap_stat sum(const struct ks_kmap_census *census)
{
	struct ks_kmap_stat total = { 0 };
	size_t i;

	for (i = 0; i < census->sites.len; i++)
		ks_kmap_stat_add(&total, &census->sites.items[i].stat);
	return total;
}

static inline const struct ks_kmap_site *site_of(const struct ks_kmap_census *census, u64 ip)
{
	size_t i;

	for (i = 0; i < census->sites.len; i++)
		if (census->sites.items[i].ip == ip)
			return &census->sites.items[i];
	fail_msg("no site %llx", (unsigned long long)ip);
	return NULL;
}

static inline const struct ks_kmap_edge *edge_of(const struct ks_kmap_census *census, u64 site,
						 u64 code)
{
	size_t i;

	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];

		if (census->sites.items[edge->site].ip == site &&
		    census->codes.keys.items[edge->code] == code)
			return edge;
	}
	fail_msg("no edge %llx %llx", (unsigned long long)site, (unsigned long long)code);
	return NULL;
}

static inline const char *cache_of(const struct ks_kmap_census *census,
				   const struct ks_kmap_site *site)
{
	return ks_intern_get(&census->caches, site->cache).s;
}

static inline const char *comm_of_hottest(const struct ks_kmap_census *census)
{
	return ks_intern_get(&census->comms, census->hot[0].comm).s;
}

/* === Binary =============================================================================== */

static inline void put(struct ks_strbuf *sb, u64 value, unsigned int size, bool big)
{
	u8 byte;
	unsigned int i;

	for (i = 0; i < size; i++) {
		byte = (u8)(value >> 8 * (big ? size - 1 - i : i));
		ks_strbuf_add(sb, &byte, 1);
	}
}

static inline void put_header(struct ks_strbuf *sb, bool big)
{
	static const char name[24] = "vfs_read";

	put(sb, MEMORIZER_MAGIC, 4, big);
	put(sb, 1, 2, big);
	put(sb, 80, 2, big);
	put(sb, 136, 4, big); /* 8 bytes more than in this version, as in each of the three */
	put(sb, 4000000, 4, big);
	put(sb, 0, 8, big);
	put(sb, 0, 8, big);
	put(sb, 0xffffffff81234560, 8, big);
	ks_strbuf_add(sb, name, sizeof(name));
	put(sb, 56, 4, big);
	put(sb, 0, 4, big);
	put(sb, 0x5555, 8, big);
}

static inline void put_access(struct ks_strbuf *sb, bool big, u64 ip, u64 writes, u64 reads,
			      s32 pid, u8 context)
{
	put(sb, ip, 8, big);
	put(sb, writes, 8, big);
	put(sb, reads, 8, big);
	put(sb, writes * 4, 8, big);
	put(sb, reads * 8, 8, big);
	put(sb, (u32)pid, 4, big);
	put(sb, context, 1, big);
	put(sb, 0, 3, big);
	put(sb, 0x5555, 8, big);
}

static inline void put_record(struct ks_strbuf *sb, bool big, u64 size, u64 free_ns, u32 flags,
			      u32 accesses)
{
	char comm[16] = "sixteen-bytes-ab", cache[32] = "kmalloc-64";

	comm[15] = 'c'; /* no terminator */
	put(sb, 0xffff888000000000, 8, big);
	put(sb, 0xffffffff81000010, 8, big);
	put(sb, free_ns ? 0xffffffff81000900 : 0, 8, big);
	put(sb, 1000, 8, big);
	put(sb, free_ns, 8, big);
	put(sb, size - 4, 8, big);
	put(sb, size, 8, big);
	put(sb, 0xcc0, 4, big);
	put(sb, 42, 4, big);
	put(sb, 42, 4, big);
	put(sb, 1, 2, big);
	put(sb, MEMORIZER_CACHE, 1, big);
	put(sb, MEMORIZER_IN_TASK, 1, big);
	put(sb, flags, 4, big);
	put(sb, accesses, 4, big);
	ks_strbuf_add(sb, comm, 16);
	ks_strbuf_add(sb, cache, 32);
	put(sb, 0x5555, 8, big);
}

#endif
