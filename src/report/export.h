/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The formats of other tools. The formats of profiles take models by site or by stack, pprof by sample;
 * rows give their order.
 */
#ifndef KS_REPORT_EXPORT_H
#define KS_REPORT_EXPORT_H

#include "analysis/timeline.h"
#include "report/export-objects.h"
#include "report/report.h"

/* pprof's protocol buffer, compressed: objects and bytes, allocated and in use. */
void ks_export_pprof(const struct ks_model *model, const struct ks_rows *rows,
		     struct ks_strbuf *out);

/* The bytes as gzip writes them. */
void ks_export_gzip(struct ks_strbuf *out, const struct ks_strbuf *plain);

/* speedscope's JSON: a profile for each measure. */
void ks_export_speedscope(const struct ks_model *model, const struct ks_rows *rows,
			  struct ks_strbuf *out);

/* "root;...;leaf value" lines. */
void ks_export_collapsed(const struct ks_rows *rows, enum ks_measure measure,
			 struct ks_strbuf *out);

/* Counters of live bytes and rates over time. */
void ks_export_chrome(const struct ks_model *model, const struct ks_timeline *timeline,
		      struct ks_strbuf *out);

/* What an exporter must be given. */
enum ks_export_needs {
	KS_NEEDS_SITES,	   /* a model by site */
	KS_NEEDS_STACKS,   /* by stack, or by site where frames are places in the source */
	KS_NEEDS_SAMPLES,  /* by stack and cache */
	KS_NEEDS_TIMELINE, /* a timeline, in seconds */
};

struct ks_export {
	const struct ks_model *model;
	const struct ks_rows *rows;	    /* NULL with a timeline */
	const struct ks_timeline *timeline; /* NULL without one */
	enum ks_measure measure;	    /* for formats that hold one */
};

struct ks_exporter {
	const char *name;
	enum ks_export_needs needs;
	bool is_binary;
	void (*write)(const struct ks_export *export, struct ks_strbuf *out);
	enum ks_object_format objects; /* KS_OBJECTS_NONE = it has no table of objects */
};

extern const struct ks_exporter ks_exporters[];
extern const unsigned int ks_nr_exporters;

const char *ks_exporter_name(unsigned int exporter);

#endif
