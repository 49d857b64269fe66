// SPDX-License-Identifier: LGPL-2.1-only
/* Finds the file with debug information for a piece of code, by its name. */
#include "sym/debug-set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"

/* === Data ================================================================================= */

struct opened {
	struct ks_debug_types *types; /* NULL = the file has no debug information */
};

struct ks_debug_set {
	const char *const *paths;
	size_t nr_paths;
	struct ks_intern names; /* paths of files that were opened */
	KS_VEC(struct opened) files;
};

/* === Internals ============================================================================ */

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool ends_in(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && !strcmp(s + len - n, end);
}

/* In names of files of modules "-" and "_" are the same. */
static bool is_module_file(const char *path, const char *module)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t i, len = strlen(module);

	for (i = 0; i < len; i++)
		if (name[i] != module[i] && !(name[i] == '-' && module[i] == '_'))
			return false;
	return !strcmp(name + len, ".ko") || !strcmp(name + len, ".ko.debug");
}

/* Opens the file once. */
static int open_file(struct ks_debug_set *set, const char *path, struct ks_debug_types **ret_types,
		     struct ks_diag *diag)
{
	u32 id = ks_intern_add(&set->names, path, strlen(path));
	struct opened *file;
	int err;

	if (id == KS_NONE)
		return ks_diag_nomem(diag, "reading debug information");
	if (id < set->files.len) {
		*ret_types = set->files.items[id].types;
		return 0;
	}
	file = ks_vec_push(&set->files);
	if (!file)
		return ks_diag_nomem(diag, "reading debug information");
	err = ks_debug_types_open(path, &file->types, diag);
	if (err && err != -ENODATA)
		return err;
	*ret_types = file->types;
	return 0;
}

/* "DIR/fs/pipe.o" of a build, or "DIR/fs-pipe.o". */
static void unit_file(struct ks_strbuf *out, const char *dir, const char *source, char slash)
{
	size_t at;

	ks_strbuf_printf(out, "%s/", dir);
	at = out->len;
	ks_strbuf_add(out, source, strlen(source) - 2);
	for (; !out->failed && at < out->len; at++)
		if (out->s[at] == '/')
			out->s[at] = slash;
	ks_strbuf_puts(out, ".o");
}

static int find_in_directory(struct ks_debug_set *set, const char *dir, const char *module,
			     const char *source, struct ks_debug_types **ret_types,
			     struct ks_diag *diag)
{
	struct ks_strbuf path;
	int pass, err = 0;

	for (pass = 0; pass < 2 && !*ret_types && !err; pass++) {
		ks_strbuf_init(&path);
		if (*module)
			ks_strbuf_printf(&path, "%s/%s.ko%s", dir, module, pass ? ".debug" : "");
		else if (source && ends_in(source, ".c"))
			unit_file(&path, dir, source, pass ? '-' : '/');
		if (path.failed)
			err = ks_diag_nomem(diag, "reading debug information");
		else if (path.len && !access(path.s, R_OK))
			err = open_file(set, path.s, ret_types, diag);
		ks_strbuf_deinit(&path);
	}
	return err;
}

/* === Public =============================================================================== */

int ks_debug_set_new(const char *const *paths, size_t nr, struct ks_debug_set **ret_set,
		     struct ks_diag *diag)
{
	struct ks_debug_set *set = calloc(1, sizeof(*set));
	size_t i;

	if (!set || ks_intern_init(&set->names)) {
		ks_debug_set_free(set);
		return ks_diag_nomem(diag, "reading debug information");
	}
	set->paths = paths;
	set->nr_paths = nr;
	for (i = 0; i < nr; i++) {
		struct ks_debug_types *types;
		int err = access(paths[i], R_OK)
				  ? ks_diag_set(diag, -errno, "%s: %s", paths[i], strerror(errno))
				  : 0;

		/* A file that has nothing to say is a mistake; in a directory some may. */
		if (!err && !is_directory(paths[i])) {
			err = open_file(set, paths[i], &types, diag);
			if (!err && !types)
				err = ks_diag_set(diag, KS_EBADINPUT,
						  "%s: has no debug information (DWARF)", paths[i]);
		}
		if (err) {
			ks_debug_set_free(set);
			return err;
		}
	}
	*ret_set = set;
	return 0;
}

void ks_debug_set_free(struct ks_debug_set *set)
{
	size_t i;

	if (!set)
		return;
	for (i = 0; i < set->files.len; i++)
		ks_debug_types_close(set->files.items[i].types);
	ks_vec_free(&set->files);
	ks_intern_deinit(&set->names);
	free(set);
}

int ks_debug_set_find(struct ks_debug_set *set, const char *module, const char *source,
		      struct ks_debug_types **ret_types, struct ks_diag *diag)
{
	struct ks_debug_types *found = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < set->nr_paths && !found && !err; i++) {
		const char *path = set->paths[i];
		bool is_module = ends_in(path, ".ko") || ends_in(path, ".ko.debug");

		if (is_directory(path))
			err = find_in_directory(set, path, module, source, &found, diag);
		else if (*module ? is_module && is_module_file(path, module) : !is_module)
			err = open_file(set, path, &found, diag);
	}
	if (!err)
		*ret_types = found;
	return err;
}
