// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel module's index: objects that start, are accessed, end, are collected and released,
 * with walks and shrinking in between, compared with sorted arrays. After each step all numbers are
 * compared.
 */
#include "steps.h"

#include "../../kernel/pages.h"
#include "../../kernel/record.h"

bool user_pages_exhausted;

/* === The model ============================================================================ */

enum { OBJECTS = 6000, SUMS = 1024, SHARD_BITS_MAX = 3, MAX_STEPS = 4096 };

enum state { LIVE, ENDED, COLLECTED, GONE };

/* An object, by its serial number, which is also its mz_object::size. */
struct known {
	enum state state;
	u64 key, alloc_ns, free_ns;
	u16 alloc_site, free_site;
	bool implied;
	u32 shard;
	u32 nr_records; /* of accesses */
	u32 ended;	/* by which of all that end objects */
	u32 met;	/* by the walk of this number */
	u32 born;	/* the number of walks that had started before */
};

/* What was counted: by object, instruction and who. */
struct sum {
	u32 serial;
	u32 ip, who;
	u64 count, bytes;
};

struct model {
	struct mz_index idx;
	struct mz_chain chain; /* collected */
	struct steps *steps;
	u64 now;
	u32 live[OBJECTS]; /* serial numbers, sorted by key */
	u32 nr_live, nr_ended, nr_objects, nr_sums, nr_records, nr_ends, nr_walks;
	long max_pages, nr_aside;
	u64 last_free[1 << SHARD_BITS_MAX];
	/* One that was found, which may end but is not released before the next collection. */
	struct mz_object *held;
	struct known objects[OBJECTS];
	struct sum sums[SUMS];
};

static struct model model;

/* The position of a key among the live objects, or the position where it belongs. */
static u32 rank_of(u64 key)
{
	u32 low = 0, high = model.nr_live;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (model.objects[model.live[middle]].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct known *live_at(u64 key)
{
	u32 at = rank_of(key);

	if (at == model.nr_live || model.objects[model.live[at]].key != key)
		return NULL;
	return &model.objects[model.live[at]];
}

/* Checks all fields of an object. */
static void check_object(const struct mz_object *obj, enum state state)
{
	const struct known *known = &model.objects[obj->size];

	FUZZ_ASSERT(obj->size < model.nr_objects);
	FUZZ_ASSERT(known->state == state);
	FUZZ_ASSERT(obj->key == known->key && obj->alloc_ns == known->alloc_ns);
	FUZZ_ASSERT(obj->alloc_site == known->alloc_site);
	FUZZ_ASSERT(obj->pid == (obj->size * 2654435761U & 0x3fffff));
	FUZZ_ASSERT(obj->tgid == (obj->size * 40503U & 0x3fffff));
	FUZZ_ASSERT(obj->context == obj->size % 3 && obj->cpu == (u16)~obj->size);
	if (state == LIVE) {
		FUZZ_ASSERT(!obj->free_ns && !obj->implied);
		return;
	}
	FUZZ_ASSERT(obj->free_ns == known->free_ns);
	FUZZ_ASSERT(obj->free_site == known->free_site && obj->implied == known->implied);
}

static void model_end(struct known *known, u64 now, u16 free_site, bool implied)
{
	u32 at = rank_of(known->key);
	u64 *last = &model.last_free[known->shard];

	memmove(model.live + at, model.live + at + 1,
		(model.nr_live - at - 1) * sizeof(*model.live));
	model.nr_live--;
	model.nr_ended++;
	known->state = ENDED;
	known->free_ns = now > known->alloc_ns ? now : known->alloc_ns;
	if (known->free_ns < *last)
		known->free_ns = *last;
	*last = known->free_ns;
	known->free_site = free_site;
	known->implied = implied;
	known->ended = model.nr_ends;
}

static void model_add(u64 key, u16 alloc_site)
{
	struct mz_object *obj = mz_index_find(&model.idx, key);
	u32 at = rank_of(key), serial = model.nr_objects;

	FUZZ_ASSERT(obj);
	memmove(model.live + at + 1, model.live + at, (model.nr_live - at) * sizeof(*model.live));
	model.live[at] = serial;
	model.nr_live++;
	model.nr_objects++;
	model.objects[serial] = (struct known){
		.state = LIVE,
		.key = key,
		.alloc_ns = model.now,
		.alloc_site = alloc_site,
		.shard = (u32)(mz_page_of(obj)->shard - model.idx.shards),
		.born = model.nr_walks,
	};
	check_object(obj, LIVE);
}

static struct sum *sum_of(u32 serial, u32 ip, u32 who)
{
	u32 i;

	for (i = 0; i < model.nr_sums; i++) {
		struct sum *sum = &model.sums[i];

		if (sum->serial == serial && sum->ip == ip && sum->who == who)
			return sum;
	}
	if (model.nr_sums == SUMS)
		return NULL;
	model.sums[model.nr_sums] = (struct sum){ .serial = serial, .ip = ip, .who = who };
	return &model.sums[model.nr_sums++];
}

/* === Checks =============================================================================== */

static void check_numbers(void)
{
	FUZZ_ASSERT(!model.idx.broken);
	FUZZ_ASSERT(mz_index_nr_live(&model.idx) == model.nr_live);
	FUZZ_ASSERT(mz_index_nr_freed(&model.idx) == model.nr_ended);
	FUZZ_ASSERT(mz_index_has_freed(&model.idx) == (model.nr_ended > 0));
	FUZZ_ASSERT(mz_index_nr_accesses(&model.idx) == model.nr_records);
	FUZZ_ASSERT(model.idx.nr_aside == model.nr_aside);
	FUZZ_ASSERT(model.idx.max_pages == model.max_pages - model.nr_aside);
	FUZZ_ASSERT(atomic_long_read(&model.idx.nr_pages) <= model.idx.max_pages);
}

/* Clocks may step back. */
static void advance(void)
{
	int by = (int8_t)step_u8(model.steps);

	model.now = by < 0 && model.now < (u64)-by + 1 ? 1 : model.now + (u64)(s64)by;
}

static u64 read_key(void)
{
	u16 choice = step_u16(model.steps);

	return mz_key(choice / 2 * 8UL, choice & 1);
}

/* === Steps on objects ===================================================================== */

static struct mz_object new_values(u64 key)
{
	return (struct mz_object){
		.key = key,
		.alloc_ns = model.now,
		.size = model.nr_objects,
		.alloc_site = (u16)(key * 31),
		.pid = model.nr_objects * 2654435761U,
		.tgid = model.nr_objects * 40503U,
		.context = model.nr_objects % 3,
		.cpu = (u16)~model.nr_objects,
	};
}

static void add(u64 key)
{
	struct mz_object values = new_values(key);
	struct known *before = live_at(key);
	bool room = !user_pages_exhausted &&
		    atomic_long_read(&model.idx.nr_pages) + 3 <= model.idx.max_pages;
	bool implied;
	int err;

	if (model.nr_objects == OBJECTS)
		return;
	err = mz_index_add(&model.idx, &values, 3, 0, &implied);
	FUZZ_ASSERT(!err || err == -ENOMEM);
	FUZZ_ASSERT(!err || !room);
	FUZZ_ASSERT(implied == !!before);
	if (before)
		model_end(before, model.now, 3, true);
	model.nr_ends++;
	if (!err)
		model_add(key, values.alloc_site);
	FUZZ_ASSERT(mz_index_has(&model.idx, key) == !err);
}

/* One that no allocator handed out: from the reserve alone, and no other than the one there is. */
static void make(u64 key)
{
	struct mz_object values = new_values(key), *obj;
	struct known *before = live_at(key);
	long pages = atomic_long_read(&model.idx.nr_pages);

	if (model.nr_objects == OBJECTS)
		return;
	obj = mz_index_make(&model.idx, &values);
	FUZZ_ASSERT(atomic_long_read(&model.idx.nr_pages) == pages);
	if (before)
		FUZZ_ASSERT(obj && &model.objects[obj->size] == before);
	else if (obj)
		model_add(key, values.alloc_site);
	FUZZ_ASSERT(mz_index_find(&model.idx, key) == obj);
}

static void retype(u64 key, u16 alloc_site)
{
	struct mz_object *obj = mz_index_find(&model.idx, key);

	if (!obj)
		return;
	FUZZ_ASSERT(mz_index_retype(&model.idx, obj, alloc_site, NULL));
	live_at(key)->alloc_site = alloc_site;
}

static void end(u64 key, u16 free_site)
{
	struct known *known = live_at(key);

	FUZZ_ASSERT(mz_index_end(&model.idx, key, model.now, free_site, false) == !!known);
	if (known)
		model_end(known, model.now, free_site, false);
	model.nr_ends++;
	FUZZ_ASSERT(!mz_index_has(&model.idx, key));
}

static void look_up(u64 key)
{
	struct mz_object *obj = mz_index_find(&model.idx, key);
	struct known *known = live_at(key);

	FUZZ_ASSERT(!!obj == !!known);
	FUZZ_ASSERT(mz_index_has(&model.idx, key) == !!known);
	if (!obj)
		return;
	FUZZ_ASSERT(known == &model.objects[obj->size]);
	check_object(obj, LIVE);
	model.held = obj;
}

static void reassign(u64 key, u16 alloc_site)
{
	struct known *known = live_at(key);

	FUZZ_ASSERT(mz_index_reassign(&model.idx, key, alloc_site) == !!known);
	if (known)
		known->alloc_site = alloc_site;
}

/* Objects end in the order of the table, so no time may depend on it. */
static void advance_past_all(void)
{
	u32 i;

	for (i = 0; i < model.nr_live; i++) {
		if (model.now < model.objects[model.live[i]].alloc_ns)
			model.now = model.objects[model.live[i]].alloc_ns;
	}
}

static void end_made(u64 first, u64 last)
{
	u32 i = 0;

	advance_past_all();
	mz_index_end_made(&model.idx, first, last, model.now);
	while (i < model.nr_live) {
		struct known *known = &model.objects[model.live[i]];
		u64 addr = known->key - (1ULL << 62);

		if (known->key >> 62 == 1 && addr >= first && addr <= last)
			model_end(known, model.now, MZ_ID_NONE, false);
		else
			i++;
	}
	model.nr_ends++;
}

static void drop_live(u16 free_site)
{
	advance_past_all();
	mz_index_drop_live(&model.idx, model.now, free_site);
	while (model.nr_live)
		model_end(&model.objects[model.live[0]], model.now, free_site, false);
	model.nr_ends++;
}

/* === Steps on accesses ==================================================================== */

static struct mz_access *record_for(struct mz_object *obj, u32 ip, u32 who, u32 spot, bool fresh)
{
	struct mz_shard *shard = mz_page_of(obj)->shard;
	bool memory = shard->spares || !list_empty(&shard->access_pages);
	unsigned long before = mz_index_nr_accesses(&model.idx), made;
	struct mz_access *access = mz_index_access(&model.idx, obj, ip, who, spot, fresh);

	made = mz_index_nr_accesses(&model.idx) - before;
	FUZZ_ASSERT(made <= 1);
	model.nr_records += made;
	model.objects[obj->size].nr_records += made;
	if (!access) {
		FUZZ_ASSERT(!memory && !made);
		return NULL;
	}
	FUZZ_ASSERT(access->ip == ip && access->who == who);
	FUZZ_ASSERT(!made || (!mz_sums_count(access->sums) && !mz_sums_bytes(access->sums)));
	FUZZ_ASSERT(made || !fresh);
	/* It is of that spot, or of many. */
	FUZZ_ASSERT(mz_access_spot(access) & MZ_SPOT_VARIES || mz_access_spot(access) == spot);
	FUZZ_ASSERT(!made || (mz_access_spot(access) & MZ_SPOT_FAR) == (spot & MZ_SPOT_FAR));
	if (made && shard->nr_spares < model.idx.reserve / 2 &&
	    atomic_long_read(&model.idx.nr_pages) < model.idx.max_pages)
		FUZZ_ASSERT(model.idx.hungry);
	/* The newest record is found without a search. */
	FUZZ_ASSERT(!made || access == mz_index_access(&model.idx, obj, ip, who,
						       mz_access_spot(access), false));
	return access;
}

/* Counts as the kernel does: if the record is full, in a new one. */
static void count(struct mz_object *obj)
{
	u8 choice = step_u8(model.steps);
	u32 who = mz_who(choice & 3, choice >> 2 & 3, choice >> 4 & 1, choice >> 5 & 3);
	u32 ip = (u32)(int8_t)step_u8(model.steps);
	u32 times = choice & 0x80 ? 1U << 18 : 1, bytes = step_u16(model.steps);
	u32 spot = mz_spot_of((bytes & 0xff) * (bytes & 0x100 ? 1 : 200));
	struct sum *sum = sum_of(obj->size, ip, who);
	struct mz_access *access;

	if (!sum)
		return;
	access = record_for(obj, ip, who, spot, false);
	if (access && !mz_sums_have_room(access->sums))
		access = record_for(obj, ip, who, mz_access_spot(access), true);
	if (!access)
		return;
	access->sums += mz_sums(times, bytes, 0);
	sum->count += times;
	sum->bytes += bytes;
}

static void count_at(u64 key)
{
	struct mz_object *obj = mz_index_find(&model.idx, key);

	if (obj)
		count(obj);
}

static bool in_group(const struct sum *sum, const struct memorizer_access *group)
{
	u32 context = sum->who >> 22 & 3;
	int pid = context == MEMORIZER_IN_TASK ? (int)(sum->who & 0x3fffff) : -1;

	return group->ip == 0x100000 + (u64)(s64)(s32)sum->ip && group->pid == pid &&
	       group->context == context && group->cpu == sum->who >> 25;
}

static bool is_before(const struct memorizer_access *a, const struct memorizer_access *b)
{
	if (a->ip != b->ip)
		return a->ip < b->ip;
	if (a->pid != b->pid)
		return a->pid < b->pid;
	if (a->context != b->context)
		return a->context < b->context;
	if ((a->flags ^ b->flags) & MEMORIZER_OFFSET_VARIES)
		return b->flags & MEMORIZER_OFFSET_VARIES;
	if (a->offset != b->offset)
		return a->offset < b->offset;
	return a->cpu < b->cpu;
}

/* What the model has for a group: at all spots. */
static struct memorizer_access expected_of(u32 serial, const struct memorizer_access *group)
{
	struct memorizer_access expected = { .ip = group->ip };
	u32 i;

	for (i = 0; i < model.nr_sums; i++) {
		const struct sum *sum = &model.sums[i];
		bool write = sum->who >> 24 & 1;

		if (sum->serial != serial || !in_group(sum, group))
			continue;
		*(write ? &expected.writes : &expected.reads) += sum->count;
		*(write ? &expected.bytes_written : &expected.bytes_read) += sum->bytes;
	}
	return expected;
}

/* What is read of all spots together. */
static struct memorizer_access read_of(struct mz_object *obj, const struct memorizer_access *group)
{
	struct memorizer_access all = { .ip = group->ip }, next;
	const struct mz_access *at;

	for (at = mz_object_accesses(obj); at;) {
		at = mz_accesses_next(at, 0x100000, true, &next);
		if (next.ip != group->ip || next.pid != group->pid ||
		    next.context != group->context || next.cpu != group->cpu)
			continue;
		all.writes += next.writes;
		all.reads += next.reads;
		all.bytes_written += next.bytes_written;
		all.bytes_read += next.bytes_read;
	}
	return all;
}

/* Compares the accesses of an object, as they are read, with the expected sums. */
static void check_accesses(struct mz_object *obj)
{
	const struct mz_access *at;
	struct memorizer_access group, last = { .ip = 0 }, read, expected;
	u64 counts = 0, counted = 0;
	u32 i, groups = 0;

	mz_accesses_sort(obj);
	for (at = mz_object_accesses(obj); at; groups++) {
		at = mz_accesses_next(at, 0x100000, true, &group);
		FUZZ_ASSERT(!groups || is_before(&last, &group));
		read = read_of(obj, &group);
		expected = expected_of(obj->size, &group);
		FUZZ_ASSERT(!memcmp(&read, &expected, sizeof(read)));
		counted += group.writes + group.reads;
		last = group;
	}
	FUZZ_ASSERT(mz_accesses_count(obj) == groups);
	for (i = 0; i < model.nr_sums; i++) {
		if (model.sums[i].serial == obj->size)
			counts += model.sums[i].count;
	}
	FUZZ_ASSERT(counts == counted);
}

/* === Steps on all of them ================================================================= */

static void collect(void)
{
	const struct mz_object *obj = model.chain.last, *last = NULL;
	unsigned long before = model.chain.nr;
	u32 ended[1 << SHARD_BITS_MAX] = { 0 };

	mz_index_collect(&model.idx, &model.chain);
	FUZZ_ASSERT(model.chain.nr == before + model.nr_ended);
	for (obj = obj ? obj->next : model.chain.first; obj; obj = obj->next) {
		struct known *known = &model.objects[obj->size];

		check_object(obj, ENDED);
		FUZZ_ASSERT(!last || last->free_ns <= obj->free_ns);
		/* Of one shard, in the order of their ends; those of drop_live() are one end. */
		FUZZ_ASSERT(ended[known->shard] <= known->ended);
		ended[known->shard] = known->ended;
		known->state = COLLECTED;
		last = obj;
	}
	model.nr_ended = 0;
	memset(model.last_free, 0, sizeof(model.last_free));
	model.held = NULL;
}

static void release(unsigned int nr)
{
	struct mz_object *obj;

	while (nr-- && (obj = mz_chain_pop(&model.chain))) {
		struct known *known = &model.objects[obj->size];

		check_object(obj, COLLECTED);
		check_accesses(obj);
		known->state = GONE;
		model.nr_records -= known->nr_records;
		mz_index_release(&model.idx, obj);
	}
}

static void sort_by_alloc(void)
{
	const struct mz_object *obj;
	unsigned long before = model.chain.nr, nr = 0;

	mz_chain_sort_by_alloc(&model.chain);
	for (obj = model.chain.first; obj; obj = obj->next, nr++) {
		const struct mz_object *next = obj->next;

		check_object(obj, COLLECTED);
		FUZZ_ASSERT(next || obj == model.chain.last);
		FUZZ_ASSERT(!next || obj->alloc_ns < next->alloc_ns ||
			    (obj->alloc_ns == next->alloc_ns && obj->key <= next->key));
	}
	FUZZ_ASSERT(nr == before && model.chain.nr == nr);
}

static void shrink(void)
{
	unsigned int i;

	mz_index_shrink(&model.idx);
	for (i = 0; i < 1U << model.idx.shard_bits; i++) {
		const struct mz_shard *shard = &model.idx.shards[i];

		FUZZ_ASSERT(shard->nr_spares <= model.idx.reserve);
		FUZZ_ASSERT(shard->nr_buckets <= shard->nr_live);
		FUZZ_ASSERT(!shard->segments == !shard->nr_live);
	}
}

static void set_aside(long nr)
{
	long used = atomic_long_read(&model.idx.nr_pages);
	bool free = used + nr <= model.max_pages - model.nr_aside;

	FUZZ_ASSERT(mz_index_set_aside(&model.idx, nr) == free);
	FUZZ_ASSERT(atomic_long_read(&model.idx.nr_pages) == used);
	if (free)
		model.nr_aside += nr;
}

static void put_back(long nr)
{
	if (nr > model.nr_aside)
		nr = model.nr_aside;
	mz_index_put_back(&model.idx, nr);
	model.nr_aside -= nr;
}

struct walker {
	struct mz_visitor visitor;
	bool fail;
};

/* What the walk left behind for later: the head of an object's records, and how many there were. */
struct visited {
	u32 serial;
	u32 nr_records;
	struct mz_object *obj;
	const struct mz_access *head;
};

static struct visited visits[OBJECTS];
static u32 nr_visits;

/* Without a lock: other steps may run in between. */
static int make_room(struct mz_visitor *visitor, unsigned int nr)
{
	struct walker *walker = container_of(visitor, struct walker, visitor);
	u8 choice = step_u8(model.steps);

	FUZZ_ASSERT(nr > visitor->room);
	if (choice == 255) {
		walker->fail = true;
		return -ENOMEM;
	}
	if (choice & 1)
		add(read_key());
	if (choice & 2)
		end(read_key(), 5);
	if (choice & 4)
		count_at(read_key());
	if (choice & 8 && nr_visits) {
		/* To one that was visited, which may have ended since. */
		count(visits[step_u8(model.steps) % nr_visits].obj);
	}
	visitor->room = nr;
	return 0;
}

static void visit(struct mz_visitor *visitor, struct mz_object *obj)
{
	check_object(obj, LIVE);
	FUZZ_ASSERT(live_at(obj->key) == &model.objects[obj->size]);
	FUZZ_ASSERT(visitor->room > 0);
	visitor->room--;
	/* As kmap does: an object that moved to a later bucket is met again. */
	if (model.objects[obj->size].met == model.nr_walks)
		return;
	model.objects[obj->size].met = model.nr_walks;
	visits[nr_visits++] = (struct visited){
		.serial = obj->size,
		.nr_records = model.objects[obj->size].nr_records,
		.obj = obj,
		.head = mz_object_accesses(obj),
	};
}

/*
 * From the head that the walk has seen on, there are exactly the records that the object had then:
 * those that it has got since are in front of it.
 */
static void check_visited(const struct visited *visited)
{
	const struct mz_access *access = mz_object_accesses(visited->obj);
	u32 nr_later = model.objects[visited->serial].nr_records - visited->nr_records, nr = 0;

	FUZZ_ASSERT(visited->obj->size == visited->serial);
	while (nr_later--) {
		FUZZ_ASSERT(access && access != visited->head);
		access = access->next;
	}
	FUZZ_ASSERT(access == visited->head);
	for (; access; access = access->next)
		nr++;
	FUZZ_ASSERT(nr == visited->nr_records);
}

static void walk(void)
{
	struct walker walker = { .visitor = { .make_room = make_room, .visit = visit } };
	int err;
	u32 i;

	model.nr_walks++;
	nr_visits = 0;
	err = mz_index_walk(&model.idx, &walker.visitor);
	FUZZ_ASSERT(err == (walker.fail ? -ENOMEM : 0));
	for (i = 0; i < model.nr_live && !err; i++) {
		const struct known *known = &model.objects[model.live[i]];

		FUZZ_ASSERT(known->met == model.nr_walks || known->born == model.nr_walks);
	}
	for (i = 0; i < nr_visits; i++)
		check_visited(&visits[i]);
}

/* === The target =========================================================================== */

static void step(u8 choice)
{
	u64 key, i, nr;

	switch (choice % 16) {
	case 0:
	case 1:
		advance();
		add(read_key());
		break;
	case 2:
		advance();
		end(read_key(), choice);
		break;
	case 3:
		look_up(read_key());
		break;
	case 4:
		key = read_key();
		if (choice & 16)
			make(mz_made_key(key));
		else if (choice & 32)
			retype(choice & 64 ? mz_made_key(key) : key, choice);
		else
			reassign(key, choice);
		break;
	case 5:
		count_at(read_key());
		break;
	case 6:
		if (model.held)
			count(model.held);
		break;
	case 7:
		collect();
		break;
	case 8:
		release(1 + step_u8(model.steps));
		break;
	case 9:
		if (!(choice & 16))
			shrink();
		else if (choice & 32)
			set_aside(step_u8(model.steps));
		else
			put_back(step_u8(model.steps));
		break;
	case 10:
		walk();
		break;
	case 11:
		user_pages_exhausted = choice & 16;
		model.idx.reserve = choice >> 5;
		break;
	case 12:
		FUZZ_ASSERT(mz_index_refill(&model.idx, choice >> 4, 0) == model.idx.hungry);
		break;
	case 13:
		key = read_key();
		if (choice & 16)
			sort_by_alloc();
		else if (choice & 32)
			end_made(key, key + 4096);
		else
			drop_live(choice);
		break;
	default:
		/* Enough objects to make the table grow by pages. */
		key = read_key();
		nr = step_u8(model.steps) * 4UL;
		for (i = 0; i < nr; i++) {
			if (choice % 16 == 14)
				add(key + i * 8);
			else
				end(key + i * 8, 9);
		}
		break;
	}
	check_numbers();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct steps steps = { data, data + size };
	unsigned int shard_bits = 1 + step_u8(&steps) % SHARD_BITS_MAX, nr = 0;
	long max_pages = step_u8(&steps);

	model.nr_live = model.nr_ended = model.nr_objects = model.nr_sums = 0;
	model.nr_records = model.nr_ends = model.nr_walks = 0;
	model.max_pages = max_pages;
	model.nr_aside = 0;
	memset(model.last_free, 0, sizeof(model.last_free));
	model.chain = (struct mz_chain){ 0 };
	model.held = NULL;
	model.steps = &steps;
	model.now = 1000;
	user_pages_exhausted = false;
	FUZZ_ASSERT(!mz_index_init(&model.idx, shard_bits, max_pages, 0x5eed));
	while (steps_left(&steps) && nr++ < MAX_STEPS)
		step(step_u8(&steps));

	drop_live(0);
	collect();
	release(UINT32_MAX);
	check_numbers();
	mz_index_deinit(&model.idx);
	FUZZ_ASSERT(!atomic_long_read(&model.idx.nr_pages));
	return 0;
}
