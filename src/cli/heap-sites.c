// SPDX-License-Identifier: GPL-2.0-only
/* Takes sites from a capture: objects that have not ended in it, by their addresses. */
#include "cli/heap-sites.h"

#include "cli/run.h"

/* === Internals ============================================================================ */

static int add(void *ctx, struct ks_object_source *source, const struct ks_object_row *row,
	       struct ks_diag *diag)
{
	const char *site;

	if (row->end != KS_END_LIVE || row->site == KS_NONE)
		return 0;
	site = ks_object_name(source, KS_NAMES_SITE, row->site, diag);
	if (!site)
		return -ENOMEM;
	return ks_heap_sites_add(ctx, row->address, site) ? ks_diag_nomem(diag, "reading sites")
							  : 0;
}

/* === Public =============================================================================== */

int ks_heap_sites_of_capture(const struct ks_cli *cli, const char *path,
			     struct ks_heap_sites *sites)
{
	struct ks_capture_opts capture = { .input = path };
	struct ks_cli reader = *cli;
	struct ks_model *model;
	int code;

	reader.capture = &capture;
	code = ks_cli_objects(&reader, add, sites, &model);
	if (!code)
		ks_model_free(model);
	return code;
}
