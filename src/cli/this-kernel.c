// SPDX-License-Identifier: GPL-2.0-only
/* The kernel that this program runs on. */
#include "cli/this-kernel.h"

#include <string.h>

#include "capture/tracefs.h"

/* === Internals ============================================================================ */

static int read_symbols(void *ctx, struct ks_strbuf *ret_text)
{
	(void)ctx;
	return ks_slurp("/proc/kallsyms", ret_text);
}

/* === Public =============================================================================== */

void ks_this_kernel_init(struct ks_this_kernel *kernel)
{
	memset(kernel, 0, sizeof(*kernel));
	uname(&kernel->uts);
	kernel->known.release = kernel->uts.release;
	kernel->known.symbols = read_symbols;
}
