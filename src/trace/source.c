// SPDX-License-Identifier: LGPL-2.1-only
/* What all sources begin and end with. */
#include "trace/source.h"

#include <stdlib.h>

/* === Public =============================================================================== */

void *ks_source_new(size_t size, const struct ks_source_ops *ops, const char *format,
		    const struct ks_source_opts *opts)
{
	struct ks_source *source = calloc(1, size);

	if (!source || ks_names_init(&source->names)) {
		free(source);
		return NULL;
	}
	source->ops = ops;
	source->gives = KS_GIVES_CAPTURE;
	source->info.format = format;
	source->info.page_shift = KS_PAGE_SHIFT;
	if (opts)
		source->opts = *opts;
	return source;
}

void ks_source_free(struct ks_source *source)
{
	struct ks_source_info *info = &source->info;
	size_t i;

	for (i = 0; i < info->text.samples.len; i++)
		free(info->text.samples.items[i]);
	ks_vec_free(&info->text.samples);
	ks_vec_free(&info->binary.cpus);
	ks_vec_free(&info->cpu_nodes);
	ks_names_deinit(&source->names);
	free(source);
}

void ks_source_set_clock(struct ks_source *source, enum ks_clock clock)
{
	source->info.clock = clock;
	source->gives &= ~(unsigned int)KS_GIVES_TIME;
	if (clock != KS_CLOCK_NONE)
		source->gives |= KS_GIVES_TIME;
}

void ks_source_tasks_of_census(struct ks_source *source)
{
	int i;

	/* That of the end knows more. */
	for (i = 0; i < KS_CENSUS_WHENS; i++)
		if (source->info.census[i] && source->info.census[i]->tasks)
			source->names.tasks = source->info.census[i]->tasks;
}

void ks_source_wall_of_census(struct ks_source *source)
{
	size_t i;

	for (i = 0; i < KS_CENSUS_WHENS; i++) {
		const struct ks_slab_census *census = source->info.census[i];

		if (census && census->from && census->wall_ns)
			ks_wall_add(&source->info.wall, census->from, census->wall_ns);
	}
}

int ks_source_add_cpu(struct ks_source *source, const struct ks_cpu_info *cpu)
{
	struct ks_cpu_info *slot = ks_vec_push(&source->info.binary.cpus);

	if (!slot)
		return -ENOMEM;
	*slot = *cpu;
	source->info.binary.bad_records += cpu->bad;
	return 0;
}

void ks_source_progress(struct ks_source *source, u64 *ret_done, u64 *ret_total)
{
	*ret_done = *ret_total = 0;
	if (source->ops->progress)
		source->ops->progress(source, ret_done, ret_total);
}

void ks_source_close(struct ks_source *source)
{
	if (source)
		source->ops->close(source);
}
