// SPDX-License-Identifier: LGPL-2.1-only
/* Seeds for hash tables. */
#include "base/hash.h"

#include <sys/random.h>
#include <time.h>

u64 ks_hash_seed(void)
{
	u64 seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (u64)time(NULL) * 0x9e3779b97f4a7c15ull ^ (uintptr_t)&seed;
	return seed;
}
