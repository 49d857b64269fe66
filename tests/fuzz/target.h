/* SPDX-License-Identifier: GPL-2.0-only */
/* What every fuzz target needs. */
#ifndef KS_FUZZ_TARGET_H
#define KS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the fuzzer: something that must hold does not. */
#define FUZZ_ASSERT(x)                                                          \
	do {                                                                    \
		if (!(x)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                \
		}                                                               \
	} while (0)

#endif
