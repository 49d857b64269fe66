// SPDX-License-Identifier: GPL-2.0-only
/* Fuzz target: trace.dat files, versions 6 and 7. */
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(data, size);
	return 0;
}
