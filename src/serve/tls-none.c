// SPDX-License-Identifier: LGPL-2.1-only
/* For programs that were built without GnuTLS. */
#include <errno.h>

#include "serve/tls.h"

/* === Public =============================================================================== */

int ks_tls_read(const struct ks_tls_files *files, struct ks_tls *ret_tls, struct ks_diag *diag)
{
	if (files->certificate || files->key || files->clients)
		return ks_diag_set(diag, -ENOTSUP, "this program was built without GnuTLS");
	*ret_tls = (struct ks_tls){ 0 };
	return 0;
}

void ks_tls_deinit(struct ks_tls *tls)
{
}

bool ks_tls_knows_client(void *session)
{
	return false;
}
