/* SPDX-License-Identifier: GPL-2.0-only */
/* The secret that kmap stream and kmap listen share: a file with 32 hexadecimal digits. */
#ifndef KS_CLI_KMAP_TOKEN_H
#define KS_CLI_KMAP_TOKEN_H

#include "net/wire.h"

int ks_kmap_token_read(const char *path, char ret_token[KS_WIRE_TOKEN_LEN + 1],
		       struct ks_diag *diag);

/* Makes the file with a random token, mode 0600, where there is none. *ret_made: it was made. */
int ks_kmap_token_make(const char *path, char ret_token[KS_WIRE_TOKEN_LEN + 1], bool *ret_made,
		       struct ks_diag *diag);

#endif
