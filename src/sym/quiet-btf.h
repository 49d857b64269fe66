/* SPDX-License-Identifier: LGPL-2.1-only */
/* Type information of the kernel, read without libbpf's own messages: libraries don't print. */
#ifndef KS_SYM_QUIET_BTF_H
#define KS_SYM_QUIET_BTF_H

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>

/* From an ELF file or one of BTF alone. NULL: see errno. */
static inline struct btf *ks_btf_parse(const char *path)
{
	libbpf_print_fn_t before = libbpf_set_print(NULL);
	struct btf *btf = btf__parse(path, NULL);
	int err = errno;

	libbpf_set_print(before);
	errno = err;
	return btf;
}

#endif
