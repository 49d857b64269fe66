/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The views of an access map: one function for each. Each makes a document of tables, which ends
 * with the counters of the map; NULL when there is no memory.
 */
#ifndef KS_KMAP_VIEWS_H
#define KS_KMAP_VIEWS_H

#include "kmap/fields.h"
#include "kmap/functions.h"
#include "table/doc.h"

/* How objects are grouped: by where they were allocated, or by what they are. */
enum ks_kmap_by {
	KS_KMAP_BY_UNIT, /* one of enum ks_kmap_unit */
	KS_KMAP_BY_CACHE,
	KS_KMAP_BY_TYPE,
};

enum ks_kmap_order {
	KS_KMAP_ORDER_BYTES,
	KS_KMAP_ORDER_OBJECTS,
	KS_KMAP_ORDER_LIVE,
	KS_KMAP_ORDER_MEAN,
	KS_KMAP_ORDER_COLD,
	KS_KMAP_ORDER_ACCESSES,
	KS_KMAP_ORDER_FOREIGN,
	KS_KMAP_ORDERS
};

const char *ks_kmap_order_name(enum ks_kmap_order order);
int ks_kmap_order_parse(const char *name, enum ks_kmap_order *ret_order);

/* What an allocation capture of the same run says of a site, to stand beside it. */
struct ks_kmap_waste {
	const char *site; /* as the places have it: "vfs_read+0x1c" */
	u64 total_bytes, waste, allocs;
};

struct ks_kmap_report_opts {
	enum ks_kmap_by by;
	enum ks_kmap_unit unit;
	enum ks_kmap_order order;
	u64 top;			   /* rows of each table; 0 = all */
	const struct ks_kmap_waste *waste; /* with by site; NULL = no capture */
	size_t nr_waste;
};

struct ks_doc *ks_kmap_view_report(const struct ks_kmap_census *census,
				   const struct ks_kmap_places *places,
				   const struct ks_kmap_report_opts *opts);

/* Who touched the objects of the site called so; NULL with ret_found false if there is none. */
struct ks_doc *ks_kmap_view_accesses(const struct ks_kmap_census *census,
				     const struct ks_kmap_places *places, const char *site,
				     enum ks_kmap_unit by, u64 top, bool *ret_found);

/* Whose objects the code called so touched. */
struct ks_doc *ks_kmap_view_touches(const struct ks_kmap_census *census,
				    const struct ks_kmap_places *places, const char *code,
				    enum ks_kmap_unit by, u64 top, bool *ret_found);

/* A cell of the matrix: what code did to objects, both by label. */
struct ks_kmap_matrix_entry {
	u32 code, owner;
	u64 reads, writes, bytes_read, bytes_written;
};

struct ks_kmap_matrix {
	const struct ks_kmap_places *places;
	KS_VEC(struct ks_kmap_matrix_entry)
	entries;       /* by code, then owner, in the order of the names */
	bool of_calls; /* what is drawn is no accesses but calls, which are in reads */
};

int ks_kmap_matrix_init(struct ks_kmap_matrix *matrix, const struct ks_kmap_census *census,
			const struct ks_kmap_places *places, enum ks_kmap_unit unit);
void ks_kmap_matrix_deinit(struct ks_kmap_matrix *matrix);

struct ks_doc *ks_kmap_view_matrix(const struct ks_kmap_census *census,
				   const struct ks_kmap_matrix *matrix, u64 top);

/* Who called whom, both by label. */
struct ks_kmap_calls_entry {
	u32 caller, called;
	u64 calls, returns;
	u64 sites; /* pairs of a place to call from and a function */
};

struct ks_kmap_call_cells {
	const struct ks_kmap_places *places;
	u64 total;				    /* of calls */
	KS_VEC(struct ks_kmap_calls_entry) entries; /* most calls first */
};

int ks_kmap_call_cells_init(struct ks_kmap_call_cells *cells, const struct ks_kmap_census *census,
			    const struct ks_kmap_places *places, enum ks_kmap_unit unit);
void ks_kmap_call_cells_deinit(struct ks_kmap_call_cells *cells);
struct ks_doc *ks_kmap_view_calls(const struct ks_kmap_census *census,
				  const struct ks_kmap_call_cells *cells, u64 top);

/* The same to be drawn. */
int ks_kmap_call_matrix(const struct ks_kmap_call_cells *cells, struct ks_kmap_matrix *ret_matrix);

struct ks_doc *ks_kmap_view_diff(const struct ks_kmap_census *const *censuses,
				 const struct ks_kmap_places *const *places, enum ks_kmap_unit unit,
				 u64 top);

/* The columns of its table. */
enum ks_kmap_privilege_column {
	KS_KMAP_PRIVILEGE_CUT,
	KS_KMAP_PRIVILEGE_OPERATION,
	KS_KMAP_PRIVILEGE_PS_MIN,
	KS_KMAP_PRIVILEGE_PS_CUT,
	KS_KMAP_PRIVILEGE_PS_MONO,
	KS_KMAP_PRIVILEGE_PSR,
	KS_KMAP_PRIVILEGE_PSR_MIN,
	KS_KMAP_PRIVILEGE_MEDIATED,
	KS_KMAP_PRIVILEGE_COLUMNS
};

/* By our own model. */
struct ks_doc *ks_kmap_view_privilege(const struct ks_kmap_census *census,
				      const struct ks_kmap_places *places);

enum ks_kmap_uscope_column {
	KS_KMAP_USCOPE_CUT,
	KS_KMAP_USCOPE_OPERATION,
	KS_KMAP_USCOPE_PS_MIN,
	KS_KMAP_USCOPE_PS,
	KS_KMAP_USCOPE_PS_MONO,
	KS_KMAP_USCOPE_PSR,
	KS_KMAP_USCOPE_PS_MONO_WX,
	KS_KMAP_USCOPE_PSR_WX,
	KS_KMAP_USCOPE_PM,
	KS_KMAP_USCOPE_PMR,
	KS_KMAP_USCOPE_OR,
	KS_KMAP_USCOPE_MEDIATED,
	KS_KMAP_USCOPE_COLUMNS
};

/* By the published rules of uSCOPE and PrivilegeCalculator. */
struct ks_doc *ks_kmap_view_uscope(const struct ks_kmap_census *census,
				   const struct ks_kmap_places *places,
				   const struct ks_kmap_functions *functions);

/* Adds a table of the compartments, or of what else @unit cuts into, most used first. */
void ks_kmap_list_compartments(struct ks_doc *doc, const struct ks_kmap_census *census,
			       const struct ks_kmap_places *places,
			       const struct ks_kmap_functions *functions, enum ks_kmap_unit unit,
			       u64 top);

/* What a compartmentalization grants, by the same rules. NULL when there is no memory. */
struct ks_doc *ks_kmap_view_score(const struct ks_cpm *cpm, const struct ks_cpm_weights *weights);

/* All types of a map, most accesses first; and the fields of one. */
struct ks_doc *ks_kmap_view_types(const struct ks_kmap_census *census,
				  const struct ks_kmap_places *places,
				  const struct ks_kmap_fields *fields, u64 top);
const struct ks_kmap_struct *ks_kmap_find_struct(const struct ks_kmap_fields *fields,
						 const char *name);
struct ks_doc *ks_kmap_view_fields(const struct ks_kmap_census *census,
				   const struct ks_kmap_places *places,
				   const struct ks_kmap_fields *fields,
				   const struct ks_kmap_struct *type);

/* Life times and sizes, and who uses what others allocated: of a census with its spread. */
struct ks_doc *ks_kmap_view_lives(const struct ks_kmap_census *census,
				  const struct ks_kmap_places *places, enum ks_kmap_unit unit,
				  u64 top);
struct ks_doc *ks_kmap_view_sharing(const struct ks_kmap_census *census,
				    const struct ks_kmap_places *places, enum ks_kmap_unit unit,
				    u64 top);

/*
 * For a page that aggregates by itself: tables "sites", "codes" and "links" between them; with @fields, which may be NULL,
 * also "types", and all of their "fields" and "sharing" with "type_ends" to tell whose they are.
 */
struct ks_doc *ks_kmap_view_page(const struct ks_kmap_census *census,
				 const struct ks_kmap_places *places,
				 const struct ks_kmap_fields *fields);
void ks_kmap_page_fields(struct ks_doc *doc, const struct ks_kmap_places *places,
			 const struct ks_kmap_fields *fields);

/* Adds the counters that every view ends with. */
void ks_kmap_view_quality(struct ks_doc *doc, const struct ks_kmap_census *census,
			  const struct ks_kmap_places *places);

#endif
