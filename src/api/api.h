/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the files of the library share. Its interface is include/kmemscope. */
#ifndef KS_API_API_H
#define KS_API_API_H

#include <kmemscope/kmemscope.h>

#include "analysis/analysis.h"
#include "analysis/objects.h"
#include "report/report.h"

/* === Options: structs that begin with their size ========================================== */

/*
 * Copies the options that a caller gives, who may have another version of the struct, into @ret of
 * @known bytes. All are 0 where @given is NULL. -E2BIG: members are set that this library does not
 * know. -EINVAL: there is no size.
 */
int ks_api_options(const void *given, void *ret, size_t known, struct ks_diag *diag);

/*
 * The number of a name in a list of @len, -EINVAL and a message with the names in it, or 0 where
 * the name is NULL.
 */
int ks_api_choice(const char *what, const char *name, const char *(*name_of)(unsigned int),
		  unsigned int len, unsigned int *ret_number, struct ks_diag *diag);

/* === Captures ============================================================================= */

/* Opens it for an analysis. One that can be read only once gives -EALREADY the second time. */
int ks_api_capture_source(struct ks_capture *capture, const struct ks_source_opts *opts,
			  struct ks_source **ret_source, struct ks_diag *diag);

/* A source without events, for a caller who feeds. */
int ks_api_empty_source(const struct ks_source_opts *opts, struct ks_source **ret_source,
			struct ks_diag *diag);

/* Makes an event of what a caller gives. Names go into @names. */
int ks_api_event(const struct ks_event_data *given, struct ks_names *names,
		 struct ks_event *ret_event, struct ks_diag *diag);

/* === Documents ============================================================================ */

/*
 * Makes a document of @doc, which is its own from now on. NULL is a lack of memory, and so is a
 * document that failed.
 */
int ks_api_document(struct ks_doc *doc, struct ks_document **ret_document, struct ks_diag *diag);

/* One more who has the document; ks_document_free() is one less. */
void ks_api_document_keep(const struct ks_document *document);
bool ks_api_document_has(const struct ks_document *document, const struct ks_table *table);

/* The column as the caller numbers it, or NULL; and the number that the table itself has for it. */
const struct ks_column *ks_api_column(const struct ks_table *table, size_t column,
				      unsigned int *ret_id);
const char *ks_api_column_name(const struct ks_column *column);

/* === Analyses ============================================================================= */

struct ks_api_objects {
	ks_object_callback *callback;
	void *ctx;
};

struct ks_analyzer {
	struct ks_arena arena; /* the strings of its options */
	struct ks_filter filter;
	struct ks_helpers helpers;
	struct ks_resolver *resolver;
	struct ks_analysis *analysis;
	struct ks_source *source; /* NULL = it has not begun */
	struct ks_model
		*model; /* as of the last answer; NULL = there is none, or it is out of date */
	bool finished;
	struct ks_api_objects objects;

	/* What was asked for. */
	bool bys[KS_BYS];
	unsigned int asked; /* a bit for each report */
	struct ks_report_options leaks;
};

/* The model as of now; it stays the analyzer's. */
int ks_api_model(struct ks_analyzer *analyzer, struct ks_model **ret_model, struct ks_diag *diag);

/*
 * Brings the account by a grouping to the front, where reports look for it. -ENODATA, or -ENOENT if
 * nobody asked.
 */
int ks_api_account(struct ks_analyzer *analyzer, enum ks_by by, struct ks_model **ret_model,
		   struct ks_diag *diag);

/* Hands an object to the callback: a ks_object_fn, whose context is the struct ks_api_objects. */
ks_object_fn ks_api_hand_out;

/* The names of enums as ks_api_choice() asks for them. */
const char *ks_api_by_name(unsigned int by);

#endif
