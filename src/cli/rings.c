// SPDX-License-Identifier: GPL-2.0-only
/* Making a ring chart, for "kmemscope rings" and for trace_analyze. */
#include "base/quantity.h"
#include "cli/rings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/dirtree-model.h"
#include "analysis/static.h"
#include "cli/chart.h"
#include "cli/output.h"
#include "cli/run.h"
#include "report/rings.h"
#include "sym/tree.h"

/* === Data ================================================================================= */

#define DEFAULT_FILE "rings.png"

static const struct {
	const char *name;
	enum ks_ring_attr attr;
	const char *title;
} attrs[] = {
	{ "current", KS_RING_CURRENT, "static footprint and live allocations" },
	{ "static", KS_RING_STATIC, "static footprint" },
	{ "waste", KS_RING_WASTE, "wasted by live allocations" },
	{ "current_dynamic", KS_RING_CURRENT_DYNAMIC, "live allocations" },
	{ "total_dynamic", KS_RING_TOTAL_DYNAMIC, "all allocations" },
	{ "live", KS_RING_CURRENT_DYNAMIC, "live allocations" },
	{ "total", KS_RING_TOTAL_DYNAMIC, "all allocations" },
	{ "total_dyamic", KS_RING_TOTAL_DYNAMIC, "all allocations" }, /* as its README has it */
};

struct rings {
	struct ks_cli *cli;
	enum ks_ring_attr attr;
	struct ks_dirtree tree;
	struct ks_static_model *footprint; /* NULL = not part of it */
	struct ks_model *model;		   /* NULL = not part of it */
	char *release;			   /* NULL = not known */
	struct ks_strbuf title, subtitle;
};

/* === Internals ============================================================================ */

static bool has_static(enum ks_ring_attr attr)
{
	return attr == KS_RING_STATIC || attr == KS_RING_CURRENT;
}

static enum ks_dirtree_value value_of(enum ks_ring_attr attr)
{
	return attr == KS_RING_WASTE	       ? KS_DIRTREE_WASTE
	       : attr == KS_RING_TOTAL_DYNAMIC ? KS_DIRTREE_TOTAL
					       : KS_DIRTREE_LIVE;
}

static int nomem(const struct rings *r)
{
	return ks_cli_error(r->cli, KS_EXIT_FAILED, "out of memory");
}

/* The branch is checked here; sites without a known place stay in the model, to be mentioned. */
static int check_tree(struct rings *r)
{
	const char *branch = r->cli->capture->filter.branch;
	struct ks_diag diag = { 0 };
	struct ks_tree tree;
	int err;

	if (!r->cli->capture->kernel)
		return 0;
	err = ks_tree_open(&tree, r->cli->capture->kernel, &diag);
	if (err) /* a file: whoever loads it says what is wrong */
		return 0;
	if (branch && !ks_tree_has_branch(&tree, branch))
		err = ks_branch_missing(branch, r->cli->capture->kernel, &diag);
	else if (tree.release)
		r->release = strdup(tree.release);
	ks_tree_close(&tree);
	return err ? ks_cli_fail(r->cli, err, &diag) : 0;
}

static int add_static(struct rings *r)
{
	int code = ks_cli_static_model(r->cli, false, &r->footprint);

	if (code)
		return code;
	return ks_dirtree_add_footprint(&r->tree, r->footprint) ? nomem(r) : 0;
}

static int add_dynamic(struct rings *r)
{
	struct ks_capture_opts capture = *r->cli->capture;
	struct ks_cli cli = *r->cli;
	int code;

	capture.filter.branch = NULL;
	cli.capture = &capture;
	code = ks_cli_analyze(&cli, capture.kernel ? KS_BY_SITE : KS_BY_OWNER, &r->model);
	if (code)
		return code;
	return ks_dirtree_add_model(&r->tree, r->model, value_of(r->attr)) ? nomem(r) : 0;
}

static void describe_model(struct rings *r)
{
	const struct ks_stat *total = ks_model_total(r->model);
	bool one = r->cli->capture->filter.malloc_only != r->cli->capture->filter.cache_only;

	ks_strbuf_puts(&r->subtitle, r->model->level == KS_PAGES ? "pages"
				     : !one			 ? "kmalloc and kmem_cache"
				     : r->cli->capture->filter.malloc_only ? "kmalloc"
									   : "kmem_cache");
	ks_strbuf_puts(&r->subtitle, ": ");
	ks_render_grouped(&r->subtitle, total->allocs);
	ks_strbuf_puts(&r->subtitle, " allocations, ");
	ks_render_grouped(&r->subtitle, total->live_objs);
	ks_strbuf_puts(&r->subtitle, " objects live at the end");
	if (ks_model_has_loss(r->model))
		ks_strbuf_puts(&r->subtitle, "; the capture lost events");
}

static void describe_footprint(struct rings *r)
{
	if (r->footprint->builtin_objects + r->footprint->module_objects) {
		ks_render_grouped(&r->subtitle, r->footprint->builtin_objects);
		ks_strbuf_puts(&r->subtitle, " objects built in, ");
		ks_render_grouped(&r->subtitle, r->footprint->module_objects);
		ks_strbuf_puts(&r->subtitle, " in modules");
	} else {
		ks_strbuf_puts(&r->subtitle, "symbols of vmlinux");
	}
}

/* What belongs to no branch is not in the chart of a branch; the subtitle mentions it. */
static void describe_unresolved(struct rings *r)
{
	u32 node = ks_dirtree_find(&r->tree, KS_UNRESOLVED);

	if (!r->cli->capture->filter.branch || node == KS_NONE ||
	    !ks_dirtree_node(&r->tree, node)->unresolved)
		return;
	ks_strbuf_puts(&r->subtitle, "; not shown: ");
	ks_render_bytes(&r->subtitle, ks_dirtree_node(&r->tree, node)->bytes);
	ks_strbuf_puts(&r->subtitle, " in no known directory");
}

/* The release of the traced machine; that of the tree where it is not known, and for a footprint. */
static const char *release_of(const struct rings *r)
{
	return r->model && !r->footprint && *r->model->kernel ? r->model->kernel : r->release;
}

static void describe(struct rings *r, u64 bytes)
{
	const char *release = release_of(r);
	size_t i;

	for (i = 0; attrs[i].attr != r->attr;)
		i++;
	ks_strbuf_puts(&r->title, "Linux");
	if (release)
		ks_strbuf_printf(&r->title, " %s", release);
	if (r->cli->capture->filter.branch)
		ks_strbuf_printf(&r->title, ", %s", r->cli->capture->filter.branch);
	ks_strbuf_printf(&r->title, ": %s, ", attrs[i].title);
	ks_render_bytes(&r->title, bytes);
	if (r->footprint)
		describe_footprint(r);
	if (r->footprint && r->model)
		ks_strbuf_puts(&r->subtitle, "; ");
	if (r->model)
		describe_model(r);
	describe_unresolved(r);
}

static int write_chart(struct rings *r, const struct ks_rings_spec *spec, const char *file)
{
	struct ks_text_measure measure;
	struct ks_chart chart;
	struct ks_diag diag;
	int code, err = ks_cairo_measure_new(&measure, &diag);

	if (err)
		return ks_cli_fail(r->cli, err, &diag);
	err = ks_rings_layout(spec, &measure, &chart);
	ks_cairo_measure_free(&measure);
	if (err)
		return nomem(r);
	code = ks_cli_write_chart(r->cli, &chart, file);
	ks_chart_deinit(&chart);
	return code;
}

/* Says where the chart is and, for a capture, how good that is. */
static int say(struct rings *r, const char *file)
{
	struct ks_strbuf text;
	int code;

	ks_strbuf_init(&text);
	ks_strbuf_printf(&text, "ring chart: %s\n", file);
	if (r->model) {
		ks_strbuf_puts(&text, "\n");
		ks_render_quality(r->model, r->cli->output.verbose, &text);
	}
	code = ks_cli_print(r->cli, &text);
	ks_strbuf_deinit(&text);
	return code;
}

/* A window is the desktop's business; without one the file is all there is. */
static void show(const struct rings *r, const char *file)
{
	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) {
		ks_cli_error(r->cli, 0, "there is no display to show the chart on; it is in %s",
			     file);
		return;
	}
	if (fork() == 0) {
		execlp("xdg-open", "xdg-open", file, (char *)NULL);
		ks_cli_error(r->cli, 0, "cannot open a window: no xdg-open; the chart is in %s",
			     file);
		_exit(127);
	}
}

static int render(struct rings *r, const struct ks_rings_args *args)
{
	const char *branch = r->cli->capture->filter.branch, *file = args->file;
	struct ks_rings_spec spec = {
		.tree = &r->tree,
		.note = "kmemscope " KS_VERSION,
		.top = r->cli->capture->kernel ? "directory" : "process",
		.leaves = r->cli->capture->kernel ? "files" : "call sites",
	};
	char *root_path;
	size_t len;
	int code = 0;

	branch = ks_branch_trim(branch ? branch : "", &len);
	root_path = strndup(branch, len);
	if (!root_path || ks_dirtree_sort(&r->tree) ||
	    ks_dirtree_touch(&r->tree, root_path, &spec.root)) {
		free(root_path);
		return nomem(r);
	}
	spec.root_path = root_path;
	describe(r, ks_dirtree_node(&r->tree, spec.root)->bytes);
	spec.title = ks_strbuf_str(&r->title);
	spec.subtitle = ks_strbuf_str(&r->subtitle);
	if (!file && args->show)
		file = DEFAULT_FILE;
	if (file)
		code = write_chart(r, &spec, file);
	if (!code)
		code = r->cli->output.json ? ks_cli_print_doc(r->cli, ks_doc_of_rings(&spec))
					   : say(r, file);
	if (!code && args->show)
		show(r, file);
	free(root_path);
	return code;
}

static int make(struct rings *r, const struct ks_rings_args *args)
{
	int code = check_tree(r);

	if (!code && has_static(r->attr))
		code = add_static(r);
	if (!code && r->attr != KS_RING_STATIC)
		code = add_dynamic(r);
	if (!code)
		code = render(r, args);
	if (!code && r->model)
		code = ks_cli_verdict(r->cli, r->model);
	if (!code && r->footprint && r->footprint->bad.len)
		code = KS_EXIT_BAD_INPUT;
	return code;
}

/* === Public =============================================================================== */

int ks_cli_parse_ring_attr(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++)
		if (!strcmp(arg, attrs[i].name)) {
			*(enum ks_ring_attr *)option->value = attrs[i].attr;
			return -1;
		}
	return ks_cli_error(cli, KS_EXIT_USAGE,
			    "--%s '%s': choose current, static, waste, current_dynamic or "
			    "total_dynamic",
			    option->name, arg);
}

int ks_cli_rings(struct ks_cli *cli, const struct ks_rings_args *args)
{
	struct rings r = { .cli = cli, .attr = args->attr };
	int code = args->file ? ks_cli_check_chart_name(cli, args->file) : 0;

	if (code)
		return code;
	if (r.attr == KS_RING_DEFAULT)
		r.attr = cli->capture->input ? KS_RING_CURRENT_DYNAMIC : KS_RING_STATIC;
	if (r.attr != KS_RING_STATIC && !cli->capture->input)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "this attribute needs a capture: name one with -f, or "
				    "choose -a static");
	if (!cli->capture->kernel && (has_static(r.attr) || cli->capture->filter.branch))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "the static footprint and branches need a kernel tree: name "
				    "it with -k");
	if (ks_dirtree_init(&r.tree))
		return nomem(&r);
	ks_strbuf_init(&r.title);
	ks_strbuf_init(&r.subtitle);
	code = make(&r, args);
	ks_dirtree_deinit(&r.tree);
	ks_static_free(r.footprint);
	if (r.model)
		ks_model_free(r.model);
	free(r.release);
	ks_strbuf_deinit(&r.title);
	ks_strbuf_deinit(&r.subtitle);
	return code;
}
