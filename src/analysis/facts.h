/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What is known of a capture as a whole, whatever the grouping and the filter. A DB keeps it ready.
 */
#ifndef KS_ANALYSIS_FACTS_H
#define KS_ANALYSIS_FACTS_H

#include "analysis/match.h"
#include "analysis/places.h"
#include "base/bytes.h"
#include "base/strbuf.h"
#include "trace/source.h"

struct ks_facts_misuse {
	enum ks_quality what;
	struct ks_misuse misuse;
};

struct ks_facts_stray {
	u32 cache; /* KS_NONE: the frees do not name it */
	struct ks_stray frees;
};

struct ks_facts {
	char format[32];
	enum ks_clock clock;
	u32 page_shift;
	u64 events[KS_KINDS];
	u64 first_ts, last_ts;
	u64 lines, lines_comment, lines_other_event, lines_stack;
	struct ks_host host; /* a DB keeps it in a section of its own */
	bool ptrs_hashed, some_tasks;
	u32 hooks;
	u64 quality[KS_QUALITIES];
	u64 misuses_dropped;
	KS_VEC(struct ks_facts_misuse) misuses;
	KS_VEC(struct ks_facts_stray) strays; /* by cache */
	KS_VEC(char *) unparsed;
};

/* Of events so far; @m NULL: there are none. deinit accepts a zeroed struct. */
int ks_facts_init(struct ks_facts *facts, const struct ks_matcher *m,
		  const struct ks_source_info *info);
void ks_facts_deinit(struct ks_facts *facts);

/* The part of a DB's summary that it makes. */
void ks_facts_pack(const struct ks_facts *facts, struct ks_strbuf *sb);

/* KS_EBADINPUT when the bytes make no sense; @facts is to be deinited in any case. */
int ks_facts_unpack(struct ks_facts *facts, struct ks_bytes *b);

/* The frees of what was not seen allocated, which came later, at the end of the summary. */
void ks_facts_pack_strays(const struct ks_facts *facts, struct ks_strbuf *sb);
int ks_facts_unpack_strays(struct ks_facts *facts, struct ks_bytes *b, size_t caches);

int ks_facts_fill(const struct ks_facts *facts, const struct ks_names *names,
		  struct ks_places *places, struct ks_model *model, struct ks_diag *diag);

#endif
