/* SPDX-License-Identifier: LGPL-2.1-only */
/* Names of structs that the objects of a cache may be, by the name of the cache. */
#ifndef KS_SYM_CACHE_STRUCTS_H
#define KS_SYM_CACHE_STRUCTS_H

#include "base/types.h"

/*
 * Guess @nr, from 0, the best first: "filp" is "file". It may be "", and need not be a struct of the kernel. False: there are
 * no more. Whether a guess fits, the size of the struct tells.
 */
bool ks_cache_struct(const char *cache, unsigned int nr, char *name, size_t size);

#endif
