/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A compartmentalization: which functions and objects form domains, and what each domain of code may do. The
 * CPM interchange format (YAML) is its form in a file; kmemscope-kmap(5) says which parts of it are used.
 */
#ifndef KS_KMAP_CPM_H
#define KS_KMAP_CPM_H

#include "base/diag.h"
#include "base/intern.h"
#include "base/strbuf.h"

enum ks_cpm_op { KS_CPM_READ, KS_CPM_WRITE, KS_CPM_CALL, KS_CPM_RETURN, KS_CPM_OPS };

const char *ks_cpm_op_name(enum ks_cpm_op op);

/* A function or an object. */
struct ks_cpm_member {
	u32 name; /* "fs/pipe.c|alloc_pipe_info" */
	double size;
};

/* A subject domain has functions, an object domain has objects. */
struct ks_cpm_domain {
	u32 name;
	KS_VEC(struct ks_cpm_member) members;
	double instructions[KS_CPM_OPS]; /* of a subject domain */
};

/* A subject domain that runs in some context, and the domains that each operation may reach from it. */
struct ks_cpm_principal {
	u32 subject; /* into subjects */
	KS_VEC(u32)
	may[KS_CPM_OPS]; /* into objects for read and write, into subjects for call and return */
};

struct ks_cpm {
	struct ks_intern names;
	KS_VEC(struct ks_cpm_domain) subjects, objects;
	KS_VEC(struct ks_cpm_principal) principals;
};

int ks_cpm_new(struct ks_cpm **ret_cpm);
void ks_cpm_free(struct ks_cpm *cpm);

/* Reads the text of a file; @name is for messages. KS_EBADINPUT says where and why. */
int ks_cpm_parse(const char *text, size_t len, const char *name, struct ks_cpm **ret_cpm,
		 struct ks_diag *diag);

/* Reads a file. */
int ks_cpm_read(const char *path, struct ks_cpm **ret_cpm, struct ks_diag *diag);

/* Appends the text of a file. What ran out of memory is noted in @out. */
void ks_cpm_write(const struct ks_cpm *cpm, struct ks_strbuf *out);

static inline const char *ks_cpm_name(const struct ks_cpm *cpm, u32 name)
{
	return ks_intern_get(&cpm->names, name).s;
}

/* === Scores === */

/* How much more or less a byte of a function or object counts, for each operation. */
struct ks_cpm_weight {
	char *name;
	double factors[KS_CPM_OPS];
};

struct ks_cpm_weights {
	KS_VEC(struct ks_cpm_weight) items;
};

/* Lines "NAME, READ, WRITE, CALL, RETURN". */
int ks_cpm_weights_read(const char *path, struct ks_cpm_weights *ret_weights, struct ks_diag *diag);
void ks_cpm_weights_free(struct ks_cpm_weights *weights);

/*
 * Privilege: for each instruction of an operation, the bytes that it may reach. Monolithic: if it may reach
 * all; with W^X that is data for reads and writes and code for calls and returns, without it is both.
 */
struct ks_cpm_score {
	double granted[KS_CPM_OPS];
	double mono[KS_CPM_OPS], mono_wx[KS_CPM_OPS];
};

/* @weights may be NULL. */
int ks_cpm_score(const struct ks_cpm *cpm, const struct ks_cpm_weights *weights,
		 struct ks_cpm_score *ret_score);

#endif
