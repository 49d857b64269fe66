// SPDX-License-Identifier: LGPL-2.1-only
/* What a ring chart shows, as a JSON document. */
#include "table/json.h"
#include "report/rings.h"

/* === Internals ============================================================================ */

static void put_node(struct ks_json *json, const struct ks_dirtree *tree, u32 index)
{
	const struct ks_dirnode *node = ks_dirtree_node(tree, index);
	u32 child;

	ks_json_string(json, "name", node->name);
	ks_json_u64(json, "bytes", node->bytes);
	if (node->child == KS_NONE)
		return;
	ks_json_array(json, "children");
	for (child = node->child; child != KS_NONE; child = ks_dirtree_node(tree, child)->sibling) {
		ks_json_object(json, NULL);
		put_node(json, tree, child);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
}

/* === Public =============================================================================== */

void ks_render_rings_json(const struct ks_rings_spec *spec, struct ks_strbuf *out)
{
	struct ks_json json;

	ks_json_init(&json, out, KS_JSON_INDENTED);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-rings-1");
	ks_json_string(&json, "title", spec->title);
	ks_json_string(&json, "subtitle", spec->subtitle);
	ks_json_string(&json, "branch", spec->root_path);
	ks_json_object(&json, "tree");
	put_node(&json, spec->tree, spec->root);
	ks_json_end_object(&json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}
