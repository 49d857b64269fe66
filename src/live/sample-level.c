// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Level 2: allocations drawn by their bytes. Sample points lie R bytes apart in the mean, exponentially, on the bytes that a
 * CPU allocates. So an object of s bytes is drawn with p = 1 - exp(-s/R), and stands for 1/p objects.
 */
#include <errno.h>
#include <linux/types.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* What the skeleton needs. */
#include "base/types.h"
#include "bpf/live.h"

#include "bpf/live-sample.skel.h"
#include "live/tracing.h"

/* === Data ================================================================================= */

enum { SAMPLES = 65536, DEFAULT_BYTES = 512 << 10 };

struct sample {
	struct ks_probe probe;
	struct ks_tracing tracing;
	struct live_sample_bpf *program;
	u64 mean; /* R */
	bool hooks;
	u64 reconciled, reconciled_bytes;
};

struct looking {
	struct sample *sample;
	struct ks_live_snapshot *s;
};

/* === Internals: attaching ================================================================= */

/* Quantiles of the exponential distribution, in the middle of equal steps. */
static void fill_gaps(struct sample *m)
{
	u32 i;

	for (i = 0; i < KS_LIVE_GAPS; i++) {
		double gap = -log(((double)i + 0.5) / KS_LIVE_GAPS) * (double)m->mean;

		m->program->bss->gaps[i] = gap < 1 ? 1 : gap > 4e9 ? 4000000000u : (u32)gap;
	}
}

/* The first gap of each CPU is drawn as all others are. */
static int start_cpus(struct sample *m)
{
	int cpus = libbpf_num_possible_cpus(), i, err;
	struct ks_bpf_counts *counts = cpus > 0 ? calloc((size_t)cpus, sizeof(*counts)) : NULL;
	u32 zero = 0;

	if (!counts)
		return -ENOMEM;
	for (i = 0; i < cpus; i++)
		counts[i].left = m->program->bss->gaps[ks_hash_seed() % KS_LIVE_GAPS];
	err = bpf_map_update_elem(bpf_map__fd(m->program->maps.counts), &zero, counts, 0);
	free(counts);
	return err;
}

/* @copy: the verifier lets nobody read the address of an object that an event has. */
static int load_way(struct sample *m, const struct ks_live_filter *filter, bool hooks, bool copy,
		    struct ks_diag *diag)
{
	struct live_sample_bpf *program = live_sample_bpf__open();
	int err;

	if (!program)
		return -errno;
	m->program = program;
	err = ks_tracing_filter(&m->tracing, filter, (struct ks_bpf_filter *)&program->rodata->only,
				diag);
	bpf_map__set_max_entries(program->maps.samples, SAMPLES);
	bpf_map__set_max_entries(program->maps.stacks, KS_LIVE_STACKS);
	bpf_program__set_autoload(
		copy ? program->progs.on_cache_alloc : program->progs.on_cache_alloc_copy, false);
	bpf_program__set_autoload(program->progs.on_free_bulk, hooks);
	bpf_program__set_autoload(program->progs.on_free_rcu,
				  hooks && ks_tracing_has_free_rcu(&m->tracing));
	if (!err)
		err = live_sample_bpf__load(program);
	if (!err) {
		fill_gaps(m);
		err = start_cpus(m);
	}
	if (!err)
		err = live_sample_bpf__attach(program);
	if (err) {
		live_sample_bpf__destroy(program);
		m->program = NULL;
	}
	m->hooks = hooks;
	return err;
}

static int load(void *level, const struct ks_live_filter *filter, bool hooks, struct ks_diag *diag)
{
	int err = load_way(level, filter, hooks, false, diag);

	return err && !diag->err ? load_way(level, filter, hooks, true, diag) : err;
}

static int attach(struct sample *m, const struct ks_live_filter *filter, struct ks_diag *diag)
{
	int err = ks_tracing_attach(load, m, filter, diag);

	if (!err)
		ks_tracing_loaded(&m->tracing, m->program->obj);
	return err;
}

/* === Internals: a look ==================================================================== */

static int add_sample(void *arg, u64 object, const void *value)
{
	struct looking *l = arg;
	struct ks_tracing *t = &l->sample->tracing;
	const struct ks_bpf_sample *sample = value;
	struct ks_live_cell *cell;
	double p, size = sample->size;
	const char *cache =
		sample->cache ? ks_census_level_cache(t->census, sample->cache)
			      : ks_tracing_kmalloc_cache(t, sample->site, sample->size, object);

	cell = ks_tracing_cell(t, l->s, cache ? cache : "unknown", &sample->task, sample->site);
	if (!cell)
		return -ENOMEM;
	p = -expm1(-size / (double)l->sample->mean);
	cell->weight += 1 / p;
	cell->bytes += (u64)llround(size / p);
	cell->births_ms += (u64)((double)(sample->birth_ns / 1000000) / p);
	cell->variance += (1 - p) / (p * p) * size * size;
	return 0;
}

static int sample_poll(struct ks_probe *probe, struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct sample *m = (struct sample *)probe;
	struct looking l = { .sample = m, .s = s };
	int err = ks_tracing_each(bpf_map__fd(m->program->maps.samples), SAMPLES,
				  sizeof(struct ks_bpf_sample), add_sample, &l, diag);
	size_t i;

	if (err)
		return err;
	for (i = 0; i < s->cells.len; i++)
		if (s->cells.items[i].part == KS_LIVE_TRACED)
			s->cells.items[i].objects = (u64)llround(s->cells.items[i].weight);
	ks_tracing_part(&m->tracing, s,
			1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_SITE | 1u << KS_LIVE_BY_STACK |
				1u << KS_LIVE_BY_PROCESS | 1u << KS_LIVE_BY_CGROUP);
	if (ks_tracing_say_hooks(s, m->hooks))
		return -ENOMEM;
	s->quality.reconciled += m->reconciled;
	s->quality.reconciled_bytes += m->reconciled_bytes;
	return ks_tracing_quality(&m->tracing, s, diag);
}

/* === Internals: reconciling =============================================================== */

struct reconciling {
	struct sample *sample;
	const struct ks_in_use *use;
};

static int drop_if_gone(void *arg, u64 object, const void *value)
{
	struct reconciling *r = arg;
	const struct ks_bpf_sample *sample = value;
	struct live_sample_bpf *program = r->sample->program;

	if (sample->birth_ns >= r->use->at_ns || ks_in_use(r->use, object))
		return 0;
	if (bpf_map_delete_elem(bpf_map__fd(program->maps.samples), &object))
		return 0;
	ks_live_unmark(&program->bss->marks, object);
	r->sample->reconciled++;
	r->sample->reconciled_bytes += sample->size;
	return 0;
}

static void sample_counted(void *arg, const struct ks_in_use *use)
{
	struct sample *m = arg;
	struct reconciling r = { .sample = m, .use = use };
	struct ks_diag ignored;

	ks_tracing_each(bpf_map__fd(m->program->maps.samples), SAMPLES,
			sizeof(struct ks_bpf_sample), drop_if_gone, &r, &ignored);
}

static void sample_close(struct ks_probe *probe)
{
	struct sample *m = (struct sample *)probe;

	ks_census_level_unfollow(m->tracing.census, m);
	live_sample_bpf__destroy(m->program);
	ks_tracing_deinit(&m->tracing);
	free(m);
}

static const struct ks_probe_ops sample_ops = {
	.poll = sample_poll,
	.close = sample_close,
};

/* === Public =============================================================================== */

int ks_sample_open(const struct ks_live_opts *opts, struct ks_census_level *census,
		   struct ks_probe **ret_probe, struct ks_diag *diag)
{
	struct sample *m = calloc(1, sizeof(*m));
	int err;

	if (!m || ks_tracing_init(&m->tracing, census)) {
		free(m);
		return ks_diag_nomem(diag, "starting probes");
	}
	m->probe.ops = &sample_ops;
	m->mean = opts->sample_bytes ? opts->sample_bytes : DEFAULT_BYTES;
	err = ks_census_level_open(census, diag);
	if (!err)
		err = attach(m, &opts->filter, diag);
	if (err) {
		sample_close(&m->probe);
		return err;
	}
	ks_census_level_follow(census, NULL, sample_counted, m);
	*ret_probe = &m->probe;
	return 0;
}
