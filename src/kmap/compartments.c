// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A search for compartments: agglomerative, greedy. The gain of joining two is how many uses between them need no
 * mediation any more, over the privilege that each gets on the other's objects.
 */
#include "kmap/compartments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* === Data ================================================================================= */

/* How often code of one cluster uses objects of the other, both ways. */
struct link {
	u32 other;
	u64 uses;
};

struct cluster {
	KS_VEC(struct link) links;
	double instructions; /* that read or write */
	double data;	     /* bytes of its objects */
	u64 functions, uses; /* uses: of all its code, for its name */
	u32 joined;	     /* the cluster that it became part of; itself = none */
	u32 version;	     /* changes when the cluster does */
	u32 leader;	     /* its function with the most uses */
	u64 leader_uses;
};

/* A pair that might be joined, as it was when it was put here. */
struct pair {
	double gain;
	u32 a, b, version_a, version_b;
};

struct search {
	const struct ks_kmap_census *census;
	struct ks_kmap_places *places;
	struct ks_kmap_functions *functions;
	struct ks_kmap_search bounds;
	struct cluster
		*clusters; /* by function, and behind these one for each site that no code owns */
	u32 nr_clusters, left;	/* left: clusters that were not joined, and touch something */
	u32 *of_site;		/* the cluster that a site starts in */
	struct ks_map64 merged; /* scratch: links by their other end */
	KS_VEC(struct pair) heap;
};

/* === Internals: the heap ================================================================== */

/* The greatest gain first; equal ones by number, so that every run makes the same. */
static bool goes_first(const struct pair *x, const struct pair *y)
{
	if (x->gain != y->gain)
		return x->gain > y->gain;
	return x->a != y->a ? x->a < y->a : x->b < y->b;
}

static int push_pair(struct search *s, const struct pair *pair)
{
	size_t at = s->heap.len;

	if (!ks_vec_push(&s->heap))
		return -ENOMEM;
	for (; at && goes_first(pair, &s->heap.items[(at - 1) / 2]); at = (at - 1) / 2)
		s->heap.items[at] = s->heap.items[(at - 1) / 2];
	s->heap.items[at] = *pair;
	return 0;
}

static struct pair pop_pair(struct search *s)
{
	struct pair top = s->heap.items[0], last = s->heap.items[--s->heap.len];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < s->heap.len) {
		if (child + 1 < s->heap.len &&
		    goes_first(&s->heap.items[child + 1], &s->heap.items[child]))
			child++;
		if (!goes_first(&s->heap.items[child], &last))
			break;
		s->heap.items[at] = s->heap.items[child];
		at = child;
	}
	if (s->heap.len)
		s->heap.items[at] = last;
	return top;
}

/* === Internals: clusters ================================================================== */

static u32 root_of(const struct search *s, u32 cluster)
{
	while (s->clusters[cluster].joined != cluster)
		cluster = s->clusters[cluster].joined;
	return cluster;
}

static int offer(struct search *s, u32 a, u32 b, u64 uses)
{
	const struct cluster *x = &s->clusters[ks_min(a, b)], *y = &s->clusters[ks_max(a, b)];
	double added = x->instructions * y->data + y->instructions * x->data;
	struct pair pair = { (double)uses / (1 + added), ks_min(a, b), ks_max(a, b), x->version,
			     y->version };

	if (!uses || (s->bounds.size && x->functions + y->functions > s->bounds.size))
		return 0;
	return push_pair(s, &pair);
}

static int link_to(struct cluster *cluster, u32 other, u64 uses)
{
	struct link *link = ks_vec_push(&cluster->links);

	if (!link)
		return -ENOMEM;
	*link = (struct link){ other, uses };
	return 0;
}

/* Adds up the links of a cluster by where they lead now, and drops those that lead into it. */
static int tidy_links(struct search *s, u32 number)
{
	struct cluster *cluster = &s->clusters[number];
	size_t i, len = 0;

	ks_map64_clear(&s->merged);
	for (i = 0; i < cluster->links.len; i++) {
		struct link link = cluster->links.items[i];
		u32 at;

		link.other = root_of(s, link.other);
		if (link.other == number)
			continue;
		at = ks_map64_add(&s->merged, link.other);
		if (at == KS_NONE)
			return -ENOMEM;
		if (at < len)
			cluster->links.items[at].uses =
				ks_add_sat(cluster->links.items[at].uses, link.uses);
		else
			cluster->links.items[len++] = link;
	}
	cluster->links.len = len;
	return 0;
}

static int offer_all(struct search *s, u32 number)
{
	const struct cluster *cluster = &s->clusters[number];
	size_t i;

	for (i = 0; i < cluster->links.len; i++)
		if (offer(s, number, cluster->links.items[i].other, cluster->links.items[i].uses))
			return -ENOMEM;
	return 0;
}

static int join(struct search *s, u32 a, u32 b)
{
	struct cluster *to = &s->clusters[a], *from = &s->clusters[b];
	size_t i;

	for (i = 0; i < from->links.len; i++)
		if (link_to(to, from->links.items[i].other, from->links.items[i].uses))
			return -ENOMEM;
	ks_vec_free(&from->links);
	from->joined = a;
	to->version++;
	to->instructions += from->instructions;
	to->data += from->data;
	to->functions += from->functions;
	if (from->leader_uses > to->leader_uses) {
		to->leader = from->leader;
		to->leader_uses = from->leader_uses;
	}
	s->left--;
	return tidy_links(s, a) ? -ENOMEM : offer_all(s, a);
}

/* === Internals: the start and the end ===================================================== */

/* Objects belong to the function that allocates them; those of no code are clusters of their own. */
static void place_sites(struct search *s)
{
	size_t i;

	for (i = 0; i < s->census->sites.len; i++) {
		const struct ks_kmap_site *site = &s->census->sites.items[i];
		u32 code = ks_map64_find(&s->census->codes, site->ip);
		u32 function = ks_kmap_is_code(site->ip) && code != KS_NONE
				       ? s->functions->of_code[code]
				       : KS_NONE;

		s->of_site[i] = function != KS_NONE ? function : (u32)(s->functions->items.len + i);
		s->clusters[s->of_site[i]].data += ks_kmap_weight(s->census, site);
	}
}

static int link_all(struct search *s)
{
	size_t i;

	for (i = 0; i < s->census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &s->census->edges.items[i];
		u32 from = s->functions->of_code[edge->code], to = s->of_site[edge->site];
		u64 uses = ks_add_sat(edge->reads, edge->writes);

		if (from == KS_NONE || !uses)
			continue;
		s->clusters[from].uses = ks_add_sat(s->clusters[from].uses, uses);
		if (from != to && (link_to(&s->clusters[from], to, uses) ||
				   link_to(&s->clusters[to], from, uses)))
			return -ENOMEM;
	}
	return 0;
}

static int start(struct search *s)
{
	u32 i;

	s->nr_clusters = (u32)(s->functions->items.len + s->census->sites.len);
	s->clusters = calloc(s->nr_clusters + 1, sizeof(*s->clusters));
	s->of_site = calloc(s->census->sites.len + 1, sizeof(*s->of_site));
	if (!s->clusters || !s->of_site || ks_map64_init(&s->merged))
		return -ENOMEM;
	for (i = 0; i < s->nr_clusters; i++) {
		struct cluster *cluster = &s->clusters[i];

		cluster->joined = cluster->leader = i;
		if (i < s->functions->items.len) {
			const double *counts = s->functions->items.items[i].counts;

			cluster->functions = 1;
			cluster->instructions = counts[KS_CPM_READ] + counts[KS_CPM_WRITE];
		}
	}
	place_sites(s);
	if (link_all(s))
		return -ENOMEM;
	for (i = 0; i < s->nr_clusters; i++) {
		s->clusters[i].leader_uses = s->clusters[i].uses;
		s->left += s->clusters[i].links.len || s->clusters[i].uses;
		if (tidy_links(s, i) || offer_all(s, i))
			return -ENOMEM;
	}
	return 0;
}

/* What a compartment is called: a number for its place in the list, and its busiest function. */
static u32 name_of(struct search *s, u32 cluster)
{
	u32 leader = s->clusters[cluster].leader;
	const char *name;
	char text[400];

	if (leader < s->functions->items.len)
		name = ks_kmap_label(s->places,
				     s->functions->items.items[leader].labels[KS_KMAP_FUNCTION]);
	else
		name = ks_kmap_label(
			s->places,
			s->places->sites[leader - s->functions->items.len][KS_KMAP_SITE]);
	snprintf(text, sizeof(text), "%u:%s", cluster, name);
	return ks_intern_add(&s->places->labels, text, strlen(text));
}

static int label_all(struct search *s)
{
	u32 *names = calloc(s->nr_clusters + 1, sizeof(*names));
	bool failed = !names;
	size_t i;

	for (i = 0; !failed && i < s->nr_clusters; i++) {
		const struct cluster *cluster = &s->clusters[i];

		names[i] = KS_NONE;
		/* What touches nothing, and is touched by nothing, is no compartment. */
		if (cluster->joined == i &&
		    (cluster->uses || cluster->links.len || cluster->data > 0)) {
			names[i] = name_of(s, (u32)i);
			failed = names[i] == KS_NONE;
		}
	}
	for (i = 0; !failed && i < s->functions->items.len; i++) {
		u32 name = names[root_of(s, (u32)i)];

		if (name != KS_NONE)
			s->functions->items.items[i].labels[KS_KMAP_COMPARTMENT] = name;
	}
	for (i = 0; !failed && i < s->census->codes.keys.len; i++) {
		u32 function = s->functions->of_code[i];

		if (function != KS_NONE)
			s->places->codes[i][KS_KMAP_COMPARTMENT] =
				s->functions->items.items[function].labels[KS_KMAP_COMPARTMENT];
	}
	for (i = 0; !failed && i < s->census->sites.len; i++) {
		u32 name = names[root_of(s, s->of_site[i])];

		if (name != KS_NONE)
			s->places->sites[i][KS_KMAP_COMPARTMENT] = name;
	}
	s->places->has_cut = true;
	free(names);
	return failed ? -ENOMEM : 0;
}

static int run(struct search *s)
{
	while (s->heap.len && (!s->bounds.number || s->left > s->bounds.number)) {
		struct pair pair = pop_pair(s);

		if (s->clusters[pair.a].joined != pair.a || s->clusters[pair.b].joined != pair.b ||
		    s->clusters[pair.a].version != pair.version_a ||
		    s->clusters[pair.b].version != pair.version_b)
			continue;
		if (join(s, pair.a, pair.b))
			return -ENOMEM;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_search(const struct ks_kmap_census *census, struct ks_kmap_places *places,
		   struct ks_kmap_functions *functions, const struct ks_kmap_search *search)
{
	struct search s = {
		.census = census, .places = places, .functions = functions, .bounds = *search
	};
	int err = start(&s);
	u32 i;

	if (!err)
		err = run(&s);
	if (!err)
		err = label_all(&s);
	for (i = 0; s.clusters && i < s.nr_clusters; i++)
		ks_vec_free(&s.clusters[i].links);
	ks_vec_free(&s.heap);
	ks_map64_deinit(&s.merged);
	free(s.clusters);
	free(s.of_site);
	return err;
}
