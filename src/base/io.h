/* SPDX-License-Identifier: LGPL-2.1-only */
/* Reads and writes that go on until all is done: through signals, and past short transfers. */
#ifndef KS_BASE_IO_H
#define KS_BASE_IO_H

#include <sys/types.h>

#include "base/types.h"

/* 0 or -errno. */
int ks_write_all(int fd, const void *data, size_t len);
int ks_pwrite_all(int fd, const void *data, size_t len, u64 offset);

/* How many bytes there were up to @len: fewer only at the end of the file. Or -errno. */
ssize_t ks_pread_full(int fd, void *buf, size_t len, u64 offset);

#endif
