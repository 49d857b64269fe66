// SPDX-License-Identifier: GPL-2.0-only
/* Writes a Parquet file with every kind of column, whose sums are known, to standard output: tablegen ROWS. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "table/render.h"

enum { NAME, BIG, SMALL, SIGNED, FLAG, RATIO, SHARE, DELTA, MAYBE, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[NAME] = { "name", NULL, KS_CELL_TEXT },
	[BIG] = { "big", NULL, KS_CELL_U64 },
	[SMALL] = { "small", NULL, KS_CELL_U32 },
	[SIGNED] = { "signed", NULL, KS_CELL_S64 },
	[FLAG] = { "flag", NULL, KS_CELL_BOOL },
	[RATIO] = { "ratio", NULL, KS_CELL_DOUBLE },
	[SHARE] = { "share", NULL, KS_CELL_SHARE },
	[DELTA] = { "delta", NULL, KS_CELL_CHANGE },
	[MAYBE] = { "maybe", NULL, KS_CELL_BOOL, .optional = true },
};

/* Row i: signed and delta are -i, ratio is i / 8 but for every fifth, flag is set for every third. */
int main(int argc, char **argv)
{
	u64 rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, i;
	struct ks_table *table = ks_table_new("rows", columns, COLUMNS);
	struct ks_strbuf out;
	int failed;

	for (i = 0; i < rows; i++) {
		struct ks_row row = ks_table_add(table);
		char name[32];

		snprintf(name, sizeof(name), "row %llu", (unsigned long long)i);
		ks_row_text(row, NAME, name);
		ks_row_u64(row, BIG, UINT64_MAX - i);
		ks_row_u64(row, SMALL, UINT32_MAX - (u32)i);
		ks_row_s64(row, SIGNED, -(s64)i);
		ks_row_bool(row, FLAG, i % 3 == 0);
		ks_row_double(row, RATIO, i % 5 ? (double)i / 8 : NAN);
		ks_row_share(row, SHARE, i, rows);
		ks_row_change(row, DELTA, 2 * i, i);
		if (i % 2)
			ks_row_bool(row, MAYBE, i % 4 == 1);
	}
	ks_strbuf_init(&out);
	ks_render_table_parquet(table, &out);
	failed = out.failed || fwrite(out.s, 1, out.len, stdout) != out.len || fflush(stdout);
	ks_strbuf_deinit(&out);
	ks_table_free(table);
	return failed;
}
