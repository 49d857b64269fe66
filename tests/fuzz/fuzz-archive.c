// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as an archive: names of members are inside the archive. */
#include "fuzz.h"

#include "sym/archive.h"

struct input {
	const uint8_t *data;
	size_t size;
};

static int member(void *arg, const char *name, size_t len)
{
	const struct input *input = arg;
	const uint8_t *start = (const uint8_t *)name;

	FUZZ_ASSERT(start >= input->data && len <= input->size &&
		    start + len <= input->data + input->size);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct ks_diag diag = { 0 };
	int err = ks_archive_members(data, size, "fuzz", member, &input, &diag);

	FUZZ_ASSERT(!err || (err == KS_EBADINPUT && diag.err == err && diag.text[0]));
	return 0;
}
