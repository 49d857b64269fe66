/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the DB's reader and writer: the layout on disk, as kmemscope-ksdb(5) documents it. */
#ifndef KS_DB_KSDB_FORMAT_H
#define KS_DB_KSDB_FORMAT_H

#include "base/bytes.h"
#include "db/ksdb.h"

/* All integers are little-endian. */

#define KS_DB_MAGIC	"KSDB\r\n\x1a\n"
#define KS_DB_MAGIC_LEN 8

enum {
	KS_DB_VERSION = 2, /* what is written; version 1 is read, too */
	/* magic, u32 version, u32 header size, u64 features, u64 tail offset, u32 tail size, u32 crc */
	KS_DB_HEADER_SIZE = 40,
};

/*
 * Bits of the features word that this version knows; any other is refused. Each is of a section behind
 * the three that are always there, in the order of the bits.
 */
#define KS_DB_HAS_HOST	 (1ull << 0)
#define KS_DB_HAS_STACKS (1ull << 1)
#define KS_DB_HAS_NODES	 (1ull << 2)
#define KS_DB_HAS_CENSUS (1ull << 3)
#define KS_DB_FEATURES	 (KS_DB_HAS_HOST | KS_DB_HAS_STACKS | KS_DB_HAS_NODES | KS_DB_HAS_CENSUS)

/*
 * The columns of a block, in file order. Each is one zstd frame with a checksum; all but the first
 * are in byte planes (db/planes.h).
 */
enum ks_db_column {
	KS_COL_SHAPES,	 /* the table of shapes, then of tasks, as varints */
	KS_COL_SHAPE_OF, /* u16 */
	KS_COL_TASK_OF,	 /* u16 */
	KS_COL_TS,	 /* zigzag difference to the event before, u32, or u64 if a flag says so */
	KS_COL_SLOT,	 /* u32, of the events that have one */
	KS_COL_PTR,	 /* u64 xor the pointer before, of the others and of allocations */
	KS_DB_COLUMNS
};

enum { KS_DB_BLOCK_WIDE_TS = 1 << 0 };

/* The sections that the tail lists. Each is one zstd frame with a checksum. */
enum ks_db_section {
	KS_SEC_NAMES,
	KS_SEC_SUMMARY,
	KS_SEC_INDEX,
	KS_SEC_HOST,
	KS_SEC_STACKS,
	KS_SEC_NODES,
	KS_SEC_CENSUS,
	KS_DB_SECTIONS
};

/* Whether a DB with these features has the section. */
static inline bool ks_db_has_section(u64 features, enum ks_db_section section)
{
	return section < KS_SEC_HOST || features >> (section - KS_SEC_HOST) & 1;
}

/* Whether an event stores its pointer: a free finds it in the slot. */
static inline bool ks_db_has_ptr(u8 op, u8 kind)
{
	return op != KS_OP_FREE && kind != KS_LOST;
}

static inline bool ks_db_has_slot(u8 op)
{
	return op == KS_OP_ALLOC || op == KS_OP_FREE;
}

/* === The reader's own ===================================================================== */

struct ZSTD_DCtx_s;

/* One zstd frame. */
struct ks_db_frame {
	u64 stored, raw; /* bytes */
};

struct ks_db_entry {
	struct ks_db_block_info info;
	u64 first_ts;
	bool wide_ts;
	struct ks_db_frame columns[KS_DB_COLUMNS];
};

struct ks_db {
	char *path;
	int fd;
	u64 size;
	struct ks_names *names;
	u32 version;
	struct ks_host host;
	KS_VEC(u16) nodes;				/* by CPU */
	struct ks_slab_census *census[KS_CENSUS_WHENS]; /* may be NULL */
	u8 *summary;
	size_t summary_len;
	u64 events;
	u64 slots[KS_DB_LEVELS];
	KS_VEC(struct ks_db_entry) blocks;
};

/* The error for a DB that cannot be right at a byte. */
int ks_db_damaged(const struct ks_db *db, u64 offset, const char *what, struct ks_diag *diag);

/* Reads and decompresses one frame of known size into @raw; @stored is scratch memory. */
int ks_db_read_frame(const struct ks_db *db, struct ZSTD_DCtx_s *zstd, u64 offset,
		     const struct ks_db_frame *frame, u8 **stored, size_t *stored_cap, void *raw,
		     const char *what, struct ks_diag *diag);

#endif
