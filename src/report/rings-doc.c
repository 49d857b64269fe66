// SPDX-License-Identifier: LGPL-2.1-only
/* What a ring chart shows, as a document: a table of what is in a directory, with the same inside of its rows. */
#include "report/rings.h"

/* === Data ================================================================================= */

enum { NAME, BYTES, CHILDREN, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[NAME] = { "name", NULL, KS_CELL_TEXT },
	[BYTES] = { "bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[CHILDREN] = { "children", NULL, KS_CELL_TABLE },
};

/* === Internals ============================================================================ */

/* What is directly below a node; NULL where nothing is. */
static struct ks_table *children_of(struct ks_doc *doc, const struct ks_dirtree *tree, u32 index)
{
	struct ks_table *table;
	u32 child = ks_dirtree_node(tree, index)->child;

	if (child == KS_NONE)
		return NULL;
	table = ks_doc_loose_table(doc, "children", columns, COLUMNS);
	for (; table && child != KS_NONE; child = ks_dirtree_node(tree, child)->sibling) {
		struct ks_row row = ks_table_add(table);
		struct ks_table *inside = children_of(doc, tree, child);

		ks_row_text(row, NAME, ks_dirtree_node(tree, child)->name);
		ks_row_u64(row, BYTES, ks_dirtree_node(tree, child)->bytes);
		if (inside)
			ks_row_table(row, CHILDREN, inside);
	}
	return table;
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_rings(const struct ks_rings_spec *spec)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-rings-1");
	const struct ks_dirnode *root = ks_dirtree_node(spec->tree, spec->root);
	struct ks_table *children;

	if (!doc)
		return NULL;
	ks_doc_text(doc, "title", spec->title);
	ks_doc_text(doc, "subtitle", spec->subtitle);
	ks_doc_text(doc, "branch", spec->root_path);
	ks_doc_open(doc, "tree");
	ks_doc_text(doc, "name", root->name);
	ks_doc_u64(doc, "bytes", root->bytes);
	children = children_of(doc, spec->tree, spec->root);
	if (children)
		ks_doc_place(doc, children, KS_IN_JSON);
	ks_doc_close(doc);
	return doc;
}
