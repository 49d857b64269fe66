// SPDX-License-Identifier: LGPL-2.1-only
/* The summary of a DB. */
#include "analysis/summary.h"

#include <errno.h>
#include <stddef.h>

#include "base/pack.h"

/* === Data ================================================================================= */

/*
 * The fields of sums, in the order of the file. Files say how many they have: a new field comes last,
 * is 0 in older files, and is passed over by older programs.
 */
static const size_t stat_fields[] = {
	offsetof(struct ks_stat, allocs),	 offsetof(struct ks_stat, frees),
	offsetof(struct ks_stat, implied_frees), offsetof(struct ks_stat, failed),
	offsetof(struct ks_stat, total_bytes),	 offsetof(struct ks_stat, total_req),
	offsetof(struct ks_stat, live_objs),	 offsetof(struct ks_stat, live_bytes),
	offsetof(struct ks_stat, live_req),	 offsetof(struct ks_stat, peak_bytes),
	offsetof(struct ks_stat, peak_ts),	 offsetof(struct ks_stat, first_ts),
	offsetof(struct ks_stat, last_ts),	 offsetof(struct ks_stat, page_frees),
	offsetof(struct ks_stat, census_frees),	 offsetof(struct ks_stat, unseen_bytes),
};
_Static_assert(ARRAY_SIZE(stat_fields) * sizeof(u64) == sizeof(struct ks_stat),
	       "every field of the sums is in the file");

enum {
	VERSION_1_FIELDS = 13, /* of files that do not say how many there are */
	MAX_FIELDS = 256,
	MAX_PAGE_SHIFT = 30,
};

/* === Internals ============================================================================ */

static u64 *field_at(struct ks_stat *stat, size_t field)
{
	return (u64 *)(void *)((char *)stat + stat_fields[field]);
}

static void pack_stat(struct ks_strbuf *sb, struct ks_stat stat)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(stat_fields); i++)
		ks_pack_varint(sb, *field_at(&stat, i));
}

static void unpack_stat(struct ks_bytes *b, u64 fields, struct ks_stat *ret_stat)
{
	u64 i, value;

	*ret_stat = (struct ks_stat){ 0 };
	for (i = 0; i < fields; i++) {
		value = ks_bytes_varint(b);
		if (i < ARRAY_SIZE(stat_fields))
			*field_at(ret_stat, (size_t)i) = value;
	}
}

/* @acc: NULL where nobody wants them. */
static int unpack_level(struct ks_account *acc, enum ks_level level, u64 fields, struct ks_bytes *b,
			struct ks_diag *diag)
{
	struct ks_stat total, stat;
	u64 count, i;

	unpack_stat(b, fields, &total);
	count = ks_bytes_varint(b);
	for (i = 0; i < count && !b->overrun; i++) {
		struct ks_event ev = { .site = (u32)ks_bytes_varint(b) - 1 };
		u32 group;
		int err;

		unpack_stat(b, fields, &stat);
		if (!acc)
			continue;
		if (ev.site != KS_NONE && ev.site >= acc->grouping.names->sites.sites.len)
			return KS_EBADINPUT;
		err = ks_account_group(acc, &ev, &group, diag);
		if (err)
			return err;
		acc->tally[level].groups.items[group] = stat;
	}
	if (acc)
		acc->tally[level].total = total;
	return b->overrun ? KS_EBADINPUT : 0;
}

static int unpack(struct ks_bytes *b, u32 version, size_t caches, struct ks_facts *facts,
		  struct ks_account *account, struct ks_diag *diag)
{
	u64 page_shift = KS_PAGE_SHIFT, fields = VERSION_1_FIELDS;
	int level, err;

	if (version > 1)
		page_shift = ks_bytes_varint(b);
	err = ks_facts_unpack(facts, b);
	facts->page_shift = (u32)page_shift;
	if (!err && version > 1)
		fields = ks_bytes_varint(b);
	if (!err && (page_shift > MAX_PAGE_SHIFT || fields > MAX_FIELDS))
		err = KS_EBADINPUT;
	for (level = 0; level < KS_LEVELS && !err; level++)
		err = unpack_level(account, (enum ks_level)level, fields, b, diag);
	return err ? err : ks_facts_unpack_strays(facts, b, caches);
}

/* === Public =============================================================================== */

void ks_summary_pack(const struct ks_facts *facts, const struct ks_account *acc,
		     struct ks_strbuf *sb)
{
	int level;
	size_t i;

	ks_pack_varint(sb, facts->page_shift);
	ks_facts_pack(facts, sb);
	ks_pack_varint(sb, ARRAY_SIZE(stat_fields));
	for (level = 0; level < KS_LEVELS; level++) {
		const struct ks_tally *tally = &acc->tally[level];

		pack_stat(sb, ks_tally_total(tally));
		ks_pack_varint(sb, tally->groups.len);
		for (i = 0; i < tally->groups.len; i++) {
			ks_pack_varint(sb, (u32)(ks_grouping_site_of(&acc->grouping, (u32)i) + 1));
			pack_stat(sb, tally->groups.items[i]);
		}
	}
	ks_facts_pack_strays(facts, sb);
}

int ks_summary_unpack(struct ks_db *db, struct ks_facts *facts, struct ks_account *account,
		      struct ks_diag *diag)
{
	struct ks_bytes b;
	size_t len;
	const void *summary = ks_db_summary(db, &len);
	int err;

	ks_bytes_init(&b, summary, len);
	err = unpack(&b, ks_db_version(db), ks_db_names(db)->caches.strs.len, facts, account, diag);
	facts->host = *ks_db_host(db);
	if (err == -ENOMEM)
		return ks_diag_nomem(diag, "asking a DB");
	if (err == KS_EBADINPUT)
		return ks_diag_set(diag, err,
				   "%s: the DB is damaged: its summary makes no sense; make it "
				   "again from the capture",
				   ks_db_path(db));
	return err;
}
