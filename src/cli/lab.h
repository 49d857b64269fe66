/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of "kmemscope lab" share. */
#ifndef KS_CLI_LAB_H
#define KS_CLI_LAB_H

#include "cli/cli.h"
#include "lab/place.h"

/* The lab's own failures, so that they are not mistaken for the command's; as env(1) and timeout(1). */
enum { KS_EXIT_LAB = 125 };

enum ks_lab_accel { KS_LAB_ACCEL_AUTO, KS_LAB_ACCEL_KVM, KS_LAB_ACCEL_TCG, KS_LAB_ACCELS };

/* What the options said. */
struct ks_lab_args {
	struct ks_cli cli;
	struct ks_lab_choice kernel; /* --kernel, --arch, --calls */
	bool types;		     /* --types, of build */
	bool sites;		     /* --sites, of build */
	/* of run and shell: */
	enum ks_lab_accel accel;
	const char *output;	/* -o */
	const char *log;	/* --log */
	const char *heap;	/* --heap */
	const char *parameters; /* --append */
	u64 mode;		/* 0 = not given */
	u64 processors, memory_mb, timeout_ns;
	bool access, boot, binary, quiet;
	bool stock;	   /* --stock */
	const char *image; /* --kernel with it: a package or an image; NULL = Debian's newest */
	KS_VEC(const char *) adds; /* --add */
	KS_VEC(char *) shares;	   /* absolute, owned; ends with NULL */
	char **command;
	int nr_words;
};

/* Whether to try KVM; and to note that it failed, until the next boot. */
bool ks_lab_kvm_promises(void);
void ks_lab_kvm_failed(struct ks_cli *cli);

/* Runs one of the lab's scripts; what it prints goes into @ret_text without the last newline. 0 or an exit code. */
int ks_lab_run_script(const struct ks_cli *cli, const char *const *argv,
		      struct ks_strbuf *ret_text);

/* Each returns the exit code. */
int ks_lab_build(struct ks_lab_args *args);
int ks_lab_run(struct ks_lab_args *args);
int ks_lab_shell(struct ks_lab_args *args);

#endif
