// SPDX-License-Identifier: LGPL-2.1-only
/* Reads a capture to its end, to see whether it is whole, in order, and without loss. */
#include "analysis/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "source/open.h"

/* === Data ================================================================================= */

/*
 * Events are counted here rather than taken from struct ks_cpu_info: not every reader has that, and none
 * has it of a capture that breaks off.
 */
struct state {
	struct ks_check *check;
	u32 number[UINT16_MAX + 1]; /* of a CPU in check->cpus, + 1; 0 = not there yet */
};

/* === Internals ============================================================================ */

static struct ks_check_cpu *cpu_of(struct state *state, u16 cpu)
{
	struct ks_check_cpu *slot;

	if (likely(state->number[cpu]))
		return &state->check->cpus.items[state->number[cpu] - 1];
	slot = ks_vec_push(&state->check->cpus);
	if (!slot)
		return NULL;
	slot->cpu = cpu;
	state->number[cpu] = (u32)state->check->cpus.len;
	return slot;
}

/* What no kernel would say. */
static bool is_impossible(const struct ks_event *ev)
{
	if (!ks_kind_is_alloc(ev->kind))
		return false;
	return ev->bytes_alloc < ev->bytes_req || ev->bytes_alloc > UINT32_MAX || ev->node < -1;
}

static int add_event(struct state *state, const struct ks_event *ev)
{
	struct ks_check_cpu *cpu = cpu_of(state, ev->cpu);

	if (!cpu)
		return -ENOMEM;
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

static int read_events(struct state *state, struct ks_source *source, struct ks_diag *diag)
{
	struct ks_batch batch;
	size_t i;
	int err;

	do {
		err = ks_source_next(source, &batch, diag);
		for (i = 0; !err && i < batch.count; i++)
			if (add_event(state, &batch.events[i]))
				err = ks_diag_nomem(diag, "checking a capture");
	} while (!err && batch.count);
	return err;
}

/* What the reader itself found, by CPU. */
static int add_info(struct state *state, const struct ks_source_info *info)
{
	struct ks_check *check = state->check;
	u64 placed = 0, bad = info->binary.bad_records;
	size_t i;

	check->format = info->format;
	check->unfinished = info->unfinished;
	for (i = 0; i < info->binary.cpus.len; i++) {
		const struct ks_cpu_info *from = &info->binary.cpus.items[i];
		struct ks_check_cpu *cpu = cpu_of(state, (u16)from->cpu);

		if (!cpu)
			return -ENOMEM;
		cpu->damaged += from->bad;
		cpu->backwards += from->backwards;
		placed += from->bad;
	}
	check->damaged_elsewhere = bad - ks_min(bad, placed) + info->text.unparsed;
	return 0;
}

static int compare_cpus(const void *a, const void *b)
{
	u32 x = ((const struct ks_check_cpu *)a)->cpu, y = ((const struct ks_check_cpu *)b)->cpu;

	return x < y ? -1 : x > y;
}

static void judge(struct ks_check *check)
{
	enum ks_check_verdict verdict = KS_CHECK_OK;
	size_t i;

	if (check->cpus.len)
		qsort(check->cpus.items, check->cpus.len, sizeof(*check->cpus.items), compare_cpus);
	for (i = 0; i < check->cpus.len; i++) {
		const struct ks_check_cpu *cpu = &check->cpus.items[i];

		check->events += cpu->events;
		check->lost += cpu->lost;
		check->gaps += cpu->gaps;
		verdict = ks_max(verdict, ks_check_cpu_verdict(cpu));
	}
	if (check->error[0] || check->unfinished || check->damaged_elsewhere)
		verdict = KS_CHECK_DAMAGED;
	check->verdict = verdict;
}

static int read_source(struct ks_check *check, struct ks_source *source, struct ks_diag *diag)
{
	struct state *state = calloc(1, sizeof(*state));
	int err;

	if (!state)
		return ks_diag_nomem(diag, "checking a capture");
	state->check = check;
	err = read_events(state, source, diag);
	if (err == KS_EBADINPUT) {
		snprintf(check->error, sizeof(check->error), "%s", diag->text);
		err = 0;
	}
	if (!err && add_info(state, &source->info))
		err = ks_diag_nomem(diag, "checking a capture");
	free(state);
	return err;
}

/* === Public =============================================================================== */

enum ks_check_verdict ks_check_cpu_verdict(const struct ks_check_cpu *cpu)
{
	if (cpu->damaged || cpu->backwards || cpu->impossible)
		return KS_CHECK_DAMAGED;
	return cpu->gaps ? KS_CHECK_LOSS : KS_CHECK_OK;
}

int ks_check_source(struct ks_source *source, struct ks_check *ret_check, struct ks_diag *diag)
{
	struct ks_check check = { 0 };
	struct ks_diag own = { 0 };
	int err = read_source(&check, source, &own);

	if (err) {
		ks_check_deinit(&check);
		return ks_diag_set(diag, err, "%s", own.text);
	}
	judge(&check);
	*ret_check = check;
	return 0;
}

int ks_check_file(const char *path, struct ks_check *ret_check, struct ks_diag *diag)
{
	struct ks_diag own = { 0 };
	struct ks_source *source;
	int err = ks_source_open(path, NULL, &source, &own);

	if (err == KS_EBADINPUT) {
		*ret_check = (struct ks_check){ .verdict = KS_CHECK_DAMAGED };
		snprintf(ret_check->error, sizeof(ret_check->error), "%s", own.text);
		return 0;
	}
	if (err)
		return ks_diag_set(diag, err, "%s", own.text);
	err = ks_check_source(source, ret_check, diag);
	ks_source_close(source);
	return err;
}

void ks_check_deinit(struct ks_check *check)
{
	ks_vec_free(&check->cpus);
}
