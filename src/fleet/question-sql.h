/* SPDX-License-Identifier: LGPL-2.1-only */
/* For src/fleet/question.c: the statement of each question. */
#ifndef KS_FLEET_QUESTION_SQL_H
#define KS_FLEET_QUESTION_SQL_H

#include "fleet/question.h"

/* A question being asked. */
struct ks_asking {
	struct ks_store *store;
	const struct ks_question *q;
	struct ks_strbuf sql;
	struct ks_strbuf hosts; /* a condition on the host: " AND ..."; empty = all of them */
	char window[128];	/* "hour >= ... AND hour < ..." */
	u32 since, until;
	bool short_sums;	    /* host_sum or label_hour has what is asked for */
	u32 sums_since, sums_until; /* hours whose sums of reports are asked */
};

typedef void ks_statement_fn(struct ks_asking *ask);
extern ks_statement_fn *const ks_statements[KS_ASKS];

/* Whether it asks for sums over all series of hosts. */
bool ks_asking_hosts(const struct ks_asking *ask);

/* Bytes as digits: a string that can't end early. */
void ks_sql_text(struct ks_strbuf *sql, const char *text, size_t len);

/* A condition on hosts by a label "NAME=VALUE". What the user typed goes into the statement as digits. */
void ks_asking_label(struct ks_asking *ask, const char *label);

#endif
