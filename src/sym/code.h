/* SPDX-License-Identifier: LGPL-2.1-only */
/* The functions of a linked kernel: how long each is, and how many of its instructions read, write, call and return. */
#ifndef KS_SYM_CODE_H
#define KS_SYM_CODE_H

#include "base/diag.h"
#include "base/vec.h"
#include "sym/symtab.h"

enum ks_code_op { KS_CODE_READ, KS_CODE_WRITE, KS_CODE_CALL, KS_CODE_RETURN, KS_CODE_OPS };

struct ks_code_function {
	u32 name; /* in the table's names */
	u64 addr, size;
	u32 counts[KS_CODE_OPS];
};

struct ks_code {
	struct ks_symtab *table;
	KS_VEC(struct ks_code_function) functions; /* by address, each once */
};

/*
 * @path is a vmlinux or a kernel tree that has one. Counted are instructions with an operand in memory, other than
 * those that only use the stack pointer; and calls and returns, without the calls of compilers' instrumentation.
 * KS_EBADINPUT for an image that is not linked, or of a machine whose instructions are not known here; -EOPNOTSUPP
 * from a program that was built without a disassembler.
 */
int ks_code_read(const char *path, struct ks_code **ret_code, struct ks_diag *diag);
void ks_code_free(struct ks_code *code);

#endif
