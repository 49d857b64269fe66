// SPDX-License-Identifier: GPL-2.0-only
/* Fuzz target: per-CPU files of kmemtrace. */
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(data, size);
	return 0;
}
