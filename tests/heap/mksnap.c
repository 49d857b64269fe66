// SPDX-License-Identifier: GPL-2.0-only
/* mksnap FILE: saves the heap that standard input describes (made.h) as a snapshot. */
#include <stdio.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "heap/made.h"
#include "heap/snapshot-file.h"

int main(int argc, char **argv)
{
	struct ks_snapshot *snapshot;
	struct ks_strbuf text;
	struct ks_diag diag;
	char part[4096];
	size_t line;
	ssize_t n;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: mksnap FILE\n");
		return 2;
	}
	ks_strbuf_init(&text);
	while ((n = read(0, part, sizeof(part))) > 0)
		ks_strbuf_add(&text, part, (size_t)n);
	snapshot = made_snapshot(ks_strbuf_str(&text), &line);
	ks_strbuf_deinit(&text);
	if (!snapshot) {
		fprintf(stderr, "mksnap: line %zu makes no sense\n", line);
		return 1;
	}
	err = ks_snapshot_save(snapshot, argv[1], NULL, NULL, &diag);
	if (err)
		fprintf(stderr, "mksnap: %s\n", diag.text);
	ks_snapshot_free(snapshot);
	return err ? 1 : 0;
}
