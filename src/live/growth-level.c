// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Level 1: who made each slab. The probe notes pages; whether one is a slab, of which cache, and whether it still is, its
 * struct page says at every look.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/types.h" /* that the next one needs */

#include "bpf/live-growth.skel.h"
#include "heap/pages.h"
#include "live/tracing.h"

/* === Data ================================================================================= */

enum {
	SLABS = 65536,
	NOWARN = 0x2000, /* where types do not say it: Linux 6.1 to 6.9 */
	NORETRY = 0x10000,
};

/* A page that was noted a moment ago may be on its way to become a slab. */
static const u64 settled_ns = 1000000000;

struct growth {
	struct ks_probe probe;
	struct ks_tracing tracing;
	struct live_growth_bpf *program;
	bool by_slab; /* the probe is at the making of slabs, not of pages */
};

struct noted {
	u64 page;
	struct ks_bpf_slab slab;
};

struct looking {
	struct growth *growth;
	struct ks_live_snapshot *s;
	KS_VEC(struct noted) noted;
};

/* === Internals: flags ===================================================================== */

/* The value of an enumerator, in whichever enum it is. */
static bool find_enumerator(const struct btf *btf, const char *name, u32 *ret_value)
{
	u32 id, count = btf__type_cnt(btf);
	int i;

	for (id = 1; id < count; id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		if (!btf_is_enum(type))
			continue;
		for (i = 0; i < btf_vlen(type); i++) {
			if (strcmp(btf__name_by_offset(btf, btf_enum(type)[i].name_off), name) != 0)
				continue;
			*ret_value = (u32)btf_enum(type)[i].val;
			return true;
		}
	}
	return false;
}

/* With these flags allocate_slab() asks for the pages that it would like best. */
static u32 slab_flags(const struct btf *btf)
{
	u32 nowarn, noretry;

	if (find_enumerator(btf, "___GFP_NOWARN_BIT", &nowarn) &&
	    find_enumerator(btf, "___GFP_NORETRY_BIT", &noretry))
		return 1u << nowarn | 1u << noretry;
	return NOWARN | NORETRY;
}

/* === Internals: attaching ================================================================= */

static int load(struct growth *g, bool by_slab)
{
	const struct btf *btf = g->tracing.census->kernel->btf;
	struct live_growth_bpf *program = live_growth_bpf__open();
	u32 movable = 1;
	int err;

	if (!program)
		return -errno;
	find_enumerator(btf, "MIGRATE_MOVABLE", &movable);
	program->rodata->gfp_mask = slab_flags(btf);
	program->rodata->movable = (int)movable;
	bpf_map__set_max_entries(program->maps.slabs, SLABS);
	bpf_map__set_max_entries(program->maps.stacks, KS_LIVE_STACKS);
	bpf_program__set_autoload(by_slab ? program->progs.page_made : program->progs.slab_made,
				  false);
	err = live_growth_bpf__load(program);
	if (!err)
		err = live_growth_bpf__attach(program);
	if (err) {
		live_growth_bpf__destroy(program);
		return err;
	}
	g->program = program;
	g->by_slab = by_slab;
	return 0;
}

static int attach(struct growth *g, struct ks_diag *diag)
{
	void *before = ks_tracing_silence(NULL);
	int err = load(g, true);

	if (err)
		err = load(g, false);
	ks_tracing_silence(before);
	if (err)
		return ks_tracing_refused("a probe on the event mm_page_alloc", err, diag);
	ks_tracing_loaded(&g->tracing, g->program->obj);
	return 0;
}

/* === Internals: a look ==================================================================== */

static int add_noted(void *arg, u64 page, const void *value)
{
	struct looking *l = arg;
	struct noted *noted = ks_vec_push(&l->noted);

	if (!noted)
		return -ENOMEM;
	noted->page = page;
	memcpy(&noted->slab, value, sizeof(noted->slab));
	return 0;
}

/* Forgets a page, unless it was noted anew since. */
static void forget(struct growth *g, const struct noted *noted)
{
	int fd = bpf_map__fd(g->program->maps.slabs);
	struct ks_bpf_slab now;

	if (!bpf_map_lookup_elem(fd, &noted->page, &now) && now.birth_ns == noted->slab.birth_ns)
		bpf_map_delete_elem(fd, &noted->page);
}

/* How many pages the slab has: the probe on slabs does not say, but the number of objects does. */
static u64 slab_bytes(struct ks_kernel *k, const struct ks_slab *slab, u64 cache)
{
	u64 bytes, pages = 4096;
	u32 size;

	if (ks_memory_get(k->memory, cache + k->layout.cache_stride, &size, sizeof(size)))
		return pages;
	bytes = (u64)slab->objects * size;
	while (pages < bytes)
		pages *= 2;
	return pages;
}

static int add_slab(struct looking *l, const struct noted *noted, const struct ks_slab *slab,
		    u64 cache)
{
	struct ks_tracing *t = &l->growth->tracing;
	const char *name = ks_census_level_cache(t->census, cache);
	struct ks_live_cell *cell;

	if (!name)
		return 0;
	cell = ks_tracing_cell(t, l->s, name, &noted->slab.task, 0);
	if (!cell)
		return -ENOMEM;
	cell->objects += slab->inuse;
	cell->bytes += noted->slab.sure ? slab_bytes(t->census->kernel, slab, cache)
					: 4096ull << noted->slab.order;
	cell->births_ms += noted->slab.birth_ns / 1000000 * slab->inuse;
	return 0;
}

static int add_all(struct looking *l, struct ks_diag *diag)
{
	struct ks_kernel *k = l->growth->tracing.census->kernel;
	u32 size = k->layout.page_size;
	u64 now = ks_tracing_now(), cache;
	struct ks_piece *pieces = calloc(l->noted.len + 1, sizeof(*pieces));
	u8 *raw = ks_array_new(l->noted.len + 1, size);
	struct ks_slab slab;
	size_t i;
	int err = pieces && raw ? 0 : -ENOMEM;

	for (i = 0; !err && i < l->noted.len; i++)
		pieces[i] = (struct ks_piece){ .addr = l->noted.items[i].page,
					       .buf = raw + i * size,
					       .len = size };
	if (!err)
		err = ks_memory_read(k->memory, pieces, l->noted.len, diag);
	for (i = 0; !err && i < l->noted.len; i++) {
		const struct noted *noted = &l->noted.items[i];

		if (!pieces[i].failed &&
		    ks_page_classify(&k->layout, pieces[i].buf) == KS_USE_SLAB) {
			ks_slab_parse(&k->layout, pieces[i].buf, &slab, &cache);
			err = add_slab(l, noted, &slab, cache);
		} else if (now > noted->slab.birth_ns + settled_ns) {
			forget(l->growth, noted);
		}
	}
	free(pieces);
	free(raw);
	return err == -ENOMEM ? ks_diag_nomem(diag, "adding up slabs") : err;
}

static int growth_poll(struct ks_probe *probe, struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct growth *g = (struct growth *)probe;
	struct looking l = { .growth = g, .s = s };
	int err = ks_tracing_each(bpf_map__fd(g->program->maps.slabs), SLABS,
				  sizeof(struct ks_bpf_slab), add_noted, &l, diag);

	if (!err)
		err = add_all(&l, diag);
	ks_vec_free(&l.noted);
	if (err)
		return err;
	ks_tracing_part(&g->tracing, s,
			1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_SITE | 1u << KS_LIVE_BY_STACK |
				1u << KS_LIVE_BY_PROCESS | 1u << KS_LIVE_BY_CGROUP);
	err = ks_live_unseen(s, "growth is of whole slabs: rows by site, stack, process and cgroup "
				"say who made a slab, not who has the objects in it");
	if (!err && !g->by_slab)
		err = ks_live_unseen(s,
				     "slabs that only a second try found memory for: this kernel "
				     "allows no probe on allocate_slab()");
	return err ? err : ks_tracing_quality(&g->tracing, s, diag);
}

static void growth_close(struct ks_probe *probe)
{
	struct growth *g = (struct growth *)probe;

	live_growth_bpf__destroy(g->program);
	ks_tracing_deinit(&g->tracing);
	free(g);
}

static const struct ks_probe_ops growth_ops = {
	.poll = growth_poll,
	.close = growth_close,
};

/* === Public =============================================================================== */

int ks_growth_open(struct ks_census_level *census, struct ks_probe **ret_probe,
		   struct ks_diag *diag)
{
	struct growth *g = calloc(1, sizeof(*g));
	int err;

	if (!g || ks_tracing_init(&g->tracing, census)) {
		free(g);
		return ks_diag_nomem(diag, "starting a probe");
	}
	g->probe.ops = &growth_ops;
	err = ks_census_level_open(census, diag);
	if (!err)
		err = attach(g, diag);
	if (err) {
		growth_close(&g->probe);
		return err;
	}
	*ret_probe = &g->probe;
	return 0;
}
