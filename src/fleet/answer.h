/* SPDX-License-Identifier: LGPL-2.1-only */
/* From a server's answer to a table: numbers, times, and ids with their names. */
#ifndef KS_FLEET_ANSWER_H
#define KS_FLEET_ANSWER_H

#include "fleet/store.h"
#include "table/doc.h"

enum ks_answer_what {
	KS_ANSWER_NUMBER, /* as the kind of the column says */
	KS_ANSWER_TIME,	  /* text; that of 1970 is none */
	KS_ANSWER_ID,	  /* shown by its name */
	KS_ANSWER_TEXT,	  /* "" is none */
};

struct ks_answer_column {
	struct ks_column column;
	enum ks_answer_what what;
	enum ks_fleet_kind kind; /* of an id */
};

struct ks_answer {
	const char *sql;
	const char *text; /* the answer, where it is known already; NULL = ask the server */
	const char *table, *title; /* in the document */
	const char *none;	   /* said where there are no rows */
	const struct ks_answer_column *columns;
	size_t nr_columns;
};

/* Asks the server and adds a table to the document. */
int ks_answer_get(struct ks_store *store, const struct ks_answer *answer, struct ks_doc *doc,
		  struct ks_diag *diag);

/* Takes apart one field of tab-separated text: where it ends. Escapes are undone into @out. */
const char *ks_answer_field(const char *s, struct ks_strbuf *out);

#endif
