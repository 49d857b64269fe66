/* SPDX-License-Identifier: LGPL-2.1-only */
/* The questions of fleet/question.h, answered from a directory of tables: the same rows as a server's statement gives. */
#ifndef KS_FLEET_FILES_ASK_H
#define KS_FLEET_FILES_ASK_H

#include "fleet/files.h"
#include "fleet/question.h"

/* The window of the question: whole hours, up to the last one that there is. */
int ks_files_window(const struct ks_files *files, const struct ks_question *question,
		    u32 *ret_since, u32 *ret_until, struct ks_diag *diag);

/* Appends the answer as a server would send it: lines of fields with tabs between them. */
int ks_files_ask(const struct ks_files *files, const struct ks_question *question, u32 since,
		 u32 until, struct ks_strbuf *answer, struct ks_diag *diag);

#endif
