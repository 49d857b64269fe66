/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to those who save and load snapshots: the layout of the file, as kmemscope-heap(5) documents it. */
#ifndef KS_HEAP_SNAPSHOT_FORMAT_H
#define KS_HEAP_SNAPSHOT_FORMAT_H

#include "base/bytes.h"
#include "base/map64.h"
#include "base/strbuf.h"
#include "heap/snapshot.h"

/* All integers are little-endian. */

#define KS_HS_MAGIC	"KSHS\r\n\x1a\n"
#define KS_HS_MAGIC_LEN 8
#define KS_HS_GRAPH	((u64)1) /* of the features: references and roots */

enum {
	KS_HS_VERSION = 1,
	/* magic, u32 version, u32 header size, u64 features, u64 tail offset, u32 tail size, u32 crc */
	KS_HS_HEADER_SIZE = 40,
	KS_HS_BLOCK = 65536,	   /* objects of a block */
	KS_HS_ROOT_BLOCK = 262144, /* references of roots in a block */
};

/* Each is one zstd frame with a checksum. The tail lists them in this order. */
enum ks_hs_section {
	KS_HS_FACTS, /* the kernel, the census, and the tables that objects refer to */
	KS_HS_INDEX,
	KS_HS_ROOTS, /* with the graph only */
	KS_HS_SECTIONS,
};

/* The columns of a block of objects. Each is one zstd frame with a checksum. */
enum ks_hs_column {
	KS_HS_CACHE,
	KS_HS_TYPE,
	KS_HS_KNOWN_BY,
	KS_HS_CGROUP,
	KS_HS_CHECKSUM,
	KS_HS_ADDR,
	KS_HS_REFS, /* how many; this and the next with the graph only */
	KS_HS_AT,
	KS_HS_TO,
	KS_HS_INSIDE,
	KS_HS_COLUMNS,
};

/* Those of a block of references of roots are the last of them. */
enum { KS_HS_ROOT_COLUMNS = KS_HS_COLUMNS - KS_HS_AT };

/* One zstd frame. */
struct ks_hs_frame {
	u64 stored, raw; /* bytes */
};

struct ks_hs_block {
	u64 offset;
	u32 refs;
	struct ks_hs_frame columns[KS_HS_COLUMNS];
};

struct ks_hs_root_block {
	u64 offset;
	struct ks_hs_frame columns[KS_HS_ROOT_COLUMNS];
};

/* Bytes of a column, not compressed. */
struct ks_hs_bytes {
	u8 *data;
	size_t len, cap;
};

/* The last reference at each place of objects of one kind, which the next one is likely to be near to. */
struct ks_hs_last {
	struct ks_map64 places;
	KS_VEC(u32) to;
};

/* What one thread needs to pack or unpack blocks. */
struct ks_hs_scratch {
	struct ks_hs_bytes columns[KS_HS_COLUMNS];
	struct ks_hs_last last;
};

int ks_hs_scratch_init(struct ks_hs_scratch *scratch);
void ks_hs_scratch_deinit(struct ks_hs_scratch *scratch);

/* How many bytes this many objects with this many references take at most in a column. */
u64 ks_hs_column_max(enum ks_hs_column column, u32 objects, u32 refs);
const char *ks_hs_column_name(enum ks_hs_column column);

static inline int ks_hs_columns(u64 features)
{
	return features & KS_HS_GRAPH ? KS_HS_COLUMNS : KS_HS_REFS;
}

/* How many objects a block has, of the one with this number. */
static inline u32 ks_hs_block_len(u32 objects, size_t block)
{
	return (u32)ks_min((u64)objects - block * KS_HS_BLOCK, (u64)KS_HS_BLOCK);
}

static inline u32 ks_hs_root_block_len(u64 refs, size_t block)
{
	return (u32)ks_min(refs - block * KS_HS_ROOT_BLOCK, (u64)KS_HS_ROOT_BLOCK);
}

static inline size_t ks_hs_blocks(u64 items, u32 block)
{
	return (size_t)((items + block - 1) / block);
}

/* Packs into the columns of the scratch memory. 0 or -ENOMEM. */
int ks_hs_pack_objects(const struct ks_snapshot *snapshot, size_t block,
		       struct ks_hs_scratch *scratch);
int ks_hs_pack_root_refs(const struct ks_snapshot *snapshot, size_t block,
			 struct ks_hs_scratch *scratch);

/*
 * Unpacks a block into the arrays of the snapshot, which have room for all, and checks it. @first_ref is the number of
 * its first reference. KS_EBADINPUT: *ret_column makes no sense.
 */
int ks_hs_unpack_objects(struct ks_snapshot *snapshot, size_t block, u32 first_ref, u32 refs,
			 struct ks_hs_scratch *scratch, enum ks_hs_column *ret_column);
int ks_hs_unpack_root_refs(struct ks_snapshot *snapshot, size_t block,
			   struct ks_hs_scratch *scratch, enum ks_hs_column *ret_column);

/* The sections of facts and of roots (snapshot-facts.c). Unpacking gives 0, -ENOMEM or KS_EBADINPUT with *ret_what. */
void ks_hs_pack_facts(const struct ks_snapshot *snapshot, struct ks_strbuf *out);
int ks_hs_unpack_facts(struct ks_snapshot *snapshot, struct ks_bytes *b, const char **ret_what);
void ks_hs_pack_roots(const struct ks_snapshot *snapshot, struct ks_strbuf *out);
int ks_hs_unpack_roots(struct ks_snapshot *snapshot, struct ks_bytes *b, u64 refs,
		       const char **ret_what);

#endif
