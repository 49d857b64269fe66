// SPDX-License-Identifier: LGPL-2.1-only
/* Error context: formatting into the caller's buffer, with no allocation. */
#include "base/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

_Static_assert(KS_EBADINPUT < -4095, "errno values end at 4095");

int ks_diag_set(struct ks_diag *diag, int err, const char *fmt, ...)
{
	va_list ap;

	if (!diag)
		return err;
	diag->err = err;
	va_start(ap, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, ap);
	va_end(ap);
	return err;
}

int ks_diag_nomem(struct ks_diag *diag, const char *what)
{
	return ks_diag_set(diag, -ENOMEM, "out of memory while %s", what);
}
