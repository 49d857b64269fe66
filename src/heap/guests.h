/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which processes have a guest in them whose memory may be read. */
#ifndef KS_HEAP_GUESTS_H
#define KS_HEAP_GUESTS_H

#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"

typedef KS_VEC(pid_t) ks_pids;

enum ks_qemu { KS_QEMU_NONE, KS_QEMU_X86_64, KS_QEMU_ARM64 };

/* Whether a process is QEMU, and for which machine. */
enum ks_qemu ks_qemu_of(pid_t pid);

/*
 * Those that run here, by what their programs are called: QEMU's, and "linux" of User Mode Linux, without the processes that
 * this one starts. In the order of their numbers. 0 or -ENOMEM.
 */
int ks_find_guests(ks_pids *pids);

#endif
