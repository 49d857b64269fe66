/* SPDX-License-Identifier: LGPL-2.1-only */
/* The names of a census: for each instruction and each site, its function, file, directory, module. */
#ifndef KS_KMAP_PLACES_H
#define KS_KMAP_PLACES_H

#include "kmap/census.h"
#include "kmap/cpm.h"
#include "sym/sym.h"

/* The units of code by which a map is added up, from the finest to the coarsest. */
enum ks_kmap_unit {
	KS_KMAP_SITE, /* "vfs_read+0x1c" */
	KS_KMAP_FUNCTION,
	KS_KMAP_FILE,
	KS_KMAP_DIR,
	KS_KMAP_TOPDIR,
	KS_KMAP_MODULE,
	KS_KMAP_COMPARTMENT, /* of a compartmentalization: ks_kmap_places_cut() */
	KS_KMAP_UNITS
};

const char *ks_kmap_unit_name(enum ks_kmap_unit unit);
int ks_kmap_unit_parse(const char *name, enum ks_kmap_unit *ret_unit);

struct ks_kmap_places {
	struct ks_intern labels;
	u32 (*codes)[KS_KMAP_UNITS]; /* labels, by number of the instruction */
	u32 (*sites)[KS_KMAP_UNITS]; /* labels, by number of the site */
	u64 unnamed;		     /* instructions that nothing has a function for */

	bool has_cut; /* code and sites have compartments */
	/* Of a cut from a file: names of members, and for each the label of its domain. */
	struct ks_intern members;
	KS_VEC(u32) domains;
};

/* @resolver may be NULL: then addresses are their own names. */
int ks_kmap_places_new(const struct ks_kmap_census *census, struct ks_resolver *resolver,
		       struct ks_kmap_places **ret_places, struct ks_diag *diag);
void ks_kmap_places_free(struct ks_kmap_places *places);

static inline const char *ks_kmap_label(const struct ks_kmap_places *places, u32 label)
{
	return ks_intern_get(&places->labels, label).s;
}

/* The labels of a function of the image, by its name and size. */
int ks_kmap_places_label(struct ks_kmap_places *places, struct ks_resolver *resolver,
			 const char *function, u64 size, u32 *ret_labels, struct ks_diag *diag);

/*
 * Labels code and sites with their domains: a function by its name or "FILE|NAME"; a site by its own
 * name in an object domain, else with the code that allocates there. Code that is in no domain is
 * "[no compartment]"; how many instructions that are comes back.
 */
int ks_kmap_places_cut(struct ks_kmap_places *places, const struct ks_kmap_census *census,
		       const struct ks_cpm *cpm, u64 *ret_unlisted);

/* The domain of a function that is labelled so far; in a cut. */
u32 ks_kmap_places_domain(struct ks_kmap_places *places, const u32 *labels);

/* Whether the source file of any site is known; without, files and directories are all one. */
bool ks_kmap_knows_files(const struct ks_kmap_census *census, const struct ks_kmap_places *places);

/*
 * Whether a cut by this unit means something: at least half of the code of the map has a name of it; or, for
 * compartments, there are any.
 */
bool ks_kmap_can_cut(const struct ks_kmap_census *census, const struct ks_kmap_places *places,
		     enum ks_kmap_unit unit);

/* Whether @name is one of the labels: "kfree", "kfree+0x1c", "fs/ext4", ... */
bool ks_kmap_labels_match(const struct ks_kmap_places *places, const u32 *labels, const char *name);

#endif
