// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a message of batches: refused, or batches that pack to what reads the same. */
#include "target.h"

#include <string.h>

#include "fleet/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_fleet_batch batch, again;
	struct ks_strbuf packed;
	struct ks_diag diag = { 0 };
	size_t pos = 0, other = 0;
	int got;

	do {
		ks_fleet_batch_init(&batch);
		got = ks_fleet_batch_unpack(&batch, data, size, &pos, &diag);
		FUZZ_ASSERT(got == 1 || (got == 0 && pos == size) || diag.err == got);
		if (got == 1) {
			ks_strbuf_init(&packed);
			FUZZ_ASSERT(!ks_fleet_batch_pack(&batch, &packed));
			ks_fleet_batch_init(&again);
			other = 0;
			FUZZ_ASSERT(ks_fleet_batch_unpack(&again, packed.s, packed.len, &other,
							  &diag) == 1);
			FUZZ_ASSERT(again.rows.len == batch.rows.len);
			FUZZ_ASSERT(!batch.rows.len ||
				    !memcmp(again.rows.items, batch.rows.items,
					    batch.rows.len * sizeof(*batch.rows.items)));
			ks_fleet_batch_deinit(&again);
			ks_strbuf_deinit(&packed);
		}
		ks_fleet_batch_deinit(&batch);
	} while (got == 1);
	return 0;
}
