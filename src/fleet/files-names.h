/* SPDX-License-Identifier: LGPL-2.1-only */
/* For src/fleet/files.c: the names and labels of a directory of tables, and whole files. */
#ifndef KS_FLEET_FILES_NAMES_H
#define KS_FLEET_FILES_NAMES_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/map64.h"
#include "base/strbuf.h"

struct ks_files_name {
	const char *name;
	u8 kind;
};

struct ks_files_label {
	u64 host, ver;
	const char *label, *value;
};

struct ks_files_names {
	struct ks_map64 ids;
	KS_VEC(struct ks_files_name) names; /* by number of the id */
	KS_VEC(struct ks_files_label) labels;
	struct ks_arena arena;
	bool new_names, new_labels; /* that are not in the files yet */
};

/* 0 or -ENOMEM; deinit accepts what either left. */
int ks_files_names_init(struct ks_files_names *names);
void ks_files_names_deinit(struct ks_files_names *names);

/* 0 or -ENOMEM. A name stays what it was; of labels the one with the highest version counts. */
int ks_files_names_add(struct ks_files_names *names, u64 id, u8 kind, const char *name, size_t len);
int ks_files_names_label(struct ks_files_names *names, u64 host, u64 ver, const char *label,
			 const char *value);

int ks_files_names_read(struct ks_files_names *names, const char *dir, struct ks_diag *diag);
int ks_files_names_write(struct ks_files_names *names, const char *dir, struct ks_diag *diag);

/* A file, whole or not at all. Of one that is read the bytes are to be freed; -ENOENT comes without a message. */
int ks_files_write(const char *path, const struct ks_strbuf *data, struct ks_diag *diag);
int ks_files_slurp(const char *path, u8 **ret_data, size_t *ret_len, struct ks_diag *diag);

#endif
