// SPDX-License-Identifier: LGPL-2.1-only
/* The CPM interchange format: a compartmentalization from YAML, by libyaml, and back. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "kmap/cpm.h"
#include "sym/tree.h"

#ifdef KS_HAVE_YAML
#include <yaml.h>
#endif

/* === Data ================================================================================= */

/* Of a file: a kernel by function has some 20 MB. */
#define FILE_MAX (256u << 20)

static const char *const instruction_keys[KS_CPM_OPS] = { "read_instructions", "write_instructions",
							  "call_instructions",
							  "return_instructions" };
static const char *const may_keys[KS_CPM_OPS] = { "can_read", "can_write", "can_call",
						  "can_return" };

#ifdef KS_HAVE_YAML
/* What is being read. */
struct reading {
	yaml_document_t doc;
	const char *name; /* of the file */
	struct ks_cpm *cpm;
	struct ks_intern subjects, objects; /* names of domains, by number */
	struct ks_diag *diag;
};

/* The elements of a list. */
struct list {
	const yaml_node_item_t *items;
	size_t len;
};

/* === Internals: nodes ===================================================================== */

static int bad(const struct reading *r, const yaml_node_t *node, const char *what)
{
	return ks_diag_set(r->diag, KS_EBADINPUT, "%s: line %zu: %s", r->name,
			   node ? node->start_mark.line + 1 : 1, what);
}

static yaml_node_t *node_at(struct reading *r, int index)
{
	return yaml_document_get_node(&r->doc, index);
}

static const char *text_of(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
						      : NULL;
}

/* The value of a key, or NULL. A key without a value counts as not there. */
static yaml_node_t *value_of(struct reading *r, const yaml_node_t *map, const char *key)
{
	const yaml_node_pair_t *pair;

	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
		const char *name = text_of(node_at(r, pair->key));
		yaml_node_t *value = node_at(r, pair->value);
		const char *text = text_of(value);

		if (name && !strcmp(name, key))
			return text && (!text[0] || !strcmp(text, "~") || !strcmp(text, "null"))
				       ? NULL
				       : value;
	}
	return NULL;
}

/* The elements of a list; a list that is not there has none. -errno for what is no list. */
static int list_of(struct reading *r, yaml_node_t *node, const char *what, struct list *ret_list)
{
	if (!node)
		return 0;
	if (node->type != YAML_SEQUENCE_NODE)
		return bad(r, node, what);
	ret_list->items = node->data.sequence.items.start;
	ret_list->len = (size_t)(node->data.sequence.items.top - ret_list->items);
	return 0;
}

static int number_of(struct reading *r, const yaml_node_t *node, double *ret_number)
{
	const char *text = text_of(node);
	char *end;
	double number = text ? strtod(text, &end) : 0;

	if (!text || end == text || *end || !isfinite(number) || number < 0)
		return bad(r, node, "want a number that is not negative");
	*ret_number = number;
	return 0;
}

/* === Internals: domains =================================================================== */

static int nomem(struct reading *r)
{
	return ks_diag_nomem(r->diag, "reading a compartmentalization");
}

/* The size of a member is 1 where the file does not say. */
static int add_members(struct reading *r, const yaml_node_t *node, struct ks_cpm_domain *domain,
		       const char *key)
{
	yaml_node_t *size_list = value_of(r, node, "sizes");
	struct list names = { 0 }, sizes = { 0 };
	size_t i;
	int err = list_of(r, value_of(r, node, key), "want a list of names", &names);

	if (!err)
		err = list_of(r, size_list, "want a list of sizes", &sizes);
	if (!err && size_list && sizes.len != names.len)
		err = bad(r, size_list, "there are not as many sizes as names");
	for (i = 0; !err && i < names.len; i++) {
		yaml_node_t *item = node_at(r, names.items[i]);
		const char *name = text_of(item);
		struct ks_cpm_member *member;

		if (!name || !name[0])
			return bad(r, item, "want a name");
		member = ks_vec_push(&domain->members);
		if (!member)
			return nomem(r);
		member->name = ks_intern_add(&r->cpm->names, name, strlen(name));
		if (member->name == KS_NONE)
			return nomem(r);
		member->size = 1;
		if (size_list)
			err = number_of(r, node_at(r, sizes.items[i]), &member->size);
	}
	return err;
}

/* A domain has as many instructions of each kind as functions where the file does not say. */
static int add_instructions(struct reading *r, const yaml_node_t *node,
			    struct ks_cpm_domain *domain)
{
	enum ks_cpm_op op;
	int err = 0;

	for (op = 0; !err && op < KS_CPM_OPS; op++) {
		const yaml_node_t *value = value_of(r, node, instruction_keys[op]);

		domain->instructions[op] = (double)domain->members.len;
		if (value)
			err = number_of(r, value, &domain->instructions[op]);
	}
	return err;
}

static int add_domain(struct reading *r, yaml_node_t *node, bool code)
{
	const char *name = text_of(value_of(r, node, "name"));
	struct ks_intern *index = code ? &r->subjects : &r->objects;
	struct ks_cpm_domain *domain;
	u32 number;
	int err;

	if (!name)
		return bad(r, node, "a domain has no name");
	number = ks_intern_add(index, name, strlen(name));
	if (number == KS_NONE)
		return nomem(r);
	if (number < (code ? r->cpm->subjects.len : r->cpm->objects.len))
		return bad(r, node, "a second domain of this name");
	domain = code ? ks_vec_push(&r->cpm->subjects) : ks_vec_push(&r->cpm->objects);
	if (!domain)
		return nomem(r);
	domain->name = ks_intern_add(&r->cpm->names, name, strlen(name));
	if (domain->name == KS_NONE)
		return nomem(r);
	err = add_members(r, node, domain, code ? "subjects" : "objects");
	return err || !code ? err : add_instructions(r, node, domain);
}

static int read_map(struct reading *r, const yaml_node_t *root, const char *key, bool code)
{
	yaml_node_t *list = value_of(r, root, key);
	struct list elements = { 0 };
	size_t i;
	int err;

	if (!list)
		return ks_diag_set(r->diag, KS_EBADINPUT, "%s: has no %s", r->name, key);
	err = list_of(r, list, "want a list of domains", &elements);
	for (i = 0; !err && i < elements.len; i++)
		err = add_domain(r, node_at(r, elements.items[i]), code);
	return err;
}

/* === Internals: privileges ================================================================ */

static int add_targets(struct reading *r, yaml_node_t *list, bool code,
		       struct ks_cpm_principal *principal, enum ks_cpm_op op)
{
	struct list elements = { 0 };
	size_t i;
	int err = list_of(r, list, "want a list of domains", &elements);

	for (i = 0; !err && i < elements.len; i++) {
		yaml_node_t *item = node_at(r, elements.items[i]);
		const char *name = text_of(item);
		u32 *target, number = name ? ks_intern_find(code ? &r->subjects : &r->objects, name,
							    strlen(name))
					   : KS_NONE;

		if (number == KS_NONE)
			return bad(r, item,
				   code ? "no such subject domain" : "no such object domain");
		target = ks_vec_push(&principal->may[op]);
		if (!target)
			return nomem(r);
		*target = number;
	}
	return err;
}

/* Code is named at once; objects are named in groups, each with a context. */
static int add_privileges(struct reading *r, const yaml_node_t *node,
			  struct ks_cpm_principal *principal, enum ks_cpm_op op)
{
	yaml_node_t *list = value_of(r, node, may_keys[op]);
	struct list elements = { 0 };
	size_t i;
	int err;

	if (op >= KS_CPM_CALL)
		return add_targets(r, list, true, principal, op);
	err = list_of(r, list, "want a list of groups of objects", &elements);
	for (i = 0; !err && i < elements.len; i++) {
		yaml_node_t *group = node_at(r, elements.items[i]);

		if (group->type != YAML_MAPPING_NODE)
			return bad(r, group, "want a group of objects");
		err = add_targets(r, value_of(r, group, "objects"), false, principal, op);
	}
	return err;
}

static int add_principal(struct reading *r, yaml_node_t *node)
{
	yaml_node_t *who = value_of(r, node, "principal");
	const char *name = text_of(value_of(r, who, "subject"));
	struct ks_cpm_principal *principal;
	enum ks_cpm_op op;
	int err = 0;
	u32 number;

	if (!name)
		return bad(r, node, "privileges of no subject");
	number = ks_intern_find(&r->subjects, name, strlen(name));
	if (number == KS_NONE)
		return bad(r, who, "no such subject domain");
	principal = ks_vec_push(&r->cpm->principals);
	if (!principal)
		return nomem(r);
	principal->subject = number;
	for (op = 0; !err && op < KS_CPM_OPS; op++)
		err = add_privileges(r, node, principal, op);
	return err;
}

static int read_privileges(struct reading *r, const yaml_node_t *root)
{
	yaml_node_t *list = value_of(r, root, "privileges");
	struct list elements = { 0 };
	size_t i;
	int err;

	if (!list)
		return ks_diag_set(r->diag, KS_EBADINPUT, "%s: has no privileges", r->name);
	err = list_of(r, list, "want a list of privileges", &elements);
	for (i = 0; !err && i < elements.len; i++)
		err = add_principal(r, node_at(r, elements.items[i]));
	return err;
}

static int read_document(struct reading *r)
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->doc);
	int err;

	if (!root || root->type != YAML_MAPPING_NODE)
		return ks_diag_set(r->diag, KS_EBADINPUT,
				   "%s: not a compartmentalization: it has no subject_map",
				   r->name);
	err = read_map(r, root, "subject_map", true);
	if (!err)
		err = read_map(r, root, "object_map", false);
	return err ? err : read_privileges(r, root);
}

static int load(struct reading *r, const char *text, size_t len)
{
	yaml_parser_t parser;
	int err = 0;

	if (!yaml_parser_initialize(&parser))
		return nomem(r);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (!yaml_parser_load(&parser, &r->doc))
		err = parser.error == YAML_MEMORY_ERROR
			      ? nomem(r)
			      : ks_diag_set(r->diag, KS_EBADINPUT, "%s: line %zu: %s", r->name,
					    parser.problem_mark.line + 1,
					    parser.problem ? parser.problem : "no YAML");
	yaml_parser_delete(&parser);
	return err;
}

#endif /* KS_HAVE_YAML */

/* === Internals: writing =================================================================== */

/* In double quotes YAML has the escapes of JSON. */
static void put_name(struct ks_strbuf *out, const char *before, const char *name)
{
	ks_strbuf_puts(out, before);
	ks_strbuf_puts(out, "\"");
	ks_escape_json(out, name, strlen(name));
	ks_strbuf_puts(out, "\"\n");
}

static void put_domain(const struct ks_cpm *cpm, const struct ks_cpm_domain *domain, bool code,
		       struct ks_strbuf *out)
{
	enum ks_cpm_op op;
	size_t i;

	put_name(out, "- name: ", ks_cpm_name(cpm, domain->name));
	ks_strbuf_printf(out, "  %s:%s\n", code ? "subjects" : "objects",
			 domain->members.len ? "" : " []");
	for (i = 0; i < domain->members.len; i++)
		put_name(out, "  - ", ks_cpm_name(cpm, domain->members.items[i].name));
	ks_strbuf_printf(out, "  sizes:%s\n", domain->members.len ? "" : " []");
	for (i = 0; i < domain->members.len; i++)
		ks_strbuf_printf(out, "  - %.17g\n", domain->members.items[i].size);
	for (op = 0; code && op < KS_CPM_OPS; op++)
		ks_strbuf_printf(out, "  %s: %.17g\n", instruction_keys[op],
				 domain->instructions[op]);
}

static void put_principal(const struct ks_cpm *cpm, const struct ks_cpm_principal *principal,
			  struct ks_strbuf *out)
{
	enum ks_cpm_op op;
	size_t i;

	put_name(out, "- principal:\n    subject: ",
		 ks_cpm_name(cpm, cpm->subjects.items[principal->subject].name));
	ks_strbuf_puts(out, "    execution_context: {}\n");
	for (op = 0; op < KS_CPM_OPS; op++) {
		bool code = op >= KS_CPM_CALL;
		size_t len = principal->may[op].len;

		ks_strbuf_printf(out, "  %s:%s\n", may_keys[op], len ? "" : " []");
		if (len && !code)
			ks_strbuf_puts(out, "  - object_context: {}\n    objects:\n");
		for (i = 0; i < len; i++) {
			u32 target = principal->may[op].items[i];

			put_name(out, code ? "  - " : "    - ",
				 ks_cpm_name(cpm, code ? cpm->subjects.items[target].name
						       : cpm->objects.items[target].name));
		}
	}
}

/* === Public =============================================================================== */

#ifdef KS_HAVE_YAML
int ks_cpm_parse(const char *text, size_t len, const char *name, struct ks_cpm **ret_cpm,
		 struct ks_diag *diag)
{
	struct reading r = { .name = name, .diag = diag };
	int err = load(&r, text, len);

	if (err)
		return err;
	if (ks_cpm_new(&r.cpm) || ks_intern_init(&r.subjects) || ks_intern_init(&r.objects))
		err = nomem(&r);
	else
		err = read_document(&r);
	yaml_document_delete(&r.doc);
	ks_intern_deinit(&r.subjects);
	ks_intern_deinit(&r.objects);
	if (err)
		ks_cpm_free(r.cpm);
	else
		*ret_cpm = r.cpm;
	return err;
}

#else
int ks_cpm_parse(const char *text, size_t len, const char *name, struct ks_cpm **ret_cpm,
		 struct ks_diag *diag)
{
	return ks_diag_set(diag, -EOPNOTSUPP,
			   "%s: this program was built without libyaml, which reads it", name);
}
#endif

int ks_cpm_read(const char *path, struct ks_cpm **ret_cpm, struct ks_diag *diag)
{
	char *text;
	size_t len;
	int err = ks_read_file(path, FILE_MAX, &text, &len, diag);

	if (err)
		return err == -ENOENT ? ks_diag_set(diag, err, "%s: no such file", path) : err;
	err = ks_cpm_parse(text, len, path, ret_cpm, diag);
	free(text);
	return err;
}

void ks_cpm_write(const struct ks_cpm *cpm, struct ks_strbuf *out)
{
	size_t i;

	ks_strbuf_puts(out, "subject_map:\n");
	for (i = 0; i < cpm->subjects.len; i++)
		put_domain(cpm, &cpm->subjects.items[i], true, out);
	ks_strbuf_puts(out, cpm->objects.len ? "object_map:\n" : "object_map: []\n");
	for (i = 0; i < cpm->objects.len; i++)
		put_domain(cpm, &cpm->objects.items[i], false, out);
	ks_strbuf_puts(out, cpm->principals.len ? "privileges:\n" : "privileges: []\n");
	for (i = 0; i < cpm->principals.len; i++)
		put_principal(cpm, &cpm->principals.items[i], out);
}
