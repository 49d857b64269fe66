// SPDX-License-Identifier: LGPL-2.1-only
/* The verdict on a capture, as text and as JSON. */
#include "report/check.h"

#include <inttypes.h>

/* === Data ================================================================================= */

static const char *const verdict_names[] = {
	[KS_CHECK_OK] = "ok",
	[KS_CHECK_LOSS] = "loss",
	[KS_CHECK_DAMAGED] = "damaged",
};

/* === Internals ============================================================================ */

static void put_cpu(const struct ks_check_cpu *cpu, struct ks_strbuf *out)
{
	if (cpu->cpu == KS_CPU_UNKNOWN)
		ks_strbuf_printf(out, "  %-8s", "any CPU");
	else
		ks_strbuf_printf(out, "  CPU %-4u", cpu->cpu);
	ks_strbuf_printf(out, " %12" PRIu64 " events", cpu->events);
	if (cpu->gaps)
		ks_strbuf_printf(out, ", %" PRIu64 " lost in %" PRIu64 " gaps", cpu->lost,
				 cpu->gaps);
	if (cpu->damaged)
		ks_strbuf_printf(out, ", %" PRIu64 " damaged records or pages", cpu->damaged);
	if (cpu->backwards)
		ks_strbuf_printf(out, ", %" PRIu64 " out of order", cpu->backwards);
	if (cpu->impossible)
		ks_strbuf_printf(out, ", %" PRIu64 " impossible", cpu->impossible);
	ks_strbuf_printf(out, ": %s\n", verdict_names[ks_check_cpu_verdict(cpu)]);
}

/* === Public =============================================================================== */

void ks_render_check(const char *path, const struct ks_check *check, bool repaired,
		     struct ks_strbuf *out)
{
	size_t i;

	ks_strbuf_printf(out, "%s: %s, %s\n", path, check->format ? check->format : "unknown",
			 check->verdict == KS_CHECK_LOSS ? "events were lost"
							 : verdict_names[check->verdict]);
	for (i = 0; i < check->cpus.len; i++)
		put_cpu(&check->cpus.items[i], out);
	if (check->damaged_elsewhere)
		ks_strbuf_printf(out, "  %" PRIu64 " records or lines not understood\n",
				 check->damaged_elsewhere);
	if (repaired)
		ks_strbuf_puts(out, "  the recorder was killed; the file is finished now\n");
	else if (check->unfinished)
		ks_strbuf_puts(out,
			       "  the recorder was killed: 'kmemscope check --repair' finishes "
			       "the file\n");
	if (check->error[0])
		ks_strbuf_printf(out, "  %s\n", check->error);
}

void ks_render_check_json(const char *path, const struct ks_check *check, bool repaired,
			  struct ks_json *json)
{
	size_t i;

	ks_json_object(json, NULL);
	ks_json_string(json, "file", path);
	ks_json_string(json, "format", check->format ? check->format : "");
	ks_json_string(json, "verdict", verdict_names[check->verdict]);
	ks_json_string(json, "error", check->error);
	ks_json_bool(json, "unfinished", check->unfinished);
	ks_json_bool(json, "repaired", repaired);
	ks_json_u64(json, "events", check->events);
	ks_json_u64(json, "lost", check->lost);
	ks_json_u64(json, "gaps", check->gaps);
	ks_json_u64(json, "not_understood", check->damaged_elsewhere);
	ks_json_array(json, "cpus");
	for (i = 0; i < check->cpus.len; i++) {
		const struct ks_check_cpu *cpu = &check->cpus.items[i];

		ks_json_object(json, NULL);
		ks_json_u64(json, "cpu", cpu->cpu);
		ks_json_u64(json, "events", cpu->events);
		ks_json_u64(json, "lost", cpu->lost);
		ks_json_u64(json, "gaps", cpu->gaps);
		ks_json_u64(json, "damaged", cpu->damaged);
		ks_json_u64(json, "out_of_order", cpu->backwards);
		ks_json_u64(json, "impossible", cpu->impossible);
		ks_json_u64(json, "first_ts", cpu->first_ts);
		ks_json_u64(json, "last_ts", cpu->last_ts);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
	ks_json_end_object(json);
}
