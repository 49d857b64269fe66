/* SPDX-License-Identifier: LGPL-2.1-only */
/* The questions of fleet/question.h, answered from a directory of tables: the same rows as a server's statement gives. */
#ifndef KS_FLEET_FILES_ASK_H
#define KS_FLEET_FILES_ASK_H

#include "fleet/files-group.h"
#include "fleet/question.h"

/* The window of the question: whole hours, up to the last one that there is. */
int ks_files_window(const struct ks_files *files, const struct ks_question *question,
		    u32 *ret_since, u32 *ret_until, struct ks_diag *diag);

/* Appends the answer as a server would send it: lines of fields with tabs between them. */
int ks_files_ask(const struct ks_files *files, const struct ks_question *question, u32 since,
		 u32 until, struct ks_strbuf *answer, struct ks_diag *diag);

/* For src/fleet/files-*.c alone: a question being answered. */
struct ks_files_asking {
	const struct ks_files *files;
	const struct ks_question *q;
	u32 since, until;
	u64 only[KS_KEY_PARTS]; /* ids that are asked for; 0 = all */
	struct ks_sums sums;
	struct ks_map64 seen; /* what was ever there, and since when */
	KS_VEC(u32) first;
	struct ks_lines lines;
};

/* Whether a key is one of those that are asked for. */
bool ks_files_wants(const struct ks_files_asking *ask, const u64 *key);

/* The hour in which a series of a build, or a type, was there for the first time; 0 = never. */
u32 ks_files_first(const struct ks_files_asking *ask, const u64 *key);

void ks_files_ask_leaks(struct ks_files_asking *ask);
void ks_files_ask_outliers(struct ks_files_asking *ask);
int ks_files_ask_quality(struct ks_files_asking *ask, struct ks_diag *diag);

#endif
