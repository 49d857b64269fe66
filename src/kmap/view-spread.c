// SPDX-License-Identifier: LGPL-2.1-only
/* How long objects live and how large they are, by percentiles; and who uses what others allocated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

enum {
	LIFE_OBJECTS,
	LIFE_ENDED,
	LIFE_P50,
	LIFE_P90,
	LIFE_P99,
	LIFE_MAX,
	LIFE_SIZE_P50,
	LIFE_SIZE_P90,
	LIFE_SIZE_P99,
	LIFE_SIZE_MAX,
	LIFE_GROUP,
	LIFE_COLUMNS
};

#define LIFE_COLUMNS_IN(unit)                                                              \
	{                                                                                  \
		[LIFE_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS },   \
		[LIFE_ENDED] = { "ended", "ended", KS_CELL_U64, KS_UNIT_OBJECTS },         \
		[LIFE_P50] = { "life_p50", "life 50 %", KS_CELL_U64, unit },               \
		[LIFE_P90] = { "life_p90", "90 %", KS_CELL_U64, unit },                    \
		[LIFE_P99] = { "life_p99", "99 %", KS_CELL_U64, unit },                    \
		[LIFE_MAX] = { "life_max", "longest", KS_CELL_U64, unit },                 \
		[LIFE_SIZE_P50] = { "size_p50", "size 50 %", KS_CELL_U64, KS_UNIT_BYTES }, \
		[LIFE_SIZE_P90] = { "size_p90", "90 %", KS_CELL_U64, KS_UNIT_BYTES },      \
		[LIFE_SIZE_P99] = { "size_p99", "99 %", KS_CELL_U64, KS_UNIT_BYTES },      \
		[LIFE_SIZE_MAX] = { "size_max", "largest", KS_CELL_U64, KS_UNIT_BYTES },   \
		[LIFE_GROUP] = { "group", "group", KS_CELL_TEXT },                         \
	}

static const struct ks_column life_columns_ns[LIFE_COLUMNS] = LIFE_COLUMNS_IN(KS_UNIT_NS);
static const struct ks_column life_columns_ticks[LIFE_COLUMNS] = LIFE_COLUMNS_IN(KS_UNIT_TICKS);

enum { BIN_FROM, BIN_TO, BIN_OBJECTS, BIN_COLUMNS };

#define BIN_COLUMNS_IN(unit)                                                            \
	{                                                                               \
		[BIN_FROM] = { "from", "from", KS_CELL_U64, unit },                     \
		[BIN_TO] = { "to", "to", KS_CELL_U64, unit },                           \
		[BIN_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS }, \
	}

static const struct ks_column bin_columns_ns[BIN_COLUMNS] = BIN_COLUMNS_IN(KS_UNIT_NS);
static const struct ks_column bin_columns_ticks[BIN_COLUMNS] = BIN_COLUMNS_IN(KS_UNIT_TICKS);
static const struct ks_column bin_columns_bytes[BIN_COLUMNS] = BIN_COLUMNS_IN(KS_UNIT_BYTES);

enum { PAIR_OBJECTS, PAIR_ACCESSES, PAIR_OWNER, PAIR_USER, PAIR_COLUMNS };

static const struct ks_column pair_columns[PAIR_COLUMNS] = {
	[PAIR_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS },
	[PAIR_ACCESSES] = { "accesses", "accesses", KS_CELL_U64, KS_UNIT_COUNT },
	[PAIR_OWNER] = { "allocated_by", "allocated by", KS_CELL_TEXT },
	[PAIR_USER] = { "used_by", "used by", KS_CELL_TEXT },
};

enum { CPU_OBJECTS, CPU_ACCESSES, CPU_OWNER, CPU_USER, CPU_COLUMNS };

static const struct ks_column cpu_columns[CPU_COLUMNS] = {
	[CPU_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS },
	[CPU_ACCESSES] = { "accesses", "accesses", KS_CELL_U64, KS_UNIT_COUNT },
	[CPU_OWNER] = { "allocated_on", "allocated on", KS_CELL_U64 },
	[CPU_USER] = { "used_on", "used on", KS_CELL_U64 },
};

enum {
	SHARED_USED,
	SHARED_BY_TASKS,
	SHARED_MOST_TASKS,
	SHARED_BY_CPUS,
	SHARED_MOST_CPUS,
	SHARED_ELSEWHERE,
	SHARED_GROUP,
	SHARED_COLUMNS
};

static const struct ks_column shared_columns[SHARED_COLUMNS] = {
	[SHARED_USED] = { "used", "used", KS_CELL_U64, KS_UNIT_OBJECTS },
	[SHARED_BY_TASKS] = { "by_tasks", "by threads", KS_CELL_U64, KS_UNIT_OBJECTS },
	[SHARED_MOST_TASKS] = { "most_tasks", "most", KS_CELL_U64, KS_UNIT_COUNT },
	[SHARED_BY_CPUS] = { "by_cpus", "by CPUs", KS_CELL_U64, KS_UNIT_OBJECTS },
	[SHARED_MOST_CPUS] = { "most_cpus", "most", KS_CELL_U64, KS_UNIT_COUNT },
	[SHARED_ELSEWHERE] = { "elsewhere", "only by others", KS_CELL_U64, KS_UNIT_OBJECTS },
	[SHARED_GROUP] = { "group", "group", KS_CELL_TEXT },
};

/* Objects in a bin of a group; or, of all groups, in the group KS_NONE. */
struct count {
	u32 group;
	u32 of, bin;
	u64 objects, most;
};

struct life {
	const char *name;
	u64 objects, ended, life_max, size_max;
	u64 points[KS_KMAP_SPREADS][3];
};

/* === Internals: distributions ============================================================= */

static int compare_counts(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->bin != y->bin)
		return x->bin < y->bin ? -1 : 1;
	return x->most < y->most ? -1 : x->most > y->most;
}

/* The least value that this number of 100 objects do not exceed, as far as bins tell. */
static u64 percentile(const struct count *counts, size_t len, u64 percent)
{
	u64 all = 0, below = 0, wanted;
	size_t i;

	for (i = 0; i < len; i++)
		all += counts[i].objects;
	wanted = (all / 100) * percent + (all % 100 * percent + 99) / 100;
	for (i = 0; i < len; i++) {
		below += counts[i].objects;
		if (below >= wanted)
			return counts[i].most;
	}
	return 0;
}

/* Returns the number of counts that belong together, and their percentiles. */
static size_t take_points(const struct count *counts, size_t len, u64 *points)
{
	static const u64 percents[] = { 50, 90, 99 };
	size_t n = 0, i;

	while (n < len && counts[n].group == counts[0].group && counts[n].of == counts[0].of)
		n++;
	for (i = 0; i < ARRAY_SIZE(percents); i++)
		points[i] = percentile(counts, n, percents[i]);
	return n;
}

static int compare_lives(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->objects != y->objects)
		return x->objects > y->objects ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void put_lives(struct ks_doc *doc, const struct ks_kmap_census *census,
		      const struct life *lives, size_t len, u64 top)
{
	bool ns = !strcmp(census->info.time, "ns");
	struct ks_table *table =
		ks_doc_table(doc, "lives", ns ? life_columns_ns : life_columns_ticks, LIFE_COLUMNS);
	unsigned int point;
	size_t i;

	for (i = 0; i < len && (!top || i < top); i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, LIFE_OBJECTS, lives[i].objects);
		ks_row_u64(row, LIFE_ENDED, lives[i].ended);
		for (point = 0; point < 3; point++) {
			if (lives[i].ended)
				ks_row_u64(row, LIFE_P50 + point,
					   lives[i].points[KS_KMAP_LIVES][point]);
			ks_row_u64(row, LIFE_SIZE_P50 + point,
				   lives[i].points[KS_KMAP_SIZES][point]);
		}
		if (lives[i].ended)
			ks_row_u64(row, LIFE_MAX, lives[i].life_max);
		ks_row_u64(row, LIFE_SIZE_MAX, lives[i].size_max);
		ks_row_text(row, LIFE_GROUP, lives[i].name);
	}
}

/* The powers of two that a bin is in: 0, 1, 2 to 3, 4 to 7. */
static u32 power_of(u32 bin)
{
	u64 first = ks_kmap_bin_first(bin);

	return first ? 64 - (u32)__builtin_clzll(first) : 0;
}

static void put_histogram(struct ks_doc *doc, const struct ks_kmap_census *census,
			  enum ks_kmap_spread_of of, const char *name, const char *title)
{
	const struct ks_column *columns = of == KS_KMAP_SIZES		    ? bin_columns_bytes
					  : strcmp(census->info.time, "ns") ? bin_columns_ticks
									    : bin_columns_ns;
	u64 objects[65] = { 0 };
	struct ks_table *table;
	size_t i, power;

	for (i = 0; i < census->spread.bins.len; i++)
		if (census->spread.bins.items[i].of == of)
			objects[power_of(census->spread.bins.items[i].number)] +=
				census->spread.bins.items[i].objects;
	table = ks_doc_table(doc, name, columns, BIN_COLUMNS);
	if (table)
		table->title = title;
	for (power = 0; power < ARRAY_SIZE(objects); power++) {
		struct ks_row row;

		if (!objects[power])
			continue;
		row = ks_table_add(table);
		ks_row_u64(row, BIN_FROM, power ? 1ull << (power - 1) : 0);
		ks_row_u64(row, BIN_TO, power == 64 ? UINT64_MAX : (1ull << power) - 1);
		ks_row_u64(row, BIN_OBJECTS, objects[power]);
	}
}

/* The counts by group and bin, in order; those of one bin may be several. */
static struct count *gather(const struct ks_kmap_census *census,
			    const struct ks_kmap_places *places, enum ks_kmap_unit unit)
{
	const struct ks_kmap_spread *spread = &census->spread;
	struct count *counts = calloc(spread->bins.len + 1, sizeof(*counts));
	size_t i;

	for (i = 0; counts && i < spread->bins.len; i++) {
		const struct ks_kmap_bin *bin = &spread->bins.items[i];

		counts[i] = (struct count){ places->sites[bin->site][unit], bin->of, bin->number,
					    bin->objects, bin->most };
	}
	if (counts)
		qsort(counts, spread->bins.len, sizeof(*counts), compare_counts);
	return counts;
}

/* === Internals: sharing =================================================================== */

/* "ls (812)", by the process of a task. Returns a string of the document. */
static const char *process_name(struct ks_doc *doc, const struct ks_kmap_spread *spread,
				const struct ks_kmap_task *task)
{
	u32 leader = ks_map64_find(&spread->task_index, (u32)task->tgid);
	u32 comm = task->comm;
	char text[160];

	if (task->pid < 0)
		return "[interrupts]";
	if (leader != KS_NONE && spread->tasks.items[leader].comm != KS_NONE)
		comm = spread->tasks.items[leader].comm;
	if (comm == KS_NONE)
		snprintf(text, sizeof(text), "pid %d", task->tgid);
	else
		snprintf(text, sizeof(text), "%.120s (%d)", ks_intern_get(&spread->comms, comm).s,
			 task->tgid);
	return ks_doc_string(doc, text);
}

struct pair {
	const char *owner, *user;
	u64 objects, accesses;
};

static int compare_pair_names(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = strcmp(x->owner, y->owner);

	return order ? order : strcmp(x->user, y->user);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return compare_pair_names(a, b);
}

/* Several threads of a process are one. */
static size_t merge_pairs(struct pair *pairs, size_t len)
{
	size_t i, n = 0;

	qsort(pairs, len, sizeof(*pairs), compare_pair_names);
	for (i = 0; i < len; i++) {
		if (!n || compare_pair_names(&pairs[n - 1], &pairs[i])) {
			pairs[n++] = pairs[i];
			continue;
		}
		pairs[n - 1].objects += pairs[i].objects;
		pairs[n - 1].accesses = ks_add_sat(pairs[n - 1].accesses, pairs[i].accesses);
	}
	qsort(pairs, n, sizeof(*pairs), compare_pairs);
	return n;
}

static void put_processes(struct ks_doc *doc, const struct ks_kmap_spread *spread, u64 top)
{
	struct ks_table *table = ks_doc_table(doc, "processes", pair_columns, PAIR_COLUMNS);
	struct pair *pairs = calloc(spread->by_task.len + 1, sizeof(*pairs));
	size_t i, len;

	if (table)
		table->title = "who uses what was allocated by whom";
	doc->failed |= !pairs;
	for (i = 0; pairs && i < spread->by_task.len; i++) {
		const struct ks_kmap_sharing *sharing = &spread->by_task.items[i];

		pairs[i].owner = process_name(doc, spread, &spread->tasks.items[sharing->owner]);
		pairs[i].user = process_name(doc, spread, &spread->tasks.items[sharing->user]);
		pairs[i].objects = sharing->objects;
		pairs[i].accesses = sharing->accesses;
		if (!pairs[i].owner || !pairs[i].user) {
			doc->failed = true;
			free(pairs);
			return;
		}
	}
	len = pairs ? merge_pairs(pairs, spread->by_task.len) : 0;
	for (i = 0; i < len && (!top || i < top); i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, PAIR_OBJECTS, pairs[i].objects);
		ks_row_u64(row, PAIR_ACCESSES, pairs[i].accesses);
		ks_row_text(row, PAIR_OWNER, pairs[i].owner);
		ks_row_text(row, PAIR_USER, pairs[i].user);
	}
	free(pairs);
}

static int compare_cpus(const void *a, const void *b)
{
	const struct ks_kmap_sharing *x = *(struct ks_kmap_sharing *const *)a;
	const struct ks_kmap_sharing *y = *(struct ks_kmap_sharing *const *)b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->user < y->user ? -1 : x->user > y->user;
}

static void put_cpus(struct ks_doc *doc, const struct ks_kmap_spread *spread)
{
	const struct ks_kmap_sharing **sorted;
	struct ks_table *table;
	size_t i;

	if (!spread->has_cpus)
		return;
	table = ks_doc_table(doc, "cpus", cpu_columns, CPU_COLUMNS);
	sorted = calloc(spread->by_cpu.len + 1, sizeof(*sorted));
	if (table)
		table->title = "processors";
	doc->failed |= !sorted;
	for (i = 0; sorted && i < spread->by_cpu.len; i++)
		sorted[i] = &spread->by_cpu.items[i];
	if (sorted)
		qsort(sorted, spread->by_cpu.len, sizeof(*sorted), compare_cpus);
	for (i = 0; sorted && i < spread->by_cpu.len; i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, CPU_OBJECTS, sorted[i]->objects);
		ks_row_u64(row, CPU_ACCESSES, sorted[i]->accesses);
		ks_row_u64(row, CPU_OWNER, sorted[i]->owner);
		ks_row_u64(row, CPU_USER, sorted[i]->user);
	}
	free(sorted);
}

struct shared_group {
	const char *name;
	struct ks_kmap_shared sum;
};

static int compare_shared(const void *a, const void *b)
{
	const struct shared_group *x = a, *y = b;

	if (x->sum.by_tasks != y->sum.by_tasks)
		return x->sum.by_tasks > y->sum.by_tasks ? -1 : 1;
	if (x->sum.used != y->sum.used)
		return x->sum.used > y->sum.used ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_shared(struct ks_kmap_shared *to, const struct ks_kmap_shared *from)
{
	to->used += from->used;
	to->by_tasks += from->by_tasks;
	to->by_cpus += from->by_cpus;
	to->elsewhere += from->elsewhere;
	to->most_tasks = ks_max(to->most_tasks, from->most_tasks);
	to->most_cpus = ks_max(to->most_cpus, from->most_cpus);
}

static void put_shared(struct ks_doc *doc, const struct ks_kmap_census *census,
		       const struct ks_kmap_places *places, enum ks_kmap_unit unit, u64 top)
{
	size_t i, len = places->labels.strs.len, n = 0;
	struct shared_group *groups = calloc(len + 1, sizeof(*groups));
	struct ks_table *table = ks_doc_table(doc, "shared", shared_columns, SHARED_COLUMNS);

	if (table)
		table->title = "objects that are used, and shared";
	doc->failed |= !groups;
	for (i = 0; groups && i < census->spread.sites.len; i++) {
		struct shared_group *group = &groups[places->sites[i][unit]];

		group->name = ks_kmap_label(places, places->sites[i][unit]);
		add_shared(&group->sum, &census->spread.sites.items[i]);
	}
	for (i = 0; groups && i < len; i++)
		if (groups[i].sum.used)
			groups[n++] = groups[i];
	if (groups)
		qsort(groups, n, sizeof(*groups), compare_shared);
	for (i = 0; i < n && (!top || i < top); i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, SHARED_USED, groups[i].sum.used);
		ks_row_u64(row, SHARED_BY_TASKS, groups[i].sum.by_tasks);
		ks_row_u64(row, SHARED_MOST_TASKS, groups[i].sum.most_tasks);
		ks_row_u64(row, SHARED_BY_CPUS, groups[i].sum.by_cpus);
		ks_row_u64(row, SHARED_MOST_CPUS, groups[i].sum.most_cpus);
		ks_row_u64(row, SHARED_ELSEWHERE, groups[i].sum.elsewhere);
		ks_row_text(row, SHARED_GROUP, groups[i].name);
	}
	free(groups);
}

/* === Public =============================================================================== */

struct ks_doc *ks_kmap_view_lives(const struct ks_kmap_census *census,
				  const struct ks_kmap_places *places, enum ks_kmap_unit unit,
				  u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-lives-1");
	struct count *counts = gather(census, places, unit);
	size_t i, n, len = places->labels.strs.len;
	struct life *lives = calloc(len + 1, sizeof(*lives));

	if (!doc || !counts || !lives) {
		ks_doc_free(doc);
		free(counts);
		free(lives);
		return NULL;
	}
	for (i = 0; i < census->sites.len; i++) {
		const struct ks_kmap_site *site = &census->sites.items[i];
		struct life *life = &lives[places->sites[i][unit]];

		life->name = ks_kmap_label(places, places->sites[i][unit]);
		life->objects += site->stat.objects;
		life->life_max = ks_max(life->life_max, site->stat.lifetime_max);
		life->size_max = ks_max(life->size_max, site->largest);
	}
	for (i = 0; i < census->spread.bins.len; i += n) {
		struct life *life = &lives[counts[i].group];
		bool is_life = counts[i].of == KS_KMAP_LIVES;
		size_t j;

		n = take_points(&counts[i], census->spread.bins.len - i,
				life->points[counts[i].of]);
		for (j = i; is_life && j < i + n; j++)
			life->ended += counts[j].objects;
	}
	for (i = n = 0; i < len; i++)
		if (lives[i].objects)
			lives[n++] = lives[i];
	qsort(lives, n, sizeof(*lives), compare_lives);
	put_lives(doc, census, lives, n, top);
	put_histogram(doc, census, KS_KMAP_LIVES, "life_histogram", "life times");
	put_histogram(doc, census, KS_KMAP_SIZES, "size_histogram", "sizes");
	ks_kmap_view_quality(doc, census, places);
	free(counts);
	free(lives);
	return doc;
}

struct ks_doc *ks_kmap_view_sharing(const struct ks_kmap_census *census,
				    const struct ks_kmap_places *places, enum ks_kmap_unit unit,
				    u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-sharing-1");

	if (!doc)
		return NULL;
	put_processes(doc, &census->spread, top);
	put_cpus(doc, &census->spread);
	put_shared(doc, census, places, unit, top);
	ks_kmap_view_quality(doc, census, places);
	return doc;
}
