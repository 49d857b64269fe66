/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Libraries that few runs need: they are loaded when one of their functions is first wanted. What these bring along would
 * make every start of the program take several times as long.
 *
 * late.py makes a header of the source file that calls a library's functions. This file includes the library's own
 * headers first, then the one that was made, and calls ks_late_NAME() before anything else of the library:
 *
 *	#include <cairo.h>
 *	#include "report/late-cairo.h"
 *	...
 *	int err = ks_late_cairo(diag);
 */
#ifndef KS_BASE_LATE_H
#define KS_BASE_LATE_H

#include "base/diag.h"

/*
 * Fills @functions, which has a pointer for each of the @len @names, unless they are there. It stays loaded. Threads may
 * call this at once. -ELIBACC: the library, or a function of it, is missing.
 */
int ks_late_load(const char *library, const char *const *names, size_t len, void *functions,
		 struct ks_diag *diag);

#endif
