// SPDX-License-Identifier: LGPL-2.1-only
/* The formats of "kmemscope export": a row each. */
#include "report/export.h"

/* === Internals ============================================================================ */

static void write_pprof(const struct ks_export *export, struct ks_strbuf *out)
{
	ks_export_pprof(export->model, export->rows, out);
}

static void write_speedscope(const struct ks_export *export, struct ks_strbuf *out)
{
	ks_export_speedscope(export->model, export->rows, out);
}

static void write_collapsed(const struct ks_export *export, struct ks_strbuf *out)
{
	ks_export_collapsed(export->rows, export->measure, out);
}

static void write_chrome(const struct ks_export *export, struct ks_strbuf *out)
{
	ks_export_chrome(export->model, export->timeline, out);
}

/* The sites as a document, for the renderers of tables. */
static struct ks_doc *sites_of(const struct ks_export *export, struct ks_strbuf *out)
{
	struct ks_doc *doc = ks_doc_of_groups(export->model, export->rows, KS_ORDER_CURRENT,
					      "kmemscope-export-1");

	out->failed |= !doc;
	return doc;
}

static void write_csv(const struct ks_export *export, struct ks_strbuf *out)
{
	struct ks_doc *doc = sites_of(export, out);

	if (doc)
		ks_render_doc_csv(doc, out);
	ks_doc_free(doc);
}

static void write_json(const struct ks_export *export, struct ks_strbuf *out)
{
	struct ks_doc *doc = sites_of(export, out);

	if (doc)
		ks_render_doc_json(doc, out);
	ks_doc_free(doc);
}

static void write_parquet(const struct ks_export *export, struct ks_strbuf *out)
{
	struct ks_doc *doc = sites_of(export, out);

	if (doc && doc->main)
		ks_render_table_parquet(doc->main, out);
	out->failed |= doc && ks_doc_failed(doc);
	ks_doc_free(doc);
}

/* === Public =============================================================================== */

const struct ks_exporter ks_exporters[] = {
	{ "pprof", KS_NEEDS_SAMPLES, true, write_pprof, KS_OBJECTS_NONE },
	{ "speedscope", KS_NEEDS_STACKS, false, write_speedscope, KS_OBJECTS_NONE },
	{ "collapsed", KS_NEEDS_STACKS, false, write_collapsed, KS_OBJECTS_NONE },
	{ "chrome", KS_NEEDS_TIMELINE, false, write_chrome, KS_OBJECTS_NONE },
	{ "csv", KS_NEEDS_SITES, false, write_csv, KS_OBJECTS_CSV },
	{ "json", KS_NEEDS_SITES, false, write_json, KS_OBJECTS_JSON },
	{ "parquet", KS_NEEDS_SITES, true, write_parquet, KS_OBJECTS_PARQUET },
};

const unsigned int ks_nr_exporters = ARRAY_SIZE(ks_exporters);

const char *ks_exporter_name(unsigned int exporter)
{
	return exporter < ks_nr_exporters ? ks_exporters[exporter].name : "?";
}
