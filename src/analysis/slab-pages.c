// SPDX-License-Identifier: LGPL-2.1-only
/* Which pages hold slab objects. */
#include "analysis/slab-pages.h"

#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum {
	CHUNK = 1 << 18,   /* pages; the table begins and ends at multiples of it */
	MAX_LEN = 1 << 28, /* pages, 1 TiB of memory; objects farther apart are not looked for */
	/* Every architecture maps memory in larger pieces, and by chance so few guesses are multiples of it. */
	ALIGNMENT = 1 << 9,
	VOTES = 8,
	LEAD = 4, /* and this many times as many as any other guess */
};

/* === Internals ============================================================================ */

/* Makes the table reach to this page. False where it can't. */
static bool reach(struct ks_slab_pages *pages, u64 page)
{
	u64 begin = page & -(u64)CHUNK, end = begin + CHUNK;
	u8 *grain;

	if (pages->len) {
		begin = ks_min(begin, pages->origin);
		end = ks_max(end, pages->origin + pages->len);
	}
	if (end - begin > MAX_LEN)
		return false;
	grain = calloc((size_t)(end - begin), 1);
	if (!grain) {
		pages->nomem = true;
		return false;
	}
	if (pages->len)
		memcpy(grain + (pages->origin - begin), pages->grain, (size_t)pages->len);
	free(pages->grain);
	pages->grain = grain;
	pages->origin = begin;
	pages->len = end - begin;
	return true;
}

/* The guess with most votes leads where no other comes near it. */
static bool leads(const struct ks_slab_pages *pages, const struct ks_page_guess *guess)
{
	u32 i;

	if (guess->votes < VOTES)
		return false;
	for (i = 0; i < KS_SLAB_PAGES_GUESSES; i++)
		if (&pages->guesses[i] != guess && pages->guesses[i].votes * LEAD > guess->votes)
			return false;
	return true;
}

/* The guess, or the place of one that has hardly any votes. */
static struct ks_page_guess *guess_of(struct ks_slab_pages *pages, u64 first)
{
	struct ks_page_guess *guess;
	u32 i;

	for (i = 0; i < KS_SLAB_PAGES_GUESSES; i++)
		if (pages->guesses[i].votes && pages->guesses[i].first == first)
			return &pages->guesses[i];
	for (i = 0; i < KS_SLAB_PAGES_GUESSES; i++) {
		guess = &pages->guesses[pages->next_guess++ % KS_SLAB_PAGES_GUESSES];
		if (guess->votes < 2) {
			*guess = (struct ks_page_guess){ .first = first, .last_frame = UINT64_MAX };
			return guess;
		}
	}
	return NULL;
}

/*
 * The object may be in the page that its task has just taken. Pages of a slab are a power of two, and begin
 * at a multiple of their number. Frames that repeat say nothing new.
 */
static void vote(struct ks_slab_pages *pages, const struct ks_event *ev)
{
	const struct ks_taken_page *taken = &pages->taken[ev->cpu % KS_SLAB_PAGES_CPUS];
	u64 bit = 1ull << ev->cpu % KS_SLAB_PAGES_CPUS, first;
	struct ks_page_guess *guess;

	if (!(pages->fresh & bit) || taken->cpu != ev->cpu || taken->pid != ev->pid)
		return;
	pages->fresh &= ~bit;
	first = (ev->ptr >> pages->shift & -taken->pages) - taken->frame;
	if (first % ALIGNMENT)
		return;
	guess = guess_of(pages, first);
	if (!guess || guess->last_frame == taken->frame)
		return;
	guess->last_frame = taken->frame;
	guess->votes++;
	if (!leads(pages, guess))
		return;
	pages->mapped = true;
	pages->first = guess->first;
	pages->fresh = 0;
}

/* === Public =============================================================================== */

void ks_slab_pages_deinit(struct ks_slab_pages *pages)
{
	free(pages->grain);
	pages->grain = NULL;
}

void ks_slab_pages_start(struct ks_slab_pages *pages, u32 page_shift)
{
	pages->on = true;
	pages->shift = page_shift ? page_shift : KS_PAGE_SHIFT;
}

void ks_slab_pages_add_slowly(struct ks_slab_pages *pages, u64 ptr, const struct ks_event *ev)
{
	u64 page = ptr >> pages->shift;
	u8 grain = ks_slab_pages_grain_of(pages, ptr);

	if (page - pages->origin >= pages->len && !reach(pages, page))
		return;
	if (pages->grain[page - pages->origin] < grain)
		pages->grain[page - pages->origin] = grain;
	if (ev && !pages->mapped)
		vote(pages, ev);
}

void ks_slab_pages_taken(struct ks_slab_pages *pages, const struct ks_event *ev)
{
	if (pages->mapped || ev->cpu == KS_CPU_UNKNOWN)
		return;
	pages->taken[ev->cpu % KS_SLAB_PAGES_CPUS] = (struct ks_taken_page){
		.frame = ev->ptr,
		.pages = ks_max(ev->bytes_alloc >> pages->shift, 1ull),
		.pid = ev->pid,
		.cpu = ev->cpu,
	};
	pages->fresh |= 1ull << ev->cpu % KS_SLAB_PAGES_CPUS;
}
