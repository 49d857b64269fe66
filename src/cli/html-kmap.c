// SPDX-License-Identifier: GPL-2.0-only
/* The access map of "kmemscope html --kmap". */
#include "cli/html-kmap.h"

#include <string.h>

#include "cli/progress.h"
#include "cli/run.h"
#include "kmap/source.h"

/* === Internals ============================================================================ */

/* One pass for the census and the events: a map may come from a pipe. */
static int read_alone(struct ks_kmap_args *args, struct ks_kmap_reader *reader,
		      struct ks_resolver *resolver, struct ks_cli_html_kmap *kmap)
{
	struct ks_progress progress;
	const struct ks_source_opts opts = { .resolver = resolver,
					     .progress = ks_cli_progress,
					     .progress_ctx = &progress };
	struct ks_diag diag = { 0 };
	int err = ks_kmap_census_new(KS_KMAP_WITH_SPOTS, &kmap->map.census, &diag);

	ks_cli_progress_start(&progress, "reading");
	if (!err)
		err = ks_kmap_source_new(reader, &opts, kmap->map.census, &kmap->trace, &diag);
	ks_cli_progress_end(&progress);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	return ks_kmap_name_places(args, kmap->map.census, resolver, &kmap->map.places);
}

static int open_alone(struct ks_kmap_args *args, const char *path, struct ks_cli_html_kmap *kmap)
{
	struct ks_resolver *resolver = NULL;
	struct ks_kmap_reader *reader;
	int code = ks_cli_resolver(&args->cli, &resolver);

	if (code)
		return code;
	code = ks_kmap_open(args, path, &reader);
	if (!code) {
		code = read_alone(args, reader, resolver, kmap);
		ks_kmap_reader_free(reader);
	}
	ks_resolver_free(resolver);
	return code;
}

static int make_doc(struct ks_kmap_args *args, struct ks_cli_html_kmap *kmap)
{
	struct ks_debug_set *debug = NULL;
	struct ks_kmap_fields *fields = NULL;
	struct ks_diag diag = { 0 };
	int err = ks_debug_set_new(args->fields.types, args->fields.nr_types, &debug, &diag);

	if (!err)
		err = ks_kmap_fields_new(kmap->map.census, kmap->map.places, debug, &fields, &diag);
	if (!err) {
		kmap->doc = ks_kmap_view_page(kmap->map.census, kmap->map.places, fields);
		if (!kmap->doc)
			err = ks_diag_nomem(&diag, "making a report");
	}
	ks_kmap_fields_free(fields);
	ks_debug_set_free(debug);
	return err ? ks_cli_fail(&args->cli, err, &diag) : 0;
}

/* === Public =============================================================================== */

const char *ks_cli_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

int ks_cli_html_kmap_open(struct ks_cli *cli, const char *path,
			  const struct ks_kmap_fields_opts *types, bool alone,
			  struct ks_cli_html_kmap *ret_kmap)
{
	struct ks_kmap_args args = { .cli = *cli, .fields = *types };
	int code;

	*ret_kmap = (struct ks_cli_html_kmap){ 0 };
	code = alone ? open_alone(&args, path, ret_kmap)
		     : ks_kmap_map_read(&args, path, KS_KMAP_WITH_SPOTS, &ret_kmap->map);
	if (!code)
		code = make_doc(&args, ret_kmap);
	if (code) {
		ks_cli_html_kmap_close(ret_kmap);
		return code;
	}
	ret_kmap->page = (struct ks_html_tables){ "kmap", ret_kmap->doc, ks_cli_base_name(path) };
	cli->capture->source = ret_kmap->trace;
	return 0;
}

void ks_cli_html_kmap_close(struct ks_cli_html_kmap *kmap)
{
	ks_doc_free(kmap->doc);
	ks_kmap_map_free(&kmap->map);
	if (kmap->trace)
		ks_source_close(kmap->trace);
	*kmap = (struct ks_cli_html_kmap){ 0 };
}
