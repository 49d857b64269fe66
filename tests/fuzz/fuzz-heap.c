// SPDX-License-Identifier: GPL-2.0-only
/*
 * A snapshot of memory that may hold anything, and all questions to it. The first byte chooses one of the made-up kernels; then come changes
 * to its image, of 12 bytes each: where, and a new word. A word of 32 bits whose top bit is set is copied
 * from elsewhere in the image instead, so that lists can be tied into knots.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "heap/holders-doc.h"
#include "heap/model.h"
#include "heap/show-doc.h"
#include "heap/types-doc.h"
#include "heap/unreachable.h"

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

static void ask_about(struct ks_kernel *kernel, const struct ks_snapshot *snapshot,
		      const char *what)
{
	struct ks_selection *selection;
	struct ks_doc *doc;
	struct ks_diag diag;

	if (ks_selection_make(snapshot, what, &selection, &diag))
		return;
	if (!ks_doc_of_holders(snapshot, selection, what, 3, &doc, &diag))
		ks_doc_free(doc);
	if (!ks_doc_of_show(&(struct ks_show){ .snapshot = snapshot,
					       .selection = selection,
					       .kernel = kernel,
					       .contents = true,
					       .top = 3 },
			    &doc, &diag))
		ks_doc_free(doc);
	ks_selection_free(selection);
}

static void take(struct ks_kernel *kernel)
{
	const struct ks_snapshot_options options = { .graph = true };
	struct ks_candidates_list list;
	struct ks_snapshot *snapshot;
	struct ks_diag diag;
	char address[32];

	if (ks_snapshot_take(kernel, &options, &snapshot, &diag))
		return;
	if (!ks_unreachable_find(snapshot, &list, &diag)) {
		ks_doc_free(ks_doc_of_unreachable(snapshot, &list,
						  &(struct ks_unreachable_show){ .top = 3 }));
		ks_candidates_deinit(&list);
	}
	ks_doc_free(ks_doc_of_types(snapshot, kernel, 3));
	ask_about(kernel, snapshot, "alpha");
	ask_about(kernel, snapshot, "kmalloc-64");
	if (snapshot->count) {
		snprintf(address, sizeof(address), "0x%llx",
			 (unsigned long long)snapshot->addr[snapshot->count / 2]);
		ask_about(kernel, snapshot, address);
	}
	ks_snapshot_free(snapshot);
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
