/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What one host has to say of one interval: rows of live memory, the names that are new in them, and how
 * good the numbers are. A batch is complete in itself, so that it can wait in a spool for days, be
 * sent twice, and arrive in any order. kmemscope-fleet(5) has the layout.
 *
 * Names are known by a hash, here and in the database. The hash is part of the format: it never changes.
 */
#ifndef KS_FLEET_BATCH_H
#define KS_FLEET_BATCH_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/map64.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* What has a name. The numbers are in the database: new ones come last. */
enum ks_fleet_kind {
	KS_FLEET_HOST,
	KS_FLEET_BOOT,
	KS_FLEET_BUILD,
	KS_FLEET_CACHE,
	KS_FLEET_TYPE,
	KS_FLEET_SITE,
	KS_FLEET_STACK, /* its frames, outermost first, with ';' between them */
	KS_FLEET_CGROUP,
	KS_FLEET_KINDS
};

/* "host", "boot", ... */
const char *ks_fleet_kind_name(unsigned int kind);

/* The hash of a name: never 0, which stands for "none", as does the name "". */
u64 ks_fleet_id(enum ks_fleet_kind kind, const char *name, size_t len);

/* What is to be known of the numbers of a row or of an interval: bits. */
enum {
	KS_FLEET_NO_RATES = 1 << 0, /* allocations and frees were not counted */
	KS_FLEET_SAMPLED = 1 << 1,  /* the numbers have an error */
	KS_FLEET_TORN = 1 << 2,	    /* parts of memory made no sense: the numbers may be short */
	KS_FLEET_OFFLINE = 1 << 3,  /* from a file, sent by hand */
};

struct ks_fleet_row {
	u64 cache, type, site, stack, cgroup; /* ids; 0 = not known */
	s64 live_bytes, live_objects;
	u64 allocs, frees; /* in the interval */
	float std_error;   /* of live_bytes */
	u8 quality;
};

struct ks_fleet_name {
	u64 id;
	const char *name;
	u32 len;
	u8 kind;
};

struct ks_fleet_label {
	const char *name, *value;
};

/* The most that a batch may have: what claims more is refused. */
enum {
	KS_FLEET_ROWS_MAX = 100000,
	KS_FLEET_NAMES_MAX = 400000,
	KS_FLEET_LABELS_MAX = 64,
	KS_FLEET_NAME_MAX = 4096,
	KS_FLEET_BATCH_MAX = 32 << 20, /* bytes, unpacked */
};

struct ks_fleet_batch {
	u64 host, boot, build;
	u64 version; /* of two batches of the same interval the higher one counts */
	u32 at;	     /* when the interval began, in seconds since 1970 */
	u32 span;    /* its seconds */
	u32 uptime;  /* seconds since the kernel was booted; UINT32_MAX = not known */
	u8 quality;

	/* Since the agent's spool was made. */
	u64 lost;    /* intervals that were dropped, since the spool was full */
	u64 skipped; /* intervals of which nothing could be read */
	u32 torn;    /* slabs of this interval that made no sense */

	KS_VEC(struct ks_fleet_row) rows;
	KS_VEC(struct ks_fleet_name) names;
	KS_VEC(struct ks_fleet_label) labels;
	struct ks_arena arena;
};

void ks_fleet_batch_init(struct ks_fleet_batch *batch);
void ks_fleet_batch_deinit(struct ks_fleet_batch *batch);

/*
 * The id of a name. The batch gets the name, unless @known has its id already; then @known gets it.
 * 0 for "" and when there is no memory: then @batch has failed, see ks_fleet_batch_pack().
 */
int ks_fleet_batch_name(struct ks_fleet_batch *batch, struct ks_map64 *known,
			enum ks_fleet_kind kind, const char *name, u64 *ret_id);

int ks_fleet_batch_label(struct ks_fleet_batch *batch, const char *name, const char *value);

/* Rows of one series become one; in the order of the database. */
void ks_fleet_batch_sort(struct ks_fleet_batch *batch);

/* Appends a frame: the batch, packed and compressed, with its length in front. 0 or -ENOMEM. */
int ks_fleet_batch_pack(const struct ks_fleet_batch *batch, struct ks_strbuf *out);

/*
 * The next frame of a message, at *@pos, which goes on to the one behind it. 1 = there is one, 0 = this is
 * the end; KS_EBADINPUT: a frame that is damaged, too large or not ours.
 */
int ks_fleet_batch_unpack(struct ks_fleet_batch *batch, const void *message, size_t len,
			  size_t *pos, struct ks_diag *diag);

#endif
