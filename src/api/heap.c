// SPDX-License-Identifier: LGPL-2.1-only
/* Snapshots of heaps: opened from a file, and asked. */
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "heap/census-doc.h"
#include "heap/compare-doc.h"
#include "heap/holders-doc.h"
#include "heap/show-doc.h"
#include "heap/snapshot-doc.h"
#include "heap/snapshot-file.h"
#include "heap/types-doc.h"

/* === Data ================================================================================= */

struct ks_heap {
	struct ks_snapshot *snapshot;
	char *path;
	u64 bytes;
};

/* === Internals: questions ================================================================= */

static int info(const struct ks_heap *heap, const struct ks_heap_options *options,
		struct ks_doc **ret_doc, struct ks_diag *diag)
{
	*ret_doc = ks_doc_of_snapshot(heap->snapshot, heap->path, heap->bytes);
	return 0;
}

static int census(const struct ks_heap *heap, const struct ks_heap_options *options,
		  struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_heap_charges charges = { 0 };
	struct ks_heap_report report = {
		.heap = heap->snapshot,
		.charges = &charges,
		.from = heap->path,
		.top = options->top,
	};
	unsigned int by;
	int err = ks_api_choice("by", options->by, ks_heap_by_name, KS_HEAP_BYS, &by, diag);

	if (err)
		return err;
	report.by = (enum ks_heap_by)by;
	if (by == KS_HEAP_BY_CGROUP)
		err = ks_heap_charges_of(heap->snapshot, &charges);
	*ret_doc = err ? NULL : ks_doc_of_census(&report);
	ks_vec_free(&charges.rows);
	return 0;
}

static int types(const struct ks_heap *heap, const struct ks_heap_options *options,
		 struct ks_doc **ret_doc, struct ks_diag *diag)
{
	*ret_doc = ks_doc_of_types(heap->snapshot, NULL, options->top);
	return 0;
}

static int selected(const struct ks_heap *heap, const struct ks_heap_options *options,
		    struct ks_selection **ret_selection, struct ks_diag *diag)
{
	if (!options->what)
		return ks_diag_set(diag, -EINVAL, "say what: a type, a cache, or an address");
	return ks_selection_make(heap->snapshot, options->what, ret_selection, diag);
}

/* What is asked for references needs a snapshot that has some. */
static int needs_graph(const struct ks_heap *heap, struct ks_diag *diag)
{
	if (heap->snapshot->ref_first)
		return 0;
	return ks_diag_set(diag, -ENODATA, "%s: has no references: it was saved with --no-graph",
			   heap->path);
}

static int show(const struct ks_heap *heap, const struct ks_heap_options *options,
		struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_show request = { .snapshot = heap->snapshot, .top = options->top };
	struct ks_selection *selection;
	int err = selected(heap, options, &selection, diag);

	if (err)
		return err;
	request.selection = selection;
	if (selection->by_address)
		err = needs_graph(heap, diag);
	if (!err)
		err = ks_doc_of_show(&request, ret_doc, diag);
	ks_selection_free(selection);
	return err;
}

static int holders(const struct ks_heap *heap, const struct ks_heap_options *options,
		   struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_selection *selection;
	int err = needs_graph(heap, diag);

	if (!err)
		err = selected(heap, options, &selection, diag);
	if (err)
		return err;
	err = ks_doc_of_holders(heap->snapshot, selection, options->what, options->top, ret_doc,
				diag);
	ks_selection_free(selection);
	return err;
}

static const struct {
	const char *name;
	int (*answer)(const struct ks_heap *heap, const struct ks_heap_options *options,
		      struct ks_doc **ret_doc, struct ks_diag *diag);
} questions[] = {
	{ "info", info }, { "census", census },	  { "types", types },
	{ "show", show }, { "holders", holders },
};

/* === Public =============================================================================== */

int ks_heap_open(const char *path, struct ks_heap **ret_heap, struct ks_diag *diag)
{
	struct ks_heap *heap;
	struct stat st;
	int err;

	if (stat(path, &st))
		return ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	heap = calloc(1, sizeof(*heap));
	if (!heap)
		return ks_diag_nomem(diag, "opening a snapshot");
	heap->bytes = (u64)st.st_size;
	heap->path = strdup(path);
	err = heap->path ? ks_snapshot_load(path, &heap->snapshot, diag)
			 : ks_diag_nomem(diag, "opening a snapshot");
	if (err) {
		free(heap->path);
		free(heap);
		return err;
	}
	*ret_heap = heap;
	return 0;
}

void ks_heap_close(struct ks_heap *heap)
{
	if (!heap)
		return;
	ks_snapshot_free(heap->snapshot);
	free(heap->path);
	free(heap);
}

int ks_heap_answer(const struct ks_heap *heap, const char *question,
		   const struct ks_heap_options *options, struct ks_document **ret_document,
		   struct ks_diag *diag)
{
	struct ks_heap_options own;
	struct ks_doc *doc = NULL;
	size_t i;
	int err = ks_api_options(options, &own, sizeof(own), diag);

	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(questions); i++)
		if (!strcmp(question, questions[i].name))
			break;
	if (i == ARRAY_SIZE(questions))
		return ks_diag_set(diag, -ENOENT, "there is no question '%s' to a heap", question);
	err = questions[i].answer(heap, &own, &doc, diag);
	return err ? err : ks_api_document(doc, ret_document, diag);
}

int ks_heap_compare(const struct ks_heap *before, const struct ks_heap *after,
		    const struct ks_heap_options *options, struct ks_document **ret_document,
		    struct ks_diag *diag)
{
	struct ks_heap_compare *compare;
	struct ks_heap_options own;
	struct ks_doc *doc;
	int err = ks_api_options(options, &own, sizeof(own), diag);

	if (!err)
		err = ks_heap_compare_make(before->snapshot, after->snapshot, &compare, diag);
	if (err)
		return err;
	doc = ks_doc_of_compare(compare, before->path, after->path, own.top);
	ks_heap_compare_free(compare);
	return ks_api_document(doc, ret_document, diag);
}
