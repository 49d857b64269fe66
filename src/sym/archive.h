/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/sym: the names of the members of an ar archive, thin or not. */
#ifndef KS_SYM_ARCHIVE_H
#define KS_SYM_ARCHIVE_H

#include "base/diag.h"

/*
 * Calls @member for each object in the archive that @data holds; a negative return ends it. libelf
 * knows no thin archives, and the members' names are all that is wanted: the linker's own list of
 * what is in the kernel. @path is for messages.
 */
int ks_archive_members(const void *data, size_t len, const char *path,
		       int (*member)(void *arg, const char *name, size_t len), void *arg,
		       struct ks_diag *diag);

#endif
