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
		if (matches(rule->name, group->label))
			return group->label;
		/* A function stands for all of its sites: offsets change with each build. */
		return *group->func && !strcmp(rule->name, group->func) ? group->func : NULL;
	case KS_SCOPE_FUNCTION:
		return *group->func && matches(rule->name, group->func) ? group->func : NULL;
	case KS_SCOPE_MODULE:
		if (!*group->module)
			return *group->func && matches(rule->name, "kernel") ? "kernel" : NULL;
		return matches(rule->name, group->module) ? group->module : NULL;
	case KS_SCOPE_DIRECTORY:
		return *group->path && ks_path_in_branch(group->path, rule->name) ? rule->name
										  : NULL;
	case KS_SCOPE_CACHE:
	case KS_SCOPE_PROCESS:
	case KS_SCOPE_SIZE:
	case KS_SCOPE_TYPE:
		return matches(rule->name, group->label) ? group->label : NULL;
	case KS_SCOPES:
		break;
	}
	return NULL;
}

static bool is_pattern(const struct ks_rule *rule)
{
	return strchr(rule->name, '*') && rule->scope != KS_SCOPE_DIRECTORY;
}

/* A pattern is for the rest: it leaves out names that have a rule of their own for the same measure. */
static bool has_own_rule(const struct ks_budget *budget, const struct ks_rule *pattern,
			 const char *name)
{
	size_t i;

	for (i = 0; i < budget->rules.len; i++) {
		const struct ks_rule *rule = &budget->rules.items[i];

		if (rule->scope == pattern->scope && rule->kind == pattern->kind &&
		    !strcmp(rule->name, name))
			return true;
	}
	return false;
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
	ks_stat_add_counts(sum, stat);
	return 0;
}

static u64 value_of(const struct ks_stat *stat, enum ks_limit_kind kind, u64 span_ns)
{
	switch (kind) {
	case KS_LIMIT_LIVE:
		return stat->live_bytes;
	case KS_LIMIT_WASTE:
		return ks_stat_waste(stat);
	case KS_LIMIT_RATE:
		return ks_mul_div(stat->total_bytes, 1000000000, span_ns);
	case KS_LIMIT_OBJECTS:
		return stat->live_objs;
	default: /* a layout is no sum */
		return 0;
	}
}

static int add_verdict(struct ks_gate *gate, const struct ks_rule *rule, const char *name,
		       u64 value, enum ks_gate_verdict verdict)
{
	struct ks_budget_check *check = ks_vec_push(&gate->checks);

	if (!check)
		return -ENOMEM;
	*check = (struct ks_budget_check){
		.rule = rule, .name = name, .value = value, .verdict = verdict
	};
	gate->verdicts[verdict]++;
	return 0;
}

static int add_missing(struct ks_gate *gate, const struct ks_rule *rule)
{
	return add_verdict(gate, rule, rule->name, 0, KS_GATE_MISSING);
}

static int add_check(struct ks_gate *gate, const struct ks_rule *rule, const char *name, u64 value)
{
	return add_verdict(gate, rule, name, value,
			   value > rule->limit ? KS_GATE_OVER : KS_GATE_OK);
}

/* Rules lie in one array: their places are their order. */
static int compare(const void *pa, const void *pb)
{
	const struct ks_budget_check *a = pa, *b = pb;

	if (a->verdict != b->verdict)
		return a->verdict < b->verdict ? -1 : 1;
	if (a->rule != b->rule)
		return a->rule < b->rule ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int apply_to_layouts(struct ks_gate *gate, const struct ks_budget *budget,
			    const struct ks_rule *rule, const struct ks_gate_facts *facts)
{
	bool matched = false;
	size_t i;
	int err = 0;

	for (i = 0; i < facts->nr_layouts && !err; i++) {
		const struct ks_gate_layout *layout = &facts->layouts[i];

		if (!matches(rule->name, layout->name))
			continue;
		matched = true;
		if (!is_pattern(rule) || !has_own_rule(budget, rule, layout->name))
			err = add_check(gate, rule, layout->name,
					layout->values[rule->kind - KS_LIMIT_LAYOUT]);
	}
	return err || matched ? err : add_missing(gate, rule);
}

static int apply(struct ks_gate *gate, const struct ks_budget *budget, const struct ks_rule *rule,
		 const struct ks_gate_facts *facts)
{
	struct sums sums = { 0 };
	bool matched = false;
	size_t i;
	int err;

	if (rule->scope == KS_SCOPE_TOTAL)
		return add_check(gate, rule, "",
				 value_of(&facts->total, rule->kind, facts->span_ns));
	if (ks_limit_is_layout(rule->kind))
		return apply_to_layouts(gate, budget, rule, facts);
	err = ks_intern_init(&sums.names);
	for (i = 0; i < facts->groups[rule->scope].len && !err; i++) {
		const struct ks_group *group = &facts->groups[rule->scope].items[i];
		const char *name = name_for(rule, group);

		matched |= name != NULL;
		if (name && !(is_pattern(rule) && has_own_rule(budget, rule, name)))
			err = add_up(&sums, name, &group->stat);
	}
	for (i = 0; i < sums.sums.len && !err; i++)
		err = add_check(gate, rule, sums.sums.items[i].name,
				value_of(&sums.sums.items[i].stat, rule->kind, facts->span_ns));
	if (!err && !matched)
		err = add_missing(gate, rule);
	ks_vec_free(&sums.sums);
	ks_intern_deinit(&sums.names);
	return err;
}

static bool has_paths(const struct ks_gate_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->groups[KS_SCOPE_DIRECTORY].len; i++)
		if (*facts->groups[KS_SCOPE_DIRECTORY].items[i].path)
			return true;
	return false;
}

/* What a budget asks must be there to be answered: silence would pass for "within the budget". */
static int check_answerable(const struct ks_rule *rule, const struct ks_gate_facts *facts,
			    bool by_path, struct ks_diag *diag)
{
	if (ks_limit_is_layout(rule->kind))
		return facts->layouts ? 0
				      : ks_diag_set(diag, KS_EBADINPUT,
						    "line %u of the budget limits the layout of a "
						    "type, which a %s does not have: use an access "
						    "map that says where in objects accesses were",
						    rule->line, facts->what);
	if (rule->scope != KS_SCOPE_TOTAL && !facts->groups[rule->scope].given)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "line %u of the budget limits a %s, which a %s does not have%s",
				   rule->line, ks_scope_kind_name(rule->scope), facts->what,
				   rule->scope == KS_SCOPE_TYPE
					   ? ": use a snapshot of kmemscope heap save"
					   : "");
	if (facts->live_only && rule->kind != KS_LIMIT_LIVE && rule->kind != KS_LIMIT_OBJECTS)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "line %u of the budget limits %s, which a %s does not have: "
				   "use live or objects",
				   rule->line, ks_limit_kind_name(rule->kind), facts->what);
	if (rule->kind == KS_LIMIT_RATE && !facts->span_ns)
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
	return 0;
}

/* === Public =============================================================================== */

bool ks_scope_by(enum ks_scope_kind scope, enum ks_by *ret_by)
{
	switch (scope) {
	case KS_SCOPE_CACHE:
		*ret_by = KS_BY_CACHE;
		return true;
	case KS_SCOPE_PROCESS:
		*ret_by = KS_BY_COMM;
		return true;
	case KS_SCOPE_SIZE:
		*ret_by = KS_BY_SIZE;
		return true;
	case KS_SCOPE_TYPE:
	case KS_SCOPES:
		return false;
	default:
		*ret_by = KS_BY_SITE;
		return true;
	}
}

void ks_gate_facts_of_model(struct ks_gate_facts *facts, const struct ks_model *model,
			    const struct ks_filter *filter)
{
	enum ks_scope_kind scope;

	*facts = (struct ks_gate_facts){ .what = "capture", .total = *ks_model_total(model) };
	if (model->clock == KS_CLOCK_SECONDS)
		facts->span_ns =
			ks_filter_span(filter, &model->wall, model->first_ts, model->last_ts);
	for (scope = 0; scope < KS_SCOPES; scope++) {
		const struct ks_sums *sums = NULL;
		enum ks_by by;

		if (ks_scope_by(scope, &by))
			sums = ks_model_account_by(model, by);
		facts->groups[scope].given = sums;
		facts->groups[scope].items = sums ? sums->groups.items : NULL;
		facts->groups[scope].len = sums ? sums->groups.len : 0;
	}
}

int ks_gate_init(struct ks_gate *gate, const struct ks_budget *budget,
		 const struct ks_gate_facts *facts, bool allow_missing, struct ks_diag *diag)
{
	bool by_path = has_paths(facts);
	size_t i;
	int err;

	*gate = (struct ks_gate){ .allow_missing = allow_missing };
	for (i = 0; i < budget->rules.len; i++) {
		const struct ks_rule *rule = &budget->rules.items[i];

		err = check_answerable(rule, facts, by_path, diag);
		if (!err && apply(gate, budget, rule, facts))
			err = ks_diag_nomem(diag, "checking a budget");
		if (err) {
			ks_gate_deinit(gate);
			return err;
		}
	}
	if (gate->checks.len)
		qsort(gate->checks.items, gate->checks.len, sizeof(struct ks_budget_check),
		      compare);
	return 0;
}

void ks_gate_deinit(struct ks_gate *gate)
{
	ks_vec_free(&gate->checks);
}
