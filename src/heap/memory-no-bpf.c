// SPDX-License-Identifier: LGPL-2.1-only
/* In the place of memory-bpf.c where the BPF program could not be compiled: built on a machine of other endianness. */
#include "heap/memory.h"

#include <errno.h>

int ks_memory_open_bpf(struct ks_memory **ret_memory, struct ks_diag *diag)
{
	return ks_diag_set(
		diag, -ENOTSUP,
		"this kmemscope was built without BPF: on a machine of the other byte order");
}
