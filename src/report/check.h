/* SPDX-License-Identifier: LGPL-2.1-only */
/* The verdict on captures, as a document. */
#ifndef KS_REPORT_CHECK_H
#define KS_REPORT_CHECK_H

#include "analysis/check.h"
#include "table/doc.h"

/* A document with a table of files, and the table; NULL when there is no memory. */
struct ks_doc *ks_doc_of_checks(struct ks_table **ret_files);

/* Adds a file. @path names the capture; @repaired: it was finished just before it was read. */
void ks_doc_add_check(struct ks_doc *doc, struct ks_table *files, const char *path,
		      const struct ks_check *check, bool repaired);

#endif
