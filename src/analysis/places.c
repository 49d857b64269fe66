// SPDX-License-Identifier: LGPL-2.1-only
/* Where call sites are. */
#include "analysis/places.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

/* === Internals ============================================================================ */

static const char *keep(struct ks_places *places, const char *s)
{
	return s && *s ? ks_arena_strndup(&places->arena, s, strlen(s)) : "";
}

/* "func+0xoff [module]"; where there is no function, what the trace says. */
static const char *make_label(struct ks_places *places, const struct ks_site *site,
			      const struct ks_place *place)
{
	struct ks_strbuf sb;
	const char *label;

	ks_strbuf_init(&sb);
	if (*place->func)
		ks_strbuf_printf(&sb, "%s+0x%llx", place->func, (unsigned long long)place->offset);
	else if (site->addr)
		ks_strbuf_printf(&sb, "0x%llx", (unsigned long long)site->addr);
	else
		ks_strbuf_puts(&sb, *site->text ? site->text : "unknown");
	if (*place->module)
		ks_strbuf_printf(&sb, " [%s]", place->module);
	label = sb.failed ? NULL : ks_arena_strndup(&places->arena, sb.s, sb.len);
	ks_strbuf_deinit(&sb);
	return label;
}

static int resolve(struct ks_places *places, u32 id, struct ks_place *ret, struct ks_diag *diag)
{
	const struct ks_site *site = ks_sites_get(places->sites, id);
	struct ks_sym_query query = {
		.func = site->func,
		.module = site->module,
		.offset = site->offset,
		.extent = site->extent,
		.addr = site->addr,
	};
	struct ks_sym_place found = {
		.func = site->func,
		.owner = site->func,
		.module = site->module,
		.offset = site->offset,
		.inlined = "",
	};
	struct ks_place place = { .known = true };

	if (places->resolver) {
		int err = ks_resolver_lookup(places->resolver, &query, &found, diag);

		if (err)
			return err;
	}
	place.func = keep(places, found.func);
	place.owner = keep(places, found.owner);
	place.module = keep(places, found.module);
	place.path = keep(places, found.path);
	place.inlined = keep(places, found.inlined);
	/* What stands for a site has a text alone. */
	if (!*place.owner && !site->addr)
		place.owner = keep(places, site->text);
	place.offset = found.offset;
	if (!place.func || !place.owner || !place.module || !place.path || !place.inlined)
		return ks_diag_nomem(diag, "placing call sites");
	place.label = make_label(places, site, &place);
	if (!place.label)
		return ks_diag_nomem(diag, "placing call sites");
	place.in_branch = !places->branch ||
			  (*place.path && ks_path_in_branch(place.path, places->branch));
	*ret = place;
	return 0;
}

/* === Public =============================================================================== */

void ks_places_init(struct ks_places *places, const struct ks_sites *sites,
		    struct ks_resolver *resolver, const char *branch)
{
	memset(places, 0, sizeof(*places));
	places->sites = sites;
	places->resolver = resolver;
	places->branch = branch;
	ks_arena_init(&places->arena);
	places->unknown = (struct ks_place){
		.label = "unknown",
		.func = "",
		.owner = "",
		.module = "",
		.path = "",
		.inlined = "",
		.known = true,
		.in_branch = !branch,
	};
}

void ks_places_deinit(struct ks_places *places)
{
	ks_vec_free(&places->places);
	ks_arena_deinit(&places->arena);
}

int ks_places_get(struct ks_places *places, u32 site, const struct ks_place **ret_place,
		  struct ks_diag *diag)
{
	struct ks_place *place;
	int err = 0;

	if (site == KS_NONE) {
		*ret_place = &places->unknown;
		return 0;
	}
	while (places->places.len <= site)
		if (!ks_vec_push(&places->places))
			return ks_diag_nomem(diag, "placing call sites");
	place = &places->places.items[site];
	if (!place->known)
		err = resolve(places, site, place, diag);
	if (!err)
		*ret_place = place;
	return err;
}
