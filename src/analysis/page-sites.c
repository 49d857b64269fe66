// SPDX-License-Identifier: LGPL-2.1-only
/* Where pages are allocated. */
#include "analysis/page-sites.h"

#include <string.h>

#include "base/strbuf.h"

/* === Internals ============================================================================ */

static bool is_passed_over(const struct ks_page_sites *sites, const struct ks_place *place,
			   const struct ks_site *frame)
{
	return !*place->func || frame->tracer ||
	       (sites->helpers && ks_helpers_has(sites->helpers, place->func, strlen(place->func)));
}

/* The site of the first frame that is worth one; KS_NONE where no frame is. */
static int site_of_stack(struct ks_page_sites *sites, u32 stack, u32 *ret_site,
			 struct ks_diag *diag)
{
	size_t len, i;
	const u32 *ids = ks_names_stack(sites->names, stack, &len);

	*ret_site = KS_NONE;
	for (i = 0; i < len; i++) {
		const struct ks_site *frame = ks_sites_get(&sites->names->frames, ids[i]);
		const struct ks_place *place;
		int err = ks_places_get(sites->frames, ids[i], &place, diag);

		if (err)
			return err;
		if (is_passed_over(sites, place, frame))
			continue;
		*ret_site = frame->addr ? ks_sites_add_addr(&sites->names->sites, frame->addr,
							    frame->text, strlen(frame->text))
					: ks_sites_add(&sites->names->sites, frame->text,
						       strlen(frame->text));
		return *ret_site == KS_NONE ? ks_diag_nomem(diag, "placing pages") : 0;
	}
	return 0;
}

/* "no stack: GFP_KERNEL|__GFP_ZERO" */
static int site_of_gfp(struct ks_page_sites *sites, u32 gfp, u32 *ret_site, struct ks_diag *diag)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_strbuf_puts(&text, "no stack");
	if (gfp < sites->names->gfps.strs.len)
		ks_strbuf_printf(&text, ": %s", ks_intern_get(&sites->names->gfps, gfp).s);
	*ret_site = text.failed ? KS_NONE
				: ks_sites_add_label(&sites->names->sites, text.s, text.len);
	ks_strbuf_deinit(&text);
	return *ret_site == KS_NONE ? ks_diag_nomem(diag, "placing pages") : 0;
}

static int site_of(struct ks_page_sites *sites, u32 stack, u32 gfp, u32 *ret_site,
		   struct ks_diag *diag)
{
	u32 *known;
	int err = 0;

	while (sites->by_stack.len <= (u32)(stack + 1))
		if (!ks_vec_push(&sites->by_stack))
			return ks_diag_nomem(diag, "placing pages");
	known = &sites->by_stack.items[(u32)(stack + 1)];
	if (!*known) {
		err = site_of_stack(sites, stack, ret_site, diag);
		*known = *ret_site == KS_NONE ? KS_NONE : *ret_site + 1;
	}
	if (err || *known != KS_NONE) {
		*ret_site = *known - 1;
		return err;
	}
	sites->guessed = true;
	while (sites->by_gfp.len <= (u32)(gfp + 1))
		if (!ks_vec_push(&sites->by_gfp))
			return ks_diag_nomem(diag, "placing pages");
	known = &sites->by_gfp.items[(u32)(gfp + 1)];
	if (!*known) {
		err = site_of_gfp(sites, gfp, ret_site, diag);
		*known = err ? 0 : *ret_site + 1;
	}
	*ret_site = *known - 1;
	return err;
}

/* === Public =============================================================================== */

void ks_page_sites_deinit(struct ks_page_sites *sites)
{
	ks_vec_free(&sites->by_stack);
	ks_vec_free(&sites->by_gfp);
	ks_vec_free(&sites->copy);
}

int ks_page_sites_of_events(struct ks_page_sites *sites, const struct ks_event *events,
			    size_t count, const struct ks_event **ret_events, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	if (!count || ks_vec_reserve(&sites->copy, count)) {
		*ret_events = events;
		return count ? ks_diag_nomem(diag, "placing pages") : 0;
	}
	memcpy(sites->copy.items, events, count * sizeof(*events));
	for (i = 0; i < count && !err; i++) {
		struct ks_event *ev = &sites->copy.items[i];

		if (ev->kind == KS_PAGE_ALLOC && ev->site == KS_NONE)
			err = site_of(sites, ev->stack, ev->gfp, &ev->site, diag);
	}
	*ret_events = sites->copy.items;
	return err;
}

int ks_page_sites_of_shapes(struct ks_page_sites *sites, struct ks_db_shape *shapes, u32 len,
			    struct ks_diag *diag)
{
	u32 i;
	int err = 0;

	for (i = 0; i < len && !err; i++)
		if (shapes[i].kind == KS_PAGE_ALLOC && shapes[i].site == KS_NONE)
			err = site_of(sites, shapes[i].stack, shapes[i].gfp, &shapes[i].site, diag);
	return err;
}
