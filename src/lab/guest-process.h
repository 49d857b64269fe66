/* SPDX-License-Identifier: LGPL-2.1-only */
/* The host side of a guest: the lab's kernel as a process of this machine, and the keeper that ends it. */
#ifndef KS_LAB_GUEST_PROCESS_H
#define KS_LAB_GUEST_PROCESS_H

#include <sys/types.h>

#include "base/vec.h"
#include "lab/place.h"

/* What to boot. */
struct ks_lab_machine {
	const struct ks_lab_kernel *kernel;
	const char *shim;	/* preloaded into User Mode Linux */
	const char *parameters; /* more for the kernel's command line, or "" */
	char *const *shares;	/* directories of the host to be written to; ends with NULL */
	int ramdisk;
	u32 processors;
	u64 memory_mb;
	bool kvm;
	/* Of a kernel that is not the lab's: the plugin that counts accesses, and its table; NULL = it is the lab's. */
	const char *plugin;
	int table;
};

struct ks_lab_guest {
	int channel; /* to its first process */
	int console; /* what its kernel prints */
	int leash;   /* closed, by whatever means, it ends the guest */
	pid_t keeper;
	pid_t pid; /* of the process that has the guest's memory */
};

/* The descriptors do not block. */
int ks_lab_guest_start(struct ks_lab_guest *guest, const struct ks_lab_machine *machine,
		       struct ks_diag *diag);

/* Ends it, and does not return before nothing of it is left. */
void ks_lab_guest_end(struct ks_lab_guest *guest);

#endif
