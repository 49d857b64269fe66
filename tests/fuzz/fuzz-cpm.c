// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a compartmentalization: refused by name, or written so that the same comes back. */
#include "fuzz.h"

#include <string.h>

#include "kmap/cpm.h"

static bool same(double a, double b)
{
	return a == b || (a != a && b != b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_cpm_score first, second;
	struct ks_diag diag = { 0 };
	struct ks_cpm *cpm, *again;
	struct ks_strbuf text;
	int err = ks_cpm_parse((const char *)data, size, "file", &cpm, &diag);
	size_t op;

	if (err) {
		FUZZ_ASSERT(diag.err == err && !strncmp(diag.text, "file:", 5));
		return 0;
	}
	FUZZ_ASSERT(!ks_cpm_score(cpm, NULL, &first));
	ks_strbuf_init(&text);
	ks_cpm_write(cpm, &text);
	/* Names that are not UTF-8 are made so, and may then be the same. */
	if (!ks_cpm_parse(text.s, text.len, "again", &again, &diag)) {
		FUZZ_ASSERT(!ks_cpm_score(again, NULL, &second));
		for (op = 0; op < KS_CPM_OPS; op++)
			FUZZ_ASSERT(same(first.granted[op], second.granted[op]) &&
				    same(first.mono[op], second.mono[op]));
		ks_cpm_free(again);
	}
	ks_strbuf_deinit(&text);
	ks_cpm_free(cpm);
	return 0;
}
