// SPDX-License-Identifier: LGPL-2.1-only
/* A budget held against a capture. */
#include "analysis/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/u128.h"
#include "sym/sym.h"

/* === Internals ============================================================================ */

/* Whether the name is what the pattern says, in which only * is special. */
static bool matches(const char *pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = pattern++;
			retry = name;
		} else if (*pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* The name by which a rule of this scope knows the group; NULL where it does not apply. */
static const char *name_for(const struct ks_rule *rule, const struct ks_group *group)
{
	switch (rule->scope) {
	case KS_SCOPE_TOTAL:
		return "";
	case KS_SCOPE_SITE:
		return matches(rule->name, group->label) ? group->label : NULL;
	case KS_SCOPE_FUNCTION:
		return *group->func && matches(rule->name, group->func) ? group->func : NULL;
	case KS_SCOPE_MODULE:
		if (!*group->module)
			return *group->func && matches(rule->name, "kernel") ? "kernel" : NULL;
		return matches(rule->name, group->module) ? group->module : NULL;
	case KS_SCOPE_DIRECTORY:
		return *group->path && ks_path_in_branch(group->path, rule->name) ? rule->name
										  : NULL;
	case KS_SCOPES:
		break;
	}
	return NULL;
}

struct sum {
	const char *name; /* the model's or the rule's */
	struct ks_stat stat;
};

struct sums {
	struct ks_intern names;
	KS_VEC(struct sum) sums; /* by name */
};

static int add_up(struct sums *sums, const char *name, const struct ks_stat *stat)
{
	u32 id = ks_intern_add(&sums->names, name, strlen(name));
	struct ks_stat *sum;

	if (id == KS_NONE || (id == sums->sums.len && !ks_vec_push(&sums->sums)))
		return -ENOMEM;
	sums->sums.items[id].name = name;
	sum = &sums->sums.items[id].stat;
	sum->total_bytes += stat->total_bytes;
	sum->live_bytes += stat->live_bytes;
	sum->live_req += stat->live_req;
	return 0;
}

static u64 value_of(const struct ks_stat *stat, enum ks_limit_kind kind, u64 span_ns)
{
	if (kind == KS_LIMIT_LIVE)
		return stat->live_bytes;
	if (kind == KS_LIMIT_WASTE)
		return ks_stat_waste(stat);
	return ks_mul_div(stat->total_bytes, 1000000000, span_ns);
}

static int add_check(struct ks_gate *gate, const struct ks_rule *rule, const char *name,
		     const struct ks_stat *stat, u64 span_ns)
{
	static const struct ks_stat nothing;
	struct ks_budget_check *check = ks_vec_push(&gate->checks);

	if (!check)
		return -ENOMEM;
	*check = (struct ks_budget_check){
		.rule = rule,
		.name = name,
		.value = value_of(stat ? stat : &nothing, rule->kind, span_ns),
		.found = stat,
	};
	check->exceeded = check->value > rule->limit;
	gate->exceeded += check->exceeded;
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct ks_budget_check *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

static int apply(struct ks_gate *gate, const struct ks_rule *rule, const struct ks_model *model,
		 u64 span_ns)
{
	struct sums sums = { 0 };
	size_t first = gate->checks.len, i;
	int err = ks_intern_init(&sums.names);

	for (i = 0; i < ks_model_account(model)->groups.len && !err; i++) {
		const struct ks_group *group = &ks_model_account(model)->groups.items[i];
		const char *name = name_for(rule, group);

		if (name)
			err = add_up(&sums, name, &group->stat);
	}
	for (i = 0; i < sums.sums.len && !err; i++)
		err = add_check(gate, rule, sums.sums.items[i].name, &sums.sums.items[i].stat,
				span_ns);
	if (!err && !sums.sums.len)
		err = add_check(gate, rule, rule->name, NULL, span_ns);
	if (!err)
		qsort(&gate->checks.items[first], gate->checks.len - first,
		      sizeof(struct ks_budget_check), compare);
	ks_vec_free(&sums.sums);
	ks_intern_deinit(&sums.names);
	return err;
}

static bool has_paths(const struct ks_model *model)
{
	size_t i;

	for (i = 0; i < ks_model_account(model)->groups.len; i++)
		if (*ks_model_account(model)->groups.items[i].path)
			return true;
	return false;
}

/* What a budget asks must be there to be answered: silence would pass for "within the budget". */
static int check_answerable(const struct ks_budget *budget, const struct ks_model *model,
			    u64 span_ns, struct ks_diag *diag)
{
	bool by_path = has_paths(model);
	size_t i;

	for (i = 0; i < budget->rules.len; i++) {
		const struct ks_rule *rule = &budget->rules.items[i];

		if (rule->kind == KS_LIMIT_RATE && (!span_ns || model->clock != KS_CLOCK_SECONDS))
			return ks_diag_set(diag, KS_EBADINPUT,
					   "line %u of the budget limits a rate, and the capture "
					   "has no time in seconds",
					   rule->line);
		if (rule->scope == KS_SCOPE_DIRECTORY && !by_path)
			return ks_diag_set(diag, KS_EBADINPUT,
					   "line %u of the budget limits a directory, and no "
					   "call site has a known source file: give the kernel "
					   "tree with --kernel",
					   rule->line);
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_gate_init(struct ks_gate *gate, const struct ks_budget *budget, const struct ks_model *model,
		 const struct ks_filter *filter, struct ks_diag *diag)
{
	u64 span_ns = ks_filter_span(filter, model->first_ts, model->last_ts);
	size_t i;
	int err = check_answerable(budget, model, span_ns, diag);

	*gate = (struct ks_gate){ 0 };
	if (err)
		return err;
	for (i = 0; i < budget->rules.len; i++)
		if (apply(gate, &budget->rules.items[i], model, span_ns)) {
			ks_gate_deinit(gate);
			return ks_diag_nomem(diag, "checking a budget");
		}
	return 0;
}

void ks_gate_deinit(struct ks_gate *gate)
{
	ks_vec_free(&gate->checks);
}
