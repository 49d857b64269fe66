// SPDX-License-Identifier: LGPL-2.1-only
/* What the files of the static analysis share: strings, sums by section, the order of things. */
#include "analysis/static-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* === Internals ============================================================================ */

static int by_bytes(const void *pa, const void *pb)
{
	const struct ks_static_section *a = pa, *b = pb;
	int diff;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	diff = strcmp(a->name, b->name);
	return diff ? diff : (int)a->class - (int)b->class;
}

static int by_symbol_bytes(const void *pa, const void *pb)
{
	const struct ks_static_symbol *a = pa, *b = pb;
	int diff;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	diff = strcmp(a->name, b->name);
	if (diff)
		return diff;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (int)a->class - (int)b->class;
}

/* === Public =============================================================================== */

const char *ks_static_keep(struct ks_static_model *model, const char *s)
{
	u32 id = ks_intern_add(&model->strings, s, strlen(s));

	return id == KS_NONE ? NULL : ks_intern_get(&model->strings, id).s;
}

void ks_footprint_add(struct ks_footprint *sum, const struct ks_footprint *f)
{
	unsigned int i;

	for (i = 0; i < KS_SECS; i++)
		sum->bytes[i] = ks_add_sat(sum->bytes[i], f->bytes[i]);
}

int ks_section_sums_init(struct ks_section_sums *sums)
{
	*sums = (struct ks_section_sums){ 0 };
	return ks_intern_init(&sums->names);
}

void ks_section_sums_deinit(struct ks_section_sums *sums)
{
	ks_intern_deinit(&sums->names);
	ks_vec_free(&sums->sums);
}

int ks_section_sums_add(struct ks_section_sums *sums, const struct ks_measured *m)
{
	size_t i;

	for (i = 0; i < m->sections.len; i++) {
		const struct ks_measured_section *s = &m->sections.items[i];
		u32 id = ks_intern_add(&sums->names, s->name, strlen(s->name));
		struct ks_static_section *sum;

		if (id == KS_NONE)
			return -ENOMEM;
		while (sums->sums.len < ((size_t)id + 1) * KS_SECS)
			if (!ks_vec_push(&sums->sums))
				return -ENOMEM;
		sum = &sums->sums.items[(size_t)id * KS_SECS + s->class];
		sum->bytes = ks_add_sat(sum->bytes, s->bytes);
		sum->objects++;
	}
	return 0;
}

int ks_section_sums_move(struct ks_section_sums *sums, struct ks_static_model *model)
{
	size_t i;

	for (i = 0; i < sums->sums.len; i++) {
		struct ks_static_section *section;

		if (!sums->sums.items[i].objects)
			continue;
		section = ks_vec_push(&model->sections);
		if (!section)
			return -ENOMEM;
		*section = sums->sums.items[i];
		section->class = i % KS_SECS;
		section->name =
			ks_static_keep(model, ks_intern_get(&sums->names, (u32)(i / KS_SECS)).s);
		if (!section->name)
			return -ENOMEM;
	}
	if (model->sections.len)
		qsort(model->sections.items, model->sections.len, sizeof(*model->sections.items),
		      by_bytes);
	return 0;
}

void ks_static_sort(struct ks_static_model *model)
{
	if (model->symbols.len)
		qsort(model->symbols.items, model->symbols.len, sizeof(*model->symbols.items),
		      by_symbol_bytes);
}
