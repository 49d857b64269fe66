// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack traces of text logs find their events wherever the log is cut, and whichever thread reads
 * the pieces. The logs are made here, by CPUs that are interrupted between an event and its stack,
 * so it is known which stack belongs to which event. The logs are cut into pieces of many sizes, so
 * that each line is once at an edge.
 */
#include "ks-test.h"

#include "base/strbuf.h"
#include "trace/formats.h"

enum {
	CPUS = 3,
	DEPTH = 4, /* a task, a soft interrupt, an interrupt, an NMI */
	STEPS = 1500,
	EVENTS = STEPS + 1,
	LONGEST = 200, /* line */
	DEEP = 140,    /* frames: more than are kept */
};

/* The content of a log, as it was made. */
struct made {
	struct ks_strbuf log;
	struct ks_strbuf stacks[EVENTS]; /* by event: its frames, each followed by a blank */
	u32 len;
	u64 alone;
	u32 rng;
};

/* One level of interrupts on a CPU. */
struct context {
	bool pending; /* an event was written, its stack not yet */
	int event;    /* -1 = not a kmem event */
};

struct cpu {
	struct context contexts[DEPTH];
	int depth;
	int pid;
};

static u32 roll(struct made *made, u32 sides)
{
	made->rng = made->rng * 1664525u + 1013904223u;
	return (made->rng >> 8) % sides;
}

static void put_header(struct made *made, int cpu, int pid)
{
	ks_strbuf_printf(&made->log, "            task-%d    [%03d] d..2.  1.%06u: ", pid, cpu,
			 (unsigned int)(made->log.len % 1000000));
}

static void put_event(struct made *made)
{
	ks_strbuf_printf(
		&made->log,
		"kmalloc: call_site=site_%u+0x4f/0xb0 ptr=ffff8800%08x bytes_req=10 bytes_alloc=16 gfp_flags=GFP_KERNEL\n",
		made->len % 7, made->len * 16);
	made->len++;
}

/*
 * A stack that no other event has. It belongs to @event or, if that is -1, to something that does
 * not count.
 */
static void put_frames(struct made *made, const char *before, const char *after, int event)
{
	u32 len = roll(made, 50) ? 1 + roll(made, 6) : DEEP, i;

	for (i = 0; i < len; i++) {
		char name[32];

		snprintf(name, sizeof(name),
			 i == 2 ? "own_%d"
			 : i	? "func_%u"
				: "first_%d",
			 i % 2 ? (int)i : event);
		ks_strbuf_printf(&made->log, "%s%s%s\n", before, name, after);
		if (event >= 0 && i < KS_STACK_MAX)
			ks_strbuf_printf(&made->stacks[event], "%s ", name);
	}
}

static void put_stack(struct made *made, int cpu, int pid, int event)
{
	put_header(made, cpu, pid);
	ks_strbuf_puts(&made->log, "<stack trace>\n");
	put_frames(made, " => ", "", event);
	if (!roll(made, 8)) {
		put_header(made, cpu, pid);
		ks_strbuf_puts(&made->log, "<user stack trace>\n =>  <00007f0000001000>\n");
	}
}

static void put_something_else(struct made *made, int cpu)
{
	switch (roll(made, 4)) {
	case 0:
		ks_strbuf_printf(&made->log, "CPU:%d [LOST 12 EVENTS]\n", cpu);
		return;
	case 1:
		ks_strbuf_puts(&made->log, "# a comment\n");
		return;
	case 2:
		ks_strbuf_puts(&made->log, "nothing that is known\n");
		return;
	default: /* a stack whose event is not in the log */
		put_stack(made, cpu, 999, -1);
		made->alone++;
	}
}

/* Something happens on a CPU: an event, its stack, or an interrupt in between. */
static void step(struct made *made, struct cpu *cpu, int number)
{
	struct context *now = &cpu->contexts[cpu->depth];

	if (now->pending && (cpu->depth + 1 == DEPTH || roll(made, 3))) {
		put_stack(made, number, cpu->pid, now->event);
		now->pending = false;
		if (cpu->depth)
			cpu->depth--;
		return;
	}
	if (now->pending)
		now = &cpu->contexts[++cpu->depth];
	else
		cpu->pid = 10 * number + (int)roll(made, 3);
	put_header(made, number, cpu->pid);
	/* Outside of interrupts there are events without a stack, too. */
	*now = (struct context){ .pending = cpu->depth || roll(made, 5), .event = -1 };
	if (!roll(made, 4)) {
		ks_strbuf_puts(&made->log, "sched_wakeup: comm=sh pid=12 prio=120\n");
		return;
	}
	now->event = (int)made->len;
	put_event(made);
}

static void make_ftrace(struct made *made)
{
	struct cpu cpus[CPUS] = { 0 };
	int i;

	put_stack(made, 0, 999, -1);
	ks_strbuf_puts(&made->log, "# and frames that follow nothing\n => nothing\n");
	made->alone += 2;
	for (i = 0; i < STEPS; i++) {
		int number = (int)roll(made, CPUS);

		if (!roll(made, 12))
			put_something_else(made, number);
		step(made, &cpus[number], number);
	}
}

/* In the form of perf: the kernel's frames follow, then those of the program. */
static void make_perf(struct made *made)
{
	int i;

	for (i = 0; i < STEPS; i++) {
		bool ours = roll(made, 4);
		int event = ours ? (int)made->len : -1;

		ks_strbuf_printf(&made->log, "task %d [%03u] 1.%06d: ", 10 + i % 3,
				 roll(made, CPUS), i);
		if (ours) {
			ks_strbuf_puts(&made->log, "kmem:");
			put_event(made);
		} else {
			ks_strbuf_puts(&made->log, "sched:sched_wakeup: comm=sh pid=12 prio=120\n");
		}
		if (roll(made, 5)) {
			put_frames(made, "\tffffffff81a6a2b8 ", " ([kernel.kallsyms])", event);
			ks_strbuf_puts(&made->log, "\t    7f0000001000 main (/usr/bin/task)\n\n");
		}
		if (!roll(made, 20)) {
			ks_strbuf_puts(&made->log,
				       "# a comment\n\tffffffff81a6a2b8 x ([kernel.kallsyms])\n");
			made->alone++;
		}
	}
}

static char *write_log(const struct made *made)
{
	char *path = scratch_path("stacks.log");
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(made->log.s, 1, made->log.len, f), made->log.len);
	assert_int_equal(fclose(f), 0);
	return path;
}

static void check_event(const struct made *made, u32 number, const struct ks_names *names,
			const struct ks_event *ev)
{
	struct ks_strbuf got;
	const u32 *frames;
	size_t len, i;
	char site[32];

	snprintf(site, sizeof(site), "site_%u+0x4f/0xb0", number % 7);
	assert_string_equal(ks_sites_get(&names->sites, ev->site)->text, site);
	assert_int_equal(ev->ptr, 0xffff880000000000 + number * 16);
	ks_strbuf_init(&got);
	frames = ks_names_stack(names, ev->stack, &len);
	for (i = 0; i < len; i++)
		ks_strbuf_printf(&got, "%s ", ks_sites_get(&names->frames, frames[i])->text);
	assert_string_equal(got.len ? got.s : "",
			    made->stacks[number].len ? made->stacks[number].s : "");
	ks_strbuf_deinit(&got);
}

static void check_cut(const struct made *made, const char *path, size_t chunk_size, u32 workers)
{
	struct ks_source_opts opts = { .stacks = true };
	struct ks_diag diag = { 0 };
	struct ks_input *input;
	struct ks_source *trace;
	struct ks_batch batch;
	u32 number = 0;
	size_t i;

	assert_int_equal(ks_input_open(path, &input, &diag), 0);
	assert_int_equal(ks_text_source_open_cut(input, &opts, chunk_size, workers, &trace, &diag),
			 0);
	do {
		assert_int_equal(ks_source_next(trace, &batch, &diag), 0);
		for (i = 0; i < batch.count; i++)
			if (batch.events[i].kind != KS_LOST)
				check_event(made, number++, &trace->names, &batch.events[i]);
	} while (batch.count);
	assert_int_equal(number, made->len);
	assert_int_equal(trace->info.stacks_alone, made->alone);
	ks_source_close(trace);
}

static void check_log(void (*make)(struct made *))
{
	struct made *made = calloc(1, sizeof(*made));
	u32 workers;
	size_t size, i;
	char *path;

	assert_non_null(made);
	ks_strbuf_init(&made->log);
	for (i = 0; i < EVENTS; i++)
		ks_strbuf_init(&made->stacks[i]);
	made->rng = 1;
	make(made);
	path = write_log(made);
	check_cut(made, path, 1 << 20, 1);
	for (workers = 0; workers <= 3; workers++)
		for (size = LONGEST; size < 2 * LONGEST; size += 7)
			check_cut(made, path, size, workers);
	check_cut(made, path, 4096, 8);
	unlink(path);
	free(path);
	for (i = 0; i < EVENTS; i++)
		ks_strbuf_deinit(&made->stacks[i]);
	ks_strbuf_deinit(&made->log);
	free(made);
}

static void test_ftrace(void **state)
{
	(void)state;
	check_log(make_ftrace);
}

static void test_perf(void **state)
{
	(void)state;
	check_log(make_perf);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_ftrace),
	cmocka_unit_test(test_perf),
};

KS_RUN(tests)
