// SPDX-License-Identifier: LGPL-2.1-only
/* Names of functions by kallsyms, of cgroups by their directories. */
#include "live/naming.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

/* === Data ================================================================================= */

/* Beginnings of names: of the slab and page allocators, their helpers, and of how probes are called. */
static const char *const allocators[] = {
	"bpf_",
	"__bpf_",
	"__traceiter_",
	"trace_call_bpf",
	"___slab_alloc",
	"__slab_alloc",
	"slab_alloc",
	"new_slab",
	"allocate_slab",
	"alloc_slab_page",
	"__alloc_pages",
	"__alloc_frozen_pages",
	"alloc_pages",
	"alloc_frozen_pages",
	"__alloc_from_pcs",
	"alloc_from_pcs",
	"__pcs_",
	"refill_",
	"__refill_",
	"alloc_full_sheaf",
	"alloc_empty_sheaf",
	"__alloc_empty_sheaf",
	"get_partial",
	"get_from_partial",
	"get_from_any_partial",
	"kmem_cache_alloc",
	"__kmem_cache_alloc",
	"kmem_cache_prefill_sheaf",
	"kmem_cache_refill_sheaf",
	"kmem_cache_return_sheaf",
	"kmalloc",
	"__kmalloc",
	"__do_kmalloc",
	"___kmalloc",
	"kvmalloc",
	"__kvmalloc",
	"krealloc",
	"__krealloc",
	"kmemdup",
	"kstrdup",
	"kcalloc",
	"kzalloc",
	"get_page_from_freelist",
	"post_alloc_hook",
	"prep_new_page",
	"tracepoint_",
};

enum { DEPTH = 16, SKIP_MOST = 16 };
enum { CGROUPS_MOST = 16384 }; /* names that are kept: they come and go by the thousand */

static const u64 look_again_ns = 10000000000;

/* === Internals ============================================================================ */

static int read_all(const char *path, struct ks_strbuf *text)
{
	static const size_t step = 1 << 18;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *buf = fd < 0 ? NULL : malloc(step);
	ssize_t n = buf ? 1 : 0;

	while (n > 0) {
		n = read(fd, buf, step);
		if (n > 0)
			ks_strbuf_add(text, buf, (size_t)n);
	}
	free(buf);
	if (fd >= 0)
		close(fd);
	return text->failed ? -ENOMEM : 0;
}

/* Without symbols there are addresses. */
static int load_symbols(struct ks_naming *n)
{
	struct ks_strbuf text;
	int err;

	ks_strbuf_init(&text);
	err = read_all("/proc/kallsyms", &text);
	if (err || !text.len) {
		ks_strbuf_deinit(&text);
		return err;
	}
	return ks_ksyms_parse(&n->symbols, text.s, 0, text.len);
}

/* Modules by name and address. How much they are used is in the text, too, and changes all the time. */
static int hash_modules(u64 *ret_hash)
{
	struct ks_strbuf text;
	char *line, *rest = NULL, *at;
	u64 hash = 1;
	int err;

	ks_strbuf_init(&text);
	err = read_all("/proc/modules", &text);
	for (line = err || !text.len ? NULL : strtok_r(text.s, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		hash = ks_hash_bytes(line, strcspn(line, " "), hash);
		at = strstr(line, " 0x");
		if (at)
			hash = ks_hash_bytes(at, strcspn(at + 1, " ") + 1, hash);
	}
	ks_strbuf_deinit(&text);
	if (!err)
		*ret_hash = hash;
	return err;
}

static void forget_names(struct ks_naming *n)
{
	ks_ksyms_deinit(&n->symbols);
	n->symbols = (struct ks_ksyms){ 0 };
	ks_map64_clear(&n->addrs);
	n->name_of.len = 0;
	n->loaded = false;
}

/* Before something new gets a name: modules may have come since, and may be where others were. */
static int check_symbols(struct ks_naming *n)
{
	u64 now = ks_clock_ns(CLOCK_BOOTTIME), hash = n->modules;

	if (n->loaded && now - n->checked_ns < look_again_ns)
		return 0;
	if (hash_modules(&hash))
		return -ENOMEM;
	if (n->loaded && hash != n->modules)
		forget_names(n);
	n->checked_ns = now;
	n->modules = hash;
	if (!n->loaded && load_symbols(n))
		return -ENOMEM;
	n->loaded = true;
	return 0;
}

/* The size of the function is of no interest. */
static u32 name_addr(struct ks_naming *n, u64 addr)
{
	struct ks_strbuf text;
	char *slash, *blank;
	u32 name;

	ks_strbuf_init(&text);
	if (n->symbols.syms.len)
		ks_ksyms_print(&n->symbols, addr, &text);
	else
		ks_strbuf_printf(&text, "0x%llx", (unsigned long long)addr);
	slash = text.s ? strchr(text.s, '/') : NULL;
	blank = slash ? strchr(slash, ' ') : NULL;
	if (slash) {
		if (blank)
			memmove(slash, blank, strlen(blank) + 1);
		else
			*slash = '\0';
	}
	name = text.failed ? KS_NONE : ks_intern_add(&n->names, text.s, strlen(text.s));
	ks_strbuf_deinit(&text);
	return name;
}

/* Parts of a function that the compiler has moved or made anew are called "func.cold", "func.isra.0", ... */
static bool is_called(const struct ks_ksyms *symbols, size_t i, const char *name, size_t len)
{
	const struct ks_ksym *sym = &symbols->syms.items[i];
	const char *is = symbols->text + sym->name;

	return len && sym->len >= len && !memcmp(is, name, len) &&
	       (sym->len == len || is[len] == '.' || isspace((unsigned char)is[len]));
}

/* It ends where another one begins. Of the last one of all the end is not known. */
static struct ks_bpf_code code_of(const struct ks_ksyms *symbols, size_t i)
{
	u64 from = symbols->syms.items[i].addr;

	while (i < symbols->syms.len && symbols->syms.items[i].addr == from)
		i++;
	return (struct ks_bpf_code){ from, i < symbols->syms.len ? symbols->syms.items[i].addr
								 : from + 4096 };
}

/* === Internals: cgroups =================================================================== */

static int add_cgroup(struct ks_naming *n, u64 id, const char *path)
{
	u32 number, name;

	/* The room first: a number without a path would be one too many. */
	if (ks_vec_reserve(&n->path_of, n->path_of.len + 1))
		return -ENOMEM;
	name = ks_intern_add(&n->paths, path, strlen(path));
	number = name == KS_NONE ? KS_NONE : ks_map64_add(&n->cgroups, id);
	if (number == KS_NONE || (number == n->path_of.len && !ks_vec_push(&n->path_of)))
		return -ENOMEM;
	n->path_of.items[number] = name;
	return 0;
}

/*
 * Probes have numbers of the second version's cgroups. The first version has hierarchies with numbers of their own, which
 * are others' here.
 */
static bool find_cgroup_root(char *ret_root, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	bool found = false;

	while (!found && mounts && (mount = getmntent(mounts)))
		found = !strcmp(mount->mnt_type, "cgroup2") &&
			(size_t)snprintf(ret_root, size, "%s", mount->mnt_dir) < size;
	if (mounts)
		endmntent(mounts);
	return found;
}

/* The number of a cgroup is that of its directory's inode. @path has room for the names of subdirectories. */
static int walk(struct ks_naming *n, int fd, char *path, size_t len, size_t size, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	struct stat st;
	int err = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	if (!fstat(fd, &st))
		err = add_cgroup(n, st.st_ino, len ? path : "/");
	while (!err && depth < DEPTH && (entry = readdir(dir))) {
		size_t name = strlen(entry->d_name);
		int sub;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || len + name + 2 > size)
			continue;
		sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (sub < 0)
			continue;
		path[len] = '/';
		memcpy(path + len + 1, entry->d_name, name + 1);
		err = walk(n, sub, path, len + 1 + name, size, depth + 1);
		path[len] = '\0';
	}
	closedir(dir);
	return err;
}

static int look_for_cgroups(struct ks_naming *n)
{
	char path[1024] = "", root[512];
	int fd = find_cgroup_root(root, sizeof(root))
			 ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			 : -1;

	/* What has gone is forgotten: numbers are not used again. */
	ks_map64_clear(&n->cgroups);
	n->path_of.len = 0;
	if (n->paths.strs.len > CGROUPS_MOST) {
		ks_intern_deinit(&n->paths);
		if (ks_intern_init(&n->paths)) {
			if (fd >= 0)
				close(fd);
			return -ENOMEM;
		}
	}
	return fd < 0 ? 0 : walk(n, fd, path, 0, sizeof(path), 0);
}

/* === Public =============================================================================== */

int ks_naming_init(struct ks_naming *n)
{
	*n = (struct ks_naming){ 0 };
	if (ks_map64_init(&n->addrs) || ks_intern_init(&n->names) || ks_map64_init(&n->cgroups) ||
	    ks_intern_init(&n->paths)) {
		ks_naming_deinit(n);
		return -ENOMEM;
	}
	return 0;
}

void ks_naming_deinit(struct ks_naming *n)
{
	ks_ksyms_deinit(&n->symbols);
	ks_map64_deinit(&n->addrs);
	ks_intern_deinit(&n->names);
	ks_vec_free(&n->name_of);
	ks_map64_deinit(&n->cgroups);
	ks_intern_deinit(&n->paths);
	ks_vec_free(&n->path_of);
}

const char *ks_naming_addr(struct ks_naming *n, u64 addr)
{
	u32 number;

	if ((!n->loaded || ks_map64_find(&n->addrs, addr) == KS_NONE) && check_symbols(n))
		return NULL;
	number = ks_map64_add(&n->addrs, addr);
	if (number == KS_NONE)
		return NULL;
	while (n->name_of.len <= number) {
		u32 *slot = ks_vec_push(&n->name_of);

		if (!slot)
			return NULL;
		*slot = KS_NONE;
	}
	if (n->name_of.items[number] == KS_NONE)
		n->name_of.items[number] = name_addr(n, addr);
	return n->name_of.items[number] == KS_NONE
		       ? NULL
		       : ks_intern_get(&n->names, n->name_of.items[number]).s;
}

const char *ks_naming_cgroup(struct ks_naming *n, u64 id)
{
	u32 number = ks_map64_find(&n->cgroups, id);
	char text[32];
	u64 now;

	if (number == KS_NONE) {
		now = ks_clock_ns(CLOCK_BOOTTIME);
		if (!n->looked_ns || now - n->looked_ns > look_again_ns) {
			n->looked_ns = now;
			if (look_for_cgroups(n))
				return NULL;
		}
		number = ks_map64_find(&n->cgroups, id);
	}
	if (number != KS_NONE)
		return ks_intern_get(&n->paths, n->path_of.items[number]).s;
	snprintf(text, sizeof(text), "cgroup %llu", (unsigned long long)id);
	number = ks_intern_add(&n->paths, text, strlen(text));
	return number == KS_NONE ? NULL : ks_intern_get(&n->paths, number).s;
}

int ks_naming_find_code(struct ks_naming *n, const char *site, struct ks_bpf_code *ret_code,
			u32 room, u32 *ret_found)
{
	size_t len = strcspn(site, "+ "), i;
	u64 offset = site[len] == '+' ? strtoull(site + len + 1, NULL, 16) : 0;
	u32 found = 0;

	if (check_symbols(n))
		return -ENOMEM;
	for (i = 0; i < n->symbols.syms.len; i++) {
		struct ks_bpf_code code;

		if (!is_called(&n->symbols, i, site, len))
			continue;
		code = code_of(&n->symbols, i);
		if (site[len] == '+') {
			code.from += offset;
			if (code.from >= code.to)
				continue;
			code.to = code.from + 1;
		}
		if (found < room)
			ret_code[found] = code;
		found++;
	}
	*ret_found = found;
	return 0;
}

int ks_naming_find_cgroup(const char *path, unsigned long long *ret_id, u32 *ret_depth,
			  struct ks_diag *diag)
{
	char root[512], whole[4096];
	struct stat st;
	u32 depth = 0;
	const char *at;

	if (!find_cgroup_root(root, sizeof(root)))
		return ks_diag_set(diag, -ENOENT, "no file system of type cgroup2 is mounted");
	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	if (strstr(path, "..") || stat(whole, &st) || !S_ISDIR(st.st_mode))
		return ks_diag_set(diag, -ENOENT, "there is no cgroup '%s' in %s", path, root);
	for (at = path; *at; at++)
		depth += *at != '/' && (at == path || at[-1] == '/');
	*ret_id = st.st_ino;
	*ret_depth = depth;
	return 0;
}

bool ks_naming_is_allocator(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(allocators); i++)
		if (!strncmp(name, allocators[i], strlen(allocators[i])))
			return true;
	return false;
}

u32 ks_naming_skip(struct ks_naming *n, const u64 *frames, u32 len)
{
	u32 skip = 0;

	while (skip + 1 < len && skip < SKIP_MOST) {
		const char *name = ks_naming_addr(n, frames[skip]);

		/* An address without a name is a program of BPF, or its trampoline. */
		if (!name || (!ks_naming_is_allocator(name) && strncmp(name, "0x", 2) != 0))
			break;
		skip++;
	}
	return skip;
}
