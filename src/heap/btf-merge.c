// SPDX-License-Identifier: LGPL-2.1-only
/* Puts types together; libbpf finds those that are the same. */
#include "heap/btf-merge.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "sym/quiet-btf.h"

/* === Internals ============================================================================ */

static int is_object(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".o");
}

static int add_file(struct btf *all, const char *path, struct ks_diag *diag)
{
	struct btf *btf = ks_btf_parse(path);
	int err = btf ? 0 : -errno;

	if (err)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: no type information (BTF) that can be read: %s", path,
				   strerror(-err));
	err = btf__add_btf(all, btf);
	btf__free(btf);
	return err < 0 ? ks_diag_set(diag, err, "%s: %s", path, strerror(-err)) : 0;
}

static int add_folder(struct btf *all, const char *folder, struct ks_diag *diag)
{
	struct dirent **names = NULL;
	int count = scandir(folder, &names, is_object, alphasort), i, err = 0;
	char path[4096];

	if (count < 0)
		return ks_diag_set(diag, -errno, "%s: %s", folder, strerror(errno));
	if (!count)
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: no object file is in it", folder);
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (!err)
			err = add_file(all, path, diag);
		free(names[i]);
	}
	free(names);
	return err;
}

/* === Public =============================================================================== */

int ks_btf_write(const struct btf *btf, const char *path, struct ks_diag *diag)
{
	struct ks_outfile out;
	const void *data;
	u32 size;
	int err;

	data = btf__raw_data(btf, &size);
	if (!data)
		return ks_diag_nomem(diag, "writing types");
	err = ks_outfile_open(&out, path, diag);
	if (err)
		return err;
	err = ks_outfile_write(&out, data, size, diag);
	if (err) {
		ks_outfile_abort(&out);
		return err;
	}
	return ks_outfile_commit(&out, diag);
}

int ks_btf_merge(const char *folder, const char *path, struct ks_diag *diag)
{
	struct btf *all = btf__new_empty();
	int err = all ? add_folder(all, folder, diag)
		      : ks_diag_nomem(diag, "putting types together");

	if (!err) {
		err = btf__dedup(all, NULL);
		if (err)
			ks_diag_set(diag, err, "%s: its types do not fit together: %s", folder,
				    strerror(-err));
	}
	if (!err)
		err = ks_btf_write(all, path, diag);
	btf__free(all);
	return err;
}
