// SPDX-License-Identifier: LGPL-2.1-only
/* Growable arrays. */
#include "base/vec.h"

#include <stdlib.h>

void *ks_grow_array(void *items, size_t *cap, u64 need, size_t elem_size)
{
	size_t new_cap = *cap + *cap / 2;
	void *grown;

	if (need > SIZE_MAX)
		return NULL;
	if (new_cap < need)
		new_cap = (size_t)need;
	if (new_cap < 16)
		new_cap = 16;
	grown = reallocarray(items, new_cap, elem_size);
	if (grown)
		*cap = new_cap;
	return grown;
}

void *ks_array_new(u64 count, size_t elem_size)
{
	return count > SIZE_MAX ? NULL : reallocarray(NULL, (size_t)count, elem_size);
}
