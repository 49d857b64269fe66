// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The view of single processes: for each of some names what the timeline and the leaks would be if nothing else
 * had allocated, all in one pass. Each has a timeline and a view of leaks of its own, which see its objects alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view.h"
#include "analysis/views.h"

/* === Data ================================================================================= */

enum { TIMELINE, LEAKS, VIEWS };

struct process {
	char *comm;
	struct ks_view *views[VIEWS];
};

/* Processes are numbered from 1 on where 0 is nobody. */
struct processes_view {
	struct ks_view base;
	struct process *items;
	size_t len;
	KS_VEC(u8) of_comm; /* by the number of the name */
	KS_VEC(u8) in_slot; /* whose object lives there */
};

/* === Internals ============================================================================ */

static u8 find_comm(const struct processes_view *v, struct ks_str comm)
{
	size_t i;

	for (i = 0; i < v->len; i++)
		if (strlen(v->items[i].comm) == comm.len &&
		    !memcmp(v->items[i].comm, comm.s, comm.len))
			return (u8)(i + 1);
	return 0;
}

/* The process of a name. 0 or -ENOMEM. */
static int process_of(struct processes_view *v, const struct ks_run *run, u32 comm, u8 *ret_process)
{
	*ret_process = 0;
	if (comm == KS_NONE)
		return 0;
	while (unlikely(v->of_comm.len <= comm)) {
		u8 process = find_comm(v, ks_intern_get(&run->names->comms, (u32)v->of_comm.len));
		u8 *known = ks_vec_push(&v->of_comm);

		if (!known)
			return -ENOMEM;
		*known = process;
	}
	*ret_process = v->of_comm.items[comm];
	return 0;
}

static int processes_start(struct ks_view *view, const struct ks_run *run, struct ks_diag *diag)
{
	struct processes_view *v = ks_container_of(view, struct processes_view, base);
	size_t i;
	int which, err = 0;

	for (i = 0; i < v->len; i++)
		for (which = 0; which < VIEWS && !err; which++)
			err = v->items[i].views[which]->ops->start(v->items[i].views[which], run,
								   diag);
	return err;
}

static int processes_begin(struct ks_view *view, const struct ks_run *run,
			   const struct ks_event *ev, u32 slot, struct ks_diag *diag)
{
	struct processes_view *v = ks_container_of(view, struct processes_view, base);
	int which, err = 0;
	u8 process;

	if (process_of(v, run, ev->comm, &process))
		return ks_diag_nomem(diag, "looking at processes");
	while (v->in_slot.len <= slot)
		if (!ks_vec_push(&v->in_slot))
			return ks_diag_nomem(diag, "looking at processes");
	v->in_slot.items[slot] = process;
	for (which = 0; which < VIEWS && process && !err; which++) {
		struct ks_view *own = v->items[process - 1].views[which];

		err = own->ops->begin(own, run, ev, slot, diag);
	}
	return err;
}

static int processes_end(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
			 u32 slot, enum ks_end how, struct ks_diag *diag)
{
	struct processes_view *v = ks_container_of(view, struct processes_view, base);
	u8 process = v->in_slot.items[slot];
	int which, err = 0;

	v->in_slot.items[slot] = 0;
	for (which = 0; which < VIEWS && process && !err; which++) {
		struct ks_view *own = v->items[process - 1].views[which];

		err = own->ops->end(own, run, ev, slot, how, diag);
	}
	return err;
}

static int processes_other(struct ks_view *view, const struct ks_run *run,
			   const struct ks_event *ev, enum ks_op op, struct ks_diag *diag)
{
	struct processes_view *v = ks_container_of(view, struct processes_view, base);
	int which, err = 0;
	u8 process;

	if (process_of(v, run, ev->comm, &process))
		return ks_diag_nomem(diag, "looking at processes");
	for (which = 0; which < VIEWS && process && !err; which++) {
		struct ks_view *own = v->items[process - 1].views[which];

		err = own->ops->other(own, run, ev, op, diag);
	}
	return err;
}

/* A view of a process puts what it found into a model of its own, which knows what the kernel had. */
static int add_process(const struct process *process, const struct ks_run *run,
		       struct ks_model *model, struct ks_diag *diag)
{
	struct ks_model own = { .level = model->level, .kernel_slabs = model->kernel_slabs };
	struct ks_process *found = ks_vec_push(&model->processes);
	int which, err = 0;

	memcpy(own.quality, model->quality, sizeof(own.quality));
	if (!found)
		return ks_diag_nomem(diag, "looking at processes");
	for (which = 0; which < VIEWS && !err; which++)
		err = process->views[which]->ops->snapshot(process->views[which], run, &own, diag);
	found->leaks = own.leaks;
	found->timeline = own.timeline;
	found->comm = ks_arena_strndup(&model->arena, process->comm, strlen(process->comm));
	if (!err && !found->comm)
		err = ks_diag_nomem(diag, "looking at processes");
	return err;
}

static int processes_snapshot(struct ks_view *view, const struct ks_run *run,
			      struct ks_model *model, struct ks_diag *diag)
{
	const struct processes_view *v = ks_container_of(view, struct processes_view, base);
	size_t i;
	int err = 0;

	for (i = 0; i < v->len && !err; i++)
		err = add_process(&v->items[i], run, model, diag);
	return err;
}

static void processes_free(struct ks_view *view)
{
	struct processes_view *v = ks_container_of(view, struct processes_view, base);
	size_t i;
	int which;

	for (i = 0; v->items && i < v->len; i++) {
		for (which = 0; which < VIEWS; which++)
			if (v->items[i].views[which])
				v->items[i].views[which]->ops->free(v->items[i].views[which]);
		free(v->items[i].comm);
	}
	free(v->items);
	ks_vec_free(&v->of_comm);
	ks_vec_free(&v->in_slot);
	free(v);
}

/* === Public =============================================================================== */

struct ks_view *ks_processes_view_new(const char *const *comms, size_t len, u64 width)
{
	static const struct ks_view_ops ops = {
		.name = "processes",
		.needs = KS_GIVES_AGES,
		.start = processes_start,
		.begin = processes_begin,
		.end = processes_end,
		.other = processes_other,
		.snapshot = processes_snapshot,
		.free = processes_free,
	};
	struct processes_view *v = calloc(1, sizeof(*v));
	bool failed;
	size_t i;

	if (!v)
		return NULL;
	v->base = (struct ks_view){ .ops = &ops, .wants_stacks = true };
	v->len = ks_min(len, (size_t)KS_MAX_PROCESSES);
	v->items = calloc(v->len + 1, sizeof(*v->items));
	failed = !v->items;
	for (i = 0; i < v->len && !failed; i++) {
		v->items[i].comm = strdup(comms[i]);
		v->items[i].views[TIMELINE] = ks_timeline_view_new_of_width(width);
		v->items[i].views[LEAKS] = ks_leaks_view_new(0, false);
		failed = !v->items[i].comm || !v->items[i].views[TIMELINE] ||
			 !v->items[i].views[LEAKS];
	}
	if (failed) {
		processes_free(&v->base);
		return NULL;
	}
	return &v->base;
}
