// SPDX-License-Identifier: LGPL-2.1-only
/* For programs that were built without libmicrohttpd. */
#include <errno.h>

#include "serve/server.h"

/* === Public =============================================================================== */

bool ks_server_exists(void)
{
	return false;
}

int ks_server_start(const struct ks_server_opts *opts, struct ks_live_worker *worker,
		    struct ks_server **ret_server, struct ks_diag *diag)
{
	return ks_diag_set(diag, -ENOTSUP, "this program was built without libmicrohttpd");
}

void ks_server_stop(struct ks_server *server)
{
}

u16 ks_server_port(const struct ks_server *server)
{
	return 0;
}

void ks_server_tend(struct ks_server *server)
{
}
