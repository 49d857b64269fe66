// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a capture of any format: the result is an error, or sums that agree. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_analysis_opts opts = { .filter = { .malloc_only = size & 1 } };
	struct ks_diag diag = { 0 };
	struct ks_model *model;
	char path[64];
	int fd = fuzz_file(data, size, path);
	int err = analyze_file(path, &opts, size % KS_BYS, NULL, &model, &diag);

	if (!err) {
		fuzz_check_model(model);
		ks_model_free(model);
	} else {
		FUZZ_ASSERT(diag.err == err && diag.text[0]);
	}
	close(fd);
	return 0;
}
