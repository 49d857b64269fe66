/* SPDX-License-Identifier: GPL-2.0-only */
/* The access map of "kmemscope html --kmap". */
#ifndef KS_CLI_HTML_KMAP_H
#define KS_CLI_HTML_KMAP_H

#include "cli/kmap.h"
#include "report/html.h"

struct ks_cli_html_kmap {
	struct ks_html_tables page;
	struct ks_kmap_map map;
	struct ks_doc *doc;
	struct ks_source
		*trace; /* of a map alone: its objects, to be asked in place of a capture */
};

/*
 * Reads the map; @types is where debug information is. With @alone there is no capture, and cli->capture->source becomes the map's own. 0
 * or an exit code; close accepts what open left, and what is zeroed.
 */
int ks_cli_html_kmap_open(struct ks_cli *cli, const char *path,
			  const struct ks_kmap_fields_opts *types, bool alone,
			  struct ks_cli_html_kmap *ret_kmap);
void ks_cli_html_kmap_close(struct ks_cli_html_kmap *kmap);

/* What a path is called in the page. */
const char *ks_cli_base_name(const char *path);

#endif
