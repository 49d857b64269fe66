// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a Parquet file: refused with a reason, or columns that have a value for each row. */
#include "target.h"

#include "table/parquet-read.h"

static void read_columns(struct ks_parquet_file *file)
{
	static const struct {
		const char *name;
		enum ks_parquet_type type;
	} columns[] = { { "id", KS_PARQUET_U64 },
			{ "kind", KS_PARQUET_U32 },
			{ "bytes", KS_PARQUET_S64 },
			{ "error", KS_PARQUET_DOUBLE } };
	struct ks_parquet_strings strings = { 0 };
	struct ks_diag diag = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		struct ks_parquet_numbers numbers = { 0 };
		int err = ks_parquet_read_numbers(file, columns[i].name, columns[i].type, &numbers,
						  &diag);

		FUZZ_ASSERT(err ? diag.err == err : numbers.items.len == ks_parquet_rows(file));
		ks_vec_free(&numbers.items);
	}
	ks_arena_init(&strings.arena);
	if (!ks_parquet_read_strings(file, "name", &strings, &diag)) {
		FUZZ_ASSERT(strings.items.len == ks_parquet_rows(file));
		for (i = 0; i < strings.items.len; i++)
			FUZZ_ASSERT(!strings.items.items[i].s[strings.items.items[i].len]);
	}
	ks_vec_free(&strings.items);
	ks_arena_deinit(&strings.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_parquet_file *file;
	struct ks_diag diag = { 0 };
	int err = ks_parquet_open(data, size, "input", &file, &diag);

	FUZZ_ASSERT(!err || diag.err == err);
	if (!err) {
		read_columns(file);
		ks_parquet_close(file);
	}
	return 0;
}
