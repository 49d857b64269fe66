// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a budget: refused with a line number, or rules that make sense. */
#include "fuzz.h"

#include <string.h>

#include "analysis/budget.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_diag diag = { 0 };
	struct ks_budget budget;
	size_t i;
	int err = ks_budget_parse(&budget, "budget", (const char *)data, size, &diag);

	if (err) {
		FUZZ_ASSERT(diag.err == err && !strncmp(diag.text, "budget:", 7));
		return 0;
	}
	FUZZ_ASSERT(budget.rules.len);
	for (i = 0; i < budget.rules.len; i++) {
		const struct ks_rule *rule = &budget.rules.items[i];

		FUZZ_ASSERT(rule->scope < KS_SCOPES && rule->kind < KS_LIMITS && rule->line);
		FUZZ_ASSERT(!*rule->name == (rule->scope == KS_SCOPE_TOTAL));
	}
	ks_budget_deinit(&budget);
	return 0;
}
