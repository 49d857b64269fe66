// SPDX-License-Identifier: GPL-2.0-only
/* Charts as files: PNG or SVG, by the end of the name. */
#include "cli/chart.h"

#include <string.h>

#include "cli/output.h"

/* === Internals ============================================================================ */

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len > end_len && !strcmp(s + len - end_len, end);
}

/* === Public =============================================================================== */

bool ks_cli_is_png(const char *path)
{
	return ends_with(path, ".png");
}

int ks_cli_check_chart_name(const struct ks_cli *cli, const char *path)
{
	if (ks_cli_is_png(path) || ends_with(path, ".svg"))
		return 0;
	return ks_cli_error(cli, KS_EXIT_USAGE, "'%s': the name of a chart ends in .png or .svg",
			    path);
}

int ks_cli_write_chart(const struct ks_cli *cli, const struct ks_chart *chart, const char *path)
{
	struct ks_diag diag = { 0 };
	struct ks_strbuf out;
	int code, err = 0;

	ks_strbuf_init(&out);
	if (ks_cli_is_png(path))
		err = ks_chart_png(chart, &out, &diag);
	else
		ks_chart_svg(chart, &out);
	code = err ? ks_cli_fail(cli, err, &diag) : ks_cli_write(cli, path, &out);
	ks_strbuf_deinit(&out);
	return code;
}
