// SPDX-License-Identifier: LGPL-2.1-only
/* Opens a kernel: types, layouts, bases. */
#include "heap/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/quiet-btf.h"

/* === Internals ============================================================================ */

static const char running_btf[] = "/sys/kernel/btf/vmlinux";

static int load_btf(const char *path, struct btf **ret_btf, struct ks_diag *diag)
{
	struct btf *btf;
	int err;

	btf = ks_btf_parse(path ? path : running_btf);
	err = btf ? 0 : -errno;
	if (err == -ENOENT && !path)
		return ks_diag_set(diag, err,
				   "%s is not there: the kernel was built without type information "
				   "(CONFIG_DEBUG_INFO_BTF)",
				   running_btf);
	if (err == -ENOENT && path && !access(path, F_OK))
		return ks_diag_set(diag, KS_EBADINPUT, "%s: has no type information (BTF)", path);
	if (err)
		return ks_diag_set(diag, path ? KS_EBADINPUT : err,
				   "%s: no type information (BTF) that can be read: %s",
				   path ? path : running_btf, strerror(-err));
	*ret_btf = btf;
	return 0;
}

/* === Public =============================================================================== */

void ks_kernel_free(struct ks_kernel *k)
{
	unsigned int i;

	if (!k)
		return;
	for (i = 1; i < KS_WORKERS_MAX; i++)
		ks_memory_free(k->lanes[i]);
	ks_memory_free(k->memory);
	btf__free(k->btf);
	free(k);
}

int ks_kernel_open_btf(struct ks_memory *memory, struct btf *btf, bool live,
		       struct ks_kernel **ret_kernel, struct ks_diag *diag)
{
	struct ks_kernel *k = calloc(1, sizeof(*k));
	int err;

	if (!k) {
		ks_memory_free(memory);
		btf__free(btf);
		return ks_diag_nomem(diag, "opening a kernel");
	}
	*k = (struct ks_kernel){ .memory = memory, .btf = btf, .live = live };
	err = ks_layout_load(btf, &k->layout, diag);
	if (!err && memory->ops->locate)
		err = memory->ops->locate(memory, btf, diag);
	if (!err)
		err = ks_kernel_find_bases(k, diag);
	if (err) {
		ks_kernel_free(k);
		return err;
	}
	*ret_kernel = k;
	return 0;
}

int ks_kernel_open(struct ks_memory *memory, const char *btf_path, struct ks_kernel **ret_kernel,
		   struct ks_diag *diag)
{
	bool own = !btf_path && memory->ops->types;
	struct btf *btf = NULL;
	int err = own ? memory->ops->types(memory, &btf, diag) : load_btf(btf_path, &btf, diag);

	if (err) {
		ks_memory_free(memory);
		return err;
	}
	err = ks_kernel_open_btf(memory, btf, memory->ops->live, ret_kernel, diag);
	if (!err)
		(*ret_kernel)->foreign_types = btf_path;
	return err;
}

int ks_kernel_lanes(struct ks_kernel *k, unsigned int count, struct ks_diag *diag)
{
	unsigned int i;
	int err = 0;

	k->lanes[0] = k->memory;
	for (i = 1; !err && i < count; i++)
		if (!k->lanes[i])
			err = ks_memory_dup(k->memory, &k->lanes[i], diag);
	return err;
}

u64 ks_kernel_end(const struct ks_kernel *k)
{
	const struct ks_memory_facts *facts = &k->memory->facts;
	u64 end = 0;
	size_t i;

	for (i = 0; i < facts->ram.len; i++)
		end = ks_max(end, facts->ram.items[i].end);
	return end;
}

int ks_kernel_slab_of(struct ks_kernel *k, u64 object, u8 *ret_page, u64 *ret_first)
{
	const struct ks_layout *l = &k->layout;
	u64 pfn = (object - k->page_offset) >> 12, page, head;

	if (object < k->page_offset || pfn >= ks_kernel_end(k))
		return -ERANGE;
	page = ks_kernel_page(k, pfn);
	if (ks_memory_get(k->memory, page, ret_page, l->page_size))
		return -EFAULT;
	head = ks_u64_at(ret_page, l->page_head);
	if (head & 1) {
		/* The head's address, or a mask that makes the head's address from the tail's (7.x). */
		page = head >= k->vmemmap && head < ks_kernel_page(k, ks_kernel_end(k))
			       ? head - 1
			       : page & head;
		if (ks_memory_get(k->memory, page, ret_page, l->page_size))
			return -EFAULT;
	}
	if (l->typing == KS_TYPING_NUMBER
		    ? ks_u32_at(ret_page, l->page_type) >> 24 != l->type_slab
		    : !(ks_u64_at(ret_page, l->page_flags) >> l->flag_slab & 1))
		return -ENOENT;
	*ret_first = ks_kernel_addr(k, (page - k->vmemmap) / l->page_size);
	return 0;
}

int ks_kernel_cache_of(struct ks_kernel *k, u64 object, u64 *ret_cache)
{
	u8 page[KS_STRUCT_PAGE_MAX];
	u64 first;
	int err = ks_kernel_slab_of(k, object, page, &first);

	if (!err)
		*ret_cache = ks_u64_at(page, k->layout.slab_cache);
	return err;
}
