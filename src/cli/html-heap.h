/* SPDX-License-Identifier: GPL-2.0-only */
/* The heap of "kmemscope html --heap". */
#ifndef KS_CLI_HTML_HEAP_H
#define KS_CLI_HTML_HEAP_H

#include "cli/cli.h"
#include "report/html.h"

struct ks_snapshot;

struct ks_cli_html_heap {
	struct ks_html_tables page;
	struct ks_doc *doc;
	struct ks_source *source; /* without events; NULL = there is a capture */
};

/*
 * Reads the snapshot @path and, unless @before is NULL, compares it with that one. With @alone there is no capture, and
 * cli->capture->source becomes one without events. 0 or an exit code; close it in any case.
 */
int ks_cli_html_heap_open(struct ks_cli *cli, const char *path, const char *before, bool alone,
			  struct ks_cli_html_heap *ret_heap);
void ks_cli_html_heap_close(struct ks_cli_html_heap *heap);

#endif
