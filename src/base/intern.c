// SPDX-License-Identifier: LGPL-2.1-only
/* String interning over an open-addressing index and an arena. */
#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* === Internals ============================================================================ */

/* The bucket that holds the string, or the empty one where it belongs. */
static u32 *find_bucket(const struct ks_intern *in, const char *s, size_t len)
{
	u32 at = (u32)(ks_hash_bytes(s, len, in->seed) >> 32) & in->mask;

	for (;; at = (at + 1) & in->mask) {
		u32 *bucket = &in->index[at];
		const struct ks_str *str;

		if (!*bucket)
			return bucket;
		str = &in->strs.items[*bucket - 1];
		if (str->len == len && ks_same_bytes(str->s, s, len))
			return bucket;
	}
}

static int grow_index(struct ks_intern *in)
{
	u32 *old = in->index, old_mask = in->mask;
	size_t buckets = ((size_t)in->mask + 1) * 2, i;

	if (buckets > UINT32_MAX)
		return -ENOMEM;
	in->index = calloc(buckets, sizeof(*in->index));
	if (!in->index) {
		in->index = old;
		return -ENOMEM;
	}
	in->mask = (u32)buckets - 1;
	for (i = 0; i <= old_mask; i++)
		if (old[i]) {
			const struct ks_str *str = &in->strs.items[old[i] - 1];

			*find_bucket(in, str->s, str->len) = old[i];
		}
	free(old);
	return 0;
}

/* === Public =============================================================================== */

int ks_intern_init(struct ks_intern *in)
{
	memset(in, 0, sizeof(*in));
	ks_arena_init(&in->arena);
	in->seed = ks_hash_seed();
	in->mask = 63;
	in->index = calloc(in->mask + 1, sizeof(*in->index));
	return in->index ? 0 : -ENOMEM;
}

void ks_intern_deinit(struct ks_intern *in)
{
	ks_arena_deinit(&in->arena);
	ks_vec_free(&in->strs);
	free(in->index);
	in->index = NULL;
}

u32 ks_intern_add(struct ks_intern *in, const char *s, size_t len)
{
	u32 *bucket = find_bucket(in, s, len);
	struct ks_str *str;
	char *copy;

	if (*bucket)
		return *bucket - 1;
	if (len > UINT32_MAX - 8 || in->strs.len >= KS_NONE - 1)
		return KS_NONE;
	if ((in->strs.len + 1) * 2 > in->mask) {
		if (grow_index(in))
			return KS_NONE;
		bucket = find_bucket(in, s, len);
	}
	copy = ks_arena_strndup(&in->arena, s, len);
	if (!copy)
		return KS_NONE;
	str = ks_vec_push(&in->strs);
	if (!str)
		return KS_NONE;
	str->s = copy;
	str->len = (u32)len;
	*bucket = (u32)in->strs.len;
	return *bucket - 1;
}

u32 ks_intern_find(const struct ks_intern *in, const char *s, size_t len)
{
	u32 *bucket = find_bucket(in, s, len);

	return *bucket ? *bucket - 1 : KS_NONE;
}
