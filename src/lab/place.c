// SPDX-License-Identifier: LGPL-2.1-only
/* Where the lab's parts are. */
#include "lab/place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* === Data ================================================================================= */

const char *const ks_lab_arch_names[KS_LAB_ARCHES] = { "um", "x86_64", "arm64" };

static const char *const images[KS_LAB_ARCHES] = { "linux", "bzImage", "Image" };

/* === Internals ============================================================================ */

/* The directory of the running program. */
static int add_program_dir(struct ks_strbuf *path, struct ks_diag *diag)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self));

	if (len < 0 || len == sizeof(self))
		return ks_diag_set(diag, len < 0 ? -errno : -ENAMETOOLONG,
				   "/proc/self/exe: cannot tell where kmemscope is");
	while (len && self[len - 1] != '/')
		len--;
	ks_strbuf_add(path, self, (size_t)len);
	return 0;
}

/* Whether @must is there; @path is then DIR and TAIL. Without memory it has failed, and so has @path. */
static bool try_path(struct ks_strbuf *path, const char *dir, const char *tail, const char *must)
{
	struct ks_strbuf whole;
	bool there;

	ks_strbuf_init(&whole);
	ks_strbuf_printf(&whole, "%s%s%s", dir, tail, must);
	there = !whole.failed && !access(ks_strbuf_str(&whole), F_OK);
	path->failed |= whole.failed;
	ks_strbuf_deinit(&whole);
	if (there)
		ks_strbuf_printf(path, "%s%s", dir, tail);
	return there;
}

/* The first of the places that has @must: beside the program, installed with it, installed. */
static int find(const char *beside, const char *relative, const char *installed, const char *must,
		struct ks_strbuf *ret_path, struct ks_diag *diag)
{
	struct ks_strbuf dir;
	bool found;
	int err;

	ks_strbuf_init(&dir);
	err = add_program_dir(&dir, diag);
	found = !err && (try_path(ret_path, ks_strbuf_str(&dir), beside, must) ||
			 try_path(ret_path, ks_strbuf_str(&dir), relative, must) ||
			 try_path(ret_path, installed, "", must));
	if (!err && (dir.failed || ret_path->failed))
		err = ks_diag_nomem(diag, "looking for the lab");
	else if (!err && !found)
		err = ks_diag_set(diag, -ENOENT,
				  "%s: not found below %s; this kmemscope is not installed whole",
				  must + 1, installed);
	ks_strbuf_deinit(&dir);
	return err;
}

static int kernel_link(const struct ks_lab_choice *choice, struct ks_strbuf *ret_path,
		       struct ks_diag *diag)
{
	int err = ks_lab_cache(ret_path, diag);

	if (!err)
		ks_strbuf_printf(ret_path, "/lab-%s-%s%s", choice->version,
				 ks_lab_arch_names[choice->arch], choice->calls ? "-calls" : "");
	if (!err && ret_path->failed)
		err = ks_diag_nomem(diag, "looking for a kernel");
	return err;
}

/* "DIR/NAME", if it is there. */
static int in_dir(const char *dir, const char *name, char **ret_path)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	if (access(path, R_OK)) {
		free(path);
		return -ENOENT;
	}
	*ret_path = path;
	return 0;
}

static int find_files(const char *link, enum ks_lab_arch arch, struct ks_lab_kernel *kernel)
{
	char *smp = NULL;
	int err;

	errno = 0;
	kernel->dir = realpath(link, NULL);
	if (!kernel->dir)
		return errno == ENOMEM ? -ENOMEM : -ENOENT;
	err = in_dir(kernel->dir, images[arch], &kernel->image);
	if (!err)
		err = in_dir(kernel->dir, "vmlinux", &kernel->vmlinux);
	if (!err && asprintf(&kernel->btf, "%s/btf", kernel->dir) < 0) {
		kernel->btf = NULL;
		err = -ENOMEM;
	}
	if (err)
		return err;
	err = in_dir(kernel->dir, "smp", &smp);
	kernel->smp = smp != NULL;
	free(smp);
	return err == -ENOENT ? 0 : err;
}

/* === Public =============================================================================== */

int ks_lab_find_home(struct ks_strbuf *ret_dir, struct ks_diag *diag)
{
	const char *named = getenv("KMEMSCOPE_LAB");

	if (!named || !*named)
		return find("lab-home", "../share/kmemscope/lab", KS_DATADIR "/lab",
			    "/lab/build.sh", ret_dir, diag);
	if (try_path(ret_dir, named, "", "/lab/build.sh") && !ret_dir->failed)
		return 0;
	if (ret_dir->failed)
		return ks_diag_nomem(diag, "looking for the lab");
	return ks_diag_set(diag, -ENOENT, "%s: has no lab/build.sh; $KMEMSCOPE_LAB names it",
			   named);
}

int ks_lab_find_helper(const char *name, struct ks_strbuf *ret_path, struct ks_diag *diag)
{
	char must[64];
	int err;

	snprintf(must, sizeof(must), "/%s", name);
	err = find("lab-helpers", "../libexec/kmemscope", KS_LIBEXECDIR, must, ret_path, diag);
	if (!err)
		ks_strbuf_puts(ret_path, must);
	return !err && ret_path->failed ? ks_diag_nomem(diag, "looking for the lab") : err;
}

int ks_lab_cache(struct ks_strbuf *ret_dir, struct ks_diag *diag)
{
	const char *own = getenv("KMEMSCOPE_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (own && *own)
		ks_strbuf_puts(ret_dir, own);
	else if (xdg && *xdg)
		ks_strbuf_printf(ret_dir, "%s/kmemscope", xdg);
	else if (home && *home)
		ks_strbuf_printf(ret_dir, "%s/.cache/kmemscope", home);
	else
		return ks_diag_set(
			diag, -ENOENT,
			"neither $HOME nor $KMEMSCOPE_CACHE says where kernels are kept");
	return 0;
}

int ks_lab_kernel_set(const struct ks_lab_choice *choice, const char *dir, struct ks_diag *diag)
{
	struct ks_strbuf path, temporary;
	int err;

	ks_strbuf_init(&path);
	ks_strbuf_init(&temporary);
	err = kernel_link(choice, &path, diag);
	if (!err) {
		/* A link cannot be changed, but replaced: at every moment there is one. */
		ks_strbuf_printf(&temporary, "%s.%d", ks_strbuf_str(&path), getpid());
		if (symlink(dir, ks_strbuf_str(&temporary)) ||
		    rename(ks_strbuf_str(&temporary), ks_strbuf_str(&path)))
			err = ks_diag_set(diag, -errno, "%s: cannot make the link: %s",
					  ks_strbuf_str(&path), strerror(errno));
	}
	ks_strbuf_deinit(&temporary);
	ks_strbuf_deinit(&path);
	return err;
}

int ks_lab_kernel_find(const struct ks_lab_choice *choice, struct ks_lab_kernel *ret_kernel,
		       struct ks_diag *diag)
{
	struct ks_lab_kernel kernel = { .arch = choice->arch };
	struct ks_strbuf path;
	int err;

	ks_strbuf_init(&path);
	err = kernel_link(choice, &path, diag);
	if (!err) {
		err = find_files(ks_strbuf_str(&path), choice->arch, &kernel);
		if (err == -ENOMEM)
			ks_diag_nomem(diag, "looking for a kernel");
		else if (err)
			err = ks_diag_set(diag, -ENOENT,
					  "%s: no such kernel; make it with 'kmemscope lab build "
					  "--kernel %s --arch %s%s'",
					  ks_strbuf_str(&path), choice->version,
					  ks_lab_arch_names[choice->arch],
					  choice->calls ? " --calls" : "");
	}
	ks_strbuf_deinit(&path);
	if (err)
		ks_lab_kernel_deinit(&kernel);
	else
		*ret_kernel = kernel;
	return err;
}

void ks_lab_kernel_deinit(struct ks_lab_kernel *kernel)
{
	free(kernel->dir);
	free(kernel->image);
	free(kernel->vmlinux);
	free(kernel->btf);
	*kernel = (struct ks_lab_kernel){ 0 };
}
