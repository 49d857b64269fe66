/* SPDX-License-Identifier: GPL-2.0-only */
/* Binary records and text lines, made of packed objects. */
#ifndef MEMORIZER_RECORD_H
#define MEMORIZER_RECORD_H

#include "../include/uapi/memorizer.h"
#include "index.h"
#include "table.h"

/* All that an allocation site decides. Free sites use @ip alone. */
struct mz_site {
	/* The key. */
	u64 ip;
	u64 what; /* bytes that were given, or mz_cache_identity() */
	u32 gfp;
	u32 kind; /* enum memorizer_kind, 0 for a free site */
	/* What follows from it. */
	u32 bytes_req; /* of a cache; otherwise each object has its own */
	u32 bytes_alloc;
	char cache[MEMORIZER_CACHE_LEN];
};

#define MZ_SITE_KEY_SIZE offsetof(struct mz_site, bytes_req)

struct mz_comm {
	char name[MEMORIZER_COMM_LEN];
};

struct mz_names {
	struct mz_table sites, comms;
};

/* Ties nanoseconds to jiffies. */
struct mz_clock {
	u64 base_ns;
	u64 base_jiffies;
	u32 tick_ns;
};

/* Longest line: three addresses, five numbers, a comm of escapes. */
#define MZ_LINE_MAX 208

int mz_names_init(struct mz_names *names);
void mz_names_deinit(struct mz_names *names);
void mz_record_fill(const struct mz_names *names, const struct mz_object *obj,
		    struct memorizer_record *ret_record);
u64 mz_clock_jiffies(const struct mz_clock *clock, u64 ns);
int mz_record_text(const struct memorizer_record *record, const struct mz_clock *clock, char *buf,
		   size_t size);

/* The same in a table of comma-separated values, as later versions of the ancestor have it. */
#define MZ_CSV_MAX 416
#define MZ_ALLOCATIONS_HEAD \
	"alloc_ip,pid,ptr,size,alloc_time,free_time,free_ip,type,command,slab,new_type\n"
#define MZ_ACCESSES_HEAD "alloc_index,access_ip,pid,writes,reads\n"
int mz_record_csv(const struct memorizer_record *record, char *buf, size_t size);
int mz_access_csv(u64 index, const struct memorizer_access *access, char *buf, size_t size);

/* Accesses of one object. Once they are sorted, groups of records that belong together follow. */
void mz_accesses_sort(struct mz_object *obj);
unsigned int mz_accesses_count(const struct mz_object *obj);
const struct mz_access *mz_accesses_next(const struct mz_access *from, u64 text, bool apart,
					 struct memorizer_access *ret_access);
int mz_access_text(const struct memorizer_access *access, char *buf, size_t size);

#endif /* MEMORIZER_RECORD_H */
