// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting of one load or store: from its address to the object, from there to the record, and the
 * addition. The protocol of lanes and stamps is described at the head of core.c.
 */
#include <linux/hash.h>
#include <linux/sched.h>
#include <asm/sections.h>

#include "access.h"
#include "lane.h"
#include "made.h"
#include "memorizer.h"
#include "quick.h"
#include "stamps.h"

/* === Data ================================================================================= */

bool mz_access_on __read_mostly;

/* Set once there are lanes. Before the first time that counting is on, there are none. */
bool mz_access_ready __read_mostly;

/* Accesses before there were lanes. They come from early boot, when only one processor runs. */
static u64 early_accesses;

/* With more processors than a record can tell apart, two of them may count in one record. */
#define PROCESSORS_APART BIT(MZ_ACCESS_CPU_BITS)

/* === Internals: from the address to the object ============================================ */

static bool covers(const struct mz_where *where, unsigned long addr)
{
	return addr - where->start < where->len &&
	       where->stamp ==
		       mz_stamp_value(where->base_stamp) + mz_stamp_value(where->page_stamp);
}

/* Small objects are found by their cache line, large ones by their page. */
static struct mz_where *small_slot(const struct mz_lane *lane, unsigned long addr)
{
	return &lane->places[hash_long(addr >> 6, lane->place_bits)];
}

static struct mz_where *large_slot(const struct mz_lane *lane, unsigned long addr)
{
	return &lane->places[hash_long(~(addr >> PAGE_SHIFT), lane->place_bits)];
}

/* Each stamp is read before what it stands for, so a change meanwhile makes the result outdated. */
static noinline const struct mz_where *look_up(const struct mz_lane *lane, unsigned long addr)
{
	struct mz_place place;
	struct mz_where found;
	struct mz_where *slot;

	found.page_stamp = mz_stamp_of(addr & PAGE_MASK);
	found.stamp = mz_stamp_value(found.page_stamp);
	smp_rmb(); /* pairs with atomic_inc_return() in stamps.c */
	mz_locate(addr, &place);
	found.base_stamp = mz_stamp_of(place.base);
	found.stamp += mz_stamp_value(found.base_stamp);
	smp_rmb(); /* pairs with the same atomic_inc_return() */
	found.obj = mz_locate_object(&place);
	found.start = place.start;
	found.len = place.end - place.start;
	found.base = place.base;
	found.class = place.class;
	if (found.class == MZ_LOST_FULL)
		found.stamp--; /* not to be found again: there may be room next time */

	slot = found.len >= PAGE_SIZE / 2 ? large_slot(lane, addr) : small_slot(lane, addr);
	*slot = found;
	return slot;
}

/* === Internals: from the object to the record ============================================= */

/*
 * The instruction, thread, context, direction and processor: the key of a record of an object. The
 * low half is mz_access::ip. It is signed, so it may have taken one from the high half, which is
 * mz_access::who.
 */
static __always_inline u64 author_of(const struct mz_lane *lane, bool write, unsigned long ip)
{
	return lane->keys[write] + ip;
}

static u32 who_of(u64 author)
{
	return (author - (s32)author) >> 32;
}

/*
 * Where an access is to be counted: an author at a spot of an object. The caches of a lane know a
 * record that varies by the spot MZ_SPOT_VARIES alone.
 */
static struct mz_record_slot *record_slot(const struct mz_lane *lane, const struct mz_where *where,
					  u64 author, u32 spot)
{
	u64 key = ((where->base + where->page_stamp + ((u64)spot << 40)) ^ author << 20) *
			  GOLDEN_RATIO_64 +
		  author;

	return &lane->records[(key ^ key >> 29) * GOLDEN_RATIO_64 >> (64 - lane->record_bits)];
}

static bool same_record(const struct mz_record_slot *slot, const struct mz_where *where, u64 author,
			u32 spot)
{
	return slot->base == where->base && slot->page_stamp == where->page_stamp &&
	       slot->stamp == where->stamp && slot->author == author && slot->spot == spot;
}

static noinline struct mz_access *look_up_record(const struct mz_lane *lane,
						 const struct mz_where *where, u64 author, u32 spot,
						 bool full)
{
	struct mz_access *access;

	mz_made_check(where->obj);
	access = mz_index_access(&mz.index, where->obj, (u32)author, who_of(author), spot, full);
	if (READ_ONCE(mz.index.hungry))
		mz_access_refill();
	if (!access)
		return NULL;
	if (mz_access_spot(access) & MZ_SPOT_VARIES)
		spot = MZ_SPOT_VARIES;
	*record_slot(lane, where, author, spot) = (struct mz_record_slot){
		.base = where->base,
		.author = author,
		.access = access,
		.stamp = where->stamp,
		.page_stamp = where->page_stamp,
		.spot = spot,
	};
	return access;
}

static void add_shared(u64 *value, u64 by)
{
	u64 old = READ_ONCE(*value);

	while (!try_cmpxchg(value, &old, old + by))
		;
}

static __always_inline void add_to(struct mz_access *access, u32 count, u32 bytes)
{
	u64 by = mz_sums(count, bytes, 0);

	if (CONFIG_NR_CPUS > PROCESSORS_APART && unlikely(nr_cpu_ids > PROCESSORS_APART))
		add_shared(&access->sums, by);
	else
		WRITE_ONCE(access->sums, access->sums + by);
}

/* Whether there is room for another access. */
static __always_inline bool has_room(const struct mz_access *access)
{
	return mz_sums_have_room(READ_ONCE(access->sums));
}

/* === Internals: whose accesses are wanted ================================================= */

static __always_inline bool knows_task(const struct mz_lane *lane)
{
	return lane->task == current && lane->pid == current->pid &&
	       lane->wants_changes == (u32)atomic_read(&mz_wants_changes);
}

static u64 key_of(const struct mz_lane *lane, bool write)
{
	u32 pid = lane->level == MEMORIZER_IN_TASK ? lane->pid : 0;

	return ((u64)mz_who(pid, lane->level, write, raw_smp_processor_id()) << 32) -
	       mz_access_text_start();
}

/* The idle task counts by kind only: see count_slowly(). */
static void learn_task(struct mz_lane *lane)
{
	lane->task = current;
	lane->pid = current->pid;
	lane->wants_changes = (u32)atomic_read(&mz_wants_changes);
	smp_rmb(); /* pairs with atomic_inc_return() in wants_changed() */
	lane->wanted = mz_wants(lane->level);
	lane->keys[false] = key_of(lane, false);
	lane->keys[true] = key_of(lane, true);
	lane->quick = MZ_HAS_QUICK && lane->wanted && lane->level == MEMORIZER_IN_TASK &&
		      !is_idle_task(current) && nr_cpu_ids <= PROCESSORS_APART;
	if (lane->quick)
		*raw_cpu_ptr(&mz_quick) = (struct mz_quick){
			.keys = { lane->keys[false], lane->keys[true] },
			.recents = lane->recents,
			.mask = BIT(lane->recent_bits) - 1,
		};
}

/* === Internals: counting ================================================================== */

struct operation {
	unsigned long start, end, ip;
	u64 author;
	const void *credited; /* the object or class that has counted it already */
	/* The record of that object, and how much of the operation is in it. */
	struct mz_access *access;
	unsigned long bytes;
};

static const struct mz_where *find_where(const struct mz_lane *lane, unsigned long addr)
{
	const struct mz_where *where = small_slot(lane, addr);

	if (covers(where, addr))
		return where;
	where = large_slot(lane, addr);
	return covers(where, addr) ? where : look_up(lane, addr);
}

static struct mz_access *find_record(const struct mz_lane *lane, const struct operation *op,
				     const struct mz_where *where, unsigned long addr)
{
	u32 spot = mz_spot_of(addr - mz_object_addr(where->obj));
	struct mz_record_slot *slot;

	if (!(spot & MZ_SPOT_VARIES)) {
		slot = record_slot(lane, where, op->author, spot);
		if (same_record(slot, where, op->author, spot))
			return slot->access;
	}
	slot = record_slot(lane, where, op->author, MZ_SPOT_VARIES);
	if (same_record(slot, where, op->author, MZ_SPOT_VARIES))
		return slot->access;
	return look_up_record(lane, where, op->author, spot, false);
}

/* In the place of a record that is full. */
static struct mz_access *further_record(const struct mz_lane *lane, const struct operation *op,
					const struct mz_where *where, const struct mz_access *full)
{
	return look_up_record(lane, where, op->author, mz_access_spot(full) & ~MZ_SPOT_LENGTHS,
			      true);
}

/* How many accesses of that size a record has room for. */
static s32 room_for(const struct mz_access *access, u32 size)
{
	u64 sums = READ_ONCE(access->sums);
	u32 accesses = (1U << (MZ_COUNT_BITS - 1)) - mz_sums_count(sums);
	u32 bytes = (1U << (MZ_BYTES_BITS - 1)) - mz_sums_bytes(sums);

	return has_room(access) ? min(accesses, bytes / size) : 0;
}

/*
 * Where a record varies, or there is none, the instruction may do the same anywhere in the range.
 */
static void remember(struct mz_lane *lane, const struct operation *op, const struct mz_where *where,
		     u32 size)
{
	bool anywhere = !op->access || mz_access_spot(op->access) & MZ_SPOT_VARIES;

	*mz_recent_of(lane, op->ip) = (struct mz_recent){
		.author = op->author,
		.start = anywhere ? where->start : op->start,
		.span = anywhere ? where->len - size : 0,
		.access = op->access ?: &lane->nobody,
		.count = &lane->counts[where->class],
		.stamp = where->stamp,
		.base_stamp = where->base_stamp,
		.page_stamp = where->page_stamp,
		.size = size,
		.left = op->access ? room_for(op->access, size) : S32_MAX,
	};
}

/* No more of the operation comes into its record. */
static void close_record(struct operation *op)
{
	u64 sums = op->access ? READ_ONCE(op->access->sums) : 0;

	if (op->access && !(mz_sums_spot(sums) & MZ_SPOT_LENGTHS) &&
	    mz_sums_bytes(sums) != (u64)mz_sums_count(sums) * op->bytes)
		mz_access_vary(op->access, MZ_SPOT_LENGTHS);
	op->access = NULL;
	op->bytes = 0;
}

/*
 * The part of an operation that is in one place. All parts in one object are one access to it, at
 * the spot of the first. Return: where the next part starts.
 */
static unsigned long count_part(struct mz_lane *lane, struct operation *op, unsigned long addr)
{
	const struct mz_where *where = find_where(lane, addr);
	u32 bytes = min(op->end, where->start + where->len) - addr;
	const void *target = where->obj ? where->obj : (const void *)(unsigned long)where->class;
	bool first = target != op->credited, whole = addr == op->start && addr + bytes == op->end;

	if (first) {
		close_record(op);
		op->credited = target;
		if (where->obj)
			op->access = find_record(lane, op, where, addr);
	}
	if (op->access && unlikely(!has_room(op->access)))
		op->access = further_record(lane, op, where, op->access);
	if (op->access) {
		add_to(op->access, first, bytes);
		op->bytes += bytes;
	}
	if (whole && (op->access || !where->obj))
		remember(lane, op, where, bytes);
	lane->counts[where->obj && !op->access ? MZ_LOST_FULL : where->class] += first;
	return addr + bytes;
}

/*
 * The kernel reports an atomic operation. If the operation is a plain load or store, the compiler
 * reports it as well, from an instruction that is less than this number of bytes further on.
 */
#define REPORT_DISTANCE 128

static __always_inline bool reported_before(struct mz_lane *lane, unsigned long addr, size_t size,
					    bool write, unsigned long ip, enum mz_reporter reporter)
{
	bool before = reporter == MZ_COMPILER && lane->reported_addr == addr &&
		      lane->reported_size == size && lane->reported_write == write &&
		      ip - lane->reported_ip < REPORT_DISTANCE;

	lane->reported_addr = reporter == MZ_KERNEL ? addr : 0;
	if (reporter == MZ_KERNEL) {
		lane->reported_ip = ip;
		lane->reported_size = size;
		lane->reported_write = write;
	}
	return before;
}

/*
 * The next accesses of this task may be counted without entering the lane. Who has changed what is
 * wanted takes that back on all processors, by mz_access_forget_tasks(): either that comes after
 * this, or the change is seen here.
 */
static __always_inline void open_quick_way(struct mz_lane *lane)
{
	if (!lane->quick || lane->task != current || lane->reported_addr)
		return;
	raw_cpu_write(mz_quick_task, lane->task);
	smp_mb(); /* pairs with smp_mb() in mz_access_forget_tasks() */
	if (unlikely(!knows_task(lane) || !READ_ONCE(mz_access_on)))
		raw_cpu_write(mz_quick_task, NULL);
}

/*
 * An interrupt that came while preemption was off may want another task to run, so this checks for
 * it: otherwise a preemptible kernel would lose the request until the next interrupt. It is safe
 * anywhere. The check does nothing unless preemption was on and interrupts are on, and there the
 * interrupt itself would have rescheduled. "notrace" keeps the scheduler's tracing from recursing.
 */
static __always_inline void leave(struct mz_lane *lane)
{
	barrier();
	lane->busy = false;
	open_quick_way(lane);
	preempt_enable_notrace();
}

/* Whether the instruction is too far from the kernel's text for mz_access::ip. */
static __always_inline bool is_far(unsigned long ip)
{
	long distance = ip - mz_access_text_start();

	return distance != (s32)distance;
}

/*
 * The case that the instruction did the same before and nothing has changed, with the lane entered:
 * in interrupts, for ranges, and after what closes the way of quick.h. False: something is new.
 */
static __always_inline bool count_again(struct mz_lane *lane, unsigned long addr, size_t size,
					bool write, unsigned long ip)
{
	struct mz_recent *recent;

	if (unlikely(!knows_task(lane) || is_far(ip)))
		return false;
	if (!lane->wanted)
		return true;
	recent = mz_recent_of(lane, ip);
	if (recent->author != author_of(lane, write, ip) || recent->size != size ||
	    addr - recent->start > recent->span ||
	    recent->stamp !=
		    mz_stamp_value(recent->base_stamp) + mz_stamp_value(recent->page_stamp))
		return false;
	if (unlikely(--recent->left < 0))
		return false;
	add_to(recent->access, 1, size);
	++*recent->count;
	return true;
}

/* The idle task counts by kind only: RCU does not wait for it, so mz_access_settle() can't. */
static noinline void count_slowly(struct mz_lane *lane, unsigned long addr, size_t size, bool write,
				  unsigned long ip)
{
	struct operation op = { .start = addr, .end = addr + size, .ip = ip };

	if (!knows_task(lane))
		learn_task(lane);
	op.author = author_of(lane, write, ip);
	if (!lane->wanted) {
		; /* nothing to do */
	} else if (op.end > -PAGE_SIZE || op.end < addr) {
		/* An error code that is taken for a pointer: the end of its page is address 0. */
		lane->counts[MZ_TO_OTHER]++;
	} else if (is_far(ip)) {
		lane->counts[MZ_LOST_FAR]++;
	} else if (lane->level == MEMORIZER_IN_TASK && is_idle_task(current)) {
		lane->counts[MZ_BY_IDLE]++;
	} else {
		while (addr < op.end)
			addr = count_part(lane, &op, addr);
		close_record(&op);
	}
	leave(lane);
}

/* interrupt_context_level(), faster in tasks, where most accesses are. */
static __always_inline int context_level(void)
{
	if (likely(!(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))))
		return MEMORIZER_IN_TASK;
	return interrupt_context_level();
}

/* === Internals: accesses that come while one is counted =================================== */

/* An access in an interrupt: what it has interrupted may have been the memorizer. */
static void note_interrupt(int level)
{
	while (level--)
		raw_cpu_ptr(&mz_lanes[level])->interrupted = true;
}

/*
 * Those of the functions that the memorizer calls are its own. The last steps of an interrupt, with
 * interrupts still off, look like those of the interrupted context, and are lost.
 */
static noinline enum mz_class why_nested(const struct mz_lane *lane)
{
	if (!lane->recents)
		return MZ_LOST_CPU;
	if (raw_cpu_read(mz_guard) & MZ_GUARD_LOCKED)
		return MZ_BY_OWN;
	return lane->interrupted && raw_irqs_disabled() ? MZ_LOST_NESTED : MZ_BY_OWN;
}

/* === Interface to the callbacks =========================================================== */

/*
 * The functions that lock are instrumented and called from here: "busy" and the guard keep their
 * accesses out. An interrupt has its own lane. But the kernel leaves the interrupt's context
 * level a few instructions before the end of the interrupt, whose last accesses then look like
 * those of the interrupted context.
 *
 * count_slowly() calls leave() itself. So the compiler can jump to it, and the quick path saves
 * no registers.
 */
void mz_access_count(unsigned long addr, size_t size, bool write, unsigned long ip,
		     enum mz_reporter reporter)
{
	struct mz_lane *lane;
	int level;

	if (unlikely(!READ_ONCE(mz_access_on)))
		return;
	if (unlikely(!READ_ONCE(mz_access_ready))) {
		early_accesses++;
		return;
	}
	preempt_disable_notrace();
	level = context_level();
	if (unlikely(level > MEMORIZER_IN_HARDIRQ)) {
		this_cpu_inc(mz_lanes[MEMORIZER_IN_HARDIRQ].counts[MZ_LOST_NMI]);
		preempt_enable_notrace();
		return;
	}
	if (unlikely(level > MEMORIZER_IN_TASK))
		note_interrupt(level);
	else
		raw_cpu_write(mz_quick_task, NULL);
	lane = raw_cpu_ptr(&mz_lanes[level]);
	if (unlikely(lane->busy || raw_cpu_read(mz_guard) & (MZ_GUARD_LOCKED | BIT(level)))) {
		lane->counts[why_nested(lane)]++;
		preempt_enable_notrace();
		return;
	}
	lane->busy = true;
	lane->interrupted = false;
	barrier();
	if (reported_before(lane, addr, size, write, ip, reporter) ||
	    count_again(lane, addr, size, write, ip))
		leave(lane);
	else
		count_slowly(lane, addr, size, write, ip);
}

/* === Public =============================================================================== */

/*
 * What was found out about running tasks may no longer hold. Any context; the change comes before.
 */
void mz_access_forget_tasks(void)
{
	int cpu;

	smp_mb(); /* pairs with smp_mb() in open_quick_way() */
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(mz_quick_task, cpu), NULL);
}

u64 mz_access_nr_early(void)
{
	return READ_ONCE(early_accesses);
}
