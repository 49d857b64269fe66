/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A run in the lab of a kernel that nobody rebuilt: QEMU counts the accesses by address and instruction, and what of the
 * kernel's memory they were to is looked up in that memory.
 */
#ifndef KS_CLI_LAB_STOCK_H
#define KS_CLI_LAB_STOCK_H

#include "base/outfile.h"
#include "cli/lab.h"
#include "heap/memory.h"
#include "lab/counts.h"

struct ks_census;
struct ks_kernel;
struct ks_slot_index;
struct ks_slots;

/* The kernel's slabs at one moment. */
struct ks_stock_look {
	struct ks_kernel *kernel;
	struct ks_census *census;
	struct ks_slots *slots;
	struct ks_slot_index *index;
};

/* What became of the accesses. */
struct ks_stock_sums {
	u64 objects, gone; /* gone: not there any more at the end */
	u64 counted;	   /* accesses to these */
	u64 fresh;   /* of them to slabs that were none at the begin: some may be from before */
	u64 moved;   /* to places that belonged to another cache at the end than at the begin */
	u64 no_slab; /* to memory that was no slab's at either moment */
	u64 lost, elsewhere;
};

struct ks_stock {
	struct ks_strbuf image, root, plugin;
	struct ks_strbuf
		init; /* the guest's first process, where it is not of this machine's architecture */
	bool has_root; /* a file, to be removed */
	int fd;
	struct ks_span direct_map; /* accesses to which are counted */
	struct lab_counts *table;
	size_t size;
	struct ks_stock_look begin;
	struct ks_stock_sums sums;
	int err; /* 1 = the command did not come to its end */
	struct ks_diag diag;
};

/* Finds the kernel, packs what the command needs, makes the table. 0 or an exit code; free accepts what is left. */
int ks_stock_prepare(struct ks_lab_args *args, struct ks_stock *stock);
int ks_stock_kernel(const struct ks_stock *stock, enum ks_lab_arch arch,
		    struct ks_lab_kernel *ret_kernel, struct ks_diag *diag);
int ks_stock_init(const struct ks_stock *stock, struct ks_strbuf *ret_path, struct ks_diag *diag);
void ks_stock_free(struct ks_stock *stock);

/* While the guest @pid stands still: before the command, and after it. */
void ks_stock_begin(struct ks_stock *stock, pid_t pid);
void ks_stock_end(struct ks_stock *stock, pid_t pid, const char *path, struct ks_outfile *map,
		  u64 *ret_bytes);

/* Says what the map has, and what it can't have. Returns the exit code of the run; @status is the command's. */
int ks_stock_judge(const struct ks_stock *stock, const struct ks_lab_args *args, const char *path,
		   int status);

/* Private to the files of a stock run: a look, and the map of what was counted (lab-stock-map.c). */
int ks_stock_look(pid_t pid, struct ks_stock_look *look, struct ks_diag *diag);
void ks_stock_look_free(struct ks_stock_look *look);
int ks_stock_map(struct ks_stock *stock, const struct ks_stock_look *end, struct ks_outfile *map,
		 u64 *ret_bytes, struct ks_diag *diag);

#endif
