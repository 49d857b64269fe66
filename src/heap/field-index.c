// SPDX-License-Identifier: LGPL-2.1-only
/* A table of all words of all types that have fields. */
#include "heap/field-index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

static const struct ks_heap_field *last_field(const struct ks_snapshot *s,
					      const struct ks_heap_type *type)
{
	return type->fields ? &s->fields.items[type->first_field + type->fields - 1] : NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

/* === Public =============================================================================== */

int ks_field_index_new(const struct ks_snapshot *s, struct ks_field_index **ret_index)
{
	struct ks_field_index *index = calloc(1, sizeof(*index));
	u64 sum = 0;
	size_t i;
	u32 k;

	if (index)
		index->first = calloc(s->types.len + 1, sizeof(*index->first));
	for (i = 0; index && index->first && i < s->types.len; i++) {
		const struct ks_heap_field *last = last_field(s, &s->types.items[i]);

		index->first[i] = (u32)sum;
		sum += last ? ks_min(last->offset / 8, (u32)UINT16_MAX) + 1 : 0;
	}
	if (index && index->first) {
		index->first[s->types.len] = (u32)sum;
		index->field = calloc((u32)sum + 1ul, sizeof(*index->field));
	}
	if (!index || !index->first || !index->field || sum > UINT32_MAX) {
		ks_field_index_free(index);
		return -ENOMEM;
	}
	for (i = 0; i < s->types.len; i++) {
		const struct ks_heap_type *type = &s->types.items[i];

		for (k = type->first_field; k < type->first_field + type->fields; k++)
			index->field[index->first[i] + ks_min(s->fields.items[k].offset / 8,
							      (u32)UINT16_MAX)] = k + 1;
	}
	*ret_index = index;
	return 0;
}

void ks_field_index_free(struct ks_field_index *index)
{
	if (!index)
		return;
	free(index->first);
	free(index->field);
	free(index);
}

bool ks_field_is_link(const char *name)
{
	static const char *const links[] = { "next",	"prev",	    "pprev",
					     "rb_left", "rb_right", "__rb_parent_color" };
	const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(links); i++)
		if (!strcmp(last, links[i]))
			return true;
	return false;
}

bool ks_field_is_doubtful(const char *name)
{
	return ends_with(name, "?");
}

void ks_field_text(const struct ks_snapshot *s, const struct ks_field_index *index, u32 type,
		   u32 word, char *text, size_t size)
{
	u32 field = ks_field_at(index, type, word);

	if (field != KS_NONE)
		snprintf(text, size, ".%s", s->fields.items[field].name);
	else if (ends_with(s->types.items[type].name, "[]"))
		snprintf(text, size, "%s", "");
	else if (word == UINT16_MAX)
		snprintf(text, size, "+...");
	else
		snprintf(text, size, "+0x%x", word * 8);
}
