/* SPDX-License-Identifier: LGPL-2.1-only */
/* The binary stream of the kernel side (include/uapi/memorizer.h), from a machine of any byte order. */
#ifndef KS_KMAP_BINARY_H
#define KS_KMAP_BINARY_H

#include "base/vec.h"
#include "kmap/reader.h"
#include "kmap/buffer.h"

struct ks_kmap_binary {
	size_t record_size, access_size;
	bool big_endian;
	u32 calls;				/* that come next */
	KS_VEC(struct ks_kmap_access) accesses; /* of the object in hand */
	char comm[16], cache[32];		/* of an object that reaches beyond the buffer */
};

/* The kind of such an object in a record; 0 = none. */
u8 ks_kmap_kind_of(u32 type);

void ks_kmap_binary_deinit(struct ks_kmap_binary *binary);

/* Reads the header that the buffer begins with. What @info already has stays. */
int ks_kmap_binary_start(struct ks_kmap_binary *binary, struct ks_kmap_buffer *buffer,
			 struct ks_kmap_info *info, struct ks_diag *diag);

int ks_kmap_binary_next(struct ks_kmap_binary *binary, struct ks_kmap_buffer *buffer,
			struct ks_kmap_info *info, struct ks_kmap_quality *quality,
			enum ks_kmap_item *ret_item, struct ks_kmap_object *ret_object,
			struct ks_kmap_call *ret_call, struct ks_diag *diag);

#endif
