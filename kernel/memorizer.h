/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the memorizer share. */
#ifndef MEMORIZER_H
#define MEMORIZER_H

#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/trace_clock.h>
#include <linux/wait.h>

#include "access.h"
#include "record.h"

struct dentry;
struct kmem_cache;
struct seq_file;
struct task_struct;

/* === Counters: nothing is lost without one of them (stats.c) === */

enum mz_counter {
	MZ_ALLOCS,
	MZ_FREES,
	MZ_FREES_IMPLIED,
	MZ_FREES_UNKNOWN,
	MZ_FREES_NULL,
	MZ_ALLOCS_FAILED,
	MZ_DROPPED_FULL,
	MZ_DROPPED_RECURSION,
	MZ_DROPPED_NMI,
	MZ_NAMELESS_SITES,
	MZ_NAMELESS_COMMS,
	MZ_MARKS_LOST,
	MZ_STREAMED,
	MZ_CLEARED,
	MZ_COUNTERS
};

struct mz_counters {
	u64 value[MZ_COUNTERS];
};

DECLARE_PER_CPU(struct mz_counters, mz_counters);

static inline void mz_count(enum mz_counter counter)
{
	this_cpu_inc(mz_counters.value[counter]);
}

u64 mz_counter_sum(enum mz_counter counter);
int mz_stats_show(struct seq_file *m, void *unused);

/* === Modes and marks (mode.c) === */

enum mz_mode {
	MZ_OFF = 0,
	MZ_SYSTEM = 1,
	MZ_TASKS_AND_IRQS = 2,
	MZ_TASKS = 3,
};

struct mz_request {
	enum mz_mode mode;
	int pid; /* 0: the writing process */
};

int mz_request_parse(int value, struct mz_request *ret_request);
int mz_mode_set(int value);
int mz_mode_show(char *buf, size_t size);
bool mz_wants(enum memorizer_context context);
bool mz_marked(const struct task_struct *task);
int mz_mark(const struct task_struct *task);
void mz_unmark(const struct task_struct *task);
void mz_marks_exit(void);

extern atomic_t mz_wants_changes; /* grows with what may change the answer of mz_wants() */

/* === Objects that have ended and wait for a reader (dead.c) === */

struct mz_dead {
	struct mutex lock; /* guards chain, taken, printed and gen */
	struct mz_chain chain;
	u64 taken;    /* objects that have left the front of the chain, ever */
	u64 printed;  /* up to this position readers of kmap have seen them */
	u8 gen;	      /* number of the last snapshot, see mz_object::gen */
	bool waiting; /* someone sleeps until an object ends */
	wait_queue_head_t wait;
	struct irq_work wake;
};

void mz_dead_init(void);
void mz_dead_exit(void);
void mz_dead_announce(void);
bool mz_dead_ready(void);
void mz_dead_collect(struct mz_chain *to);
struct mz_object *mz_dead_pop(void);
void mz_dead_unpop(struct mz_object *obj);
void mz_dead_release(struct mz_object *obj);
void mz_dead_printed(u64 position);
int mz_clear_dead(void);
int mz_clear_printed(void);
int mz_clear_live(void);

/* === The whole (core.c) === */

struct memorizer {
	struct mz_index index;
	struct mz_names names;
	struct mz_dead dead;
	u32 implied_site;
	struct mutex control; /* serialises changes of mode and probes */
	enum mz_mode mode;
	int mode_pid;	  /* whom it was set for, in the writer's numbers */
	bool mode_is_pid; /* by a number that was not 2 or 3 */
	bool print_live;
	bool log_access;
	/* In use before the first object could be tracked; 0 in a module. */
	unsigned long boot_pages, boot_slab_pages;
	const char *failed; /* why it has switched itself off */
};

extern struct memorizer mz;

/* What ftrace calls its local clock: the same for all contexts, and cheap. */
static inline u64 mz_now(void)
{
	return trace_clock_local();
}

/* The clock and jiffies run apart in the long run, so they are tied anew for each reader. */
static inline struct mz_clock mz_clock_sample(void)
{
	return (struct mz_clock){
		.base_ns = mz_now(),
		.base_jiffies = get_jiffies_64(),
		.tick_ns = TICK_NSEC,
	};
}

/* One allocation as a tracepoint reports it. */
struct mz_alloc {
	enum memorizer_kind kind;
	unsigned long ip;
	unsigned long addr;
	size_t bytes_req;
	size_t bytes_alloc;
	struct kmem_cache *cache; /* of MEMORIZER_CACHE, which has the sizes */
	gfp_t gfp;
	int node;
};

void mz_alloc(struct mz_alloc *alloc);
void mz_free(enum memorizer_kind kind, unsigned long ip, unsigned long addr, size_t bytes);
int mz_guard_enter(void);
void mz_guard_leave(int level);
void mz_fail(const char *why);

DECLARE_PER_CPU(unsigned int, mz_guard);

/* === Where events come from (events.c, bulk.c), and what they leave out (cache.c, caller.c) === */

struct mz_probe {
	const char *name;
	void *func;
	struct tracepoint *tp; /* NULL where the kernel has none of this name */
	bool attached;
};

void mz_probes_find(struct mz_probe *probes, unsigned int nr);
int mz_probes_attach(struct mz_probe *probes, unsigned int nr);
void mz_probes_detach(struct mz_probe *probes, unsigned int nr);

int mz_events_update(void);
void mz_events_exit(void);
bool mz_events_attached(void);
void mz_events_show(struct seq_file *m);

void mz_cache_init(void);
void mz_cache_describe(struct kmem_cache *cache, const void *object, struct mz_site *site);

int mz_caller_init(void);
void mz_caller_exit(void);
unsigned long mz_page_caller(void);

/* === Files === */

/* One that holds a flag (flag.c). It is the data of the file. */
struct mz_flag {
	const bool *value;
	int (*set)(bool value);
	const char *texts[2]; /* what is read when it is not set, and when it is */
};

extern const struct file_operations mz_flag_fops;
extern const struct file_operations mz_kmap_fops, mz_kmap_bin_fops;
extern const struct file_operations mz_stream_text_fops;
extern const struct file_operations mz_stream_bin_fops;

/* The function whose address in the output gives away where the kernel image lies. */
#define MZ_ANCHOR_NAME "kfree"
u64 mz_anchor(void);
void mz_header_fill(const struct mz_clock *clock, struct memorizer_header *ret_header);

void mz_control_init(void);
void mz_control_exit(void);

int kmemtrace_init(void);
void kmemtrace_exit(void);
bool kmemtrace_is_on(void);
void kmemtrace_log_alloc(const struct mz_alloc *alloc);
void kmemtrace_log_free(enum memorizer_kind kind, unsigned long ip, unsigned long addr);

#endif /* MEMORIZER_H */
