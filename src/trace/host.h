/* SPDX-License-Identifier: LGPL-2.1-only */
/* The machine that was traced, as far as its capture tells; never its name, which is private. */
#ifndef KS_TRACE_HOST_H
#define KS_TRACE_HOST_H

#include "base/types.h"

/* "" and 0 where not told. */
struct ks_host {
	char kernel[128]; /* the release: "6.12.48+deb12-amd64" */
	char arch[32];	  /* as uname -m prints it */
	u32 cpus;
};

static inline bool ks_host_is_known(const struct ks_host *host)
{
	return host->kernel[0] || host->arch[0] || host->cpus;
}

#endif
