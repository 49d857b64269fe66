// SPDX-License-Identifier: LGPL-2.1-only
/* What a gate found, as text and JSON. */
#include "report/report.h"

#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static void put_what(const struct ks_budget_check *check, struct ks_strbuf *out)
{
	ks_strbuf_printf(out, "%s of %s%s", ks_limit_kind_name(check->rule->kind),
			 ks_scope_kind_name(check->rule->scope), *check->name ? " " : "");
	ks_escape_tty(out, check->name, strlen(check->name));
}

static const char *unit_of(const struct ks_budget_check *check)
{
	return check->rule->kind == KS_LIMIT_RATE ? "B/s" : "B";
}

/* === Public =============================================================================== */

void ks_render_gate(const struct ks_gate *gate, struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < gate->checks.len; i++) {
		const struct ks_budget_check *check = &gate->checks.items[i];
		const char *unit = unit_of(check);

		ks_strbuf_puts(out, check->exceeded ? "OVER  " : "ok    ");
		put_what(check, out);
		ks_strbuf_printf(out, ": %llu %s of %llu %s", (unsigned long long)check->value,
				 unit, (unsigned long long)check->rule->limit, unit);
		if (check->exceeded)
			ks_strbuf_printf(out, ", %llu %s too much",
					 (unsigned long long)(check->value - check->rule->limit),
					 unit);
		else if (!check->found)
			ks_strbuf_puts(out, " (nothing of that name in the capture)");
		ks_strbuf_printf(out, " (line %u)\n", check->rule->line);
	}
	ks_strbuf_printf(out, "%llu of %zu over budget\n", (unsigned long long)gate->exceeded,
			 gate->checks.len);
}

void ks_render_gate_json(const struct ks_model *model, const struct ks_gate *gate,
			 struct ks_strbuf *out)
{
	struct ks_json json;
	size_t i;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-gate-1");
	ks_json_string(&json, "level", ks_level_name(model->level));
	ks_json_bool(&json, "passed", !gate->exceeded);
	ks_json_u64(&json, "exceeded", gate->exceeded);
	ks_json_array(&json, "checks");
	for (i = 0; i < gate->checks.len; i++) {
		const struct ks_budget_check *check = &gate->checks.items[i];

		ks_json_object(&json, NULL);
		ks_json_u64(&json, "line", check->rule->line);
		ks_json_string(&json, "scope", ks_scope_kind_name(check->rule->scope));
		ks_json_string(&json, "name", check->name);
		ks_json_string(&json, "what", ks_limit_kind_name(check->rule->kind));
		ks_json_u64(&json, "value", check->value);
		ks_json_u64(&json, "limit", check->rule->limit);
		ks_json_bool(&json, "found", check->found);
		ks_json_bool(&json, "exceeded", check->exceeded);
		ks_json_end_object(&json);
	}
	ks_json_end_array(&json);
	ks_render_quality_json(model, &json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}
