// SPDX-License-Identifier: LGPL-2.1-only
/* The functions of the kernel, or of one module, and the source file of each. */
#include "sym/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/elf.h"

/* === Data ================================================================================= */

/* In unit_paths: looked for and not found. NULL means that no one asked yet. */
static const char not_found[] = "";

/* === Internals ============================================================================ */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Adds the object's functions, static or not, as one unit. -ENOMEM is the only error. */
static int add_object(struct ks_scope *scope, const char *file, const char *path)
{
	struct ks_symtab *one, *all = scope->objects;
	struct ks_compilation *unit;
	const char **slot, *name;
	size_t i;
	int err;

	err = ks_symtab_load(file, &one, NULL);
	if (err)
		return err == -ENOMEM ? err : 0;
	unit = ks_vec_push(&all->units);
	slot = ks_vec_push(&scope->object_paths);
	if (!unit || !slot) {
		ks_symtab_free(one);
		return -ENOMEM;
	}
	*slot = path;
	name = one->units.len ? ks_intern_get(&one->files, one->units.items[0].file).s
			      : base_name(path);
	unit->file = ks_intern_add(&all->files, name, strlen(name));
	for (i = 0; i < one->symbols.len && !err; i++) {
		struct ks_symbol symbol = one->symbols.items[i];

		name = ks_symtab_name(one, &symbol);
		symbol.unit = (u32)all->units.len - 1;
		symbol.addr = 0; /* of no meaning before linking */
		err = ks_symtab_add(all, name, strlen(name), "", 0, &symbol);
	}
	ks_symtab_free(one);
	return unit->file == KS_NONE ? -ENOMEM : err;
}

static const struct ks_symbol *object_symbol(const struct ks_scope *scope, const char *name)
{
	return scope->objects ? ks_symtab_by_name(scope->objects, name) : NULL;
}

/* Globals are defined once, except for weak ones that a strong one replaces. */
static const char *global_path(const struct ks_scope *scope, const char *name)
{
	const struct ks_symbol *s = object_symbol(scope, name), *best = NULL;

	for (; s; s = ks_symtab_next(scope->objects, s)) {
		if (s->flags & KS_SYMBOL_LOCAL)
			continue;
		if (!best || (best->flags & KS_SYMBOL_WEAK && !(s->flags & KS_SYMBOL_WEAK)))
			best = s;
		else if ((best->flags & KS_SYMBOL_WEAK) == (s->flags & KS_SYMBOL_WEAK))
			return NULL;
	}
	return best ? scope->object_paths.items[best->unit] : NULL;
}

static bool has_local(const struct ks_scope *scope, u32 unit, const char *name, u32 size)
{
	const struct ks_symbol *s = object_symbol(scope, name);

	for (; s; s = ks_symtab_next(scope->objects, s))
		if (s->unit == unit && s->flags & KS_SYMBOL_LOCAL && s->size == size)
			return true;
	return false;
}

/*
 * Whether the object can be the image's unit: the linker keeps every static function, with its
 * size, so one that the object lacks rules it out.
 */
static bool unit_fits(const struct ks_scope *scope, u32 image_unit, u32 object_unit)
{
	const struct ks_symtab *image = scope->image;
	size_t i;

	for (i = 0; i < image->symbols.len; i++) {
		const struct ks_symbol *s = &image->symbols.items[i];

		if (s->unit == image_unit &&
		    !has_local(scope, object_unit, ks_symtab_name(image, s), s->size))
			return false;
	}
	return true;
}

/*
 * The object behind a unit of the image: of those with its file name that define @name, the one
 * that has all its functions. Two of them are as good as none.
 */
static const char *match_unit(const struct ks_scope *scope, u32 unit, const char *name)
{
	const struct ks_symtab *image = scope->image, *objects = scope->objects;
	const char *file = ks_intern_get(&image->files, image->units.items[unit].file).s;
	const struct ks_symbol *s;
	const char *path = NULL;

	for (s = object_symbol(scope, name); s; s = ks_symtab_next(objects, s)) {
		const char *candidate =
			ks_intern_get(&objects->files, objects->units.items[s->unit].file).s;

		if (!(s->flags & KS_SYMBOL_LOCAL) ||
		    strcmp(base_name(candidate), base_name(file)) ||
		    !unit_fits(scope, unit, s->unit))
			continue;
		if (path && path != scope->object_paths.items[s->unit])
			return NULL;
		path = scope->object_paths.items[s->unit];
	}
	return path;
}

/* Assembly has no STT_FILE of its own: then a name that only one object has is good enough. */
static const char *only_local_path(const struct ks_scope *scope, const char *name)
{
	const struct ks_symbol *s = object_symbol(scope, name);
	const char *path = NULL;

	for (; s; s = ks_symtab_next(scope->objects, s)) {
		if (path && path != scope->object_paths.items[s->unit])
			return NULL;
		path = scope->object_paths.items[s->unit];
	}
	return path;
}

static const char *local_path(struct ks_scope *scope, const struct ks_symbol *symbol)
{
	const char *name = ks_symtab_name(scope->image, symbol), **memo;

	if (!scope->objects)
		return NULL;
	if (symbol->unit == KS_NONE)
		return only_local_path(scope, name);
	memo = &scope->unit_paths[symbol->unit];
	if (!*memo) {
		*memo = match_unit(scope, symbol->unit, name);
		if (!*memo)
			*memo = not_found;
	}
	return *memo != not_found ? *memo : only_local_path(scope, name);
}

/* Code is padded to 16 bytes and more; the kernel's sizes reach to the next symbol. */
static bool extent_fits(const struct ks_symtab *table, const struct ks_symbol *s, u64 extent)
{
	if (table->has_addresses)
		return ks_symtab_extent(table, s) == extent;
	return ((s->size + 15) & ~15u) == ((extent + 15) & ~15ull);
}

static const char *table_path(struct ks_scope *scope, const struct ks_symtab *table,
			      const struct ks_symbol *s)
{
	return table == scope->image ? ks_scope_symbol_path(scope, s)
				     : scope->object_paths.items[s->unit];
}

/* The one path of all namesakes that have the extent (0 = any). */
static enum ks_placing common_path(struct ks_scope *scope, const struct ks_symtab *table,
				   const struct ks_symbol *s, u64 extent, const char **ret_path)
{
	const char *found = NULL;
	bool any = false;

	for (; s; s = ks_symtab_next(table, s)) {
		const char *path;

		if (extent && !extent_fits(table, s, extent))
			continue;
		path = table_path(scope, table, s);
		if (any && (!path || !found || strcmp(path, found)))
			return KS_PLACE_AMBIGUOUS;
		any = true;
		found = path;
	}
	if (!found)
		return KS_PLACE_UNKNOWN;
	*ret_path = found;
	return KS_PLACED;
}

/* === Public =============================================================================== */

void ks_scope_deinit(struct ks_scope *scope)
{
	ks_symtab_free(scope->image);
	ks_symtab_free(scope->objects);
	ks_code_map_deinit(&scope->code);
	ks_vec_free(&scope->object_paths);
	free(scope->unit_paths);
}

int ks_scope_load_image(struct ks_scope *scope, const char *path, bool with_dwarf,
			struct ks_diag *diag)
{
	int err = ks_symtab_load(path, &scope->image, diag);

	if (err)
		return err;
	scope->unit_paths = calloc(scope->image->units.len + 1, sizeof(*scope->unit_paths));
	if (!scope->unit_paths)
		return ks_diag_nomem(diag, "loading symbols");
	return with_dwarf ? ks_code_map_load(&scope->code, path, false, diag) : 0;
}

int ks_scope_load_objects(struct ks_scope *scope, const struct ks_tree *tree,
			  const struct ks_object_files *objects, const char *module,
			  struct ks_diag *diag)
{
	size_t i;
	int err;

	if (ks_symtab_new(&scope->objects))
		return ks_diag_nomem(diag, "reading the objects");
	for (i = 0; i < objects->items.len; i++) {
		const struct ks_object_file *o = &objects->items.items[i];
		char *file;

		if (o->fate != (module ? KS_OBJECT_MODULE : KS_OBJECT_BUILTIN))
			continue;
		if (module &&
		    !ks_module_names_equal(ks_object_files_str(objects, o->module), module))
			continue;
		file = ks_path_join(tree->build, ks_object_files_str(objects, o->path));
		err = file ? add_object(scope, file,
					ks_object_files_str(objects, o->source != KS_NONE
									     ? o->source
									     : o->path))
			   : -ENOMEM;
		free(file);
		if (err)
			return ks_diag_nomem(diag, "reading the objects");
	}
	if (ks_symtab_sort(scope->objects))
		return ks_diag_nomem(diag, "reading the objects");
	return 0;
}

const char *ks_scope_symbol_path(struct ks_scope *scope, const struct ks_symbol *symbol)
{
	const char *path = NULL;

	if (scope->code.ranges.len)
		path = ks_code_map_find(&scope->code, symbol->addr);
	if (path)
		return path;
	if (symbol->flags & KS_SYMBOL_LOCAL)
		return local_path(scope, symbol);
	return global_path(scope, ks_symtab_name(scope->image, symbol));
}

enum ks_placing ks_scope_place(struct ks_scope *scope, const char *name, u64 extent,
			       const char **ret_path)
{
	const struct ks_symtab *table = scope->image ? scope->image : scope->objects;
	const struct ks_symbol *first = table ? ks_symtab_by_name(table, name) : NULL;
	enum ks_placing placing;

	if (!first)
		return KS_PLACE_UNKNOWN;
	placing = common_path(scope, table, first, 0, ret_path);
	if (placing == KS_PLACE_AMBIGUOUS && extent) {
		const char *path;

		placing = common_path(scope, table, first, extent, &path);
		if (placing == KS_PLACED)
			*ret_path = path;
		else
			placing = KS_PLACE_AMBIGUOUS;
	}
	return placing;
}
