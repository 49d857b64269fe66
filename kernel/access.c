// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting of loads and stores.
 *
 * Each processor has a lane for each of its contexts (task, softirq, hardirq), which only that
 * context uses, with preemption off. In a lane are two caches: from an address to the object that
 * it is in, and from object, instruction and thread to the record where they are counted. What is
 * in neither of them is looked up in the index, and a record is made there.
 *
 * What the first cache says holds as long as the stamps of the object's address and of its page are
 * the same: they change whenever an object starts or ends there, counting or not. A record may be
 * used until preemption is on again; see mz_access_settle().
 */
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>
#include <asm/sections.h>

#include "hooks.h"
#include "locate.h"
#include "stamps.h"

/* === Data ================================================================================= */

bool mz_access_on __read_mostly;

/* Whether there are tables to count in. Before that only the boot processor runs. */
static bool ready __read_mostly;
static u64 early_accesses;

struct where {
	unsigned long start, len;
	struct mz_object *obj; /* NULL: none that is tracked */
	unsigned long base;
	u32 stamp; /* the sum of two */
	u16 base_stamp, page_stamp;
	enum mz_class class;
};

/* As in struct where, a sum tells only what became of the same two stamps. */
struct record_slot {
	unsigned long base;
	u64 author;
	struct mz_access *access;
	u32 stamp;
	u16 page_stamp;
};

/* What an instruction did last: most do the same again, to the same object. One cache line. */
struct recent {
	struct where where; /* of class MZ_TO_OBJECT, if there is a record */
	struct mz_access *access;
	u64 author; /* see author_of() */
};

#define RECENT_BITS 9

struct lane {
	struct recent *recents;
	struct where *places;
	struct record_slot *records;
	u8 place_bits, record_bits;
	u8 level;  /* enum memorizer_context */
	bool busy; /* an access is being counted here */
	/* Whether accesses are wanted of the task, as of this state of the mode and the marks. */
	bool wanted;
	u32 wants_changes;
	const struct task_struct *task;
	/* What the kernel has told of last: the compiler may be about to tell it again. */
	unsigned long told_addr, told_ip;
	size_t told_size;
	bool told_write;
	u64 counts[MZ_CLASSES];
};

static DEFINE_PER_CPU(struct lane, lanes[MEMORIZER_IN_HARDIRQ + 1]);

/* With more processors than a record can tell apart, two of them may count in the same one. */
#define PROCESSORS_APART BIT(MZ_ACCESS_CPU_BITS)

/* Blank pages for records in each shard of the index. */
#define RESERVE_MAX 32

/* How many of them are taken in one interrupt. */
#define REFILL_BATCH 64

static struct irq_work refill_work;

static bool counting; /* what mz_access_update() has decided; mz_access_on may be ahead at boot */

/* === Internals: from the address to the object ============================================ */

static bool covers(const struct where *where, unsigned long addr)
{
	return addr - where->start < where->len &&
	       where->stamp ==
		       mz_stamp_value(where->base_stamp) + mz_stamp_value(where->page_stamp);
}

/* Small objects are found by their cache line, large ones by their page. */
static struct where *small_slot(const struct lane *lane, unsigned long addr)
{
	return &lane->places[hash_long(addr >> 6, lane->place_bits)];
}

static struct where *large_slot(const struct lane *lane, unsigned long addr)
{
	return &lane->places[hash_long(~(addr >> PAGE_SHIFT), lane->place_bits)];
}

/* A stamp is read before what it stands for: what changes meanwhile is then seen to be outdated. */
static noinline const struct where *look_up(const struct lane *lane, unsigned long addr)
{
	struct mz_place place;
	struct where found;
	struct where *slot;

	found.page_stamp = mz_stamp_of(addr & PAGE_MASK);
	found.stamp = mz_stamp_value(found.page_stamp);
	smp_rmb(); /* pairs with atomic_inc_return() in stamps.c */
	mz_locate(addr, &place);
	found.base_stamp = mz_stamp_of(place.base);
	found.stamp += mz_stamp_value(found.base_stamp);
	smp_rmb(); /* likewise */
	found.obj = mz_locate_object(&place);
	found.start = place.start;
	found.len = place.end - place.start;
	found.base = place.base;
	found.class = place.class;

	slot = found.len >= PAGE_SIZE / 2 ? large_slot(lane, addr) : small_slot(lane, addr);
	*slot = found;
	return slot;
}

/* === Internals: from the object to the record ============================================= */

/*
 * Full long before a count overflows: no operation adds more than a page at once, and where two
 * processors count in the same record, both may find room in it.
 */
static bool has_room(const struct mz_access *access)
{
	return (READ_ONCE(access->count) | READ_ONCE(access->bytes)) <= U32_MAX / 2;
}

/* Which instruction it is, and whose: what tells the records of an object apart. */
static __always_inline u64 author_of(int level, bool write, unsigned long ip)
{
	u32 pid = level == MEMORIZER_IN_TASK ? current->pid : 0;

	return (u64)mz_who(pid, level, write, raw_smp_processor_id()) << 32 |
	       (u32)(ip - mz_access_text_start());
}

static struct record_slot *record_slot(const struct lane *lane, const struct where *where,
				       u64 author)
{
	u64 key = ((where->base + where->page_stamp) ^ author << 20) * GOLDEN_RATIO_64 + author;

	return &lane->records[(key ^ key >> 29) * GOLDEN_RATIO_64 >> (64 - lane->record_bits)];
}

static bool same_record(const struct record_slot *slot, const struct where *where, u64 author)
{
	return slot->base == where->base && slot->page_stamp == where->page_stamp &&
	       slot->stamp == where->stamp && slot->author == author;
}

static noinline struct mz_access *look_up_record(struct record_slot *slot,
						 const struct where *where, u64 author, bool full)
{
	struct mz_access *access =
		mz_index_access(&mz.index, where->obj, (u32)author, author >> 32, full);

	if (READ_ONCE(mz.index.hungry))
		irq_work_queue(&refill_work);
	if (access)
		*slot = (struct record_slot){
			.base = where->base,
			.author = author,
			.access = access,
			.stamp = where->stamp,
			.page_stamp = where->page_stamp,
		};
	return access;
}

static __always_inline void add_to(struct mz_access *access, u32 count, u32 bytes)
{
	if (CONFIG_NR_CPUS > PROCESSORS_APART && unlikely(nr_cpu_ids > PROCESSORS_APART)) {
		atomic_add(count, (atomic_t *)&access->count);
		atomic_add(bytes, (atomic_t *)&access->bytes);
		return;
	}
	WRITE_ONCE(access->count, access->count + count);
	WRITE_ONCE(access->bytes, access->bytes + bytes);
}

/* === Internals: whose accesses are wanted ================================================= */

static __always_inline bool knows_task(const struct lane *lane)
{
	return lane->task == current && lane->wants_changes == (u32)atomic_read(&mz_wants_changes);
}

static void learn_task(struct lane *lane)
{
	lane->task = current;
	lane->wants_changes = (u32)atomic_read(&mz_wants_changes);
	smp_rmb(); /* pairs with atomic_inc_return() in wants_changed() */
	lane->wanted = mz_wants(lane->level);
}

static bool on_own_stack(unsigned long addr)
{
	return addr - (unsigned long)task_stack_page(current) < THREAD_SIZE;
}

/* === Internals: counting ================================================================== */

struct operation {
	unsigned long end;
	u64 author;
	const void *credited; /* what has counted it already */
};

static struct recent *recent_of(const struct lane *lane, u64 author)
{
	return &lane->recents[hash_32((u32)author, RECENT_BITS)];
}

static const struct where *find_where(const struct lane *lane, unsigned long addr)
{
	const struct where *where = small_slot(lane, addr);

	if (covers(where, addr))
		return where;
	where = large_slot(lane, addr);
	return covers(where, addr) ? where : look_up(lane, addr);
}

static struct mz_access *find_record(const struct lane *lane, const struct operation *op,
				     const struct where *where, bool full)
{
	struct record_slot *slot = record_slot(lane, where, op->author);

	if (same_record(slot, where, op->author) && !full)
		return slot->access;
	return look_up_record(slot, where, op->author, full);
}

static void remember(struct recent *recent, u64 author, const struct where *where,
		     struct mz_access *access)
{
	*recent = (struct recent){ *where, access, author };
	if (access)
		recent->where.class = MZ_TO_OBJECT;
}

/* The part of an operation that is in one place. Return: where the next part starts. */
static unsigned long count_part(struct lane *lane, struct operation *op, unsigned long addr)
{
	struct recent *recent = recent_of(lane, op->author);
	const struct where *where = find_where(lane, addr);
	struct mz_access *access = where->obj ? find_record(lane, op, where, false) : NULL;
	u32 bytes = min(op->end, where->start + where->len) - addr;
	const void *target = where->obj ? where->obj : (const void *)(unsigned long)where->class;
	bool first = target != op->credited;

	op->credited = target;
	if (access && unlikely(!has_room(access)))
		access = find_record(lane, op, where, true);
	if (access || !where->obj)
		remember(recent, op->author, where, access);
	if (access)
		add_to(access, first, bytes);
	lane->counts[access ? MZ_TO_OBJECT : where->obj ? MZ_LOST_FULL : where->class] += first;
	return addr + bytes;
}

/* An atomic operation is told by the kernel; one that is a plain load or store, by both. */
#define TOLD_DISTANCE 128

static __always_inline bool told_before(struct lane *lane, unsigned long addr, size_t size,
					bool write, unsigned long ip, enum mz_teller teller)
{
	bool before = teller == MZ_COMPILER && lane->told_addr == addr && lane->told_size == size &&
		      lane->told_write == write && ip - lane->told_ip < TOLD_DISTANCE;

	lane->told_addr = teller == MZ_KERNEL ? addr : 0;
	if (teller == MZ_KERNEL) {
		lane->told_ip = ip;
		lane->told_size = size;
		lane->told_write = write;
	}
	return before;
}

/* Preemption stays off without a thought of rescheduling: this may be anywhere. */
static __always_inline void leave(struct lane *lane)
{
	barrier();
	lane->busy = false;
	preempt_enable_no_resched_notrace();
}

/* Whether a record has no room to say where the instruction is. */
static __always_inline bool is_far(unsigned long ip)
{
	long distance = ip - mz_access_text_start();

	return distance != (s32)distance;
}

/*
 * What is to be done if nothing has changed since the instruction did the same. Return: whether
 * that was so.
 */
static __always_inline bool count_quickly(struct lane *lane, unsigned long addr, size_t size,
					  bool write, unsigned long ip)
{
	const struct recent *recent;
	unsigned long offset;
	u64 author;

	if (unlikely(!knows_task(lane) || is_far(ip)))
		return false;
	if (!lane->wanted)
		return true;
	if (on_own_stack(addr)) {
		lane->counts[MZ_TO_STACK]++;
		return true;
	}
	author = author_of(lane->level, write, ip);
	recent = recent_of(lane, author);
	offset = addr - recent->where.start;
	if (recent->author != author || !covers(&recent->where, addr) ||
	    size - 1 >= recent->where.len - offset)
		return false;
	if (recent->access) {
		if (unlikely(!has_room(recent->access)))
			return false;
		add_to(recent->access, 1, size);
	}
	lane->counts[recent->where.class]++;
	return true;
}

/* The idle task counts by kind only: RCU does not wait for it, and so we could not. */
static noinline void count_slowly(struct lane *lane, unsigned long addr, size_t size, bool write,
				  unsigned long ip)
{
	struct operation op = {
		.end = addr + size,
		.author = author_of(lane->level, write, ip),
	};

	if (!knows_task(lane))
		learn_task(lane);
	if (!lane->wanted) {
		; /* nothing to do */
	} else if (op.end > -PAGE_SIZE || op.end < addr) {
		/* An error code that is taken for a pointer: the end of its page is address 0. */
		lane->counts[MZ_TO_OTHER]++;
	} else if (is_far(ip)) {
		lane->counts[MZ_LOST_FAR]++;
	} else if (on_own_stack(addr)) {
		lane->counts[MZ_TO_STACK]++;
	} else if (lane->level == MEMORIZER_IN_TASK && is_idle_task(current)) {
		lane->counts[MZ_BY_IDLE]++;
	} else {
		while (addr < op.end)
			addr = count_part(lane, &op, addr);
	}
	leave(lane);
}

/* interrupt_context_level(), for something that happens mostly in tasks. */
static __always_inline int context_level(void)
{
	if (likely(!(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))))
		return MEMORIZER_IN_TASK;
	return interrupt_context_level();
}

/*
 * Gives the index blank pages; whether it wants more. Its own page allocations are not part of the
 * picture.
 */
static bool refill(void)
{
	int level = mz_guard_enter();
	bool more;

	if (level < 0)
		return false;
	more = mz_index_refill(&mz.index, REFILL_BATCH,
			       GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
	mz_guard_leave(level);
	return more;
}

/* Who wants still more after a batch is the next who asks. */
static void refill_in_irq(struct irq_work *work)
{
	refill();
}

/* === Interface to the callbacks =========================================================== */

/*
 * What is called from here, as the functions that lock, is instrumented and must not come back. An
 * interrupt has its own lane, but the kernel takes it for over a little before it is: what it still
 * does then seems to be the interrupted context's.
 *
 * The slow part leaves by itself, so that the compiler can jump to it and has no registers to save
 * for the other one.
 */
void mz_access_count(unsigned long addr, size_t size, bool write, unsigned long ip,
		     enum mz_teller teller)
{
	struct lane *lane;
	int level;

	if (unlikely(!READ_ONCE(ready))) {
		early_accesses++;
		return;
	}
	preempt_disable_notrace();
	level = context_level();
	if (unlikely(level > MEMORIZER_IN_HARDIRQ)) {
		this_cpu_inc(lanes[MEMORIZER_IN_HARDIRQ].counts[MZ_LOST_NMI]);
		preempt_enable_no_resched_notrace();
		return;
	}
	lane = raw_cpu_ptr(&lanes[level]);
	if (unlikely(lane->busy || raw_cpu_read(mz_guard) & (MZ_GUARD_LOCKED | BIT(level)))) {
		lane->counts[MZ_LOST_NESTED]++;
		preempt_enable_no_resched_notrace();
		return;
	}
	lane->busy = true;
	barrier();
	if (told_before(lane, addr, size, write, ip, teller) ||
	    count_quickly(lane, addr, size, write, ip))
		leave(lane);
	else
		count_slowly(lane, addr, size, write, ip);
}

void memorizer_vmalloc(const void *addr, unsigned long size, const void *caller, gfp_t gfp,
		       int node)
{
	if (!mz_events_attached())
		return;
	mz_alloc(&(struct mz_alloc){
		.kind = MEMORIZER_VMALLOC,
		.ip = (unsigned long)caller,
		.addr = (unsigned long)addr,
		.bytes_req = size,
		.bytes_alloc = PAGE_ALIGN(size),
		.gfp = gfp,
		.node = node,
	});
}

void memorizer_vfree(const void *addr, unsigned long caller)
{
	if (mz_events_attached())
		mz_free(MEMORIZER_VMALLOC, caller, (unsigned long)addr, 0);
}

/* === Public =============================================================================== */

unsigned long mz_access_text_start(void)
{
	return (unsigned long)_stext;
}

static int lane_init(struct lane *lane, u8 place_bits, u8 record_bits, int node)
{
	lane->places = vzalloc_node(sizeof(*lane->places) << place_bits, node);
	lane->records = vzalloc_node(sizeof(*lane->records) << record_bits, node);
	lane->recents = vzalloc_node(sizeof(*lane->recents) << RECENT_BITS, node);
	lane->place_bits = place_bits;
	lane->record_bits = record_bits;
	return lane->places && lane->records && lane->recents ? 0 : -ENOMEM;
}

static int lanes_init(void)
{
	int cpu, level, err = 0;

	for_each_possible_cpu(cpu) {
		for (level = 0; level <= MEMORIZER_IN_HARDIRQ && !err; level++) {
			bool in_task = level == MEMORIZER_IN_TASK;

			struct lane *lane = per_cpu_ptr(&lanes[level], cpu);

			lane->level = level;
			err = lane_init(lane, in_task ? 13 : 10, in_task ? 14 : 11,
					cpu_to_node(cpu));
		}
	}
	return err;
}

/* Counting is wanted before there is anything to count in. */
void mz_access_early(void)
{
	mz_access_on = true;
}

int mz_access_init(void)
{
	int err;

	init_irq_work(&refill_work, refill_in_irq);
	err = mz_locate_init();
	if (!err)
		err = lanes_init();
	if (!err)
		WRITE_ONCE(ready, true);
	return err;
}

static u32 reserve(void)
{
	return clamp(mz.index.max_pages >> (mz.index.shard_bits + 3), 1L, (long)RESERVE_MAX);
}

/**
 * mz_access_update() - begins or ends counting, as the mode and memorizer_log_access want it
 *
 * All stamps change first: while nobody wanted events, pages may have been cut into other objects.
 */
void mz_access_update(void)
{
	bool on = mz.log_access && mz.mode != MZ_OFF && !mz.failed;

	lockdep_assert_held(&mz.control);
	if (on == counting) {
		WRITE_ONCE(mz_access_on, on);
		return;
	}
	counting = on;
	if (on) {
		WRITE_ONCE(mz.index.reserve, reserve());
		while (refill())
			cond_resched();
		mz_access_all_changed();
		WRITE_ONCE(mz_access_on, true);
		return;
	}
	WRITE_ONCE(mz_access_on, false);
	WRITE_ONCE(mz.index.reserve, 0);
	mutex_lock(&mz.dead.lock);
	mz_index_shrink(&mz.index);
	mutex_unlock(&mz.dead.lock);
}

void mz_access_stop(void)
{
	WRITE_ONCE(mz_access_on, false);
}

/*
 * Waits until nobody counts any more in records of objects that have ended. Then their counts are
 * final, and their memory may be released.
 *
 * Who has ended an object may not yet have changed its stamp, but does so before preemption is on
 * again: the first grace period waits for that. From then on the stamps send everyone away; the
 * second one waits for those who had come before.
 */
void mz_access_settle(void)
{
	if (!READ_ONCE(ready))
		return;
	synchronize_rcu();
	synchronize_rcu();
}

static u64 class_sum(enum mz_class class)
{
	u64 sum = 0;
	int cpu, level;

	for_each_possible_cpu(cpu) {
		for (level = 0; level <= MEMORIZER_IN_HARDIRQ; level++)
			sum += READ_ONCE(per_cpu_ptr(&lanes[level], cpu)->counts[class]);
	}
	return sum;
}

void mz_access_show(struct seq_file *m)
{
	static const char *const names[] = {
		[MZ_TO_OBJECT] = "objects",
		[MZ_TO_STACK] = "stack",
		[MZ_TO_GLOBAL] = "global",
		[MZ_TO_MODULE] = "module",
		[MZ_TO_SLAB] = "untracked_slab",
		[MZ_TO_PAGES] = "untracked_pages",
		[MZ_TO_VMALLOC] = "untracked_vmalloc",
		[MZ_TO_BOOT] = "boot_memory",
		[MZ_TO_OTHER] = "other",
		[MZ_BY_IDLE] = "idle",
		[MZ_LOST_NESTED] = "dropped_nested",
		[MZ_LOST_NMI] = "dropped_nmi",
		[MZ_LOST_FULL] = "dropped_full",
		[MZ_LOST_FAR] = "dropped_far",
	};
	unsigned int i;

	static_assert(ARRAY_SIZE(names) == MZ_CLASSES);
	seq_printf(m, "accesses: %s\n", READ_ONCE(mz_access_on) ? "counted" : "off");
	for (i = 0; i < MZ_CLASSES; i++)
		seq_printf(m, "accesses_%s: %llu\n", names[i], class_sum(i));
	seq_printf(m, "accesses_before_tables: %llu\n", early_accesses);
	seq_printf(m, "access_records: %lu\n", mz_index_nr_accesses(&mz.index));
	seq_printf(m, "access_record_bytes: %zu\n", sizeof(struct mz_access));
	seq_printf(m, "vmalloc_areas_lost: %lu\n", mz_locate_lost());
}
