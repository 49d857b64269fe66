// SPDX-License-Identifier: GPL-2.0-only
/* Makes snapshots from lines. */
#include "heap/made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum { WORDS = 12 };

struct edge {
	u64 from, to; /* addresses; of a root: its number */
	u64 at, inside;
};

struct object {
	u64 addr;
	u32 cache, type, checksum;
	u16 cgroup;
	u8 known_by;
};

struct making {
	struct ks_snapshot *s;
	char *words[WORDS];
	int count;
	bool graph;
	KS_VEC(struct object) objects;
	KS_VEC(struct edge) refs;
	KS_VEC(struct edge) root_refs;
};

/* === Internals ============================================================================ */

static void need(bool ok)
{
	if (!ok)
		abort(); /* of memory, which tests have enough of */
}

static u64 number(const struct making *m, int word)
{
	return word < m->count ? strtoull(m->words[word], NULL, 0) : 0;
}

/* The text of a word: "-" is nothing. */
static const char *text(struct making *m, int word)
{
	const char *from = word < m->count ? m->words[word] : "-";
	const char *copy = ks_arena_strndup(&m->s->arena, from, strlen(from));

	need(copy);
	return strcmp(copy, "-") ? copy : "";
}

static u32 cache_of(const struct making *m, int word)
{
	u32 i;

	for (i = 0; i < m->s->caches.len; i++)
		if (word < m->count && !strcmp(m->s->caches.items[i].name, m->words[word]))
			return i;
	return KS_NONE;
}

static u32 type_of(const struct making *m, int word)
{
	u32 i;

	for (i = 0; i < m->s->types.len; i++)
		if (word < m->count && !strcmp(m->s->types.items[i].name, m->words[word]))
			return i;
	return KS_NONE;
}

static bool add_cache(struct making *m)
{
	struct ks_heap_cache *cache = ks_vec_push(&m->s->caches);
	int i;

	need(cache);
	cache->name = text(m, 1);
	cache->size = (u32)number(m, 2);
	cache->object_size = (u32)number(m, 3);
	cache->slabinfo = UINT64_MAX;
	for (i = 4; i < m->count; i++) {
		cache->reclaimable |= !strcmp(m->words[i], "reclaimable");
		cache->large |= !strcmp(m->words[i], "large");
	}
	return m->count >= 4;
}

static bool add_census(struct making *m)
{
	u32 number_of = cache_of(m, 1);
	struct ks_heap_cache *cache;

	if (number_of == KS_NONE || m->count < 6)
		return false;
	cache = &m->s->caches.items[number_of];
	cache->census.slabs = number(m, 2);
	cache->census.pages = number(m, 3);
	cache->census.waiting[KS_WAITING_SHEAF] = number(m, 4);
	cache->slabinfo = number(m, 5);
	return true;
}

static bool add_merged(struct making *m)
{
	u32 number_of = cache_of(m, 1);
	struct ks_heap_cache *cache;
	const char **names;

	if (number_of == KS_NONE || m->count < 3)
		return false;
	cache = &m->s->caches.items[number_of];
	names = ks_arena_alloc(&m->s->arena, (cache->nr_merged + 1) * sizeof(*names));
	need(names);
	if (cache->nr_merged)
		memcpy(names, cache->merged, cache->nr_merged * sizeof(*names));
	names[cache->nr_merged++] = text(m, 2);
	cache->merged = names;
	return true;
}

static bool add_type(struct making *m, const char *name, u32 size)
{
	struct ks_heap_type *type = ks_vec_push(&m->s->types);

	need(type);
	*type = (struct ks_heap_type){ name, size, (u32)m->s->fields.len, 0 };
	return true;
}

static bool add_field(struct making *m)
{
	u32 type = type_of(m, 1);
	struct ks_heap_field *field;

	if (type != m->s->types.len - 1 || m->count < 4)
		return false;
	field = ks_vec_push(&m->s->fields);
	need(field);
	*field = (struct ks_heap_field){ (u32)number(m, 2), text(m, 3) };
	m->s->types.items[type].fields++;
	return true;
}

static bool add_object(struct making *m)
{
	u32 cache = cache_of(m, 2), type = type_of(m, 3), known_by;
	struct object *object;

	for (known_by = 0; known_by < KS_KNOWN_WAYS; known_by++)
		if (m->count > 4 && !strcmp(m->words[4], ks_known_by_name(known_by)))
			break;
	if (cache == KS_NONE || type == KS_NONE || known_by == KS_KNOWN_WAYS)
		return false;
	object = ks_vec_push(&m->objects);
	need(object);
	*object = (struct object){ number(m, 1),      cache,	   type, (u32)number(m, 6),
				   (u16)number(m, 5), (u8)known_by };
	return true;
}

static bool add_root(struct making *m)
{
	struct ks_heap_root *root = ks_vec_push(&m->s->roots);

	need(root);
	*root = (struct ks_heap_root){ (enum ks_root_kind)number(m, 1), text(m, 2), number(m, 3) };
	m->graph = true;
	return m->count >= 4 && root->kind < KS_ROOT_KINDS;
}

static bool add_ref(struct making *m)
{
	struct edge *edge = ks_vec_push(&m->refs);

	need(edge);
	*edge = (struct edge){ number(m, 1), number(m, 3), number(m, 2), number(m, 4) };
	m->graph = true;
	return m->count >= 4;
}

static bool add_root_ref(struct making *m)
{
	struct edge *edge = ks_vec_push(&m->root_refs);

	need(edge);
	*edge = (struct edge){ m->s->roots.len - 1, number(m, 2), number(m, 1), number(m, 3) };
	return m->count >= 3 && m->s->roots.len;
}

static bool add_plain(struct making *m)
{
	struct ks_snapshot *s = m->s;
	const char *what = m->words[0];
	int i;

	if (!strcmp(what, "kernel")) {
		s->release = text(m, 1);
		s->machine = text(m, 2);
		s->host = text(m, 3);
		s->boot = text(m, 4);
	} else if (!strcmp(what, "taken")) {
		s->taken_ns = number(m, 1);
		s->uptime_ns = number(m, 2);
		s->duration_ns = number(m, 3);
	} else if (!strcmp(what, "total")) {
		s->total = number(m, 1);
	} else if (!strcmp(what, "quality") && number(m, 1) < KS_HEAP_QUALITIES) {
		s->quality[number(m, 1)] = number(m, 2);
	} else if (!strcmp(what, "memory") && m->count > 1) {
		for (i = 0; m->words[1][i]; i++)
			if (m->words[1][i] == '-')
				m->words[1][i] = ' ';
		for (i = 0; i < KS_USES; i++)
			if (!strcmp(m->words[1], ks_page_use_name(i)))
				break;
		if (i == KS_USES)
			return false;
		s->kinds[i] = number(m, 2);
	} else if (!strcmp(what, "node")) {
		struct ks_census_node *node = ks_vec_push(&s->nodes);

		need(node);
		*node = (struct ks_census_node){ number(m, 1), number(m, 2), number(m, 3),
						 number(m, 4), number(m, 5) };
	} else if (!strcmp(what, "cgroup")) {
		const char **path = ks_vec_push(&s->cgroups);

		need(path);
		*path = text(m, 1);
	} else {
		return false;
	}
	return true;
}

static bool add_line(struct making *m)
{
	const char *what = m->words[0];

	if (!strcmp(what, "cache"))
		return add_cache(m);
	if (!strcmp(what, "census"))
		return add_census(m);
	if (!strcmp(what, "merged"))
		return add_merged(m);
	if (!strcmp(what, "type"))
		return add_type(m, text(m, 1), (u32)number(m, 2));
	if (!strcmp(what, "field"))
		return add_field(m);
	if (!strcmp(what, "object"))
		return add_object(m);
	if (!strcmp(what, "ref"))
		return add_ref(m);
	if (!strcmp(what, "root"))
		return add_root(m);
	if (!strcmp(what, "rootref"))
		return add_root_ref(m);
	if (!strcmp(what, "graph"))
		return m->graph = true;
	return add_plain(m);
}

static int by_addr(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_holder(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void put_objects(struct making *m)
{
	struct ks_snapshot *s = m->s;
	size_t len = m->objects.len, i;

	if (len)
		qsort(m->objects.items, len, sizeof(*m->objects.items), by_addr);
	s->count = (u32)len;
	s->addr = calloc(len + 1, sizeof(*s->addr));
	s->cache = calloc(len + 1, sizeof(*s->cache));
	s->type = calloc(len + 1, sizeof(*s->type));
	s->known_by = calloc(len + 1, sizeof(*s->known_by));
	s->cgroup = calloc(len + 1, sizeof(*s->cgroup));
	s->checksum = calloc(len + 1, sizeof(*s->checksum));
	need(s->addr && s->cache && s->type && s->known_by && s->cgroup && s->checksum);
	for (i = 0; i < len; i++) {
		const struct object *object = &m->objects.items[i];
		struct ks_heap_cache *cache = &s->caches.items[object->cache];

		s->addr[i] = object->addr;
		s->cache[i] = (u16)object->cache;
		s->type[i] = object->type;
		s->known_by[i] = object->known_by;
		s->cgroup[i] = object->cgroup;
		s->checksum[i] = object->checksum;
		cache->census.used++;
		cache->census.objects++;
		cache->census.bytes += cache->size;
		cache->census.slabs += !cache->census.slabs;
	}
}

static struct ks_heap_ref ref_of(const struct ks_snapshot *s, const struct edge *edge)
{
	u32 to = ks_snapshot_find(s, edge->to);

	need(to != KS_NONE);
	return (struct ks_heap_ref){ to, (u16)ks_min(edge->at / 8, (u64)UINT16_MAX),
				     (u16)ks_min(edge->inside / 8, (u64)UINT16_MAX) };
}

static void put_graph(struct making *m)
{
	struct ks_snapshot *s = m->s;
	struct ks_heap_ref *ref;
	size_t i, k = 0;

	if (m->refs.len)
		qsort(m->refs.items, m->refs.len, sizeof(*m->refs.items), by_holder);
	s->ref_first = calloc(s->count + 1ull, sizeof(*s->ref_first));
	s->root_first = calloc(s->roots.len + 1, sizeof(*s->root_first));
	need(s->ref_first && s->root_first);
	for (i = 0; i < s->count; i++) {
		for (; k < m->refs.len && m->refs.items[k].from == s->addr[i]; k++) {
			ref = ks_vec_push(&s->refs);
			need(ref);
			*ref = ref_of(s, &m->refs.items[k]);
		}
		s->ref_first[i + 1] = (u32)s->refs.len;
	}
	need(k == m->refs.len); /* a holder that is no object */
	for (k = i = 0; i < s->roots.len; i++) {
		for (; k < m->root_refs.len && m->root_refs.items[k].from == i; k++) {
			ref = ks_vec_push(&s->root_refs);
			need(ref);
			*ref = ref_of(s, &m->root_refs.items[k]);
		}
		s->root_first[i + 1] = (u32)s->root_refs.len;
	}
}

static bool read_lines(struct making *m, char *lines, size_t *ret_line)
{
	char *line, *word, *rest;

	for (*ret_line = 1; (line = strsep(&lines, "\n")); (*ret_line)++) {
		m->count = 0;
		for (word = strtok_r(line, " \t", &rest); word && m->count < WORDS;
		     word = strtok_r(NULL, " \t", &rest))
			m->words[m->count++] = word;
		if (m->count && m->words[0][0] != '#' && !add_line(m))
			return false;
	}
	return true;
}

/* === Public =============================================================================== */

struct ks_snapshot *made_snapshot(const char *description, size_t *ret_line)
{
	struct making m = { 0 };
	char *lines = strdup(description);
	struct ks_diag diag;
	const char **nobody;
	bool ok;

	need(lines && !ks_snapshot_new(&m.s, &diag));
	m.s->memory_by = "made";
	add_type(&m, "?", 0);
	nobody = ks_vec_push(&m.s->cgroups);
	need(nobody);
	*nobody = "";
	ok = read_lines(&m, lines, ret_line);
	if (ok) {
		put_objects(&m);
		if (m.graph)
			put_graph(&m);
	} else {
		ks_snapshot_free(m.s);
	}
	free(lines);
	ks_vec_free(&m.objects);
	ks_vec_free(&m.refs);
	ks_vec_free(&m.root_refs);
	return ok ? m.s : NULL;
}
