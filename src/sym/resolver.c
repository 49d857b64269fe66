// SPDX-License-Identifier: LGPL-2.1-only
/* From a call site to its function and source file. */
#include "sym/sym.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/scope.h"

/* === Data ================================================================================= */

/* A module of the tree, loaded when the first site in it is asked for. */
struct module {
	char *name;
	struct ks_scope scope;
};

struct ks_resolver {
	char *path;			/* as given; NULL = echo only */
	struct ks_tree tree;		/* build is NULL when the path is a file */
	struct ks_object_files objects; /* of the tree, once objects_loaded */
	struct ks_scope kernel;
	KS_VEC(struct module *) modules;
	struct ks_symtab *running; /* kallsyms of the traced boot; NULL = none */
	char *running_path;
	struct ks_symtab
		*variables; /* of the running kernel, or else of the image; once asked for */
	bool variables_asked_for;
	struct ks_intern strings;
	u64 slide; /* running address - address in the image, modulo 2^64 */
	bool objects_loaded, kernel_objects_loaded;
};

/* Symbols that mark the beginning of the kernel, the same in an image and in kallsyms. */
static const char *const landmarks[] = { "_stext", "_text", "startup_64", "_sinittext" };

/* === Internals ============================================================================ */

static int load_objects(struct ks_resolver *r, struct ks_diag *diag)
{
	int err;

	if (r->objects_loaded)
		return 0;
	err = ks_object_files_init(&r->objects, &r->tree, diag);
	r->objects_loaded = !err;
	return err;
}

/* The objects tell the file where the image has no DWARF that does. */
static int load_kernel_objects(struct ks_resolver *r, struct ks_diag *diag)
{
	int err;

	if (r->kernel_objects_loaded || !r->tree.build || r->kernel.code.ranges.len)
		return 0;
	err = load_objects(r, diag);
	if (!err)
		err = ks_scope_load_objects(&r->kernel, &r->tree, &r->objects, NULL, diag);
	r->kernel_objects_loaded = !err;
	return err;
}

static int load_tree(struct ks_resolver *r, struct ks_diag *diag)
{
	int err;

	if (r->tree.vmlinux)
		return ks_scope_load_image(&r->kernel, r->tree.vmlinux, true, diag);
	if (r->tree.system_map)
		return ks_scope_load_image(&r->kernel, r->tree.system_map, false, diag);
	err = load_objects(r, diag);
	if (!err && !r->objects.items.len)
		err = ks_diag_set(
			diag, -ENOENT,
			"%s: holds no built kernel: no vmlinux, no System.map, no object "
			"files; build it first, or name the directory given to make as O=",
			r->path);
	return err;
}

static int load(struct ks_resolver *r, struct ks_diag *diag)
{
	int err = ks_tree_open(&r->tree, r->path, diag);

	if (err == -ENOTDIR)
		return ks_scope_load_image(&r->kernel, r->path, true, diag);
	return err ? err : load_tree(r, diag);
}

static int new_module(struct ks_resolver *r, const char *name, struct module **ret_module)
{
	struct module *m = calloc(1, sizeof(*m)), **slot;

	if (m)
		m->name = strdup(name);
	slot = m && m->name ? ks_vec_push(&r->modules) : NULL;
	if (!slot) {
		if (m)
			free(m->name);
		free(m);
		return -ENOMEM;
	}
	*slot = m;
	*ret_module = m;
	return 0;
}

static int load_module(struct ks_resolver *r, struct module *m, struct ks_diag *diag)
{
	const char *ko;
	char *path;
	int err = load_objects(r, diag);

	if (err)
		return err;
	ko = ks_object_files_ko(&r->objects, m->name);
	if (ko) {
		path = ks_path_join(r->tree.build, ko);
		if (!path)
			return ks_diag_nomem(diag, "loading a module");
		err = ks_scope_load_image(&m->scope, path, false, diag);
		free(path);
	}
	if (!err)
		err = ks_scope_load_objects(&m->scope, &r->tree, &r->objects, m->name, diag);
	return err;
}

static int get_scope(struct ks_resolver *r, const char *module, struct ks_scope **ret_scope,
		     struct ks_diag *diag)
{
	struct module *m;
	size_t i;
	int err;

	if (!module[0]) {
		err = load_kernel_objects(r, diag);
		*ret_scope = &r->kernel;
		return err;
	}
	for (i = 0; i < r->modules.len; i++)
		if (!strcmp(r->modules.items[i]->name, module)) {
			*ret_scope = &r->modules.items[i]->scope;
			return 0;
		}
	if (new_module(r, module, &m))
		return ks_diag_nomem(diag, "loading a module");
	err = r->tree.build ? load_module(r, m, diag) : 0;
	*ret_scope = &m->scope;
	return err;
}

/* Fills in function, offset and module from the address, where a table knows it. */
static void name_address(const struct ks_resolver *r, u64 addr, struct ks_sym_place *place)
{
	const struct ks_symtab *table = r->running ? r->running : r->kernel.image;
	const struct ks_symbol *s;

	if (!table || !table->has_addresses)
		return;
	if (!r->running)
		addr -= r->slide;
	s = ks_symtab_find(table, addr);
	if (!s)
		return;
	place->func = ks_symtab_name(table, s);
	place->module = ks_symtab_module(table, s);
	place->offset = addr - s->addr;
}

/* The symbol of this name that the address lies in, aliases included; NULL = the address is no help. */
static const struct ks_symbol *symbol_at(const struct ks_resolver *r, u64 addr, const char *func)
{
	const struct ks_symtab *image = r->kernel.image;
	const struct ks_symbol *s, *end;

	if (!addr || !image || !image->has_addresses)
		return NULL;
	s = ks_symtab_find(image, addr - r->slide);
	end = image->symbols.items + image->symbols.len;
	for (u64 at = s ? s->addr : 0; s && s < end && s->addr == at; s++)
		if (!strcmp(ks_symtab_name(image, s), func))
			return s;
	return NULL;
}

/* A call site is the address behind the call: one byte before it is still the caller's code. */
static const char *inlined_at(const struct ks_resolver *r, const struct ks_symbol *symbol,
			      u64 offset)
{
	return symbol && offset ? ks_code_map_inlined(&r->kernel.code, symbol->addr + offset - 1)
				: "";
}

/* The symbol itself where its name is the only one, so that an offset into it means something. */
static const struct ks_symbol *only_symbol(const struct ks_resolver *r, const char *func)
{
	const struct ks_symtab *image = r->kernel.image;
	const struct ks_symbol *s = image ? ks_symtab_by_name(image, func) : NULL;

	return s && s->next == KS_NONE ? s : NULL;
}

static int place_function(struct ks_resolver *r, const struct ks_sym_query *q,
			  struct ks_sym_place *place, struct ks_diag *diag)
{
	enum ks_placing placing = KS_PLACE_UNKNOWN;
	const struct ks_symbol *symbol = NULL;
	struct ks_scope *scope = NULL;
	const char *path = NULL;
	int err;

	err = get_scope(r, place->module, &scope, diag);
	if (err)
		return err;
	if (!place->module[0])
		symbol = symbol_at(r, q->addr, place->func);
	if (symbol)
		path = ks_scope_symbol_path(scope, symbol);
	if (path)
		placing = KS_PLACED;
	else
		placing = ks_scope_place(scope, place->func, q->extent, &path);
	/* A clone that this build does not have: its function is in the same file. */
	if (placing == KS_PLACE_UNKNOWN && strcmp(place->owner, place->func))
		placing = ks_scope_place(scope, place->owner, 0, &path);
	if (placing == KS_PLACED)
		place->path = path;
	if (!place->module[0])
		place->inlined =
			inlined_at(r, symbol ? symbol : only_symbol(r, place->func), place->offset);
	place->status = placing == KS_PLACED	      ? KS_PLACE_FOUND
			: placing == KS_PLACE_UNKNOWN ? KS_PLACE_NOT_FOUND
						      : KS_PLACE_NAMESAKES;
	return 0;
}

static int set_owner(struct ks_resolver *r, struct ks_sym_place *place)
{
	size_t len = ks_symbol_base_len(place->func);
	u32 id;

	place->owner = place->func;
	if (!place->func[len])
		return 0;
	id = ks_intern_add(&r->strings, place->func, len);
	if (id == KS_NONE)
		return -ENOMEM;
	place->owner = ks_intern_get(&r->strings, id).s;
	return 0;
}

static bool branch_in_image(const struct ks_resolver *r, const char *branch)
{
	const struct ks_code_map *code = &r->kernel.code;
	size_t i;

	for (i = 0; i < code->paths.strs.len; i++)
		if (ks_path_in_branch(code->paths.strs.items[i].s, branch))
			return true;
	return false;
}

/* === Public =============================================================================== */

int ks_resolver_new(const char *kernel_path, struct ks_resolver **ret_resolver,
		    struct ks_diag *diag)
{
	struct ks_resolver *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return ks_diag_nomem(diag, "making a resolver");
	if (ks_intern_init(&r->strings) || (kernel_path && !(r->path = strdup(kernel_path))))
		err = ks_diag_nomem(diag, "making a resolver");
	else if (kernel_path)
		err = load(r, diag);
	if (err)
		ks_resolver_free(r);
	else
		*ret_resolver = r;
	return err;
}

void ks_resolver_free(struct ks_resolver *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->modules.len; i++) {
		ks_scope_deinit(&r->modules.items[i]->scope);
		free(r->modules.items[i]->name);
		free(r->modules.items[i]);
	}
	ks_vec_free(&r->modules);
	ks_scope_deinit(&r->kernel);
	ks_object_files_deinit(&r->objects);
	ks_tree_close(&r->tree);
	ks_symtab_free(r->running);
	ks_symtab_free(r->variables);
	free(r->running_path);
	ks_intern_deinit(&r->strings);
	free(r->path);
	free(r);
}

int ks_resolver_add_kallsyms(struct ks_resolver *r, const char *path, struct ks_diag *diag)
{
	const struct ks_symtab *image = r->kernel.image;
	struct ks_symtab *table;
	size_t i;
	int err = ks_symtab_load(path, &table, diag);

	if (err)
		return err;
	free(r->running_path);
	r->running_path = strdup(path);
	ks_symtab_free(r->running);
	r->running = table;
	if (!r->running_path)
		return ks_diag_nomem(diag, "adding symbols");
	for (i = 0; i < ARRAY_SIZE(landmarks) && image && image->has_addresses; i++) {
		const struct ks_symbol *a = ks_symtab_by_name(table, landmarks[i]);
		const struct ks_symbol *b = ks_symtab_by_name(image, landmarks[i]);

		if (a && b) {
			r->slide = a->addr - b->addr;
			break;
		}
	}
	return 0;
}

int ks_resolver_set_anchor(struct ks_resolver *r, const char *func, u64 addr)
{
	const struct ks_symtab *image = r->kernel.image;
	const struct ks_symbol *s = NULL;

	if (!r->running && image && image->has_addresses)
		s = ks_symtab_by_name(image, func);
	if (!s)
		return 0;
	/* Kernels are moved by whole pages. */
	if ((addr - s->addr) & 0xfff)
		return -EXDEV;
	r->slide = addr - s->addr;
	return 0;
}

int ks_resolver_lookup(struct ks_resolver *r, const struct ks_sym_query *q,
		       struct ks_sym_place *ret_place, struct ks_diag *diag)
{
	struct ks_sym_place place = {
		.func = q->func,
		.module = q->module,
		.offset = q->offset,
		.inlined = "",
		.status = KS_PLACE_NO_TREE,
	};
	int err = 0;

	if (!place.func[0] && q->addr)
		name_address(r, q->addr, &place);
	if (set_owner(r, &place))
		return ks_diag_nomem(diag, "looking up a function");
	if (r->path && place.func[0])
		err = place_function(r, q, &place, diag);
	else if (r->path)
		place.status = KS_PLACE_NOT_FOUND;
	if (!err)
		*ret_place = place;
	return err;
}

u64 ks_resolver_slide(const struct ks_resolver *r)
{
	return r->slide;
}

/* What can't be read has no variables: names are a help, no more. */
static void load_variables(struct ks_resolver *r)
{
	const char *path = r->running_path	? r->running_path
			   : r->tree.vmlinux	? r->tree.vmlinux
			   : r->tree.system_map ? r->tree.system_map
						: r->path;

	r->variables_asked_for = true;
	if (path && ks_symtab_load_variables(path, &r->variables, NULL))
		r->variables = NULL;
}

bool ks_resolver_variable(struct ks_resolver *r, u64 addr, const char **ret_name,
			  const char **ret_file)
{
	const struct ks_symbol *symbol;

	if (!r->variables_asked_for)
		load_variables(r);
	if (!r->variables)
		return false;
	symbol = ks_symtab_find(r->variables, r->running_path ? addr : addr - r->slide);
	if (!symbol)
		return false;
	*ret_name = ks_symtab_name(r->variables, symbol);
	*ret_file = symbol->unit == KS_NONE
			    ? ""
			    : ks_intern_get(&r->variables->files,
					    r->variables->units.items[symbol->unit].file)
				      .s;
	return true;
}

const char *ks_resolver_release(const struct ks_resolver *r)
{
	return r->tree.release;
}

int ks_resolver_check_branch(struct ks_resolver *r, const char *branch, struct ks_diag *diag)
{
	if (!r->path)
		return ks_diag_set(diag, -EINVAL,
				   "branch %s: needs a kernel tree to look in; give one with -k",
				   branch);
	if ((r->tree.build && ks_tree_has_branch(&r->tree, branch)) || branch_in_image(r, branch))
		return 0;
	return ks_branch_missing(branch, r->path, diag);
}

bool ks_path_in_branch(const char *path, const char *branch)
{
	size_t len;

	branch = ks_branch_trim(branch, &len);
	return !len || (!strncmp(path, branch, len) && (!path[len] || path[len] == '/'));
}
