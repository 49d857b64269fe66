// SPDX-License-Identifier: GPL-2.0-only
/*
 * A census of memory that may hold anything. The first byte chooses one of the made-up kernels; then come changes
 * to its image, of 12 bytes each: where, and a new word. A word of 32 bits whose top bit is set is copied
 * from elsewhere in the image instead, so that lists can be tied into knots.
 */
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "heap/census.h"
#include "heap/model.h"
#include "heap/typing.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void *make_image(enum model_kind kind, size_t *ret_len)
{
	u64 alpha, beta, slab, objects[16], payer, to;
	struct model m;
	void *image;

	model_init(&m, kind);
	alpha = model_cache(&m, "alpha", 256, 0);
	beta = model_cache(&m, "kmalloc-64", 64, 0);
	payer = model_cgroup(&m, "shop");
	slab = model_slab(&m, alpha, 256, 16);
	model_charge(&m, slab, payer, 9);
	for (u32 i = 0; i < 16; i++)
		objects[i] = model_object(&m, slab, 256, i);
	model_to_sheaf(&m, alpha, 0, objects, 3);
	model_to_barn(&m, alpha, objects + 5, 4);
	to = model_object(&m, model_slab(&m, beta, 64, 9), 64, 2);
	memcpy(model_at(&m, objects[10] + 8), &to, 8);
	slab = model_slab(&m, alpha, 256, 5);
	model_to_cpu(&m, alpha, slab, 256, 5, 1);
	image = model_pack(&m, ret_len);
	model_deinit(&m);
	return image;
}

static void change(u8 *image, size_t len, const u8 *data, size_t size)
{
	u32 where;
	u64 word;

	for (; size >= 12; data += 12, size -= 12) {
		memcpy(&where, data, 4);
		memcpy(&word, data + 4, 8);
		if (word >> 31 == 1)
			memcpy(&word, image + (word & 0x7fffffff) % (len - 8), 8);
		memcpy(image + where % (len - 8), &word, 8);
	}
}

static void take(struct ks_kernel *kernel)
{
	const struct ks_census_options options = { .charges = true };
	struct ks_slots *slots = NULL;
	struct ks_typing *typing = NULL;
	struct ks_census *census;
	struct ks_diag diag;

	if (ks_census_take(kernel, &options, &census, &diag))
		return;
	if (!ks_slots_read(kernel, census, &slots, &diag) &&
	    !ks_typing_make(kernel, census, slots, NULL, &typing, &diag))
		ks_typing_free(typing);
	ks_slots_free(slots);
	ks_census_free(census);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	enum model_kind kind = size ? data[0] % MODEL_KINDS : 0;
	struct ks_memory *memory;
	struct ks_kernel *kernel;
	struct ks_diag diag;
	size_t len;
	u8 *image;

	image = make_image(kind, &len);
	if (size)
		change(image, len, data + 1, size - 1);
	if (!ks_memory_open_image(image, len, &memory, &diag) &&
	    !ks_kernel_open_btf(memory, model_btf(kind), false, &kernel, &diag)) {
		take(kernel);
		ks_kernel_free(kernel);
	}
	free(image);
	return 0;
}
