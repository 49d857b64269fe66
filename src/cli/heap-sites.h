/* SPDX-License-Identifier: GPL-2.0-only */
/* Which code allocated objects of the heap, by a capture of the same time. */
#ifndef KS_CLI_HEAP_SITES_H
#define KS_CLI_HEAP_SITES_H

#include "cli/cli.h"
#include "heap/sites.h"

/* Adds the sites of all objects that live at the end of a capture. 0 or an exit code. */
int ks_heap_sites_of_capture(const struct ks_cli *cli, const char *path,
			     struct ks_heap_sites *sites);

#endif
