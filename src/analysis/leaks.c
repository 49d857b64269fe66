// SPDX-License-Identifier: LGPL-2.1-only
/* The view of leaks: what lives, and who uses each site. leaks-snapshot.c judges it. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/leaks-state.h"
#include "analysis/views.h"

/* === Internals ============================================================================ */

/* The user of an event whose site had another one last. */
static int find_user(struct ks_leaks_view *v, const struct ks_event *ev, u32 *ret_user,
		     struct ks_diag *diag)
{
	struct ks_leak_user fresh = { .site = ev->site, .comm = ev->comm };
	u32 key[3], number;
	int err = ks_grouping_find(&v->caches, ev, &fresh.cache, diag);

	if (err)
		return err;
	key[0] = fresh.site;
	key[1] = fresh.comm;
	key[2] = fresh.cache;
	number = ks_intern_add(&v->keys, (const char *)key, sizeof(key));
	if (number == KS_NONE || (number == v->users.len && !ks_vec_push(&v->users)))
		return ks_diag_nomem(diag, "looking for leaks");
	if (!v->users.items[number].allocs)
		v->users.items[number] = fresh;
	*ret_user = number;
	return 0;
}

static int user_of(struct ks_leaks_view *v, const struct ks_event *ev, u32 *ret_user,
		   struct ks_diag *diag)
{
	size_t at = (u32)(ev->site + 1);
	struct ks_leak_memo *memo;
	int err;

	while (v->last.len <= at) {
		memo = ks_vec_push(&v->last);
		if (!memo)
			return ks_diag_nomem(diag, "looking for leaks");
		memo->user = KS_NONE;
	}
	memo = &v->last.items[at];
	if (memo->user == KS_NONE || memo->comm != ev->comm || memo->cache != ev->cache ||
	    memo->bytes_alloc != ev->bytes_alloc) {
		*memo = (struct ks_leak_memo){ ev->comm, ev->cache, ev->bytes_alloc, KS_NONE };
		err = find_user(v, ev, &memo->user, diag);
		if (err)
			return err;
	}
	v->users.items[memo->user].allocs++;
	*ret_user = memo->user;
	return 0;
}

static int keep_left(struct ks_leaks_view *v, const struct ks_held *held)
{
	struct ks_held *left = ks_vec_push(&v->left);

	if (!left)
		return -ENOMEM;
	*left = *held;
	return 0;
}

static int leaks_start(struct ks_view *view, const struct ks_run *run, struct ks_diag *diag)
{
	struct ks_leaks_view *v = ks_container_of(view, struct ks_leaks_view, base);

	if (ks_grouping_init(&v->caches, KS_BY_CACHE, run->names, NULL, NULL))
		return ks_diag_nomem(diag, "looking for leaks");
	return 0;
}

static int leaks_begin(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		       u32 slot, struct ks_diag *diag)
{
	struct ks_leaks_view *v = ks_container_of(view, struct ks_leaks_view, base);
	struct ks_held *held;

	(void)run;
	while (v->held.len <= slot)
		if (!ks_vec_push(&v->held))
			return ks_diag_nomem(diag, "looking for leaks");
	held = &v->held.items[slot];
	if (unlikely(held->lives) && keep_left(v, held))
		return ks_diag_nomem(diag, "looking for leaks");
	*held = (struct ks_held){
		.born = ev->ts,
		.stack = view->wants_stacks ? ev->stack : KS_NONE,
		.pid = ev->pid,
		.bytes_req = (u32)ev->bytes_req,
		.bytes_alloc = (u32)ev->bytes_alloc,
		.lives = true,
	};
	return user_of(v, ev, &held->user, diag);
}

static int leaks_end(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		     u32 slot, enum ks_end how, struct ks_diag *diag)
{
	struct ks_leaks_view *v = ks_container_of(view, struct ks_leaks_view, base);
	struct ks_held *held = &v->held.items[slot];
	struct ks_leak_user *user = &v->users.items[held->user];

	(void)run;
	(void)ev;
	(void)diag;
	user->frees += how == KS_END_FREED;
	user->implied += how == KS_END_IMPLIED;
	user->paged += how == KS_END_PAGE;
	user->counted += how == KS_END_CENSUS;
	held->lives = false;
	return 0;
}

static int leaks_other(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		       enum ks_op op, struct ks_diag *diag)
{
	u32 user;

	(void)run;
	if (op != KS_OP_ALLOC_UNPAIRED)
		return 0;
	return user_of(ks_container_of(view, struct ks_leaks_view, base), ev, &user, diag);
}

static void leaks_prefetch(struct ks_view *view, u32 slot)
{
	const struct ks_leaks_view *v = ks_container_of(view, struct ks_leaks_view, base);

	if (slot < v->held.len)
		__builtin_prefetch(&v->held.items[slot], 1);
}

static void leaks_free(struct ks_view *view)
{
	struct ks_leaks_view *v = ks_container_of(view, struct ks_leaks_view, base);

	ks_grouping_deinit(&v->caches);
	ks_intern_deinit(&v->keys);
	ks_vec_free(&v->last);
	ks_vec_free(&v->users);
	ks_vec_free(&v->held);
	ks_vec_free(&v->left);
	free(v);
}

/* === Public =============================================================================== */

struct ks_view *ks_leaks_view_new(u64 min_age, bool stacks)
{
	static const struct ks_view_ops ops = {
		.name = "leaks",
		.needs = KS_GIVES_AGES,
		.start = leaks_start,
		.begin = leaks_begin,
		.end = leaks_end,
		.other = leaks_other,
		.prefetch = leaks_prefetch,
		.snapshot = ks_leaks_snapshot,
		.free = leaks_free,
	};
	struct ks_leaks_view *v = calloc(1, sizeof(*v));

	if (!v || ks_intern_init(&v->keys)) {
		free(v);
		return NULL;
	}
	v->base = (struct ks_view){ .ops = &ops, .wants_stacks = stacks };
	v->min_age = min_age;
	return &v->base;
}
