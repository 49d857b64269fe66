// SPDX-License-Identifier: LGPL-2.1-only
/* Level 3: ends of objects that no program has seen, by exact counts. */
#include "live/exact.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* === Internals ============================================================================ */

static struct ks_bpf_object *object_of(const struct ks_exact *e, u32 number)
{
	return &e->objects[number / KS_LIVE_WAYS].objects[number % KS_LIVE_WAYS];
}

static bool is_there(const struct ks_bpf_bucket *bucket, u64 addr, u64 older_than)
{
	u32 way;

	for (way = 0; way < KS_LIVE_WAYS; way++)
		if (bucket->objects[way].addr == addr && bucket->objects[way].what > older_than)
			return true;
	return false;
}

/* A younger one has the address by now: programs look for an old one only where they put a new one first. */
static bool is_replaced(const struct ks_exact *e, u32 bucket, u64 addr, u64 what)
{
	u32 place, at;

	if (ks_live_bucket_of(addr, 0, e->groups) == bucket)
		return false;
	for (place = 0; place < KS_LIVE_PLACES && place <= e->program->bss->deepest; place++) {
		at = ks_live_bucket_of(addr, place, e->groups);
		if (is_there(&e->objects[at], addr, what | ((1ull << KS_LIVE_CELL_BITS) - 1)))
			return true;
	}
	return false;
}

/* Whether the count says that it is gone. What is younger than the count, that does not know. */
static bool is_gone(const struct ks_exact *e, const struct ks_in_use *use, u32 bucket, u64 addr,
		    u64 what)
{
	if (addr <= KS_LIVE_HELD || what >> KS_LIVE_CELL_BITS >= e->count_ticks)
		return false;
	return !ks_in_use(use, addr) || is_replaced(e, bucket, addr, what);
}

static int hold_if_gone(struct ks_exact *e, const struct ks_in_use *use, u32 number)
{
	struct ks_bpf_object *object = object_of(e, number);
	unsigned long long addr = __atomic_load_n(&object->addr, __ATOMIC_ACQUIRE), is = addr;
	u64 what = __atomic_load_n(&object->what, __ATOMIC_RELAXED);
	struct ks_held *held;

	if (!is_gone(e, use, number / KS_LIVE_WAYS, addr, what))
		return 0;
	held = ks_vec_push(&e->held);
	if (!held)
		return -ENOMEM;
	*held = (struct ks_held){ addr, what, number };
	if (!__atomic_compare_exchange_n(&object->addr, &is, KS_LIVE_HELD, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		e->held.len--;
	return 0;
}

/*
 * Where a program ended it meanwhile, nobody holds it any more. Or it was another object already when it was held: that is
 * put back.
 */
static void drop(struct ks_exact *e, const struct ks_held *held)
{
	struct ks_bpf_object *object = object_of(e, held->number);
	u32 cell = (u32)(held->what & (KS_LIVE_CELLS - 1));
	unsigned long long is = KS_LIVE_HELD;
	bool same = __atomic_load_n(&object->what, __ATOMIC_RELAXED) == held->what;

	if (!__atomic_compare_exchange_n(&object->addr, &is, same ? 0 : held->addr, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED) ||
	    !same)
		return;
	e->fewer_objects[cell]++;
	e->fewer_ticks[cell] += (s64)(held->what >> KS_LIVE_CELL_BITS);
	e->reconciled++;
	e->reconciled_bytes += e->cells[cell].size;
}

/* === Public =============================================================================== */

u64 ks_exact_ticks(struct ks_exact *e)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (bpf_prog_test_run_opts(bpf_program__fd(e->program->progs.tell_time), &opts))
		return 0;
	return e->program->bss->clock_ticks;
}

/* Where the kernel does not tell, it waits for much longer than they take. */
void ks_exact_wait(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(100000);
}

/* What is born from now on has this tick or a later one, however late the kernel counts them. */
void ks_exact_counting(void *arg)
{
	struct ks_exact *e = arg;

	e->count_ticks = ks_exact_ticks(e);
}

/*
 * What is gone is held first. Programs that found it before are waited for: they may end it. Whose end comes while it is held
 * stays in the table until the next count.
 */
void ks_exact_counted(void *arg, const struct ks_in_use *use)
{
	struct ks_exact *e = arg;
	u32 slots = e->groups * KS_EXACT_GROUP * KS_LIVE_WAYS, i;
	size_t held;

	for (i = 0; i < slots; i++)
		if (hold_if_gone(e, use, i))
			break;
	if (e->held.len)
		ks_exact_wait();
	for (held = 0; held < e->held.len; held++)
		drop(e, &e->held.items[held]);
	ks_vec_free(&e->held);
}
