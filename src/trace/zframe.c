// SPDX-License-Identifier: LGPL-2.1-only
/* Frames of zstd, compressed. */
#include "trace/zframe.h"

#include <zstd.h>

/* === Internals ============================================================================ */

/* A framer is libzstd's own context under another name. */
static ZSTD_CCtx *context(struct ks_zframer *framer)
{
	return (ZSTD_CCtx *)framer;
}

static size_t size_or_none(size_t size)
{
	return ZSTD_isError(size) ? 0 : size;
}

/* === Public =============================================================================== */

const char *ks_zframe_version(void)
{
	return ZSTD_versionString();
}

size_t ks_zframe_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

size_t ks_zframe_make(void *dst, size_t cap, const void *src, size_t len, int level)
{
	return size_or_none(ZSTD_compress(dst, cap, src, len, level));
}

struct ks_zframer *ks_zframer_new(int level)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	if (zstd) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	}
	return (struct ks_zframer *)zstd;
}

size_t ks_zframer_make(struct ks_zframer *framer, void *dst, size_t cap, const void *src,
		       size_t len)
{
	return size_or_none(ZSTD_compress2(context(framer), dst, cap, src, len));
}

void ks_zframer_free(struct ks_zframer *framer)
{
	ZSTD_freeCCtx(context(framer));
}
