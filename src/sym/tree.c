// SPDX-License-Identifier: LGPL-2.1-only
/* Where the parts of a built kernel tree are. */
#include "sym/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* === Internals ============================================================================ */

/* The file's path when there is such a file. -ENOMEM is the only error. */
static int find_file(const char *dir, const char *name, char **ret_path)
{
	char *path = ks_path_join(dir, name);
	struct stat st;

	if (!path)
		return -ENOMEM;
	if (stat(path, &st) || !S_ISREG(st.st_mode)) {
		free(path);
		path = NULL;
	}
	*ret_path = path;
	return 0;
}

/* A build made with O= has a link to its sources; else they are in the same place. */
static int find_source(struct ks_tree *tree)
{
	char *link = ks_path_join(tree->build, "source");
	struct stat st;

	if (!link)
		return -ENOMEM;
	if (!lstat(link, &st) && S_ISLNK(st.st_mode) && !stat(link, &st) && S_ISDIR(st.st_mode))
		tree->source = realpath(link, NULL);
	free(link);
	if (!tree->source)
		tree->source = strdup(tree->build);
	return tree->source ? 0 : -ENOMEM;
}

static int find_release(struct ks_tree *tree)
{
	char *path = ks_path_join(tree->build, "include/config/kernel.release");
	size_t len;
	int err;

	if (!path)
		return -ENOMEM;
	err = ks_read_file(path, 256, &tree->release, &len, NULL);
	if (!err)
		tree->release[strcspn(tree->release, "\r\n")] = '\0';
	free(path);
	return err == -ENOMEM ? err : 0; /* a tree may have no release */
}

static char *trim_slashes(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return strndup(path, len);
}

static bool exists_below(const char *dir, const char *branch)
{
	char *path = ks_path_join(dir, branch);
	struct stat st;
	bool found = path && !stat(path, &st);

	free(path);
	return found;
}

/* === Public =============================================================================== */

char *ks_path_join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

int ks_read_file(const char *path, size_t limit, char **ret_text, size_t *ret_len,
		 struct ks_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	size_t len = 0, cap = 0;
	char *text = NULL;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return ks_diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
	for (;;) {
		if (ks_reserve(text, cap, len + 4096 + 1)) {
			err = ks_diag_nomem(diag, "reading a file");
			break;
		}
		n = read(fd, text + len, cap - len - 1);
		if (n < 0) {
			err = ks_diag_set(diag, -errno, "%s: cannot read: %s", path,
					  strerror(errno));
			break;
		}
		if (!n)
			break;
		len += (size_t)n;
		if (len > limit) {
			err = ks_diag_set(diag, -EFBIG, "%s: is larger than any file of its kind",
					  path);
			break;
		}
	}
	close(fd);
	if (err) {
		free(text);
		return err;
	}
	text[len] = '\0';
	*ret_text = text;
	*ret_len = len;
	return 0;
}

int ks_tree_open(struct ks_tree *tree, const char *path, struct ks_diag *diag)
{
	struct stat st;

	*tree = (struct ks_tree){ 0 };
	if (stat(path, &st))
		return ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return ks_diag_set(diag, -ENOTDIR, "%s: is not a directory", path);
	tree->build = trim_slashes(path);
	if (!tree->build || find_source(tree) ||
	    find_file(tree->build, "vmlinux", &tree->vmlinux) ||
	    find_file(tree->build, "System.map", &tree->system_map) || find_release(tree)) {
		ks_tree_close(tree);
		return ks_diag_nomem(diag, "opening a kernel tree");
	}
	return 0;
}

void ks_tree_close(struct ks_tree *tree)
{
	free(tree->build);
	free(tree->source);
	free(tree->vmlinux);
	free(tree->system_map);
	free(tree->release);
	*tree = (struct ks_tree){ 0 };
}

const char *ks_branch_trim(const char *branch, size_t *ret_len)
{
	size_t len;

	while (branch[0] == '.' && (branch[1] == '/' || !branch[1])) {
		branch++;
		branch += strspn(branch, "/");
	}
	len = strlen(branch);
	while (len && branch[len - 1] == '/')
		len--;
	*ret_len = len;
	return branch;
}

bool ks_tree_has_branch(const struct ks_tree *tree, const char *branch)
{
	size_t len;

	branch = ks_branch_trim(branch, &len);
	if (!len)
		return true;
	/* Out of the tree is not in it. */
	if (branch[0] == '/' || !strncmp(branch, "../", 3) || strstr(branch, "/../"))
		return false;
	return exists_below(tree->source, branch) || exists_below(tree->build, branch);
}

int ks_branch_missing(const char *branch, const char *path, struct ks_diag *diag)
{
	return ks_diag_set(diag, -ENOENT,
			   "branch %s: there is no such directory or file in %s; branches are "
			   "named from the top of the tree, like fs/ext4 or mm/slub.c",
			   branch, path);
}
