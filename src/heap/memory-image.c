// SPDX-License-Identifier: LGPL-2.1-only
/*
 * An image of a made-up kernel, for tests and for fuzzing. Little-endian:
 *
 *   8 bytes "KSIMAGE1"
 *   u32 CPUs, u32 segments
 *   u64 page_offset, vmemmap, slab_caches, page_table, first page of RAM, end of RAM
 *   u64 a CPU: what to add to its per-CPU pointers
 *   a segment: u64 address, u64 length; the bytes of all segments follow, in their order
 */
#include "heap/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* === Data ================================================================================= */

enum {
	CPUS_MAX = 64,
	SEGMENTS_MAX = 4096,
	PAGES_MAX = 1 << 20, /* of RAM: a walk over them must end */
};

struct segment {
	u64 addr, len;
	const u8 *data;
};

struct image_memory {
	struct ks_memory memory;
	const void *data;
	size_t len;
	KS_VEC(struct segment) segments;
};

/* === Internals ============================================================================ */

static int bad(struct ks_diag *diag, const char *what)
{
	return ks_diag_set(diag, KS_EBADINPUT, "image of kernel memory: %s", what);
}

static int parse_facts(struct ks_bytes *b, u32 cpus, struct ks_memory_facts *facts,
		       struct ks_diag *diag)
{
	struct ks_ram *ram;
	u64 *slot;

	facts->page_offset = ks_bytes_u64(b);
	facts->vmemmap = ks_bytes_u64(b);
	facts->slab_caches = ks_bytes_u64(b);
	facts->page_table = ks_bytes_u64(b);
	ram = ks_vec_push(&facts->ram);
	if (!ram)
		return ks_diag_nomem(diag, "opening an image");
	ram->first = ks_bytes_u64(b);
	ram->end = ks_bytes_u64(b);
	if (ram->first >= ram->end || ram->end > PAGES_MAX)
		return bad(diag, "RAM of no plausible size");
	while (cpus--) {
		slot = ks_vec_push(&facts->percpu);
		if (!slot)
			return ks_diag_nomem(diag, "opening an image");
		*slot = ks_bytes_u64(b);
	}
	return 0;
}

static int parse_segments(struct ks_bytes *b, u32 count, struct image_memory *m,
			  struct ks_diag *diag)
{
	struct segment *segment;
	u32 i;

	for (i = 0; i < count; i++) {
		segment = ks_vec_push(&m->segments);
		if (!segment)
			return ks_diag_nomem(diag, "opening an image");
		segment->addr = ks_bytes_u64(b);
		segment->len = ks_bytes_u64(b);
	}
	for (i = 0; i < count; i++) {
		segment = &m->segments.items[i];
		segment->data = ks_bytes_take(b, segment->len);
		if (!segment->data)
			return bad(diag, "it ends inside of a segment");
	}
	return 0;
}

static int parse(struct image_memory *m, struct ks_diag *diag)
{
	struct ks_bytes b;
	const char *magic;
	u32 cpus, segments;
	int err;

	ks_bytes_init(&b, m->data, m->len);
	magic = ks_bytes_take(&b, 8);
	if (!magic || memcmp(magic, "KSIMAGE1", 8))
		return bad(diag, "it does not begin as one");
	cpus = ks_bytes_u32(&b);
	segments = ks_bytes_u32(&b);
	if (cpus > CPUS_MAX || segments > SEGMENTS_MAX)
		return bad(diag, "too many CPUs or segments");
	err = parse_facts(&b, cpus, &m->memory.facts, diag);
	return err ? err : parse_segments(&b, segments, m, diag);
}

static void read_one(const struct image_memory *m, struct ks_piece *piece)
{
	size_t i;

	for (i = 0; i < m->segments.len; i++) {
		const struct segment *s = &m->segments.items[i];

		if (piece->addr < s->addr || piece->addr - s->addr > s->len ||
		    s->len - (piece->addr - s->addr) < piece->len)
			continue;
		if (piece->len)
			memcpy(piece->buf, s->data + (piece->addr - s->addr), piece->len);
		piece->failed = false;
		return;
	}
	memset(piece->buf, 0, piece->len);
	piece->failed = true;
}

/* === Interface ============================================================================ */

static int image_read(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
		      struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < count; i++)
		read_one((struct image_memory *)memory, &pieces[i]);
	return 0;
}

static int image_dup(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct image_memory *m = (struct image_memory *)memory;

	return ks_memory_open_image(m->data, m->len, ret_memory, diag);
}

static void image_free(struct ks_memory *memory)
{
	struct image_memory *m = (struct image_memory *)memory;

	ks_vec_free(&m->segments);
	free(m);
}

static const struct ks_memory_ops image_ops = {
	.name = "image",
	.read = image_read,
	.dup = image_dup,
	.free = image_free,
};

/* === Public =============================================================================== */

int ks_memory_open_image(const void *data, size_t len, struct ks_memory **ret_memory,
			 struct ks_diag *diag)
{
	struct image_memory *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return ks_diag_nomem(diag, "opening an image");
	m->memory.ops = &image_ops;
	m->data = data;
	m->len = len;
	err = parse(m, diag);
	if (err) {
		ks_memory_free(&m->memory);
		return err;
	}
	*ret_memory = &m->memory;
	return 0;
}
