/* SPDX-License-Identifier: LGPL-2.1-only */
/* Budgets: how much memory a part of the kernel may use, and whether a capture keeps to that. */
#ifndef KS_ANALYSIS_BUDGET_H
#define KS_ANALYSIS_BUDGET_H

#include "analysis/filter.h"
#include "analysis/model.h"
#include "base/diag.h"
#include "base/strbuf.h"

enum ks_scope_kind {
	KS_SCOPE_TOTAL,
	KS_SCOPE_SITE,
	KS_SCOPE_FUNCTION,
	KS_SCOPE_MODULE,
	KS_SCOPE_DIRECTORY,
	KS_SCOPE_CACHE,
	KS_SCOPE_PROCESS, /* by command name */
	KS_SCOPE_SIZE,	  /* of an object, in bytes */
	KS_SCOPE_TYPE,	  /* of the objects of a heap snapshot, or of an access map */
	KS_SCOPES
};

enum ks_limit_kind {
	KS_LIMIT_LIVE,	  /* bytes that live at the end */
	KS_LIMIT_WASTE,	  /* of them, what nobody asked for */
	KS_LIMIT_RATE,	  /* bytes allocated a second */
	KS_LIMIT_OBJECTS, /* that live at the end */
	/* The layout of a type, from here on. */
	KS_LIMIT_SIZE,	      /* bytes of the struct */
	KS_LIMIT_HOLES,	      /* bytes of it that are no member's */
	KS_LIMIT_HOT_LINES,   /* cache lines of it that are accessed often */
	KS_LIMIT_MIXED_LINES, /* of these, with members that are read and others that are written */
	KS_LIMITS
};

#define KS_LIMIT_LAYOUT	 KS_LIMIT_SIZE /* the first of a layout, and how many there are */
#define KS_LAYOUT_LIMITS (KS_LIMITS - KS_LIMIT_LAYOUT)

const char *ks_scope_kind_name(enum ks_scope_kind kind);
const char *ks_limit_kind_name(enum ks_limit_kind kind);

/* What is counted: "bytes", "objects", "cache lines". */
const char *ks_limit_kind_unit(enum ks_limit_kind kind);

static inline bool ks_limit_is_layout(enum ks_limit_kind kind)
{
	return kind >= KS_LIMIT_LAYOUT;
}

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

/* By what a capture is grouped for rules of this scope. False: it can't be, a heap snapshot has it. */
bool ks_scope_by(enum ks_scope_kind scope, enum ks_by *ret_by);

/* How a type is laid out, and what of it is hot. */
struct ks_gate_layout {
	const char *name;
	u64 values[KS_LAYOUT_LIMITS];
};

/* What is held against a budget: the sums of a capture or of a heap snapshot, and the layouts of a map's types. */
struct ks_gate_facts {
	const char *what;		      /* "capture", "heap snapshot" */
	const struct ks_gate_layout *layouts; /* most accesses first; NULL = they are not known */
	size_t nr_layouts;
	struct ks_stat total;
	struct {
		const struct ks_group *items;
		size_t len;
		bool given; /* false: this scope is not known */
	} groups[KS_SCOPES];
	bool live_only; /* there is neither waste nor a rate */
	u64 span_ns;	/* 0 = there is no time in seconds */
};

/* Those of a model with accounts by what ks_scope_by() says; it was made with @filter and must outlive them. */
void ks_gate_facts_of_model(struct ks_gate_facts *facts, const struct ks_model *model,
			    const struct ks_filter *filter);

enum ks_gate_verdict {
	KS_GATE_OVER,
	KS_GATE_MISSING, /* nothing has the name of the rule */
	KS_GATE_OK,
	KS_GATE_VERDICTS
};

/* What one rule says of one thing that it applies to. */
struct ks_budget_check {
	const struct ks_rule *rule;
	const char *name; /* the rule's, or what its * stood for */
	u64 value;
	enum ks_gate_verdict verdict;
};

struct ks_gate {
	/* By verdict, then in the order of the rules, then by name. */
	KS_VEC(struct ks_budget_check) checks;
	u64 verdicts[KS_GATE_VERDICTS];
	bool allow_missing; /* a rule that matches nothing is said, and passes */
};

static inline bool ks_gate_passes(const struct ks_gate *gate)
{
	return !gate->verdicts[KS_GATE_OVER] &&
	       (gate->allow_missing || !gate->verdicts[KS_GATE_MISSING]);
}

/* Facts and budget must outlive the gate. */
int ks_gate_init(struct ks_gate *gate, const struct ks_budget *budget,
		 const struct ks_gate_facts *facts, bool allow_missing, struct ks_diag *diag);
void ks_gate_deinit(struct ks_gate *gate);

/*
 * The text of a budget that good captures keep to, with room for as much as they differ: the total, the
 * @top largest names by function and cache, or by type and cache, and a rule for all others; the layouts of the @top
 * types that are accessed most.
 */
void ks_budget_propose(struct ks_strbuf *out, const struct ks_gate_facts *facts, size_t len,
		       u64 top);

#endif
