// SPDX-License-Identifier: LGPL-2.1-only
/* Growable arrays. */
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

int ks_grow(void **items, size_t *cap, size_t need, size_t elem_size)
{
	size_t new_cap = *cap + *cap / 2;
	void *grown;

	if (need <= *cap)
		return 0;
	if (new_cap < need)
		new_cap = need;
	if (new_cap < 16)
		new_cap = 16;
	grown = reallocarray(*items, new_cap, elem_size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*cap = new_cap;
	return 0;
}
