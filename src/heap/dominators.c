// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The algorithm of Lengauer and Tarjan with path compression, without recursion. All of it works on the numbers of a
 * depth-first search, so that who is above whom is a comparison.
 */
#include "heap/dominators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

/* Of a node: whether one of a set is at it or above it. */
enum { STATE_UNKNOWN, STATE_NO, STATE_YES };

struct tree {
	const struct ks_snapshot *snapshot;
	u32 first_object, nodes;
	u32 count;   /* nodes that the search came to */
	u32 *vertex; /* by number: the node */
	u32 *number; /* by node */
	u32 *parent;
	/*
	 * Edges backwards, by number, without those from the parent: those of i are in [first[i], first[i + 1]). The places
	 * of nodes that are in trees have who is above them; until that is known, the next in the same bucket.
	 */
	u32 *first, *preds;
	/* the algorithm's own */
	u32 *semi;
	u32 *label; /* of nodes that are not in trees yet: the first in their bucket, which is empty when they are */
	u32 linked; /* nodes from this number on are in trees; their parent is then any node above */
};

/* The edges of a node. */
struct edges {
	const struct ks_heap_ref *refs; /* NULL: of the node that stands for all roots */
	u32 count;
};

/* === Internals: the graph as nodes ======================================================== */

static struct edges edges_of(const struct tree *t, u32 node)
{
	const struct ks_snapshot *s = t->snapshot;
	const struct ks_heap_ref *refs = s->refs.items;
	const u32 *first = s->ref_first;
	u32 i = node - t->first_object, count;

	if (!node)
		return (struct edges){ NULL, t->first_object - 1 };
	if (node < t->first_object) {
		i = node - 1;
		refs = s->root_refs.items;
		first = s->root_first;
	}
	count = first[i + 1] - first[i];
	return (struct edges){ count ? refs + first[i] : NULL, count };
}

static u32 edge(const struct tree *t, const struct edges *edges, u32 i)
{
	return edges->refs ? edges->refs[i].to + t->first_object : i + 1;
}

static void arrive(struct tree *t, u32 node, u32 parent)
{
	t->number[node] = t->count;
	t->vertex[t->count] = node;
	t->parent[t->count++] = parent;
}

/* Numbers all nodes. @done has for each node on the way how many of its edges are done. */
static void number_nodes(struct tree *t)
{
	u32 *stack = t->semi, *done = t->first; /* which are not needed yet */
	u32 depth = 1, node, to;
	struct edges edges;

	memset(t->number, 0xff, t->nodes * sizeof(*t->number));
	arrive(t, 0, 0);
	stack[0] = 0;
	done[0] = 0;
	while (depth) {
		node = stack[depth - 1];
		edges = edges_of(t, node);
		to = KS_NONE;
		while (done[node] < edges.count) {
			to = edge(t, &edges, done[node]++);
			if (t->number[to] == KS_NONE)
				break;
			to = KS_NONE;
		}
		if (to == KS_NONE) {
			depth--;
			continue;
		}
		arrive(t, to, t->number[node]);
		done[to] = 0;
		stack[depth++] = to;
	}
}

/*
 * Whether the edge from number @from counts: the way from the parent is known anyway, and one of several edges between the
 * same two will do. @last has for each number who had an edge to it last.
 */
static bool counts(const struct tree *t, u32 *last, u32 from, u32 to)
{
	bool known = last[to] == from || t->parent[to] == from || to == from;

	last[to] = from;
	return !known;
}

/* Sorts the edges by where they lead to. */
static int turn_edges(struct tree *t)
{
	u32 *last = t->semi; /* which is not needed yet */
	struct edges edges;
	u32 i, k, to;
	u64 sum = 0;

	memset(t->first, 0, (t->count + 1ul) * sizeof(*t->first));
	memset(last, 0xff, t->count * sizeof(*last));
	for (i = 0; i < t->count; i++) {
		edges = edges_of(t, t->vertex[i]);
		for (k = 0; k < edges.count; k++) {
			to = t->number[edge(t, &edges, k)];
			t->first[to] += counts(t, last, i, to);
		}
	}
	for (i = 0; i < t->count; i++) {
		sum += t->first[i];
		t->first[i] = (u32)sum; /* the end; filling goes down to the beginning */
	}
	t->first[t->count] = (u32)sum;
	if (sum > UINT32_MAX)
		return -EOVERFLOW;
	t->preds = ks_array_new(sum + 1, sizeof(*t->preds));
	if (!t->preds)
		return -ENOMEM;
	memset(last, 0xff, t->count * sizeof(*last));
	for (i = 0; i < t->count; i++) {
		edges = edges_of(t, t->vertex[i]);
		for (k = 0; k < edges.count; k++) {
			to = t->number[edge(t, &edges, k)];
			if (counts(t, last, i, to))
				t->preds[--t->first[to]] = i;
		}
	}
	return 0;
}

/* === Internals: dominators ================================================================ */

/*
 * Makes the way from @v up to the top of its tree short; the best label on it moves down. On the way up, each node notes
 * in place of its parent whom the way came from, so that it needs no memory.
 */
static void compress(struct tree *t, u32 v)
{
	u32 below = KS_NONE, up;

	while (t->parent[v] >= t->linked) {
		up = t->parent[v];
		t->parent[v] = below;
		below = v;
		v = up;
	}
	for (up = v; below != KS_NONE; up = v) {
		v = below;
		below = t->parent[v];
		if (t->semi[t->label[up]] < t->semi[t->label[v]])
			t->label[v] = t->label[up];
		t->parent[v] = t->parent[up];
	}
}

static u32 eval(struct tree *t, u32 v)
{
	if (v < t->linked)
		return v;
	compress(t, v);
	return t->label[v];
}

static void empty_bucket(struct tree *t, u32 parent)
{
	u32 *above = t->first, v, next, best;

	for (v = t->label[parent]; v != KS_NONE; v = next) {
		next = above[v];
		best = eval(t, v);
		above[v] = t->semi[best] < t->semi[v] ? best : parent;
	}
	t->label[parent] = KS_NONE;
}

static void find_dominators(struct tree *t)
{
	u32 *above = t->first, end = t->first[t->count], i, k, best;

	for (i = 0; i < t->count; i++) {
		t->semi[i] = i;
		t->label[i] = KS_NONE;
	}
	t->linked = t->count;
	for (i = t->count - 1; i > 0; i--) {
		t->semi[i] = t->parent[i];
		for (k = t->first[i]; k < end; k++) {
			best = eval(t, t->preds[k]);
			t->semi[i] = ks_min(t->semi[i], t->semi[best]);
		}
		end = t->first[i];
		above[i] = t->label[t->semi[i]];
		t->label[t->semi[i]] = i;
		t->label[i] = i;
		t->linked = i;
		empty_bucket(t, t->parent[i]);
	}
	above[0] = 0;
	for (i = 1; i < t->count; i++)
		if (above[i] != t->semi[i])
			above[i] = above[above[i]];
}

static u64 size_of(const struct tree *t, u32 node)
{
	const struct ks_snapshot *s = t->snapshot;

	return node < t->first_object ? 0 : s->caches.items[s->cache[node - t->first_object]].size;
}

/* Results are by node. */
static void put_result(const struct tree *t, struct ks_dominators *d)
{
	u32 i, node;

	memset(d->above, 0xff, t->nodes * sizeof(*d->above));
	for (i = t->count; i-- > 0;) {
		node = t->vertex[i];
		d->above[node] = t->vertex[t->first[i]];
		d->retained[node] += size_of(t, node);
		if (i)
			d->retained[d->above[node]] += d->retained[node];
	}
	/* What no root leads to would be free without itself, and who knows what else. */
	for (node = t->first_object; node < t->nodes; node++)
		if (d->above[node] == KS_NONE)
			d->retained[node] = size_of(t, node);
}

static int make_arrays(struct tree *t)
{
	u32 **arrays[] = { &t->vertex, &t->number, &t->parent, &t->first, &t->semi };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(arrays); i++) {
		*arrays[i] = malloc((t->nodes + 1ul) * sizeof(u32));
		if (!*arrays[i])
			return -ENOMEM;
	}
	return 0;
}

/* All that the result is not made from. */
static void free_tools(struct tree *t)
{
	free(t->number);
	free(t->parent);
	free(t->preds);
	free(t->semi);
	free(t->label);
}

/* === Internals: sets ====================================================================== */

static bool in_set(const struct ks_dominators *d, const u64 *set, u32 node)
{
	u32 object = node - d->first_object;

	return node >= d->first_object && set[object / 64] >> object % 64 & 1;
}

/*
 * The way up is walked twice, the first time to count members of the set, the second time to note what was found, so
 * that no part of it is walked again.
 */
static u8 find_state(const struct ks_dominators *d, const u64 *set, u8 *states, u32 node)
{
	u32 members = 0, at;
	u8 top;

	for (at = node; !states[at]; at = d->above[at])
		members += in_set(d, set, at);
	top = states[at];
	for (at = node; !states[at]; at = d->above[at]) {
		states[at] = members || top == STATE_YES ? STATE_YES : STATE_NO;
		members -= in_set(d, set, at);
	}
	return states[node];
}

/* === Public =============================================================================== */

int ks_dominators_find(const struct ks_snapshot *snapshot, struct ks_dominators **ret_dominators,
		       struct ks_diag *diag)
{
	struct tree t = { .snapshot = snapshot };
	struct ks_dominators *d;
	int err = 0;

	if (!snapshot->ref_first)
		return ks_diag_set(diag, KS_EBADINPUT, "this snapshot has no references");
	if (snapshot->count + 1ull + snapshot->roots.len >= KS_NONE)
		return ks_diag_set(diag, -EOVERFLOW, "too many objects");
	t.first_object = (u32)snapshot->roots.len + 1;
	t.nodes = t.first_object + snapshot->count;
	d = calloc(1, sizeof(*d));
	if (!d || make_arrays(&t))
		err = -ENOMEM;
	if (!err) {
		number_nodes(&t);
		err = turn_edges(&t);
	}
	if (!err) {
		free(t.number);
		t.number = NULL;
		t.label = malloc((t.nodes + 1ul) * sizeof(*t.label));
		err = t.label ? 0 : -ENOMEM;
	}
	if (!err) {
		find_dominators(&t);
		free_tools(&t);
		t = (struct tree){ .snapshot = snapshot,
				   .first_object = t.first_object,
				   .nodes = t.nodes,
				   .count = t.count,
				   .vertex = t.vertex,
				   .first = t.first };
		d->nodes = t.nodes;
		d->first_object = t.first_object;
		d->above = malloc((t.nodes + 1ul) * sizeof(*d->above));
		d->retained = calloc(t.nodes + 1ul, sizeof(*d->retained));
		err = d->above && d->retained ? 0 : -ENOMEM;
	}
	if (!err) {
		put_result(&t, d);
		d->order = t.vertex;
		d->reached = t.count;
		t.vertex = NULL;
	}
	free_tools(&t);
	free(t.vertex);
	free(t.first);
	if (err) {
		ks_dominators_free(d);
		return ks_diag_nomem(diag, "finding dominators");
	}
	*ret_dominators = d;
	return 0;
}

void ks_dominators_free(struct ks_dominators *d)
{
	if (!d)
		return;
	free(d->above);
	free(d->retained);
	free(d->order);
	free(d);
}

int ks_dominators_of_set(const struct ks_dominators *d, const u64 *set, u64 *ret_bytes)
{
	u8 *states = calloc(d->nodes + 1ul, 1);
	u64 bytes = 0;
	u32 node;

	if (!states)
		return -ENOMEM;
	states[0] = STATE_NO;
	for (node = d->first_object; node < d->nodes; node++)
		if (in_set(d, set, node) &&
		    (d->above[node] == KS_NONE ||
		     find_state(d, set, states, d->above[node]) == STATE_NO))
			bytes += d->retained[node];
	free(states);
	*ret_bytes = bytes;
	return 0;
}

int ks_dominators_culprit(const struct ks_dominators *d, const struct ks_snapshot *s,
			  const u64 *set, u32 *ret_node, u64 *ret_bytes)
{
	u64 *bytes = calloc(d->nodes + 1ul, sizeof(*bytes));
	u32 i, node, culprit = 0;

	if (!bytes)
		return -ENOMEM;
	for (i = d->reached; i-- > 1;) {
		node = d->order[i];
		if (in_set(d, set, node))
			bytes[node] += s->caches.items[s->cache[node - d->first_object]].size;
		bytes[d->above[node]] += bytes[node];
	}
	/* Those that hold more than half are above one another: the last is the lowest. */
	for (i = 1; i < d->reached; i++) {
		node = d->order[i];
		if (bytes[node] > bytes[0] / 2 && !in_set(d, set, node))
			culprit = node;
	}
	*ret_node = culprit;
	*ret_bytes = bytes[culprit];
	free(bytes);
	return 0;
}
