// SPDX-License-Identifier: GPL-2.0-only
/*
 * memorizer/kmap, kmap_bin, allocations and accesses: all objects as of the moment the file was
 * opened, live ones first, each kind oldest first; and the calls, in the binary form before the
 * objects, whose number nobody knows in advance, and in the text behind them. The snapshot is a
 * copy; nothing waits for its reader.
 */
#include <linux/seq_file.h>

#include "access.h"
#include "calls.h"
#include "files.h"
#include "memorizer.h"

/* === Data ================================================================================= */

/* A page of copies of one kind: objects, or access records. */
struct snap_page {
	struct snap_page *next;
	unsigned int nr; /* copies on this page */
};

#define COPIES_PER_PAGE(type) ((PAGE_SIZE - sizeof(struct snap_page)) / sizeof(type))

/* What is made of it. */
enum form { FORM_TEXT, FORM_BINARY, FORM_ALLOCATIONS, FORM_ACCESSES };

struct snapshot {
	struct mz_visitor visitor;
	struct snap_page *objects; /* the page that is being filled first */
	struct snap_page *records; /* the page that is being filled first */
	struct snap_page *blanks;  /* reserved by make_room() */
	struct mz_chain live, dead;
	struct mz_call_list calls;
	u64 dead_position; /* of the first dead object, see dead.c */
	struct mz_clock clock;
	u64 now;
	u8 gen;
	enum form form;
	bool head; /* the output begins with the header, or the line of the anchor, or of names */
	/* Where the last read ended, so that the next one does not search from the start. */
	loff_t at;
	struct mz_object *at_object;
};

/* Access records that are copied before other tasks may run. */
#define RECORD_BATCH 256

/* Pages of all snapshots, at most mz.max_snapshot_pages. */
static atomic_long_t nr_snapshot_pages;

/* === Memory of snapshots ================================================================== */

bool mz_snapshot_set_aside(long pages)
{
	if (atomic_long_add_return(pages, &nr_snapshot_pages) <= mz.max_snapshot_pages)
		return true;
	atomic_long_sub(pages, &nr_snapshot_pages);
	return false;
}

void mz_snapshot_put_back(long pages)
{
	atomic_long_sub(pages, &nr_snapshot_pages);
}

static struct snap_page *take_page(void)
{
	struct snap_page *page;

	if (!mz_snapshot_set_aside(1))
		return NULL;
	/* Fail to open the file rather than push the machine into reclaim. */
	page = (void *)__get_free_page(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (page)
		*page = (struct snap_page){ .next = NULL };
	else
		mz_snapshot_put_back(1);
	return page;
}

static void give_pages(struct snap_page *page)
{
	struct snap_page *next;

	for (; page; page = next) {
		next = page->next;
		free_page((unsigned long)page);
		mz_snapshot_put_back(1);
		cond_resched();
	}
}

/* Room for @nr more objects, so that they can be copied where no page can be had. */
static int make_room(struct mz_visitor *visitor, unsigned int nr)
{
	struct snapshot *snap = container_of(visitor, struct snapshot, visitor);

	while (visitor->room < nr) {
		struct snap_page *page = take_page();

		if (!page)
			return -ENOMEM;
		page->next = snap->blanks;
		snap->blanks = page;
		visitor->room += COPIES_PER_PAGE(struct mz_object);
	}
	return 0;
}

static struct mz_object *new_object(struct snapshot *snap)
{
	struct snap_page *page = snap->objects;

	if (!page || page->nr == COPIES_PER_PAGE(struct mz_object)) {
		page = snap->blanks;
		snap->blanks = page->next;
		page->next = snap->objects;
		snap->objects = page;
	}
	snap->visitor.room--;
	return (struct mz_object *)(page + 1) + page->nr++;
}

static struct mz_access *new_record(struct snapshot *snap)
{
	struct snap_page *page = snap->records;

	if (!page || page->nr == COPIES_PER_PAGE(struct mz_access)) {
		page = take_page();
		if (!page)
			return NULL;
		page->next = snap->records;
		snap->records = page;
	}
	return (struct mz_access *)(page + 1) + page->nr++;
}

/* === Internals: taking the snapshot ======================================================= */

/* Until copy_records() the copy shares the access records of the object. */
static struct mz_object *copy_object(struct snapshot *snap, const struct mz_object *obj)
{
	struct mz_object *copy = new_object(snap);

	*copy = *obj;
	return copy;
}

/* What was live at the moment of the snapshot is shown live, even if it has ended since. */
static void copy_live(struct snapshot *snap, const struct mz_object *obj)
{
	struct mz_object *copy = copy_object(snap, obj);

	copy->free_ns = 0;
	copy->free_site = MZ_ID_NONE;
	copy->implied = 0;
	mz_chain_push(&snap->live, copy);
}

static void visit_live(struct mz_visitor *visitor, struct mz_object *obj)
{
	struct snapshot *snap = container_of(visitor, struct snapshot, visitor);

	/* The walk may visit an object twice, and newer objects do not belong here. */
	if (obj->gen == snap->gen || obj->alloc_ns > snap->now)
		return;
	obj->gen = snap->gen;
	copy_live(snap, obj);
}

static int copy_dead(struct snapshot *snap)
{
	const struct mz_object *obj;
	int err;

	snap->dead_position = mz.dead.taken;
	for (obj = mz.dead.chain.first; obj; obj = obj->next) {
		err = make_room(&snap->visitor, 1);
		if (err)
			return err;
		mz_chain_push(&snap->dead, copy_object(snap, obj));
		cond_resched();
	}
	return 0;
}

/* Objects that ended after the snapshot's moment, before the walk came to them. */
static int copy_late(struct snapshot *snap, const struct mz_chain *late)
{
	const struct mz_object *obj;
	int err;

	for (obj = late->first; obj; obj = obj->next) {
		if (obj->gen == snap->gen || obj->alloc_ns > snap->now)
			continue;
		err = make_room(&snap->visitor, 1);
		if (err)
			return err;
		copy_live(snap, obj);
		cond_resched();
	}
	return 0;
}

/*
 * Gives a copy its own access records. No shard is locked: from the head that the copy has, the
 * list does not change until the object is released, which mz.dead.lock prevents. See mz_visitor.
 */
static int copy_records(struct snapshot *snap, struct mz_object *copy)
{
	const struct mz_access *access = mz_object_accesses(copy);
	struct mz_access *first = NULL;
	unsigned int nr = 0;

	for (; access; access = access->next) {
		struct mz_access *record = new_record(snap);

		if (!record)
			return -ENOMEM;
		*record = (struct mz_access){
			.next = first,
			.ip = access->ip,
			.who = access->who,
			.sums = READ_ONCE(access->sums),
		};
		first = record;
		if (++nr % RECORD_BATCH == 0)
			cond_resched();
	}
	mz_object_set_accesses(copy, first);
	return 0;
}

static int copy_records_of(struct snapshot *snap, const struct mz_chain *chain)
{
	struct mz_object *copy;
	int err = 0;

	lockdep_assert_held(&mz.dead.lock);
	for (copy = chain->first; copy && !err; copy = copy->next) {
		err = copy_records(snap, copy);
		cond_resched();
	}
	return err;
}

static void sort_accesses(const struct mz_chain *chain)
{
	struct mz_object *obj;

	for (obj = chain->first; obj; obj = obj->next) {
		mz_accesses_sort(obj);
		cond_resched();
	}
}

/* Only numbers the object. */
static void visit_number(struct mz_visitor *visitor, struct mz_object *obj)
{
	obj->gen = container_of(visitor, struct snapshot, visitor)->gen;
}

/* After a walk that has failed: numbers all objects, those that the walk did not reach included. */
static void number_all_live(struct snapshot *snap)
{
	snap->visitor.visit = visit_number;
	snap->visitor.room = UINT_MAX;
	mz_index_walk(&mz.index, &snap->visitor);
}

/*
 * Numbers are used again after 255 snapshots. That does no harm as long as each snapshot with a
 * number also walks the index: every live object then gets the new number. 0 is the number of
 * objects that no snapshot has seen.
 */
static u8 next_generation(void)
{
	lockdep_assert_held(&mz.dead.lock);
	mz.dead.gen = mz.dead.gen == U8_MAX ? 1 : mz.dead.gen + 1;
	return mz.dead.gen;
}

static int copy_all_live(struct snapshot *snap)
{
	struct mz_chain late = { 0 };
	int err;

	snap->gen = next_generation();
	err = mz_index_walk(&mz.index, &snap->visitor);
	if (err)
		number_all_live(snap);
	mz_dead_collect(&late);
	if (!err)
		err = copy_late(snap, &late);
	mz_chain_append(&mz.dead.chain, &late);
	return err;
}

/*
 * The lock keeps the stream and the clear files from releasing objects meanwhile; allocations and
 * frees go on. What is not in the queue of dead objects after the first collection was live.
 */
static int take_snapshot(struct snapshot *snap)
{
	bool print_live = READ_ONCE(mz.print_live);
	int err;

	mutex_lock(&mz.dead.lock);
	mz_dead_collect(&mz.dead.chain);
	snap->clock = mz_clock_sample();
	snap->now = snap->clock.base_ns;
	snap->head = snap->form != FORM_TEXT || print_live;
	err = copy_dead(snap);
	if (!err && print_live)
		err = copy_all_live(snap);
	if (!err)
		err = copy_records_of(snap, &snap->dead);
	if (!err)
		err = copy_records_of(snap, &snap->live);
	mutex_unlock(&mz.dead.lock);
	if (!err && (snap->form == FORM_TEXT || snap->form == FORM_BINARY))
		err = mz_call_list_make(&snap->calls);
	if (err)
		return err;
	mz_chain_sort_by_alloc(&snap->live);
	sort_accesses(&snap->live);
	sort_accesses(&snap->dead);
	return 0;
}

static void free_snapshot(struct snapshot *snap)
{
	give_pages(snap->objects);
	give_pages(snap->records);
	give_pages(snap->blanks);
	mz_call_list_free(&snap->calls);
	kfree(snap);
}

/* === Internals: contents ================================================================== */

/*
 * A line of the usual form, for an object of no size at the address of a well-known function:
 * from it a reader of the file learns where the kernel image was.
 */
static void show_anchor(struct seq_file *m)
{
	seq_printf(m, "%016x,0,%016llx,0,0,0,%016x,%s\n", 0, mz_anchor(), 0, MZ_ANCHOR_NAME);
}

static void show_header(struct seq_file *m, const struct snapshot *snap)
{
	struct memorizer_header header;

	mz_header_fill(&snap->clock, &header);
	header.calls = snap->calls.nr;
	if (header.calls)
		header.version = MEMORIZER_ABI_CALLS;
	seq_write(m, &header, sizeof(header));
}

static void show_head(struct seq_file *m, const struct snapshot *snap)
{
	switch (snap->form) {
	case FORM_TEXT:
		show_anchor(m);
		break;
	case FORM_BINARY:
		show_header(m, snap);
		break;
	case FORM_ALLOCATIONS:
		seq_puts(m, MZ_ALLOCATIONS_HEAD);
		break;
	case FORM_ACCESSES:
		seq_puts(m, MZ_ACCESSES_HEAD);
		break;
	}
}

/* Of the text, a line of the ancestor's that has one more number. */
static void show_call(struct seq_file *m, const struct snapshot *snap,
		      const struct memorizer_call *call)
{
	if (snap->form == FORM_BINARY)
		seq_write(m, call, sizeof(*call));
	else
		seq_printf(m, "%llx %llx %llu %llu\n", call->site, call->function, call->calls,
			   call->returns);
}

static void show_text(struct seq_file *m, const struct snapshot *snap, const struct mz_object *obj)
{
	const struct mz_access *access;
	struct memorizer_record record;
	struct memorizer_access sum;
	char line[MZ_LINE_MAX];

	mz_record_fill(&mz.names, obj, &record);
	seq_write(m, line, mz_record_text(&record, &snap->clock, line, sizeof(line)));
	for (access = mz_object_accesses(obj); access;) {
		access = mz_accesses_next(access, mz_access_text_start(), false, &sum);
		seq_write(m, line, mz_access_text(&sum, line, sizeof(line)));
	}
}

static void show_binary(struct seq_file *m, const struct mz_object *obj)
{
	const struct mz_access *access;
	struct memorizer_record record;
	struct memorizer_access sum;

	mz_record_fill(&mz.names, obj, &record);
	record.accesses = mz_accesses_count(obj);
	seq_write(m, &record, sizeof(record));
	for (access = mz_object_accesses(obj); access;) {
		access = mz_accesses_next(access, mz_access_text_start(), true, &sum);
		seq_write(m, &sum, sizeof(sum));
	}
}

static void show_allocation(struct seq_file *m, const struct mz_object *obj)
{
	struct memorizer_record record;
	char line[MZ_CSV_MAX];

	mz_record_fill(&mz.names, obj, &record);
	seq_write(m, line, mz_record_csv(&record, line, sizeof(line)));
}

static void show_accesses(struct seq_file *m, const struct mz_object *obj)
{
	const struct mz_access *access;
	struct memorizer_access sum;
	char line[MZ_CSV_MAX];

	for (access = mz_object_accesses(obj); access;) {
		access = mz_accesses_next(access, mz_access_text_start(), false, &sum);
		seq_write(m, line, mz_access_csv(obj->alloc_ns, &sum, line, sizeof(line)));
	}
}

/* The place of the first call, and of the first object, in what comes behind the head. */
static loff_t calls_begin(const struct snapshot *snap)
{
	return snap->form == FORM_BINARY ? 0 : snap->live.nr + snap->dead.nr;
}

static loff_t objects_begin(const struct snapshot *snap)
{
	return snap->form == FORM_BINARY ? snap->calls.nr : 0;
}

static bool is_call(const struct snapshot *snap, const void *v)
{
	const struct memorizer_call *call = v;

	return call >= snap->calls.calls && call < snap->calls.calls + snap->calls.nr;
}

static struct mz_object *object_at(struct snapshot *snap, loff_t pos)
{
	struct mz_object *obj;

	if (pos == snap->at)
		return snap->at_object;
	obj = snap->live.first ? snap->live.first : snap->dead.first;
	for (; obj && pos > 0; pos--)
		obj = obj == snap->live.last ? snap->dead.first : obj->next;
	return obj;
}

/* The object or call at a place behind the head. */
static void *item_at(struct snapshot *snap, loff_t place)
{
	loff_t call = place - calls_begin(snap), object = place - objects_begin(snap);

	if (call >= 0 && call < snap->calls.nr)
		return &snap->calls.calls[call];
	if (object >= snap->live.nr + snap->dead.nr)
		return NULL;
	return object_at(snap, object);
}

static void *kmap_start(struct seq_file *m, loff_t *pos)
{
	struct snapshot *snap = m->private;

	if (snap->head && *pos == 0)
		return SEQ_START_TOKEN;
	return item_at(snap, *pos - snap->head);
}

static void *kmap_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct snapshot *snap = m->private;
	struct mz_object *obj = v;

	++*pos;
	if (v == SEQ_START_TOKEN || is_call(snap, v))
		return item_at(snap, *pos - snap->head);
	obj = obj == snap->live.last ? snap->dead.first : obj->next;
	snap->at = *pos - snap->head - objects_begin(snap);
	snap->at_object = obj;
	return obj ?: item_at(snap, *pos - snap->head);
}

static void kmap_stop(struct seq_file *m, void *v)
{
}

static void show_object(struct seq_file *m, const struct snapshot *snap,
			const struct mz_object *obj)
{
	switch (snap->form) {
	case FORM_TEXT:
		show_text(m, snap, obj);
		break;
	case FORM_BINARY:
		show_binary(m, obj);
		break;
	case FORM_ALLOCATIONS:
		show_allocation(m, obj);
		break;
	case FORM_ACCESSES:
		show_accesses(m, obj);
		break;
	}
}

static int kmap_show(struct seq_file *m, void *v)
{
	struct snapshot *snap = m->private;
	const struct mz_object *obj = v;

	if (v == SEQ_START_TOKEN) {
		show_head(m, snap);
		return 0;
	}
	if (is_call(snap, v)) {
		show_call(m, snap, v);
		return 0;
	}
	show_object(m, snap, obj);
	/* Of two tables that belong together, who has read one has not yet seen the object. */
	if (obj->free_ns && (snap->form == FORM_TEXT || snap->form == FORM_BINARY))
		mz_dead_printed(snap->dead_position + m->index - snap->head - objects_begin(snap) -
				snap->live.nr);
	return 0;
}

static const struct seq_operations kmap_ops = {
	.start = kmap_start,
	.next = kmap_next,
	.stop = kmap_stop,
	.show = kmap_show,
};

/* === Files ================================================================================ */

static int open_snapshot(struct file *file, enum form form)
{
	struct snapshot *snap;
	int err;

	snap = kzalloc(sizeof(*snap), GFP_KERNEL);
	if (!snap)
		return -ENOMEM;
	snap->visitor.make_room = make_room;
	snap->visitor.visit = visit_live;
	snap->form = form;
	snap->at = -1;
	err = take_snapshot(snap);
	if (err)
		mz_count(MZ_SNAPSHOTS_FAILED);
	else
		err = seq_open(file, &kmap_ops);
	if (err) {
		free_snapshot(snap);
		return err;
	}
	((struct seq_file *)file->private_data)->private = snap;
	return 0;
}

static int kmap_open(struct inode *inode, struct file *file)
{
	return open_snapshot(file, FORM_TEXT);
}

static int kmap_bin_open(struct inode *inode, struct file *file)
{
	return open_snapshot(file, FORM_BINARY);
}

static int allocations_open(struct inode *inode, struct file *file)
{
	return open_snapshot(file, FORM_ALLOCATIONS);
}

static int accesses_open(struct inode *inode, struct file *file)
{
	return open_snapshot(file, FORM_ACCESSES);
}

static int kmap_release(struct inode *inode, struct file *file)
{
	free_snapshot(((struct seq_file *)file->private_data)->private);
	return seq_release(inode, file);
}

unsigned long mz_snapshot_pages(void)
{
	return atomic_long_read(&nr_snapshot_pages);
}

/* All forms of the snapshot are read in the same way. */
#define SNAPSHOT_FOPS(opens)                                                                \
	{                                                                                   \
		.owner = THIS_MODULE, .open = opens, .read = seq_read, .llseek = seq_lseek, \
		.release = kmap_release,                                                    \
	}

const struct file_operations mz_kmap_fops = SNAPSHOT_FOPS(kmap_open);
const struct file_operations mz_kmap_bin_fops = SNAPSHOT_FOPS(kmap_bin_open);
const struct file_operations mz_allocations_fops = SNAPSHOT_FOPS(allocations_open);
const struct file_operations mz_accesses_fops = SNAPSHOT_FOPS(accesses_open);
