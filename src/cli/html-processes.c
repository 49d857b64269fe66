// SPDX-License-Identifier: GPL-2.0-only
/* Which processes can be picked in the HTML report, and what the page shows of each. */
#include "cli/html-processes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/timeline.h"
#include "analysis/views.h"
#include "cli/run.h"

/* === Data ================================================================================= */

/* Each of them makes the page larger. */
enum { PICKED = 12 };

struct picked {
	const char *comms[PICKED];
	size_t len;
};

/* === Internals ============================================================================ */

static bool can_read_again(const struct ks_cli *cli)
{
	struct stat st;

	return !cli->capture->source && strcmp(cli->capture->input, "-") &&
	       !stat(cli->capture->input, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static void pick(struct picked *picked, const char *comm)
{
	size_t i;

	for (i = 0; i < picked->len; i++)
		if (!strcmp(picked->comms[i], comm))
			return;
	if (*comm && picked->len < PICKED)
		picked->comms[picked->len++] = comm;
}

/* A process without a name can't be picked: "unknown" may also be the name of one. */
static bool is_named(const struct ks_track *track)
{
	return *track->label && strcmp(track->label, "unknown");
}

static u64 allocated(const struct ks_track *track)
{
	u64 bytes = 0;
	size_t i;

	for (i = 0; i < track->cells.len; i++)
		bytes += track->cells.items[i].bytes;
	return bytes;
}

static int compare_tracks(const void *pa, const void *pb)
{
	const struct ks_track *a = *(const struct ks_track *const *)pa;
	const struct ks_track *b = *(const struct ks_track *const *)pb;
	u64 all_a = allocated(a), all_b = allocated(b);

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes ? -1 : 1;
	if (all_a != all_b)
		return all_a > all_b ? -1 : 1;
	return strcmp(a->label, b->label);
}

/* Those that speak for a leak come first, then those that hold most. 0 or -1: no memory. */
static int pick_processes(const struct ks_model *model, struct picked *picked)
{
	const struct ks_tracks *tracks = &model->timeline->by[KS_TL_COMM];
	const struct ks_track **order = calloc(tracks->items.len + 1, sizeof(*order));
	size_t i, len = 0;

	if (!order)
		return -1;
	for (i = 0; i < tracks->items.len; i++)
		if (is_named(&tracks->items.items[i]))
			order[len++] = &tracks->items.items[i];
	qsort(order, len, sizeof(*order), compare_tracks);
	for (i = 0; model->leaks && i < ks_min(model->leaks->sites.len, (size_t)PICKED / 2); i++)
		if (strcmp(model->leaks->sites.items[i].comm, "unknown"))
			pick(picked, model->leaks->sites.items[i].comm);
	for (i = 0; i < len; i++)
		pick(picked, order[i]->label);
	free(order);
	return 0;
}

/* === Public =============================================================================== */

int ks_cli_html_processes(struct ks_cli *cli, const struct ks_model *model,
			  struct ks_model **ret_model)
{
	struct picked picked = { 0 };
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int code, err;

	*ret_model = NULL;
	if (!model->timeline || model->timeline->by[KS_TL_COMM].items.len < 2 ||
	    !can_read_again(cli))
		return 0;
	if (pick_processes(model, &picked))
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	if (!picked.len)
		return 0;
	code = ks_cli_analysis_open(&run, cli, &cli->capture->filter);
	if (code)
		return code;
	run.what = "reading processes";
	run.again = true;
	err = ks_analysis_add(
		run.analysis,
		ks_processes_view_new(picked.comms, picked.len, model->timeline->width), &diag);
	return ks_cli_analysis_run(&run, err, &diag, ret_model);
}
