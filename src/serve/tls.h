/* SPDX-License-Identifier: LGPL-2.1-only */
/* TLS: the server's certificate, and those of clients. */
#ifndef KS_SERVE_TLS_H
#define KS_SERVE_TLS_H

#include "base/diag.h"

/* Paths of files in the PEM format. All NULL: no TLS. Without @clients anybody may ask who knows the token. */
struct ks_tls_files {
	const char *certificate, *key;
	const char *clients; /* who signs the certificates of clients */
};

/* What is in them; NULL where there is no file. */
struct ks_tls {
	char *certificate, *key, *clients;
};

/* Also refuses what makes no sense together, and a key that others may read. */
int ks_tls_read(const struct ks_tls_files *files, struct ks_tls *ret_tls, struct ks_diag *diag);
void ks_tls_deinit(struct ks_tls *tls);

/* Whether the other side of a session of GnuTLS has a certificate, a valid one, and of those that sign clients. */
bool ks_tls_knows_client(void *session);

#endif
