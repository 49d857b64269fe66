// SPDX-License-Identifier: GPL-2.0-only
/* The input is the BTF of a module that goes on behind a small one. What is taken can be walked over. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <bpf/btf.h>

#include "heap/btf-modules.h"
#include "heap/btf-types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct btf *make_base(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf ? btf__add_int(btf, "int", 4, BTF_INT_SIGNED) : -1;

	if (number < 0 || btf__add_struct(btf, "base", 4) < 0 ||
	    btf__add_field(btf, "one", number, 0, 0))
		abort();
	return btf;
}

static void walk(const struct btf *btf)
{
	struct ks_types *types;
	size_t i;
	u32 type;

	if (ks_types_new(btf, &types))
		return;
	for (i = 0; i < types->structs.strs.len && i < 1000; i++) {
		struct ks_str name = ks_intern_get(&types->structs, (u32)i);

		type = ks_types_struct(types, name.s, name.len);
		if (type && ks_types_expand(types, type))
			break;
	}
	ks_types_free(types);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct btf *base = make_base(), *all;
	struct ks_btf_merge *merge;

	if (!ks_btf_merge_new(base, &merge)) {
		/* Twice, as of two modules. */
		ks_btf_merge_add(merge, data, size);
		ks_btf_merge_add(merge, data, size);
		if (!ks_btf_merge_end(merge, &all)) {
			walk(all);
			btf__free(all);
		}
		ks_btf_merge_free(merge);
	}
	btf__free(base);
	return 0;
}
