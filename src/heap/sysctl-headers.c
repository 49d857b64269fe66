// SPDX-License-Identifier: LGPL-2.1-only
/* Knows registrations of sysctl tables by a pointer that leads right behind them. */
#include "heap/sysctl-headers.h"

/* === Public =============================================================================== */

void ks_sysctl_headers_init(struct ks_types *types, struct ks_sysctl_headers *ret_headers)
{
	struct ks_sysctl_headers h = {
		.header = ks_types_struct(types, "ctl_table_header", 16),
		.directory = ks_types_struct(types, "ctl_dir", 7),
	};

	*ret_headers = (struct ks_sysctl_headers){ 0 };
	if (!h.header || !h.directory)
		return;
	h.header_size = types->items.items[h.header].size;
	h.directory_size = types->items.items[h.directory].size;
	h.table = ks_types_member(types, h.header, "ctl_table");
	h.argument = ks_types_member(types, h.header, "ctl_table_arg");
	h.root = ks_types_member(types, h.header, "root");
	h.node = ks_types_member(types, h.header, "node");
	if (h.table != KS_NONE && h.argument != KS_NONE && h.root != KS_NONE && h.node != KS_NONE)
		*ret_headers = h;
}

u32 ks_sysctl_header_type(const struct ks_sysctl_headers *h, const struct ks_kernel *k, u64 addr,
			  const u8 *data, u32 size)
{
	u64 table;

	if (!h->header || size < h->header_size)
		return 0;
	table = ks_u64_at(data, h->table);
	if (!table || table != ks_u64_at(data, h->argument) ||
	    !ks_kernel_in_image(k, ks_u64_at(data, h->root)))
		return 0;
	if (ks_u64_at(data, h->node) == addr + h->header_size)
		return h->header;
	return size >= h->directory_size && ks_u64_at(data, h->node) == addr + h->directory_size
		       ? h->directory
		       : 0;
}
