/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Which pages hold slab objects. When the kernel gives such a page back, or hands it out anew, no object in
 * it lives any more, whether or not its free raised an event.
 *
 * Slab events have addresses and page events have frame numbers. What lies between them is where the kernel
 * maps its memory, which differs from boot to boot. It is found from the events themselves: a slab that needs
 * a page takes its first object from it, so an allocation of a page is often followed, on the same CPU and in
 * the same task, by that of an object in it.
 */
#ifndef KS_ANALYSIS_SLAB_PAGES_H
#define KS_ANALYSIS_SLAB_PAGES_H

#include "base/types.h"
#include "trace/event.h"

enum { KS_SLAB_PAGES_CPUS = 64, KS_SLAB_PAGES_GUESSES = 16 };

/* The last page that a CPU allocated; the next object of its task may be in it. */
struct ks_taken_page {
	u64 frame, pages;
	u32 pid;
	u16 cpu;
};

/* Where memory may be mapped. */
struct ks_page_guess {
	u64 first;	/* the number of the page that frame 0 is mapped to */
	u64 last_frame; /* that spoke for it */
	u32 votes;
};

struct ks_slab_pages {
	bool on;    /* there are page events */
	bool nomem; /* the table could not grow */
	u32 shift;  /* the size of a page, as a power of two */

	/*
	 * By page, from @origin on: 0 if nobody was seen to allocate there, else 32 less the power of two that
	 * the addresses of all objects in it are multiples of. So few addresses have to be looked at.
	 */
	u8 *grain;
	u64 origin, len;

	bool mapped; /* first is known */
	u64 first;   /* the number of the page that frame 0 is mapped to */
	struct ks_taken_page taken[KS_SLAB_PAGES_CPUS]; /* by CPU, modulo their number */
	u64 fresh; /* a bit for each of these: no object of its task was allocated since */
	struct ks_page_guess guesses[KS_SLAB_PAGES_GUESSES];
	u32 next_guess;
};

void ks_slab_pages_deinit(struct ks_slab_pages *pages);

/* There are page events from now on. */
void ks_slab_pages_start(struct ks_slab_pages *pages, u32 page_shift);

_Static_assert(KS_SLAB_PAGES_CPUS == 64, "a bit for each");

/* An object was allocated; what is rare. Without an event, only its address is noted. */
void ks_slab_pages_add_slowly(struct ks_slab_pages *pages, u64 ptr, const struct ks_event *ev);

/* A page was allocated, as long as the mapping is not known. */
void ks_slab_pages_taken(struct ks_slab_pages *pages, const struct ks_event *ev);

static inline u8 ks_slab_pages_grain_of(const struct ks_slab_pages *pages, u64 ptr)
{
	return (u8)(32 - __builtin_ctzll(ptr | 1ull << pages->shift));
}

/* An object was allocated. Inline, as it runs for each. */
ks_inline void ks_slab_pages_add(struct ks_slab_pages *pages, const struct ks_event *ev)
{
	u64 at = (ev->ptr >> pages->shift) - pages->origin;
	u8 grain;

	if (!pages->on)
		return;
	if (unlikely(at >= pages->len || pages->fresh >> ev->cpu % KS_SLAB_PAGES_CPUS & 1)) {
		ks_slab_pages_add_slowly(pages, ev->ptr, ev);
		return;
	}
	grain = ks_slab_pages_grain_of(pages, ev->ptr);
	if (pages->grain[at] < grain)
		pages->grain[at] = grain;
}

/*
 * Whether objects were seen in the page of a frame since the last call for it: then where it begins, and
 * how far apart their addresses are.
 */
ks_inline bool ks_slab_pages_take(struct ks_slab_pages *pages, u64 frame, u64 *ret_begin,
				  u64 *ret_step)
{
	u64 page = frame + pages->first, at = page - pages->origin;

	if (at >= pages->len || !pages->grain[at])
		return false;
	*ret_begin = page << pages->shift;
	*ret_step = 1ull << (32 - pages->grain[at]);
	pages->grain[at] = 0;
	return true;
}

#endif
