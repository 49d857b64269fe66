// SPDX-License-Identifier: LGPL-2.1-only
/* Reads certificates, and looks at those of clients. */
#include "serve/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "serve/late-gnutls.h"

/* === Data ================================================================================= */

enum { FILE_MAX = 1 << 20 };

/* === Internals ============================================================================ */

static int read_pem(const char *path, bool secret, char **ret_text, struct ks_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct stat st = { 0 };
	char *text = NULL;
	ssize_t len = 0;

	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err && secret && st.st_mode & (S_IRWXG | S_IRWXO)) {
		close(fd);
		return ks_diag_set(diag, -EPERM, "%s: others may read the key; chmod 600", path);
	}
	if (!err) {
		text = calloc(1, FILE_MAX + 1);
		len = text ? ks_pread_full(fd, text, FILE_MAX, 0) : -ENOMEM;
		err = len < 0 ? (int)len : 0;
	}
	if (fd >= 0)
		close(fd);
	if (!err && !strstr(text, "-----BEGIN ")) {
		free(text);
		return ks_diag_set(diag, KS_EBADINPUT, "%s: not in the PEM format", path);
	}
	if (err) {
		free(text);
		return ks_diag_set(diag, err, "%s: %s", path, strerror(-err));
	}
	*ret_text = text;
	return 0;
}

/* === Public =============================================================================== */

int ks_tls_read(const struct ks_tls_files *files, struct ks_tls *ret_tls, struct ks_diag *diag)
{
	struct ks_tls tls = { 0 };
	int err = 0;

	if (!files->certificate != !files->key || (files->clients && !files->certificate))
		return ks_diag_set(diag, -EINVAL,
				   "TLS needs a certificate and its key: --tls-cert and --tls-key");
	if (files->certificate)
		err = read_pem(files->certificate, false, &tls.certificate, diag);
	if (!err && files->key)
		err = read_pem(files->key, true, &tls.key, diag);
	if (!err && files->clients)
		err = read_pem(files->clients, false, &tls.clients, diag);
	if (err)
		ks_tls_deinit(&tls);
	else
		*ret_tls = tls;
	return err;
}

void ks_tls_deinit(struct ks_tls *tls)
{
	free(tls->certificate);
	if (tls->key)
		explicit_bzero(tls->key, strlen(tls->key));
	free(tls->key);
	free(tls->clients);
	*tls = (struct ks_tls){ 0 };
}

/* Without a certificate there is nothing to verify, which is an error as well. */
bool ks_tls_knows_client(void *session)
{
	unsigned int status = 0;

	return session && !ks_late_gnutls(NULL) &&
	       !gnutls_certificate_verify_peers2(session, &status) && !status;
}
