/* SPDX-License-Identifier: LGPL-2.1-only */
/* Where the lab's parts are: what came with kmemscope, and the kernels that were built. */
#ifndef KS_LAB_PLACE_H
#define KS_LAB_PLACE_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/strbuf.h"

/* The lab has no kernel of its own for arm64, but runs those of Debian. */
enum ks_lab_arch { KS_LAB_UM, KS_LAB_X86_64, KS_LAB_ARM64, KS_LAB_ARCHES };

extern const char *const ks_lab_arch_names[KS_LAB_ARCHES];

/* A kernel that was built. */
struct ks_lab_kernel {
	enum ks_lab_arch arch;
	char *dir;     /* where its build is */
	char *image;   /* what boots */
	char *vmlinux; /* what names its functions */
	char *btf;     /* its types, which not every kernel has: may not be there */
	bool smp;      /* it can have several processors */
};

/*
 * The directory with kernel/ and lab/build.sh: named by $KMEMSCOPE_LAB, beside the program in a build
 * directory, or below share/ where it is installed.
 */
int ks_lab_find_home(struct ks_strbuf *ret_dir, struct ks_diag *diag);

/* A program or library that the lab needs, by name: beside the program, or below libexec/. */
int ks_lab_find_helper(const char *name, struct ks_strbuf *ret_path, struct ks_diag *diag);

/* Where kernels are kept: $KMEMSCOPE_CACHE, or kmemscope/ below the user's cache. */
int ks_lab_cache(struct ks_strbuf *ret_dir, struct ks_diag *diag);

/* Which kernel. */
struct ks_lab_choice {
	const char *version;
	enum ks_lab_arch arch;
	bool calls; /* one that counts calls, too */
};

/* Remembers where build.sh has put a kernel; finds it again. -ENOENT: it has to be built. */
int ks_lab_kernel_set(const struct ks_lab_choice *choice, const char *dir, struct ks_diag *diag);
int ks_lab_kernel_find(const struct ks_lab_choice *choice, struct ks_lab_kernel *ret_kernel,
		       struct ks_diag *diag);
void ks_lab_kernel_deinit(struct ks_lab_kernel *kernel);

#endif
