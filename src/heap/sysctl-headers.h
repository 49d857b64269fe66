/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Registrations of sysctl tables, and directories of them. Nobody need point to one, and no function is in it; but it
 * points to its own nodes, which follow it in the same object.
 */
#ifndef KS_HEAP_SYSCTL_HEADERS_H
#define KS_HEAP_SYSCTL_HEADERS_H

#include "heap/btf-types.h"
#include "heap/kernel.h"

struct ks_sysctl_headers {
	u32 header, directory; /* types; 0 = this kernel has none */
	u32 header_size, directory_size;
	u32 table, argument, root, node; /* offsets */
};

void ks_sysctl_headers_init(struct ks_types *types, struct ks_sysctl_headers *ret_headers);

/* The type of the object at @addr with these contents, or 0. */
u32 ks_sysctl_header_type(const struct ks_sysctl_headers *headers, const struct ks_kernel *kernel,
			  u64 addr, const u8 *data, u32 size);

#endif
