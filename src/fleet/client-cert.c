// SPDX-License-Identifier: LGPL-2.1-only
/* Looks at the certificate of a relay's client, with GnuTLS. */
#include "fleet/client-cert.h"

#ifdef KS_HAVE_GNUTLS
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "fleet/late-gnutls.h"

/* === Public =============================================================================== */

bool ks_client_name(void *session, char name[KS_CLIENT_NAME_MAX])
{
	const gnutls_datum_t *chain;
	unsigned int status = 0, len = 0;
	size_t size = KS_CLIENT_NAME_MAX;
	gnutls_x509_crt_t cert;
	bool ok;

	if (!session || ks_late_gnutls(NULL) ||
	    gnutls_certificate_verify_peers2(session, &status) || status)
		return false;
	chain = gnutls_certificate_get_peers(session, &len);
	if (!chain || !len || gnutls_x509_crt_init(&cert))
		return false;
	ok = !gnutls_x509_crt_import(cert, &chain[0], GNUTLS_X509_FMT_DER) &&
	     !gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size) &&
	     *name;
	gnutls_x509_crt_deinit(cert);
	return ok;
}

#else

bool ks_client_name(void *session, char name[KS_CLIENT_NAME_MAX])
{
	return false;
}

#endif
