// SPDX-License-Identifier: GPL-2.0-only
/* Reads a capture to its end, to see whether it is whole, in order, and without loss. */
#include "cli/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "source/open.h"

/* === Internals: reading =================================================================== */

static struct ks_check_cpu *cpu_of(struct ks_check *check, u32 cpu)
{
	struct ks_check_cpu *slot;
	size_t i;

	for (i = 0; i < check->cpus.len; i++)
		if (check->cpus.items[i].cpu == cpu)
			return &check->cpus.items[i];
	slot = ks_vec_push(&check->cpus);
	if (slot)
		slot->cpu = cpu;
	return slot;
}

/* What no kernel would say. */
static bool is_impossible(const struct ks_event *ev)
{
	if (!ks_kind_is_alloc(ev->kind))
		return false;
	return ev->bytes_alloc < ev->bytes_req || ev->bytes_alloc > UINT32_MAX || ev->node < -1;
}

static int add_event(struct ks_check *check, const struct ks_event *ev)
{
	struct ks_check_cpu *cpu = cpu_of(check, ev->cpu);

	if (!cpu)
		return -1;
	if (ev->kind == KS_LOST) {
		cpu->lost += ev->lost.count;
		cpu->gaps++;
		return 0;
	}
	if (!cpu->events++)
		cpu->first_ts = ev->ts;
	cpu->last_ts = ev->ts;
	cpu->impossible += is_impossible(ev);
	return 0;
}

static int compare_cpus(const void *a, const void *b)
{
	u32 x = ((const struct ks_check_cpu *)a)->cpu, y = ((const struct ks_check_cpu *)b)->cpu;

	return x < y ? -1 : x > y;
}

/* The reader's own findings, by CPU. */
static void add_info(struct ks_check *check, const struct ks_source_info *info)
{
	u64 placed = 0;
	size_t i;

	check->format = info->format;
	check->unfinished = info->unfinished;
	for (i = 0; i < info->binary.cpus.len; i++) {
		struct ks_check_cpu *cpu = cpu_of(check, info->binary.cpus.items[i].cpu);

		if (!cpu)
			continue;
		cpu->damaged += info->binary.cpus.items[i].bad;
		cpu->backwards += info->binary.cpus.items[i].backwards;
		placed += info->binary.cpus.items[i].bad;
	}
	check->damaged_elsewhere = info->binary.bad_records -
				   ks_min(info->binary.bad_records, placed) + info->text.unparsed;
	if (check->cpus.len)
		qsort(check->cpus.items, check->cpus.len, sizeof(*check->cpus.items), compare_cpus);
	for (i = 0; i < check->cpus.len; i++) {
		check->events += check->cpus.items[i].events;
		check->lost += check->cpus.items[i].lost;
		check->gaps += check->cpus.items[i].gaps;
	}
}

static bool cpu_is_damaged(const struct ks_check_cpu *cpu)
{
	return cpu->damaged || cpu->backwards || cpu->impossible;
}

/* === Internals: printing ================================================================== */

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
	ks_strbuf_printf(out, ": %s\n",
			 cpu_is_damaged(cpu) ? "damaged"
			 : cpu->gaps	     ? "loss"
					     : "ok");
}

static const char *verdict_of(const struct ks_check *check)
{
	if (check->damaged)
		return "damaged";
	return check->gaps ? "events were lost" : "ok";
}

/* === Public =============================================================================== */

int ks_check_file(struct ks_check *check, const char *path)
{
	struct ks_diag diag = { 0 };
	struct ks_source *source;
	struct ks_batch batch;
	size_t i;
	int err;

	*check = (struct ks_check){ .path = path };
	err = ks_source_open(path, NULL, &source, &diag);
	if (err) {
		snprintf(check->error, sizeof(check->error), "%s", diag.text);
		check->damaged = err == KS_EBADINPUT;
		return check->damaged ? 0 : KS_EXIT_FAILED;
	}
	while (!(err = ks_source_next(source, &batch, &diag)) && batch.count)
		for (i = 0; i < batch.count; i++)
			if (add_event(check, &batch.events[i]))
				err = -1;
	if (err)
		snprintf(check->error, sizeof(check->error), "%s", diag.text);
	add_info(check, &source->info);
	check->damaged = err || check->unfinished || check->damaged_elsewhere;
	for (i = 0; i < check->cpus.len; i++)
		check->damaged |= cpu_is_damaged(&check->cpus.items[i]);
	ks_source_close(source);
	return 0;
}

void ks_check_deinit(struct ks_check *check)
{
	ks_vec_free(&check->cpus);
}

void ks_check_print(const struct ks_check *check, struct ks_strbuf *out)
{
	size_t i;

	ks_strbuf_printf(out, "%s: %s, %s\n", check->path,
			 check->format ? check->format : "unknown", verdict_of(check));
	for (i = 0; i < check->cpus.len; i++)
		put_cpu(&check->cpus.items[i], out);
	if (check->damaged_elsewhere)
		ks_strbuf_printf(out, "  %" PRIu64 " records or lines not understood\n",
				 check->damaged_elsewhere);
	if (check->repaired)
		ks_strbuf_puts(out, "  the recorder was killed; the file is finished now\n");
	else if (check->unfinished)
		ks_strbuf_puts(out,
			       "  the recorder was killed: 'kmemscope check --repair' finishes "
			       "the file\n");
	if (check->error[0])
		ks_strbuf_printf(out, "  %s\n", check->error);
}
