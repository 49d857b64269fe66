/* SPDX-License-Identifier: LGPL-2.1-only */
/* Budgets: how much memory a part of the kernel may use, and whether a capture keeps to that. */
#ifndef KS_ANALYSIS_BUDGET_H
#define KS_ANALYSIS_BUDGET_H

#include "analysis/filter.h"
#include "analysis/model.h"
#include "base/diag.h"

enum ks_scope_kind {
	KS_SCOPE_TOTAL,
	KS_SCOPE_SITE,
	KS_SCOPE_FUNCTION,
	KS_SCOPE_MODULE,
	KS_SCOPE_DIRECTORY,
	KS_SCOPES
};

enum ks_limit_kind {
	KS_LIMIT_LIVE,	/* bytes that live at the end */
	KS_LIMIT_WASTE, /* of them, what nobody asked for */
	KS_LIMIT_RATE,	/* bytes allocated a second */
	KS_LIMITS
};

const char *ks_scope_kind_name(enum ks_scope_kind kind);
const char *ks_limit_kind_name(enum ks_limit_kind kind);

struct ks_rule {
	enum ks_scope_kind scope;
	const char *name; /* "" of the total; may hold * for any characters */
	enum ks_limit_kind kind;
	u64 limit;
	u32 line; /* in the budget's file */
};

struct ks_budget {
	struct ks_arena arena;
	KS_VEC(struct ks_rule) rules;
};

/* @path is for messages. Text that is not a budget is KS_EBADINPUT, with the line. */
int ks_budget_parse(struct ks_budget *budget, const char *path, const char *text, size_t len,
		    struct ks_diag *diag);
int ks_budget_load(struct ks_budget *budget, const char *path, struct ks_diag *diag);
void ks_budget_deinit(struct ks_budget *budget);

/* What one rule says of one thing that it applies to. */
struct ks_budget_check {
	const struct ks_rule *rule;
	const char *name; /* the rule's, or what its * stood for */
	u64 value;
	bool found;    /* false: the capture has nothing of that name */
	bool exceeded; /* value > limit */
};

struct ks_gate {
	KS_VEC(struct ks_budget_check) checks; /* in the order of the rules, then by name */
	u64 exceeded;
};

/* The model is by site, and was made with @filter; it and the budget must outlive the gate. */
int ks_gate_init(struct ks_gate *gate, const struct ks_budget *budget, const struct ks_model *model,
		 const struct ks_filter *filter, struct ks_diag *diag);
void ks_gate_deinit(struct ks_gate *gate);

#endif
