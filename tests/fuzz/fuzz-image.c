// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as vmlinux or object file: sections, symbols and compile units; sums must agree. */
#include "fuzz.h"

#include "analysis/static-object.h"
#include "analysis/static.h"
#include "base/num.h"

static void check_sums(const struct ks_static_model *model)
{
	struct ks_footprint sum = { 0 };
	size_t i, j;

	for (i = 0; i < model->files.len; i++)
		for (j = 0; j < KS_SECS; j++)
			sum.bytes[j] =
				ks_add_sat(sum.bytes[j], model->files.items[i].size.bytes[j]);
	for (j = 0; j < KS_SECS; j++)
		FUZZ_ASSERT(sum.bytes[j] == model->builtin.bytes[j]);
	for (i = 0; i < model->symbols.len; i++)
		FUZZ_ASSERT(model->symbols.items[i].file < model->files.len);
}

static void measure_object(const char *path)
{
	struct ks_measured m = { 0 };
	struct ks_arena arena;
	u64 sum = 0, whole = 0;
	size_t i;

	ks_arena_init(&arena);
	FUZZ_ASSERT(!ks_measure_object(path, true, true, &arena, &m));
	for (i = 0; i < m.sections.len; i++)
		sum += m.sections.items[i].bytes;
	for (i = 0; i < KS_SECS; i++)
		whole += m.size.bytes[i];
	FUZZ_ASSERT(sum == whole);
	FUZZ_ASSERT(!m.error || m.error[0]);
	ks_vec_free(&m.sections);
	ks_vec_free(&m.symbols);
	ks_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_static_options options = { .symbols = true };
	struct ks_static_model *model;
	struct ks_diag diag = { 0 };
	char path[64];
	int fd = fuzz_file(data, size, path), err;

	measure_object(path);
	err = ks_static_measure(path, &options, &model, &diag);
	if (!err) {
		check_sums(model);
		ks_static_free(model);
	} else {
		FUZZ_ASSERT(diag.err == err && diag.text[0]);
	}
	close(fd);
	return 0;
}
