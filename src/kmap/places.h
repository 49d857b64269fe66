/* SPDX-License-Identifier: LGPL-2.1-only */
/* The names of a census: for each instruction and each site, its function, file, directory, module. */
#ifndef KS_KMAP_PLACES_H
#define KS_KMAP_PLACES_H

#include "kmap/census.h"
#include "sym/sym.h"

/* The units of code by which a map is added up, from the finest to the coarsest. */
enum ks_kmap_unit {
	KS_KMAP_SITE, /* "vfs_read+0x1c" */
	KS_KMAP_FUNCTION,
	KS_KMAP_FILE,
	KS_KMAP_DIR,
	KS_KMAP_TOPDIR,
	KS_KMAP_MODULE,
	KS_KMAP_UNITS
};

const char *ks_kmap_unit_name(enum ks_kmap_unit unit);
int ks_kmap_unit_parse(const char *name, enum ks_kmap_unit *ret_unit);

struct ks_kmap_places {
	struct ks_intern labels;
	u32 (*codes)[KS_KMAP_UNITS]; /* labels, by number of the instruction */
	u32 (*sites)[KS_KMAP_UNITS]; /* labels, by number of the site */
	u64 unnamed;		     /* instructions that nothing has a function for */
};

/* @resolver may be NULL: then addresses are their own names. */
int ks_kmap_places_new(const struct ks_kmap_census *census, struct ks_resolver *resolver,
		       struct ks_kmap_places **ret_places, struct ks_diag *diag);
void ks_kmap_places_free(struct ks_kmap_places *places);

static inline const char *ks_kmap_label(const struct ks_kmap_places *places, u32 label)
{
	return ks_intern_get(&places->labels, label).s;
}

/* Whether the source file of any site is known; without, files and directories are all one. */
bool ks_kmap_knows_files(const struct ks_kmap_census *census, const struct ks_kmap_places *places);

/* Whether @name is one of the labels: "kfree", "kfree+0x1c", "fs/ext4", ... */
bool ks_kmap_labels_match(const struct ks_kmap_places *places, const u32 *labels, const char *name);

#endif
