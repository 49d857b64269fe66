/* SPDX-License-Identifier: LGPL-2.1-only */
/* Whom a relay talks to, by the certificate of the other side. */
#ifndef KS_FLEET_CLIENT_CERT_H
#define KS_FLEET_CLIENT_CERT_H

#include "base/types.h"

enum { KS_CLIENT_NAME_MAX = 256 };

/*
 * The common name in the certificate of the other side of a session of GnuTLS. False where it has none, or one that is not
 * valid now and of those that the server trusts.
 */
bool ks_client_name(void *session, char name[KS_CLIENT_NAME_MAX]);

#endif
