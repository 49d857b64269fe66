// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The contents of all objects, read once: each gets a checksum, and each word that points into an object becomes a
 * reference. A thread keeps the references of the slabs that it reads one behind the other. In the end they are put
 * together in the order of objects, and what is copied is freed piece by piece, so that they are in memory but once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "heap/take.h"

/* === Data ================================================================================= */

enum {
	CHUNK = 1 << 16,      /* references in one piece of memory */
	LARGE_PART = 1 << 20, /* bytes of large kmalloc() that are read at once */
	NOBODY = UINT8_MAX,
};

/* Mapped, since memory that is freed to the heap would stay with the program. */
struct chunk {
	struct chunk *next;
	u32 len;
	struct ks_heap_ref refs[CHUNK];
};

/* What one thread has found, how far it was copied, and words that are not looked up yet. */
struct lane {
	struct chunk *first, *last;
	u32 at;
	bool failed;
	struct ks_lookup pending[KS_LOOKUPS];
	u32 nr_pending;
};

struct reading {
	struct ks_taking *taking;
	const struct ks_numbers *numbers;
	struct ks_snapshot *snapshot;
	bool graph;
	u8 *owner; /* by slab, large ones included: the thread */
	struct lane slabs[KS_WORKERS_MAX], large[KS_WORKERS_MAX];
	u8 *buf[KS_WORKERS_MAX];
	u64 unreadable[KS_WORKERS_MAX];
};

/* === Internals: one object ================================================================ */

/* The checksums of two files are compared: this must stay as it is. */
static u64 add_to_checksum(u64 sum, const u8 *data, u32 size)
{
	u32 at;
	u64 word;

	for (at = 0; at + 8 <= size; at += 8)
		sum = ks_mix(sum ^ ks_u64_at(data, at), 0xd6e8feb86659fd93ull);
	for (word = 0; at < size; at++)
		word = word << 8 | data[at];
	return ks_mix(sum ^ word, 0x9e3779b97f4a7c15ull);
}

static struct ks_heap_ref *new_ref(struct lane *lane)
{
	struct chunk *chunk = lane->last;

	if (!chunk || chunk->len == CHUNK) {
		chunk = mmap(NULL, sizeof(*chunk), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (chunk == MAP_FAILED) {
			lane->failed = true;
			return NULL;
		}
		if (lane->last)
			lane->last->next = chunk;
		else
			lane->first = chunk;
		lane->last = chunk;
	}
	return &chunk->refs[chunk->len++];
}

/* In the order in which they came: references are kept by holder, then by place. */
static void look_up_pending(struct reading *r, struct lane *lane)
{
	const struct ks_lookup *l = lane->pending, *end = l + lane->nr_pending;
	struct ks_heap_ref *ref;

	ks_numbers_look_up(r->numbers, lane->pending, lane->nr_pending);
	lane->nr_pending = 0;
	for (; l < end; l++) {
		if (l->to == KS_NONE || l->to == l->holder)
			continue;
		ref = new_ref(lane);
		if (!ref)
			return;
		*ref = (struct ks_heap_ref){
			.to = l->to,
			.at = (u16)ks_min(l->at / 8, (u32)UINT16_MAX),
			.inside = (u16)ks_min(l->inside / 8, (u32)UINT16_MAX),
		};
		r->snapshot->ref_first[l->holder]++;
	}
}

/* Adds what @data, which is @from bytes behind the beginning of the object, points to. */
static void search(struct reading *r, struct lane *lane, u32 object, const u8 *data, u32 size,
		   u32 from)
{
	u64 base = r->numbers->index->page_offset, end = r->numbers->index->end << 12, word;
	u32 at;

	for (at = 0; at + 8 <= size; at += 8) {
		word = ks_u64_at(data, at);
		if (likely(word - base >= end))
			continue;
		lane->pending[lane->nr_pending++] =
			(struct ks_lookup){ .word = word, .holder = object, .at = from + at };
		if (lane->nr_pending == KS_LOOKUPS)
			look_up_pending(r, lane);
	}
}

/* === Internals: sheaves =================================================================== */

static bool is_of_cache(const struct reading *r, u64 addr, u32 cache)
{
	const struct ks_pages *pages = r->taking->census->pages;
	u32 slab, slot = ks_slot_at(r->numbers->index, addr, &slab);

	return slot != KS_NONE && slab < pages->slabs.len &&
	       pages->slabs.items[slab].cache == cache;
}

/* Whether an object is a sheaf: it names its cache, and what it says to hold are objects of that cache. */
static bool is_sheaf(const struct reading *r, const u8 *data, u32 size)
{
	const struct ks_layout *l = &r->taking->kernel->layout;
	u32 cache, count, i;

	if (l->sheaf_objects == KS_NONE || size < l->sheaf_objects)
		return false;
	cache = ks_map64_find(&r->taking->census->pages->caches, ks_u64_at(data, l->sheaf_cache));
	if (cache == KS_NONE || !r->taking->census->caches->items.items[cache].cpu_sheaves)
		return false;
	memcpy(&count, data + l->sheaf_count, sizeof(count));
	if (count > (size - l->sheaf_objects) / 8)
		return false;
	for (i = 0; i < count; i++)
		if (!is_of_cache(r, ks_u64_at(data, l->sheaf_objects + i * 8), cache))
			return false;
	return true;
}

/*
 * How much of an object is searched. The places of a sheaf have free objects, and behind them what they had before: objects
 * that were handed out long ago, and that the sheaf does not hold.
 */
static u32 searched(const struct reading *r, const struct ks_slab_view *view, const u8 *data)
{
	u32 size = view->cache->object_size;

	if (r->taking->typing->cache_type[view->info->cache] || !is_sheaf(r, data, size))
		return size;
	return r->taking->kernel->layout.sheaf_objects;
}

/* === Internals: the walks ================================================================= */

static void read_slab(void *arg, const struct ks_slab_view *view)
{
	struct reading *r = arg;
	u32 i, object, size = view->cache->object_size;

	r->owner[view->slab] = (u8)view->worker;
	for (i = 0; i < view->info->objects; i++) {
		const u8 *data = view->data + (size_t)i * view->cache->size;

		if (!ks_slot_used(r->taking->slots, view->first + i))
			continue;
		object = ks_number_of_slot(r->numbers, view->slab, view->first + i);
		r->snapshot->checksum[object] = (u32)add_to_checksum(0, data, size);
		if (r->graph)
			search(r, &r->slabs[view->worker], object, data, searched(r, view, data),
			       0);
	}
	look_up_pending(r, &r->slabs[view->worker]);
}

static void read_large(void *arg, size_t index, unsigned int worker)
{
	struct reading *r = arg;
	const struct ks_pages *pages = r->taking->census->pages;
	const struct ks_large *large = &pages->large.items[index];
	u32 object = r->numbers->index->slabs[pages->slabs.len + index].base, at, part;
	u32 size = (u32)ks_min(large->pages * 4096ull, (u64)UINT32_MAX & ~4095ull);
	u64 sum = 0;

	r->owner[pages->slabs.len + index] = (u8)worker;
	for (at = 0; at < size; at += part) {
		part = ks_min(size - at, (u32)LARGE_PART);
		if (ks_memory_get(r->taking->kernel->lanes[worker],
				  ks_kernel_addr(r->taking->kernel, large->pfn) + at,
				  r->buf[worker], part)) {
			r->unreadable[worker] += part / 4096;
			continue;
		}
		sum = add_to_checksum(sum, r->buf[worker], part);
		if (r->graph)
			search(r, &r->large[worker], object, r->buf[worker], part, at);
	}
	look_up_pending(r, &r->large[worker]);
	r->snapshot->checksum[object] = (u32)sum;
}

static int walk_large(struct reading *r, struct ks_diag *diag)
{
	size_t count = r->taking->census->pages->large.len;
	unsigned int workers = ks_parallel_workers(count), i;
	int err = ks_kernel_lanes(r->taking->kernel, workers, diag);

	for (i = 0; !err && i < workers; i++) {
		r->buf[i] = malloc(LARGE_PART);
		if (!r->buf[i])
			err = -ENOMEM;
	}
	if (!err)
		ks_parallel_for(count, read_large, r);
	for (i = 0; i < workers; i++) {
		free(r->buf[i]);
		r->snapshot->quality[KS_HEAP_UNREADABLE_PAGES] += r->unreadable[i];
	}
	return err;
}

/* === Internals: putting together ========================================================== */

/* The next @count references of a lane. Chunks that are used up are freed. */
static void copy_refs(struct lane *lane, struct ks_heap_ref *to, u32 count)
{
	struct chunk *chunk;
	u32 n;

	while (count) {
		chunk = lane->first;
		n = ks_min(count, chunk->len - lane->at);
		memcpy(to, chunk->refs + lane->at, n * sizeof(*to));
		to += n;
		count -= n;
		lane->at += n;
		if (lane->at == CHUNK) {
			lane->first = chunk->next;
			lane->at = 0;
			munmap(chunk, sizeof(*chunk));
		}
	}
}

/* From numbers of references to the first of each object. */
static int add_up(struct ks_snapshot *s)
{
	u64 sum = 0;
	u32 i, count;

	for (i = 0; i <= s->count; i++) {
		count = s->ref_first[i];
		s->ref_first[i] = (u32)sum;
		sum += count;
	}
	if (sum > UINT32_MAX)
		return -EOVERFLOW;
	s->refs.items = malloc((size_t)sum * sizeof(*s->refs.items) + 1);
	s->refs.len = s->refs.cap = (size_t)sum;
	return s->refs.items ? 0 : -ENOMEM;
}

static void put_slab(struct reading *r, size_t slab)
{
	const struct ks_numbers *n = r->numbers;
	struct ks_snapshot *s = r->snapshot;
	u32 first = n->slots->first[slab], end = n->slots->first[slab + 1], from, to;

	if (r->owner[slab] == NOBODY || first == end)
		return;
	/* Objects of a slab have numbers in a row. */
	from = ks_number_of_slot(n, (u32)slab, first);
	to = ks_number_of_slot(n, (u32)slab, end - 1) + ks_slot_used(n->slots, end - 1);
	copy_refs(&r->slabs[r->owner[slab]], s->refs.items + s->ref_first[from],
		  s->ref_first[to] - s->ref_first[from]);
}

static int put_together(struct reading *r)
{
	const struct ks_pages *pages = r->taking->census->pages;
	struct ks_snapshot *s = r->snapshot;
	int err = add_up(s);
	size_t i;
	u32 object;

	for (i = 0; i < KS_WORKERS_MAX; i++)
		if (r->slabs[i].failed || r->large[i].failed)
			err = -ENOMEM;
	for (i = 0; !err && i < pages->slabs.len; i++)
		put_slab(r, i);
	for (i = 0; !err && i < pages->large.len; i++) {
		object = r->numbers->index->slabs[pages->slabs.len + i].base;
		copy_refs(&r->large[r->owner[pages->slabs.len + i]],
			  s->refs.items + s->ref_first[object],
			  s->ref_first[object + 1] - s->ref_first[object]);
	}
	return err;
}

static void free_lane(struct lane *lane)
{
	struct chunk *chunk = lane->first, *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		munmap(chunk, sizeof(*chunk));
	}
}

/* === Public =============================================================================== */

int ks_take_contents(struct ks_taking *t, bool graph, struct ks_diag *diag)
{
	size_t units = t->census->pages->slabs.len + t->census->pages->large.len, i;
	struct reading *r = calloc(1, sizeof(*r));
	u8 *owner = malloc(units + 1);
	int err = r && owner ? 0 : -ENOMEM;

	if (graph)
		t->snapshot->ref_first = calloc(t->snapshot->count + 1ul, sizeof(u32));
	if (graph && !t->snapshot->ref_first)
		err = -ENOMEM;
	if (!err) {
		memset(owner, NOBODY, units + 1);
		*r = (struct reading){ .taking = t,
				       .numbers = t->numbers,
				       .snapshot = t->snapshot,
				       .graph = graph,
				       .owner = owner };
		err = ks_slabs_walk(t->kernel, t->census, t->slots, NULL, read_slab, r, diag);
	}
	if (!err)
		err = walk_large(r, diag);
	for (i = 0; !err && i < t->census->pages->slabs.len; i++)
		if (owner[i] == NOBODY)
			t->snapshot->quality[KS_HEAP_UNREADABLE_PAGES] +=
				t->census->pages->slabs.items[i].objects
					? t->census->pages->slabs.items[i].pages
					: 0;
	if (!err && graph)
		err = put_together(r);
	for (i = 0; r && i < KS_WORKERS_MAX; i++) {
		free_lane(&r->slabs[i]);
		free_lane(&r->large[i]);
	}
	free(owner);
	free(r);
	return err;
}
