// SPDX-License-Identifier: GPL-2.0-only
/* The map of a stock run: counts by address become accesses to objects, by the slabs at both ends of the run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap-source.h"
#include "cli/lab-stock.h"
#include "heap/slot-index.h"
#include "kmap/object.h"
#include "uapi/memorizer.h"

/* === Data ================================================================================= */

/* One count, and the object it is of. */
struct piece {
	const struct ks_stock_look *look;
	u32 slot, slab, offset;
	u32 count; /* its place in the table */
};

struct writer {
	const struct ks_stock *stock;
	struct ks_outfile *map;
	u64 bytes;
};

/* === Internals: where counts belong ======================================================= */

static bool find(const struct ks_stock_look *look, u64 addr, struct piece *piece)
{
	piece->look = look;
	piece->slot = ks_slot_inside(look->index, addr, &piece->slab, &piece->offset);
	return piece->slot != KS_NONE;
}

static const struct ks_cache *cache_of(const struct piece *piece)
{
	const struct ks_census *census = piece->look->census;

	return &census->caches->items.items[census->pages->slabs.items[piece->slab].cache];
}

/* Whether the object is there at the end. */
static bool is_live(const struct ks_stock *stock, const struct piece *piece)
{
	return piece->look != &stock->begin && ks_slot_used(piece->look->slots, piece->slot);
}

static u64 accesses(const struct lab_count *count)
{
	return (u64)count->reads + count->writes;
}

/* Sorts what a count is of into @piece, or adds it to what is of no object. */
static bool place(struct ks_stock *stock, const struct ks_stock_look *end, u32 number,
		  struct piece *piece)
{
	const struct lab_count *count = &stock->table->counts[number];
	struct piece before;
	bool now = find(end, count->addr, piece);
	bool then = find(&stock->begin, count->addr, &before);

	piece->count = before.count = number;
	if (now && then && cache_of(piece)->addr != cache_of(&before)->addr) {
		stock->sums.moved += accesses(count);
		return false;
	}
	if (!now && !then) {
		stock->sums.no_slab += accesses(count);
		return false;
	}
	if (!now)
		*piece = before;
	else if (!then)
		stock->sums.fresh += accesses(count);
	stock->sums.counted += accesses(count);
	return true;
}

static int by_object(const void *pa, const void *pb, void *ctx)
{
	const struct piece *a = pa, *b = pb;
	const struct lab_count *x, *y, *counts = ctx;

	if (a->look != b->look)
		return a->look < b->look ? -1 : 1;
	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	x = &counts[a->count];
	y = &counts[b->count];
	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* === Internals: records =================================================================== */

static int put(struct writer *w, const void *data, size_t len, struct ks_diag *diag)
{
	w->bytes += len;
	return ks_outfile_write(w->map, data, len, diag);
}

static int put_header(struct writer *w, struct ks_diag *diag)
{
	struct memorizer_header header = {
		.magic = MEMORIZER_MAGIC,
		.version = MEMORIZER_ABI_VERSION,
		.header_size = sizeof(header),
		.record_size = sizeof(struct memorizer_record),
		.access_size = sizeof(struct memorizer_access),
		.tick_ns = 4000000,
	};

	return put(w, &header, sizeof(header), diag);
}

static int put_object(struct writer *w, const struct piece *piece, u32 nr, struct ks_diag *diag)
{
	const struct ks_cache *cache = cache_of(piece);
	struct memorizer_record record = {
		.addr = w->stock->table->counts[piece->count].addr - piece->offset,
		.bytes_req = cache->object_size,
		.bytes_alloc = cache->size,
		.kind = strncmp(cache->name, "kmalloc", 7) ? MEMORIZER_CACHE : MEMORIZER_KMALLOC,
		.accesses = nr,
	};

	if (!is_live(w->stock, piece)) {
		record.flags = MEMORIZER_FREED | MEMORIZER_IMPLIED;
		record.free_ip = KS_KMAP_IP_IMPLIED;
	}
	memcpy(record.cache, cache->name, ks_min(strlen(cache->name), sizeof(record.cache)));
	return put(w, &record, sizeof(record), diag);
}

static int put_access(struct writer *w, const struct piece *piece, struct ks_diag *diag)
{
	const struct lab_count *count = &w->stock->table->counts[piece->count];
	struct memorizer_access access = {
		.ip = count->ip,
		.writes = count->writes,
		.reads = count->reads,
		.bytes_written = count->bytes_written,
		.bytes_read = count->bytes_read,
		.flags = MEMORIZER_HAS_SPOT | (count->lengths_vary ? MEMORIZER_LENGTH_VARIES : 0),
		.cpu = (u16)(count->cpu % MEMORIZER_ACCESS_CPUS),
		.offset = piece->offset,
	};

	return put(w, &access, sizeof(access), diag);
}

static int put_objects(struct writer *w, struct ks_stock_sums *sums, const struct piece *pieces,
		       size_t len, struct ks_diag *diag)
{
	size_t i, next, j;
	int err = put_header(w, diag);

	for (i = 0; i < len && !err; i = next) {
		for (next = i + 1; next < len && pieces[next].look == pieces[i].look &&
				   pieces[next].slot == pieces[i].slot;
		     next++)
			;
		err = put_object(w, &pieces[i], (u32)(next - i), diag);
		for (j = i; j < next && !err; j++)
			err = put_access(w, &pieces[j], diag);
		sums->objects++;
		sums->gone += !is_live(w->stock, &pieces[i]);
	}
	return err;
}

/* === Public =============================================================================== */

int ks_stock_look(pid_t pid, struct ks_stock_look *look, struct ks_diag *diag)
{
	const struct ks_heap_source source = { .guest = (u64)pid };
	const struct ks_census_options options = { 0 };
	int err = ks_heap_source_kernel(&source, &look->kernel, diag);

	if (!err)
		err = ks_census_take(look->kernel, &options, &look->census, diag);
	if (!err)
		err = ks_slots_read(look->kernel, look->census, &look->slots, diag);
	if (!err && ks_slot_index_new(look->kernel, look->census, look->slots, &look->index))
		err = ks_diag_nomem(diag, "looking at a guest");
	return err;
}

void ks_stock_look_free(struct ks_stock_look *look)
{
	ks_slot_index_free(look->index);
	if (look->slots)
		ks_slots_free(look->slots);
	if (look->census)
		ks_census_free(look->census);
	if (look->kernel)
		ks_kernel_free(look->kernel);
	*look = (struct ks_stock_look){ 0 };
}

int ks_stock_map(struct ks_stock *stock, const struct ks_stock_look *end, struct ks_outfile *map,
		 u64 *ret_bytes, struct ks_diag *diag)
{
	struct writer w = { .stock = stock, .map = map };
	struct piece *pieces = calloc((size_t)stock->table->used + 1, sizeof(*pieces));
	size_t len = 0;
	u64 i;
	int err;

	if (!pieces)
		return ks_diag_nomem(diag, "writing a map");
	for (i = 0; i < stock->table->places; i++)
		if (stock->table->counts[i].addr && place(stock, end, (u32)i, &pieces[len]))
			len++;
	if (len)
		qsort_r(pieces, len, sizeof(*pieces), by_object, stock->table->counts);
	err = put_objects(&w, &stock->sums, pieces, len, diag);
	free(pieces);
	if (!err)
		*ret_bytes = w.bytes;
	return err;
}
