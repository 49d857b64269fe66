// SPDX-License-Identifier: LGPL-2.1-only
/* Measures what a built kernel tree occupies: every object once, read in parallel. */
#include "analysis/static.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/static-parts.h"
#include "base/parallel.h"
#include "base/strbuf.h"
#include "sym/sym.h"
#include "sym/tree.h"

/* === Data ================================================================================= */

/* The objects to be read, and what the workers found; a result belongs to its index. */
struct job {
	const struct ks_tree *tree;
	const struct ks_object_files *objects;
	const struct ks_static_options *options;
	KS_VEC(u32) todo; /* into objects */
	struct ks_measured *results;
	struct ks_arena arenas[KS_WORKERS_MAX]; /* one a worker */
	bool nomem[KS_WORKERS_MAX];
};

/* === Internals ============================================================================ */

/* The path that an object is known by: its source, or itself where it has none. */
static const char *object_source(const struct ks_object_files *objects,
				 const struct ks_object_file *o)
{
	return ks_object_files_str(objects, o->source != KS_NONE ? o->source : o->path);
}

static void measure_one(void *arg, size_t index, unsigned int worker)
{
	struct job *job = arg;
	const struct ks_object_file *o = &job->objects->items.items[job->todo.items[index]];
	char *path = ks_path_join(job->tree->build, ks_object_files_str(job->objects, o->path));

	if (!path || ks_measure_object(path, o->fate == KS_OBJECT_BUILTIN, job->options->symbols,
				       &job->arenas[worker], &job->results[index]))
		job->nomem[worker] = true;
	free(path);
}

static int run_job(struct job *job)
{
	unsigned int i;
	bool nomem = false;

	job->results = calloc(job->todo.len + 1, sizeof(*job->results));
	if (!job->results)
		return -ENOMEM;
	ks_parallel_for(job->todo.len, measure_one, job);
	for (i = 0; i < KS_WORKERS_MAX; i++)
		nomem |= job->nomem[i];
	return nomem ? -ENOMEM : 0;
}

static void job_deinit(struct job *job)
{
	size_t i;

	for (i = 0; job->results && i < job->todo.len; i++) {
		ks_vec_free(&job->results[i].sections);
		ks_vec_free(&job->results[i].symbols);
	}
	free(job->results);
	for (i = 0; i < KS_WORKERS_MAX; i++)
		ks_arena_deinit(&job->arenas[i]);
	ks_vec_free(&job->todo);
}

static int add_skip(struct ks_static_model *model, const char *path, enum ks_object_fate fate)
{
	struct ks_static_skip *skip = ks_vec_push(&model->skipped);

	if (!skip)
		return -ENOMEM;
	skip->path = ks_static_keep(model, path);
	skip->why = ks_object_fate_name(fate);
	return skip->path ? 0 : -ENOMEM;
}

/* Chooses what to read, and notes what not to read. */
static int choose(struct job *job, struct ks_static_model *model)
{
	const char *branch = job->options->branch;
	size_t i;

	for (i = 0; i < job->objects->items.len; i++) {
		const struct ks_object_file *o = &job->objects->items.items[i];
		u32 *slot;

		if (branch && !ks_path_in_branch(object_source(job->objects, o), branch))
			continue;
		if (o->fate != KS_OBJECT_BUILTIN && o->fate != KS_OBJECT_MODULE) {
			if (add_skip(model, ks_object_files_str(job->objects, o->path), o->fate))
				return -ENOMEM;
			continue;
		}
		slot = ks_vec_push(&job->todo);
		if (!slot)
			return -ENOMEM;
		*slot = (u32)i;
	}
	return 0;
}

/* The machine type that most objects are for; the smaller number where they are as many. */
static u32 common_machine(const struct job *job)
{
	u32 counts[2][256] = { 0 }, best = 0, best_count = 0, i;

	for (i = 0; i < job->todo.len; i++) {
		const struct ks_measured *m = &job->results[i];

		if (!m->error)
			counts[m->elf_class == ELFCLASS64][m->machine & 0xff]++;
	}
	for (i = 0; i < 512; i++)
		if (counts[i / 256][i % 256] > best_count) {
			best_count = counts[i / 256][i % 256];
			best = i;
		}
	return best;
}

static u32 machine_of(const struct ks_measured *m)
{
	return (m->elf_class == ELFCLASS64) * 256u + (m->machine & 0xff);
}

static int add_bad(struct ks_static_model *model, const char *path, const char *message)
{
	struct ks_static_bad *bad = ks_vec_push(&model->bad);

	if (!bad)
		return -ENOMEM;
	bad->path = ks_static_keep(model, path);
	bad->message = ks_static_keep(model, message);
	return bad->path && bad->message ? 0 : -ENOMEM;
}

static int add_too_deep(struct ks_static_model *model, const struct ks_tree *tree,
			const struct ks_object_files *objects)
{
	struct ks_strbuf message;
	size_t i;
	int err = 0;

	for (i = 0; i < objects->too_deep.len && !err; i++) {
		const char *path = ks_object_files_str(objects, objects->too_deep.items[i]);

		ks_strbuf_init(&message);
		ks_strbuf_printf(&message, "%s/%s: too many directories deep, not read",
				 tree->build, path);
		err = message.failed ? -ENOMEM : add_bad(model, path, message.s);
		ks_strbuf_deinit(&message);
	}
	return err;
}

static int add_file(struct ks_static_model *model, const struct job *job, size_t index)
{
	const struct ks_object_file *o = &job->objects->items.items[job->todo.items[index]];
	const struct ks_measured *m = &job->results[index];
	bool builtin = o->fate == KS_OBJECT_BUILTIN;
	struct ks_static_file *file = ks_vec_push(&model->files);
	size_t i;

	if (!file)
		return -ENOMEM;
	file->path = ks_static_keep(model, object_source(job->objects, o));
	file->object = ks_static_keep(model, ks_object_files_str(job->objects, o->path));
	file->module =
		builtin ? "" : ks_static_keep(model, ks_object_files_str(job->objects, o->module));
	if (!file->path || !file->object || !file->module)
		return -ENOMEM;
	file->size = m->size;
	ks_footprint_add(builtin ? &model->builtin : &model->modules, &m->size);
	++*(builtin ? &model->builtin_objects : &model->module_objects);
	for (i = 0; i < m->symbols.len; i++) {
		const struct ks_measured_symbol *from = &m->symbols.items[i];
		struct ks_static_symbol *to = ks_vec_push(&model->symbols);

		if (!to)
			return -ENOMEM;
		to->name = ks_static_keep(model, from->name);
		if (!to->name)
			return -ENOMEM;
		to->file = (u32)model->files.len - 1;
		to->class = from->class;
		to->bytes = from->bytes;
		to->is_function = from->is_function;
	}
	return 0;
}

static int collect(struct ks_static_model *model, const struct job *job)
{
	u32 machine = common_machine(job);
	struct ks_section_sums sums;
	size_t i;
	int err;

	err = ks_section_sums_init(&sums);
	for (i = 0; i < job->todo.len && !err; i++) {
		const struct ks_object_file *o = &job->objects->items.items[job->todo.items[i]];
		const struct ks_measured *m = &job->results[i];
		const char *path = ks_object_files_str(job->objects, o->path);

		if (m->error) {
			err = add_bad(model, path, m->error);
			if (!err)
				err = add_skip(model, path, KS_OBJECT_BAD);
		} else if (machine_of(m) != machine) {
			err = add_skip(model, path, KS_OBJECT_OTHER_ARCH);
		} else {
			err = add_file(model, job, i);
			if (!err)
				err = ks_section_sums_add(&sums, m);
		}
	}
	if (!err)
		err = ks_section_sums_move(&sums, model);
	ks_section_sums_deinit(&sums);
	return err;
}

static int by_reason(const void *pa, const void *pb)
{
	const struct ks_static_skip *a = pa, *b = pb;
	int diff = strcmp(a->why, b->why);

	return diff ? diff : strcmp(a->path, b->path);
}

static int nothing_built(const struct ks_static_options *options, const char *path,
			 struct ks_diag *diag)
{
	if (options->branch)
		return ks_diag_set(diag, -ENOENT,
				   "branch %s: it exists in %s, but nothing of it was built",
				   options->branch, path);
	return ks_diag_set(
		diag, -ENOENT,
		"%s: holds no built kernel: no object file that is part of one; build it "
		"first, or name the directory given to make as O=",
		path);
}

static int measure_objects(struct ks_static_model *model, const struct ks_tree *tree,
			   const struct ks_object_files *objects,
			   const struct ks_static_options *options, struct ks_diag *diag)
{
	struct job job = { .tree = tree, .objects = objects, .options = options };
	int err;

	err = choose(&job, model);
	if (!err && !job.todo.len) {
		job_deinit(&job);
		return nothing_built(options, tree->build, diag);
	}
	if (!err)
		err = run_job(&job);
	if (!err)
		err = collect(model, &job);
	if (!err)
		err = add_too_deep(model, tree, objects);
	if (!err && model->skipped.len)
		qsort(model->skipped.items, model->skipped.len, sizeof(*model->skipped.items),
		      by_reason);
	job_deinit(&job);
	return err ? ks_diag_nomem(diag, "measuring the objects") : 0;
}

static int measure_tree(struct ks_static_model *model, const struct ks_tree *tree,
			const struct ks_static_options *options, struct ks_diag *diag)
{
	struct ks_object_files objects;
	int err;

	model->release = tree->release ? ks_static_keep(model, tree->release) : "";
	if (!model->release)
		return ks_diag_nomem(diag, "measuring the tree");
	if (options->branch && !ks_tree_has_branch(tree, options->branch))
		return ks_branch_missing(options->branch, tree->build, diag);
	err = ks_object_files_init(&objects, tree, diag);
	if (err)
		return err;
	err = measure_objects(model, tree, &objects, options, diag);
	ks_object_files_deinit(&objects);
	if (!err && tree->vmlinux && !options->branch)
		err = ks_static_reconcile(model, tree->vmlinux, diag);
	return err;
}

/* === Public =============================================================================== */

int ks_static_measure(const char *path, const struct ks_static_options *options,
		      struct ks_static_model **ret_model, struct ks_diag *diag)
{
	struct ks_static_model *model = calloc(1, sizeof(*model));
	struct ks_tree tree;
	int err;

	if (!model)
		return ks_diag_nomem(diag, "measuring the tree");
	err = ks_tree_open(&tree, path, diag);
	if (err && err != -ENOTDIR) {
		free(model);
		return err;
	}
	if (ks_intern_init(&model->strings) || !(model->source = ks_static_keep(model, path)) ||
	    !(model->branch = ks_static_keep(model, options->branch ? options->branch : "")))
		err = ks_diag_nomem(diag, "measuring the tree");
	else if (err == -ENOTDIR)
		err = ks_static_measure_image(model, path, options, diag);
	else
		err = measure_tree(model, &tree, options, diag);
	ks_tree_close(&tree);
	if (!err)
		ks_static_sort(model);
	if (err)
		ks_static_free(model);
	else
		*ret_model = model;
	return err;
}

void ks_static_free(struct ks_static_model *model)
{
	if (!model)
		return;
	ks_intern_deinit(&model->strings);
	ks_vec_free(&model->files);
	ks_vec_free(&model->sections);
	ks_vec_free(&model->symbols);
	ks_vec_free(&model->skipped);
	ks_vec_free(&model->bad);
	free(model);
}
