// SPDX-License-Identifier: LGPL-2.1-only
/* A loop over independent items, on all processors. */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* === Data ================================================================================= */

/* How many are taken at a time: often enough to share evenly, seldom enough not to fight for the counter. */
enum { CHUNK = 8 };

struct loop {
	size_t items;
	atomic_size_t next; /* the first index that no one took */
	void (*fn)(void *arg, size_t index, unsigned int worker);
	void *arg;
};

struct worker {
	struct loop *loop;
	unsigned int number;
	pthread_t thread;
};

/* === Internals ============================================================================ */

static void *work(void *arg)
{
	struct worker *w = arg;
	struct loop *loop = w->loop;
	size_t at, end;

	while ((at = atomic_fetch_add(&loop->next, CHUNK)) < loop->items)
		for (end = ks_min(at + CHUNK, loop->items); at < end; at++)
			loop->fn(loop->arg, at, w->number);
	return NULL;
}

/* === Public =============================================================================== */

unsigned int ks_parallel_cpus(void)
{
	cpu_set_t set;
	long online;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (unsigned int)CPU_COUNT(&set);
	/* More processors than the set has room for. */
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online < 1 ? 1 : (unsigned int)online;
}

unsigned int ks_parallel_workers(size_t items)
{
	size_t n = ks_parallel_cpus();

	n = ks_min(n, (items + CHUNK - 1) / CHUNK);
	return (unsigned int)ks_max(ks_min(n, (size_t)KS_WORKERS_MAX), (size_t)1);
}

void ks_parallel_for(size_t items, void (*fn)(void *arg, size_t index, unsigned int worker),
		     void *arg)
{
	struct loop loop = { .items = items, .fn = fn, .arg = arg };
	struct worker workers[KS_WORKERS_MAX];
	unsigned int count = ks_parallel_workers(items), started = 1, i;

	for (i = 0; i < count; i++)
		workers[i] = (struct worker){ .loop = &loop, .number = i };
	while (started < count &&
	       !pthread_create(&workers[started].thread, NULL, work, &workers[started]))
		started++;
	work(&workers[0]);
	for (i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
}
