// SPDX-License-Identifier: LGPL-2.1-only
/* Which source file the code at an address was compiled from, by DWARF. */
#include "sym/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

/* === Data ================================================================================= */

/* A file that every kernel has: its path in the build tells where the top of the sources was. */
#define LANDMARK "init/main.c"

/* === Internals ============================================================================ */

struct loader {
	struct ks_code_map *map;
	struct ks_intern full; /* paths as DWARF has them, cleaned */
	Dwarf *dwarf;
	bool variables;
};

/* Takes "." and ".." and double slashes out of the path, in place. */
static void clean_path(char *path)
{
	char *out = path, *in = path, *top = path + (*path == '/');

	out += *path == '/';
	in = out;
	while (*in) {
		size_t len = strcspn(in, "/");
		bool up = len == 2 && in[0] == '.' && in[1] == '.';

		if (up && out > top) {
			for (out--; out > top && out[-1] != '/';)
				out--;
		} else if (len && !up && !(len == 1 && in[0] == '.')) {
			memmove(out, in, len);
			out += len;
			if (in[len])
				*out++ = '/';
		}
		in += len + (in[len] == '/');
	}
	*out = '\0';
}

static const char *string_attr(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr(die, name, &attr));
}

/*
 * The id of the unit's path in full; KS_NONE for lack of memory. A relative name is from the top
 * already, of the sources or, for generated files, of the build; unless it climbs out of it.
 */
static u32 unit_path(struct loader *l, Dwarf_Die *cu)
{
	const char *name = string_attr(cu, DW_AT_name), *dir = string_attr(cu, DW_AT_comp_dir);
	struct ks_strbuf sb;
	u32 id = KS_NONE;

	ks_strbuf_init(&sb);
	if (name && !strncmp(name, "../", 3) && dir)
		ks_strbuf_printf(&sb, "%s/", dir);
	ks_strbuf_puts(&sb,
		       name && *name ? name : "?"); /* nothing to add would leave no text at all */
	if (!sb.failed) {
		clean_path(sb.s);
		id = ks_intern_add(&l->full, sb.s, strlen(sb.s));
	}
	ks_strbuf_deinit(&sb);
	return id;
}

/* The variables that the unit defines at fixed addresses. */
static int add_variables(struct loader *l, Dwarf_Die *cu, u32 path)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;
	Dwarf_Op *ops;
	size_t len;

	if (dwarf_child(cu, &die))
		return 0;
	do {
		struct ks_code_range *range;

		if (dwarf_tag(&die) != DW_TAG_variable ||
		    dwarf_getlocation(dwarf_attr(&die, DW_AT_location, &attr), &ops, &len) ||
		    len != 1 || ops[0].atom != DW_OP_addr)
			continue;
		range = ks_vec_push(&l->map->ranges);
		if (!range)
			return -ENOMEM;
		*range = (struct ks_code_range){ .lo = ops[0].number,
						 .hi = ops[0].number + 1,
						 .path = path,
						 .unit = dwarf_dieoffset(cu) };
	} while (!dwarf_siblingof(&die, &die));
	return 0;
}

static int add_unit(struct loader *l, Dwarf_Die *cu)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	u32 path = unit_path(l, cu);

	if (path == KS_NONE)
		return -ENOMEM;
	while ((at = dwarf_ranges(cu, at, &base, &lo, &hi)) > 0) {
		struct ks_code_range *range;

		if (lo >= hi)
			continue;
		range = ks_vec_push(&l->map->ranges);
		if (!range)
			return -ENOMEM;
		*range = (struct ks_code_range){
			.lo = lo, .hi = hi, .path = path, .unit = dwarf_dieoffset(cu)
		};
	}
	return l->variables ? add_variables(l, cu, path) : 0;
}

static int add_units(struct loader *l)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	u8 type;

	while (!dwarf_get_units(l->dwarf, cu, &cu, NULL, &type, &die, NULL))
		if (type == DW_UT_compile && add_unit(l, &die))
			return -ENOMEM;
	return 0;
}

/* The length of the path of the top of the sources, with its slash; 0 when it is not known. */
static size_t find_top(const struct ks_intern *full, const char **ret_top)
{
	size_t i, n = strlen(LANDMARK);

	for (i = 0; i < full->strs.len; i++) {
		struct ks_str path = full->strs.items[i];

		if (path.len > n && path.s[path.len - n - 1] == '/' &&
		    !strcmp(path.s + path.len - n, LANDMARK)) {
			*ret_top = path.s;
			return path.len - n;
		}
	}
	return 0;
}

/* Full paths become paths from the top; generated sources may lie in the build directory. */
static int shorten_paths(struct loader *l)
{
	const char *top = "";
	size_t len = find_top(&l->full, &top), i;
	u32 *ids = calloc(l->full.strs.len + 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (i = 0; i < l->full.strs.len; i++) {
		const char *path = l->full.strs.items[i].s;

		if (len && !strncmp(path, top, len))
			path += len;
		ids[i] = ks_intern_add(&l->map->paths, path, strlen(path));
	}
	for (i = 0; i < l->map->ranges.len; i++)
		l->map->ranges.items[i].path = ids[l->map->ranges.items[i].path];
	free(ids);
	return 0;
}

static int by_address(const void *pa, const void *pb)
{
	const struct ks_code_range *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi < b->hi ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

static const struct ks_code_range *find_range(const struct ks_code_map *map, u64 addr)
{
	size_t lo = 0, hi = map->ranges.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (map->ranges.items[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < map->ranges.items[lo - 1].hi ? &map->ranges.items[lo - 1] : NULL;
}

static bool is_header(const char *file)
{
	size_t len = file ? strlen(file) : 0;

	return len > 2 && !strcmp(file + len - 2, ".h");
}

/* === Public =============================================================================== */

int ks_code_map_load(struct ks_code_map *map, const char *path, bool variables,
		     struct ks_diag *diag)
{
	struct loader l = { .map = map, .variables = variables };
	int err = 0;

	*map = (struct ks_code_map){ 0 };
	map->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (map->fd < 0)
		return ks_diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
	if (ks_intern_init(&map->paths) || ks_intern_init(&l.full))
		err = -ENOMEM;
	else
		map->dwarf = l.dwarf = dwarf_begin(map->fd, DWARF_C_READ);
	if (l.dwarf)
		err = add_units(&l);
	if (!err && l.full.strs.len)
		err = shorten_paths(&l);
	if (!err && map->ranges.len)
		qsort(map->ranges.items, map->ranges.len, sizeof(*map->ranges.items), by_address);
	ks_intern_deinit(&l.full);
	if (err) {
		ks_code_map_deinit(map);
		return ks_diag_nomem(diag, "reading debug information");
	}
	return 0;
}

void ks_code_map_deinit(struct ks_code_map *map)
{
	ks_intern_deinit(&map->paths);
	ks_vec_free(&map->ranges);
	dwarf_end(map->dwarf);
	map->dwarf = NULL;
	if (map->fd > 0)
		close(map->fd);
	map->fd = 0;
}

const char *ks_code_map_find(const struct ks_code_map *map, u64 addr)
{
	const struct ks_code_range *range = find_range(map, addr);

	return range ? ks_intern_get(&map->paths, range->path).s : NULL;
}

const char *ks_code_map_inlined(const struct ks_code_map *map, u64 addr)
{
	const struct ks_code_range *range = find_range(map, addr);
	const char *found = "";
	Dwarf_Die unit, *inner = NULL, *scopes = NULL;
	int i, count = 0;

	if (!range || !dwarf_offdie(map->dwarf, range->unit, &unit))
		return "";
	/*
	 * The first call knows the innermost entry, but goes on from there to where that function was
	 * written; the second goes on to where its code is.
	 */
	if (dwarf_getscopes(&unit, addr, &inner) > 0)
		count = dwarf_getscopes_die(&inner[0], &scopes);
	for (i = 0; i < count && !*found; i++) {
		const char *name;

		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine ||
		    is_header(dwarf_decl_file(&scopes[i])))
			continue;
		name = dwarf_diename(&scopes[i]);
		if (name)
			found = name;
	}
	free(inner);
	free(scopes);
	return found;
}
