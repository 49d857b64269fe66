// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The object files of a built tree, and what became of each: the archives say what was linked into
 * the kernel, the .mod files what went into modules; the rest is not part of either.
 */
#include "sym/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "sym/archive.h"

/* === Data ================================================================================= */

static const char *const fate_names[] = {
	[KS_OBJECT_BUILTIN] = "built in",      [KS_OBJECT_MODULE] = "module",
	[KS_OBJECT_COMPOSITE] = "composite",   [KS_OBJECT_HOST] = "host tool",
	[KS_OBJECT_NOT_LINKED] = "not linked", [KS_OBJECT_GENERATED] = "generated",
	[KS_OBJECT_NO_SOURCE] = "no source",   [KS_OBJECT_OTHER_ARCH] = "other machine",
	[KS_OBJECT_BAD] = "unreadable",
};
_Static_assert(ARRAY_SIZE(fate_names) == KS_OBJECT_FATES, "a name for every fate");

static const char *const source_suffixes[] = { ".c", ".S", ".s", ".rs" };

enum { LIST_MAX = 64 << 20, DEPTH_MAX = 64 };

/* === Internals ============================================================================ */

/* What is known of a path before all lists were read; indexed by its id in strings. */
struct mark {
	bool linked;	/* member of an archive that goes into vmlinux */
	bool composite; /* has a .mod or a .ko of its own */
	u32 module;	/* listed in this module's .mod */
};

struct walk {
	struct ks_object_files *objects;
	const struct ks_tree *tree;
	KS_VEC(struct mark) marks;
	KS_VEC(u32) found;     /* paths of the .o files */
	struct ks_strbuf path; /* of the directory being read, with a slash at its end */
	bool have_vmlinux_a, have_lists;
	struct ks_diag *diag;
};

static bool ends_with(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len > n && !strcmp(s + len - n, suffix);
}

/* Takes what was added to the path off again; without memory nothing was added. */
static void cut_path(struct walk *w, size_t len)
{
	w->path.len = len;
	if (w->path.s)
		w->path.s[len] = '\0';
}

static struct mark *mark_of(struct walk *w, const char *path, size_t len, u32 *ret_id)
{
	u32 id = ks_intern_add(&w->objects->strings, path, len);
	struct mark *mark;

	if (id == KS_NONE)
		return NULL;
	while (w->marks.len <= id) {
		mark = ks_vec_push(&w->marks);
		if (!mark)
			return NULL;
		mark->module = KS_NONE;
	}
	if (ret_id)
		*ret_id = id;
	return &w->marks.items[id];
}

/* "a/b/../c.o" is "a/c.o": lists name objects of other directories that way. */
static void normalise(struct ks_strbuf *path)
{
	char *out = path->s, *start = path->s;
	const char *in = path->s;

	while (*in) {
		size_t len = strcspn(in, "/");

		if (len == 2 && in[0] == '.' && in[1] == '.' && out > start) {
			for (out--; out > start && out[-1] != '/';)
				out--;
		} else if (len && !(len == 1 && in[0] == '.')) {
			memmove(out, in, len);
			out += len;
			if (in[len])
				*out++ = '/';
		}
		in += len + (in[len] == '/');
	}
	*out = '\0';
	path->len = (size_t)(out - start);
}

static int add_member(void *arg, const char *name, size_t len)
{
	struct walk *w = arg;
	struct ks_strbuf path;
	struct mark *mark = NULL;

	ks_strbuf_init(&path);
	if (name[0] != '/')
		ks_strbuf_puts(&path, ks_strbuf_str(&w->path));
	ks_strbuf_add(&path, name, len);
	if (!path.failed && path.len) {
		normalise(&path);
		mark = mark_of(w, path.s, path.len, NULL);
	}
	ks_strbuf_deinit(&path);
	if (!mark)
		return ks_diag_nomem(w->diag, "reading an archive");
	mark->linked = true;
	return 0;
}

/* The full path of a file in the directory being read. */
static char *full_path(const struct walk *w, const char *name)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	ks_strbuf_printf(&sb, "%s/%s%s", w->tree->build, ks_strbuf_str(&w->path), name);
	if (sb.failed)
		ks_strbuf_deinit(&sb);
	return sb.s;
}

static int read_list(struct walk *w, const char *name, char **ret_text, size_t *ret_len)
{
	char *path = full_path(w, name);
	int err;

	if (!path)
		return ks_diag_nomem(w->diag, "walking the tree");
	err = ks_read_file(path, LIST_MAX, ret_text, ret_len, w->diag);
	free(path);
	return err;
}

/*
 * Only these archives end up in vmlinux. A lib.a elsewhere (the EFI stub's) goes into a boot loader.
 */
static bool is_kernel_archive(const struct walk *w, const char *name)
{
	const char *dir = ks_strbuf_str(&w->path);

	if (!strcmp(name, "built-in.a") || !strcmp(name, "vmlinux.a"))
		return true;
	return !strcmp(name, "lib.a") && (!strcmp(dir, "lib/") || ends_with(dir, "/lib/"));
}

static int read_archive(struct walk *w, const char *name)
{
	char *text, *path;
	size_t len;
	int err;

	w->have_lists = true;
	w->have_vmlinux_a |= !strcmp(name, "vmlinux.a");
	err = read_list(w, name, &text, &len);
	if (err)
		return err;
	path = full_path(w, name);
	err = path ? ks_archive_members(text, len, path, add_member, w, w->diag)
		   : ks_diag_nomem(w->diag, "walking the tree");
	free(path);
	free(text);
	return err;
}

/* "foo.mod" lists the objects of foo.ko; older kernels have them on one line, symbols behind. */
static int read_mod(struct walk *w, const char *name)
{
	const char *dir = ks_strbuf_str(&w->path);
	size_t base_len = strlen(name) - strlen(".mod"), len;
	struct ks_strbuf self;
	struct mark *mark;
	char *text, *word, *rest;
	u32 module;
	int err;

	err = read_list(w, name, &text, &len);
	if (err)
		return err;
	ks_strbuf_init(&self);
	ks_strbuf_printf(&self, "%s%.*s.o", dir, (int)base_len, name);
	module = ks_intern_add(&w->objects->strings, name, base_len);
	mark = self.failed ? NULL : mark_of(w, self.s, self.len, NULL);
	if (mark)
		mark->composite = true;
	for (word = strtok_r(text, " \t\r\n", &rest); mark && word;
	     word = strtok_r(NULL, " \t\r\n", &rest)) {
		if (!ends_with(word, ".o"))
			continue;
		mark = mark_of(w, word, strlen(word), NULL);
		if (mark)
			mark->module = module;
	}
	ks_strbuf_deinit(&self);
	free(text);
	return mark && module != KS_NONE ? 0 : ks_diag_nomem(w->diag, "reading a module's list");
}

static int add_object(struct walk *w, const char *name)
{
	size_t dir_len = w->path.len;
	struct mark *mark;
	u32 id, *slot;

	ks_strbuf_puts(&w->path, name);
	mark = w->path.failed ? NULL : mark_of(w, w->path.s, w->path.len, &id);
	cut_path(w, dir_len);
	slot = mark ? ks_vec_push(&w->found) : NULL;
	if (!slot)
		return ks_diag_nomem(w->diag, "walking the tree");
	*slot = id;
	return 0;
}

static int add_ko(struct walk *w, const char *name)
{
	size_t dir_len = w->path.len;
	struct mark *ko, *object;
	u32 id;

	ks_strbuf_puts(&w->path, name);
	ko = w->path.failed ? NULL : mark_of(w, w->path.s, w->path.len, &id);
	if (ko) {
		memcpy(w->path.s + w->path.len - 3, ".o", 3);
		object = mark_of(w, w->path.s, w->path.len - 1, NULL);
		if (object)
			object->composite = true;
		else
			ko = NULL;
	}
	cut_path(w, dir_len);
	if (!ko)
		return ks_diag_nomem(w->diag, "walking the tree");
	if (!ks_vec_push(&w->objects->kos))
		return ks_diag_nomem(w->diag, "walking the tree");
	w->objects->kos.items[w->objects->kos.len - 1] = id;
	return 0;
}

static int add_file(struct walk *w, const char *name)
{
	if (ends_with(name, ".o"))
		return add_object(w, name);
	if (ends_with(name, ".ko"))
		return add_ko(w, name);
	if (ends_with(name, ".mod"))
		return read_mod(w, name);
	if (ends_with(name, ".a") && is_kernel_archive(w, name))
		return read_archive(w, name);
	return 0;
}

static bool is_dir(int dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return !fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

static int add_too_deep(struct walk *w)
{
	u32 *slot = ks_vec_push(&w->objects->too_deep);

	if (slot)
		*slot = ks_intern_add(&w->objects->strings, w->path.s, w->path.len);
	return slot && *slot != KS_NONE ? 0 : ks_diag_nomem(w->diag, "walking the tree");
}

static int walk_dir(struct walk *w, int parent, const char *name, unsigned int depth);

static int walk_entry(struct walk *w, int dir, const struct dirent *entry, unsigned int depth)
{
	const char *name = entry->d_name;
	size_t len = w->path.len;
	int err;

	if (!is_dir(dir, entry))
		return add_file(w, name);
	/* .git, and what the build hides from itself. */
	if (name[0] == '.')
		return 0;
	ks_strbuf_printf(&w->path, "%s/", name);
	if (w->path.failed)
		return ks_diag_nomem(w->diag, "walking the tree");
	err = depth + 1 < DEPTH_MAX ? walk_dir(w, dir, name, depth + 1) : add_too_deep(w);
	cut_path(w, len);
	return err;
}

static int walk_dir(struct walk *w, int parent, const char *name, unsigned int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	const struct dirent *entry;
	DIR *dir;

	/* A configuration below the top is another build (O=) inside this tree. */
	if (fd >= 0 && depth && !faccessat(fd, ".config", F_OK, 0)) {
		close(fd);
		return 0;
	}
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		err = ks_diag_set(w->diag, -errno, "%s/%s: cannot read the directory: %s",
				  w->tree->build, ks_strbuf_str(&w->path), strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = walk_entry(w, fd, entry, depth);
	closedir(dir);
	return err;
}

/* The source file of an object: beside it, in the build or in the source directory. */
static int find_source(struct walk *w, int build, int source, const char *object, u32 *ret_source)
{
	bool in_tree = !strcmp(w->tree->build, w->tree->source);
	size_t len = strlen(object) - 2, i;
	char path[PATH_MAX];

	*ret_source = KS_NONE;
	if (len + 4 > sizeof(path))
		return 0;
	memcpy(path, object, len);
	for (i = 0; i < ARRAY_SIZE(source_suffixes); i++) {
		strcpy(path + len, source_suffixes[i]);
		if (!faccessat(source, path, F_OK, 0) ||
		    (!in_tree && !faccessat(build, path, F_OK, 0))) {
			*ret_source = ks_intern_add(&w->objects->strings, path, strlen(path));
			return *ret_source == KS_NONE ? -ENOMEM : 0;
		}
	}
	return 0;
}

static bool has_dir(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && path[len] == '/';
}

/*
 * Before 6.2 the objects that must come first were linked beside the archives, not from them; they
 * are the architecture's start-up code.
 */
static bool is_old_head(const struct walk *w, const char *path)
{
	const char *dir;

	if (w->have_vmlinux_a || !has_dir(path, "arch"))
		return false;
	dir = strchr(path + 5, '/');
	return dir && !strncmp(dir, "/kernel/", 8) && !strchr(dir + 8, '/');
}

static enum ks_object_fate fate_of(const struct walk *w, const char *path, const struct mark *mark,
				   u32 source)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	if (has_dir(path, "scripts") || has_dir(path, "tools"))
		return KS_OBJECT_HOST;
	if (base[0] == '.' || ends_with(path, ".mod.o"))
		return KS_OBJECT_GENERATED;
	if (mark->module != KS_NONE)
		return KS_OBJECT_MODULE;
	if (mark->linked)
		return KS_OBJECT_BUILTIN;
	if (mark->composite || !strcmp(base, "built-in.o") || !strcmp(path, "vmlinux.o"))
		return KS_OBJECT_COMPOSITE;
	if (source == KS_NONE)
		return KS_OBJECT_NO_SOURCE;
	return !w->have_lists || is_old_head(w, path) ? KS_OBJECT_BUILTIN : KS_OBJECT_NOT_LINKED;
}

static int classify(struct walk *w)
{
	int build = open(w->tree->build, O_PATH | O_CLOEXEC);
	int source = open(w->tree->source, O_PATH | O_CLOEXEC);
	struct ks_object_file *object;
	size_t i;
	int err = 0;

	for (i = 0; i < w->found.len && !err; i++) {
		u32 id = w->found.items[i];

		object = ks_vec_push(&w->objects->items);
		if (!object) {
			err = -ENOMEM;
			break;
		}
		object->path = id;
		err = find_source(w, build, source, ks_object_files_str(w->objects, id),
				  &object->source);
		object->module = w->marks.items[id].module;
		object->fate = (u8)fate_of(w, ks_object_files_str(w->objects, id),
					   &w->marks.items[id], object->source);
	}
	if (build >= 0)
		close(build);
	if (source >= 0)
		close(source);
	return err ? ks_diag_nomem(w->diag, "listing the objects") : 0;
}

static int by_path(const void *pa, const void *pb, void *arg)
{
	const struct ks_object_files *objects = arg;
	const struct ks_object_file *a = pa, *b = pb;

	return strcmp(ks_object_files_str(objects, a->path), ks_object_files_str(objects, b->path));
}

/* === Public =============================================================================== */

const char *ks_object_fate_name(enum ks_object_fate fate)
{
	return fate < KS_OBJECT_FATES ? fate_names[fate] : "?";
}

int ks_object_files_init(struct ks_object_files *objects, const struct ks_tree *tree,
			 struct ks_diag *diag)
{
	struct walk w = { .objects = objects, .tree = tree, .diag = diag };
	int err;

	*objects = (struct ks_object_files){ 0 };
	if (ks_intern_init(&objects->strings))
		return ks_diag_nomem(diag, "walking the tree");
	ks_strbuf_init(&w.path);
	err = walk_dir(&w, AT_FDCWD, tree->build, 0);
	if (!err)
		err = classify(&w);
	if (!err && objects->items.len)
		qsort_r(objects->items.items, objects->items.len, sizeof(*objects->items.items),
			by_path, objects);
	objects->linked_known = w.have_lists;
	ks_vec_free(&w.marks);
	ks_vec_free(&w.found);
	ks_strbuf_deinit(&w.path);
	if (err)
		ks_object_files_deinit(objects);
	return err;
}

void ks_object_files_deinit(struct ks_object_files *objects)
{
	ks_intern_deinit(&objects->strings);
	ks_vec_free(&objects->items);
	ks_vec_free(&objects->kos);
	ks_vec_free(&objects->too_deep);
}

bool ks_module_names_equal(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return *a == *b;
}

const char *ks_object_files_ko(const struct ks_object_files *objects, const char *name)
{
	size_t i;

	for (i = 0; i < objects->kos.len; i++) {
		const char *path = ks_object_files_str(objects, objects->kos.items[i]);
		const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
		char stem[NAME_MAX + 1];

		if (strlen(base) - 3 > NAME_MAX)
			continue;
		memcpy(stem, base, strlen(base) - 3);
		stem[strlen(base) - 3] = '\0';
		if (ks_module_names_equal(stem, name))
			return path;
	}
	return NULL;
}
