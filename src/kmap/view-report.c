// SPDX-License-Identifier: LGPL-2.1-only
/* The report: groups of objects, the hottest objects and instructions, and who never touches its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

struct group {
	const char *name;
	struct ks_kmap_stat stat;
	u64 mean;
	u64 own; /* accesses by the allocating function */
	u64 total_bytes, waste, allocs;
};

struct groups {
	struct ks_intern names;
	KS_VEC(struct group) items; /* by number of the name */
	struct group **sorted;
	enum ks_kmap_order order;
};

static const char *const order_names[KS_KMAP_ORDERS] = {
	"bytes", "objects", "live", "mean", "cold", "accesses", "foreign",
};

enum {
	GROUP_OBJECTS,
	GROUP_BYTES,
	GROUP_SLOT_BYTES,
	GROUP_WASTE,
	GROUP_LIVE_OBJECTS,
	GROUP_LIVE_BYTES,
	GROUP_MEAN_BYTES,
	GROUP_LIFETIME_MEAN,
	GROUP_LIFETIME_MIN,
	GROUP_LIFETIME_MAX,
	GROUP_IMPLIED_FREES,
	GROUP_READS,
	GROUP_WRITES,
	GROUP_BYTES_READ,
	GROUP_BYTES_WRITTEN,
	GROUP_OWN_ACCESSES,
	GROUP_FOREIGN_ACCESSES,
	GROUP_IRQ_ACCESSES,
	GROUP_COLD_OBJECTS,
	GROUP_COLD_BYTES,
	GROUP_UNREAD_BYTES,
	GROUP_UNWRITTEN_BYTES,
	GROUP_WRITE_ONLY_BYTES,
	GROUP_READ_ONCE_OBJECTS,
	GROUP_READ_ONCE_BYTES,
	GROUP_USER_BYTES,
	GROUP_GROUP,
	GROUP_CAPTURE_ALLOCS,
	GROUP_CAPTURE_BYTES,
	GROUP_CAPTURE_WASTE,
	GROUP_COLUMNS
};

static const struct ks_column group_columns[GROUP_COLUMNS] = {
	[GROUP_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS },
	[GROUP_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES },
	[GROUP_SLOT_BYTES] = { "slot_bytes", "slots", KS_CELL_U64, KS_UNIT_BYTES, .if_any = true },
	[GROUP_WASTE] = { "waste", "waste", KS_CELL_U64, KS_UNIT_BYTES, .if_any = true },
	[GROUP_LIVE_OBJECTS] = { "live_objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[GROUP_LIVE_BYTES] = { "live_bytes", "live", KS_CELL_U64, KS_UNIT_BYTES },
	[GROUP_MEAN_BYTES] = { "mean_bytes", "mean", KS_CELL_U64, KS_UNIT_BYTES },
	[GROUP_LIFETIME_MEAN] = { "lifetime_mean", "life", KS_CELL_U64, KS_UNIT_TICKS },
	[GROUP_LIFETIME_MIN] = { "lifetime_min", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[GROUP_LIFETIME_MAX] = { "lifetime_max", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[GROUP_IMPLIED_FREES] = { "implied_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[GROUP_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT, .if_any = true },
	[GROUP_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT, .if_any = true },
	[GROUP_BYTES_READ] = { "bytes_read", "B read", KS_CELL_U64, KS_UNIT_BYTES, .if_any = true },
	[GROUP_BYTES_WRITTEN] = { "bytes_written", "B written", KS_CELL_U64, KS_UNIT_BYTES,
				  .if_any = true },
	[GROUP_OWN_ACCESSES] = { "own_accesses", "own", KS_CELL_U64, KS_UNIT_COUNT,
				 .if_any = true },
	[GROUP_FOREIGN_ACCESSES] = { "foreign_accesses", "foreign", KS_CELL_U64, KS_UNIT_COUNT,
				     .if_any = true },
	[GROUP_IRQ_ACCESSES] = { "irq_accesses", "irq", KS_CELL_U64, KS_UNIT_COUNT,
				 .if_any = true },
	[GROUP_COLD_OBJECTS] = { "cold_objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[GROUP_COLD_BYTES] = { "cold_bytes", "cold", KS_CELL_U64, KS_UNIT_BYTES, .if_any = true },
	[GROUP_UNREAD_BYTES] = { "unread_bytes", "unread", KS_CELL_U64, KS_UNIT_BYTES,
				 .if_any = true },
	[GROUP_UNWRITTEN_BYTES] = { "unwritten_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[GROUP_WRITE_ONLY_BYTES] = { "write_only_bytes", "wr-only", KS_CELL_U64, KS_UNIT_BYTES,
				     .if_any = true },
	[GROUP_READ_ONCE_OBJECTS] = { "read_once_objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[GROUP_READ_ONCE_BYTES] = { "read_once_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[GROUP_USER_BYTES] = { "user_bytes", "user's", KS_CELL_U64, KS_UNIT_BYTES, .if_any = true },
	[GROUP_GROUP] = { "group", "group", KS_CELL_TEXT },
	/* from here on with an allocation capture only */
	[GROUP_CAPTURE_ALLOCS] = { "capture_allocs", "allocs", KS_CELL_U64, KS_UNIT_COUNT },
	[GROUP_CAPTURE_BYTES] = { "capture_bytes", "alloc'd", KS_CELL_U64, KS_UNIT_BYTES },
	[GROUP_CAPTURE_WASTE] = { "capture_waste", "wasted", KS_CELL_U64, KS_UNIT_BYTES },
};

enum {
	HOT_READS,
	HOT_WRITES,
	HOT_SIZE,
	HOT_ADDRESS,
	HOT_ALLOC_TIME,
	HOT_PID,
	HOT_COMM,
	HOT_CACHE,
	HOT_SITE,
	HOT_COLUMNS
};

static const struct ks_column hot_columns[HOT_COLUMNS] = {
	[HOT_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT },
	[HOT_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT },
	[HOT_SIZE] = { "size", "size", KS_CELL_U64, KS_UNIT_BYTES },
	[HOT_ADDRESS] = { "address", "address", KS_CELL_HEX, KS_UNIT_ADDRESS, .digits = 16 },
	[HOT_ALLOC_TIME] = { "alloc_time", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[HOT_PID] = { "pid", "pid", KS_CELL_S64 },
	[HOT_COMM] = { "comm", "command", KS_CELL_TEXT },
	[HOT_CACHE] = { "cache", "cache", KS_CELL_TEXT },
	[HOT_SITE] = { "site", "allocated by", KS_CELL_TEXT },
};

enum {
	CODE_READS,
	CODE_WRITES,
	CODE_BYTES_READ,
	CODE_BYTES_WRITTEN,
	CODE_IRQ_ACCESSES,
	CODE_SITES,
	CODE_IP,
	CODE_INSTRUCTION,
	CODE_COLUMNS
};

static const struct ks_column code_columns[CODE_COLUMNS] = {
	[CODE_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT },
	[CODE_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT },
	[CODE_BYTES_READ] = { "bytes_read", "B read", KS_CELL_U64, KS_UNIT_BYTES, .if_any = true },
	[CODE_BYTES_WRITTEN] = { "bytes_written", "B written", KS_CELL_U64, KS_UNIT_BYTES,
				 .if_any = true },
	[CODE_IRQ_ACCESSES] = { "irq_accesses", "irq", KS_CELL_U64, KS_UNIT_COUNT, .if_any = true },
	[CODE_SITES] = { "sites", "sites", KS_CELL_U64, KS_UNIT_COUNT },
	[CODE_IP] = { "ip", "ip", KS_CELL_HEX, KS_UNIT_ADDRESS, .digits = 16 },
	[CODE_INSTRUCTION] = { "instruction", "instruction", KS_CELL_TEXT },
};

enum { IDLE_OBJECTS, IDLE_BYTES, IDLE_ACCESSES, IDLE_FUNCTION, IDLE_COLUMNS };

static const struct ks_column idle_columns[IDLE_COLUMNS] = {
	[IDLE_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS },
	[IDLE_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES },
	[IDLE_ACCESSES] = { "accesses", "accesses", KS_CELL_U64, KS_UNIT_COUNT },
	[IDLE_FUNCTION] = { "function", "allocating function", KS_CELL_TEXT },
};

/* === Internals: groups ==================================================================== */

static const char *name_of(const struct ks_kmap_census *census, const struct ks_kmap_places *places,
			   const struct ks_kmap_report_opts *opts, size_t site)
{
	const struct ks_kmap_site *s = &census->sites.items[site];
	const char *name;

	switch (opts->by) {
	case KS_KMAP_BY_CACHE:
		name = ks_intern_get(&census->caches, s->cache).s;
		if (!name[0] && s->type < KS_KMAP_TYPES && s->type != KS_KMAP_KMALLOC &&
		    s->type != KS_KMAP_KMEM_CACHE && s->type != KS_KMAP_NONE)
			return "no-slab";
		return name[0] ? name : "[not recorded]";
	case KS_KMAP_BY_TYPE:
		name = ks_intern_get(&census->types, s->type).s;
		return name[0] ? name : "[not recorded]";
	case KS_KMAP_BY_UNIT:
		break;
	}
	return ks_kmap_label(places, places->sites[site][opts->unit]);
}

static struct group *find_group(struct groups *groups, const char *name)
{
	u32 number = ks_intern_add(&groups->names, name, strlen(name));
	struct group *group;

	if (number == KS_NONE)
		return NULL;
	if (number < groups->items.len)
		return &groups->items.items[number];
	group = ks_vec_push(&groups->items);
	if (group)
		group->name = ks_intern_get(&groups->names, number).s;
	return group;
}

static u64 key_of(const struct group *group, enum ks_kmap_order order)
{
	switch (order) {
	case KS_KMAP_ORDER_OBJECTS:
		return group->stat.objects;
	case KS_KMAP_ORDER_LIVE:
		return group->stat.live_bytes;
	case KS_KMAP_ORDER_MEAN:
		return group->mean;
	case KS_KMAP_ORDER_COLD:
		return group->stat.cold_bytes;
	case KS_KMAP_ORDER_ACCESSES:
		return ks_add_sat(group->stat.reads, group->stat.writes);
	case KS_KMAP_ORDER_FOREIGN:
		return group->stat.foreign;
	default:
		return group->stat.bytes;
	}
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
	const enum ks_kmap_order *order = ctx;
	u64 key_x = key_of(x, *order), key_y = key_of(y, *order);

	if (key_x != key_y)
		return key_x > key_y ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void groups_deinit(struct groups *groups)
{
	ks_intern_deinit(&groups->names);
	ks_vec_free(&groups->items);
	free(groups->sorted);
}

static void add_waste(struct groups *groups, const struct ks_kmap_report_opts *opts)
{
	size_t i;

	for (i = 0; i < opts->nr_waste; i++) {
		const struct ks_kmap_waste *waste = &opts->waste[i];
		u32 number = ks_intern_find(&groups->names, waste->site, strlen(waste->site));
		struct group *group;

		if (number == KS_NONE)
			continue;
		group = &groups->items.items[number];
		group->total_bytes = ks_add_sat(group->total_bytes, waste->total_bytes);
		group->waste = ks_add_sat(group->waste, waste->waste);
		group->allocs += waste->allocs;
	}
}

static void forget_uses(struct ks_kmap_stat *stat)
{
	stat->cold_objects = stat->cold_bytes = 0;
	stat->unread_bytes = stat->unwritten_bytes = stat->user_bytes = 0;
}

/* Adds up sites and, of the edges, those within one function. */
static int groups_init(struct groups *groups, const struct ks_kmap_census *census,
		       const struct ks_kmap_places *places, const struct ks_kmap_report_opts *opts)
{
	struct group *group;
	size_t i;

	*groups = (struct groups){ .order = opts->order };
	if (ks_intern_init(&groups->names))
		return -ENOMEM;
	for (i = 0; i < census->sites.len; i++) {
		if (!census->sites.items[i].stat.objects)
			continue; /* left out */
		group = find_group(groups, name_of(census, places, opts, i));
		if (!group)
			return -ENOMEM;
		ks_kmap_stat_add(&group->stat, &census->sites.items[i].stat);
		/* Where no access was recorded, that an object had none says nothing of it. */
		if (!census->nr_accesses)
			forget_uses(&group->stat);
	}
	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];

		if (places->sites[edge->site][KS_KMAP_FUNCTION] !=
		    places->codes[edge->code][KS_KMAP_FUNCTION])
			continue;
		group = find_group(groups, name_of(census, places, opts, edge->site));
		if (!group)
			return -ENOMEM;
		group->own = ks_add_sat(group->own, ks_add_sat(edge->reads, edge->writes));
	}
	add_waste(groups, opts);
	groups->sorted = calloc(groups->items.len + 1, sizeof(*groups->sorted));
	if (!groups->sorted)
		return -ENOMEM;
	for (i = 0; i < groups->items.len; i++) {
		groups->sorted[i] = &groups->items.items[i];
		groups->sorted[i]->mean = ks_kmap_mean_bytes(census, &groups->sorted[i]->stat);
	}
	qsort_r(groups->sorted, groups->items.len, sizeof(*groups->sorted), compare_groups,
		&groups->order);
	return 0;
}

/* === Internals: tables ==================================================================== */

static void put_group(struct ks_row row, const struct group *group)
{
	const struct ks_kmap_stat *stat = &group->stat;

	ks_row_u64(row, GROUP_OBJECTS, stat->objects);
	ks_row_u64(row, GROUP_BYTES, stat->bytes);
	ks_row_u64(row, GROUP_SLOT_BYTES, stat->slot_bytes);
	ks_row_u64(row, GROUP_WASTE, stat->waste);
	ks_row_u64(row, GROUP_LIVE_OBJECTS, stat->live_objects);
	ks_row_u64(row, GROUP_LIVE_BYTES, stat->live_bytes);
	ks_row_u64(row, GROUP_MEAN_BYTES, group->mean);
	ks_row_u64(row, GROUP_LIFETIME_MEAN,
		   stat->ended ? ks_u128_div(stat->lifetime_sum, stat->ended) : 0);
	ks_row_u64(row, GROUP_LIFETIME_MIN, stat->lifetime_min);
	ks_row_u64(row, GROUP_LIFETIME_MAX, stat->lifetime_max);
	ks_row_u64(row, GROUP_IMPLIED_FREES, stat->implied);
	ks_row_u64(row, GROUP_READS, stat->reads);
	ks_row_u64(row, GROUP_WRITES, stat->writes);
	ks_row_u64(row, GROUP_BYTES_READ, stat->bytes_read);
	ks_row_u64(row, GROUP_BYTES_WRITTEN, stat->bytes_written);
	ks_row_u64(row, GROUP_OWN_ACCESSES, group->own);
	ks_row_u64(row, GROUP_FOREIGN_ACCESSES, stat->foreign);
	ks_row_u64(row, GROUP_IRQ_ACCESSES, stat->irq);
	ks_row_u64(row, GROUP_COLD_OBJECTS, stat->cold_objects);
	ks_row_u64(row, GROUP_COLD_BYTES, stat->cold_bytes);
	ks_row_u64(row, GROUP_UNREAD_BYTES, stat->unread_bytes);
	ks_row_u64(row, GROUP_UNWRITTEN_BYTES, stat->unwritten_bytes);
	ks_row_u64(row, GROUP_WRITE_ONLY_BYTES, stat->write_only_bytes);
	ks_row_u64(row, GROUP_READ_ONCE_OBJECTS, stat->read_once_objects);
	ks_row_u64(row, GROUP_READ_ONCE_BYTES, stat->read_once_bytes);
	ks_row_u64(row, GROUP_USER_BYTES, stat->user_bytes);
	ks_row_text(row, GROUP_GROUP, group->name);
}

static void put_waste(struct ks_row row, const struct group *group)
{
	ks_row_u64(row, GROUP_CAPTURE_ALLOCS, group->allocs);
	ks_row_u64(row, GROUP_CAPTURE_BYTES, group->total_bytes);
	ks_row_u64(row, GROUP_CAPTURE_WASTE, group->waste);
}

static void put_groups(struct ks_doc *doc, const struct groups *groups,
		       const struct ks_kmap_report_opts *opts)
{
	size_t i, len = groups->items.len;
	struct ks_table *table =
		ks_doc_table(doc, "groups", group_columns,
			     opts->waste ? (size_t)GROUP_COLUMNS : (size_t)GROUP_CAPTURE_ALLOCS);

	if (table)
		table->title = "objects";
	for (i = 0; i < len && (!opts->top || i < opts->top); i++) {
		struct ks_row row = ks_table_add(table);

		put_group(row, groups->sorted[i]);
		if (opts->waste)
			put_waste(row, groups->sorted[i]);
	}
}

static void put_hot(struct ks_doc *doc, const struct ks_kmap_census *census,
		    const struct ks_kmap_places *places, u64 top)
{
	struct ks_table *table;
	size_t i;

	if (!census->nr_hot)
		return;
	table = ks_doc_table(doc, "hottest_objects", hot_columns, HOT_COLUMNS);
	if (table)
		table->title = "hottest objects";
	for (i = 0; i < census->nr_hot && (!top || i < top); i++) {
		const struct ks_kmap_hot *hot = &census->hot[i];
		u32 cache = census->sites.items[hot->site].cache;
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, HOT_READS, hot->reads);
		ks_row_u64(row, HOT_WRITES, hot->writes);
		ks_row_u64(row, HOT_SIZE, hot->size);
		ks_row_u64(row, HOT_ADDRESS, hot->addr);
		ks_row_u64(row, HOT_ALLOC_TIME, hot->alloc_time);
		ks_row_s64(row, HOT_PID, hot->pid);
		ks_row_text(row, HOT_COMM, ks_intern_get(&census->comms, hot->comm).s);
		ks_row_text(row, HOT_CACHE, ks_intern_get(&census->caches, cache).s);
		ks_row_text(row, HOT_SITE,
			    ks_kmap_label(places, places->sites[hot->site][KS_KMAP_SITE]));
	}
}

struct heat {
	u64 ip, reads, writes, bytes_read, bytes_written, irq, sites;
	u32 code;
};

static int compare_heat(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;
	u64 key_x = ks_add_sat(x->reads, x->writes), key_y = ks_add_sat(y->reads, y->writes);

	if (key_x != key_y)
		return key_x > key_y ? -1 : 1;
	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static void put_heat(struct ks_doc *doc, const struct heat *heat, size_t len,
		     const struct ks_kmap_places *places, u64 top)
{
	struct ks_table *table =
		ks_doc_table(doc, "hottest_instructions", code_columns, CODE_COLUMNS);
	size_t i;

	if (table)
		table->title = "hottest instructions";
	top = top && top < KS_KMAP_HOTTEST ? top : KS_KMAP_HOTTEST;
	for (i = 0; i < len && i < top && heat[i].sites; i++) {
		struct ks_row row = ks_table_add(table);
		u32 label = places->codes[heat[i].code][KS_KMAP_SITE];

		ks_row_u64(row, CODE_READS, heat[i].reads);
		ks_row_u64(row, CODE_WRITES, heat[i].writes);
		ks_row_u64(row, CODE_BYTES_READ, heat[i].bytes_read);
		ks_row_u64(row, CODE_BYTES_WRITTEN, heat[i].bytes_written);
		ks_row_u64(row, CODE_IRQ_ACCESSES, heat[i].irq);
		ks_row_u64(row, CODE_SITES, heat[i].sites);
		ks_row_u64(row, CODE_IP, heat[i].ip);
		ks_row_text(row, CODE_INSTRUCTION, ks_kmap_label(places, label));
	}
}

static void put_codes(struct ks_doc *doc, const struct ks_kmap_census *census,
		      const struct ks_kmap_places *places, u64 top)
{
	struct heat *heat = calloc(census->codes.keys.len + 1, sizeof(*heat));
	size_t i;

	if (!heat) {
		doc->failed = true;
		return;
	}
	for (i = 0; i < census->codes.keys.len; i++) {
		heat[i].ip = census->codes.keys.items[i];
		heat[i].code = (u32)i;
	}
	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		struct heat *h = &heat[edge->code];

		h->reads = ks_add_sat(h->reads, edge->reads);
		h->writes = ks_add_sat(h->writes, edge->writes);
		h->bytes_read = ks_add_sat(h->bytes_read, edge->bytes_read);
		h->bytes_written = ks_add_sat(h->bytes_written, edge->bytes_written);
		h->irq = ks_add_sat(h->irq, edge->irq);
		h->sites += edge->reads || edge->writes;
	}
	qsort(heat, census->codes.keys.len, sizeof(*heat), compare_heat);
	if (heat[0].sites)
		put_heat(doc, heat, census->codes.keys.len, places, top);
	free(heat);
}

/* Functions that allocate what others use: wrappers, constructors, and candidates for a closer look. */
static void put_idle(struct ks_doc *doc, const struct ks_kmap_census *census,
		     const struct ks_kmap_places *places, u64 top)
{
	struct ks_kmap_report_opts by_function = { .by = KS_KMAP_BY_UNIT,
						   .unit = KS_KMAP_FUNCTION };
	struct ks_table *table = NULL;
	struct groups groups;
	size_t i, rows = 0;

	if (groups_init(&groups, census, places, &by_function)) {
		doc->failed = true;
		groups_deinit(&groups);
		return;
	}
	for (i = 0; i < groups.items.len && (!top || rows < top); i++) {
		const struct group *group = groups.sorted[i];
		u64 accesses = ks_add_sat(group->stat.reads, group->stat.writes);
		struct ks_row row;

		if (group->own || !accesses || group->name[0] == '[')
			continue;
		if (!rows++) {
			table = ks_doc_table(doc, "allocates_only", idle_columns, IDLE_COLUMNS);
			if (table)
				table->title = "functions that allocate and never touch";
		}
		row = ks_table_add(table);
		ks_row_u64(row, IDLE_OBJECTS, group->stat.objects);
		ks_row_u64(row, IDLE_BYTES, group->stat.bytes);
		ks_row_u64(row, IDLE_ACCESSES, accesses);
		ks_row_text(row, IDLE_FUNCTION, group->name);
	}
	groups_deinit(&groups);
}

/* === Public =============================================================================== */

const char *ks_kmap_order_name(enum ks_kmap_order order)
{
	return order_names[order];
}

int ks_kmap_order_parse(const char *name, enum ks_kmap_order *ret_order)
{
	size_t i;

	for (i = 0; i < KS_KMAP_ORDERS; i++)
		if (!strcmp(name, order_names[i])) {
			*ret_order = (enum ks_kmap_order)i;
			return 0;
		}
	return -EINVAL;
}

void ks_kmap_view_quality(struct ks_doc *doc, const struct ks_kmap_census *census,
			  const struct ks_kmap_places *places)
{
	const struct ks_kmap_quality *q = &census->quality;
	struct ks_kmap_stat total = { 0 };
	size_t i;

	for (i = 0; i < census->sites.len; i++)
		ks_kmap_stat_add(&total, &census->sites.items[i].stat);
	doc->note_width = 0;
	ks_doc_say(doc, "the map:\n");
	ks_doc_open(doc, "map");
	ks_doc_note(doc, "objects", total.objects, "objects", true);
	ks_doc_note(doc, "bytes", total.bytes, "bytes in them", false);
	ks_doc_note(doc, "live_objects", total.live_objects, "objects live at the end", false);
	ks_doc_note(doc, "accesses", census->nr_accesses, "lines or records of accesses", false);
	ks_doc_note(doc, "reads", total.reads, "reads", false);
	ks_doc_note(doc, "writes", total.writes, "writes", false);
	ks_doc_note(doc, "bytes_read", total.bytes_read, "bytes read", false);
	ks_doc_note(doc, "bytes_written", total.bytes_written, "bytes written", false);
	ks_doc_note(doc, "no_accesses", !census->nr_accesses,
		    "map without any access: who touched its objects is not known", false);
	ks_doc_note(doc, "slab_page_bytes", census->slab_page_bytes,
		    "bytes of slabs' pages left out: their objects are in the map", false);
	ks_doc_note(doc, "slab_page_accesses", census->slab_page_accesses,
		    "accesses to them, before there were objects", false);
	ks_doc_note(doc, "implied_frees", total.implied,
		    "objects ended unseen: their address was allocated again", false);
	ks_doc_note(doc, "endless_objects", total.objects - total.live_objects - total.ended,
		    "freed objects without a time of their end", false);
	ks_doc_note(doc, "bad_lines", q->bad_lines, "lines or records not understood", false);
	ks_doc_note(doc, "short_lines", q->short_lines, "object lines that lack a field", false);
	ks_doc_note(doc, "orphan_accesses", q->orphan_accesses, "accesses of no object", false);
	ks_doc_note(doc, "shared_indices", q->shared_indices,
		    "objects whose index an earlier one had", false);
	ks_doc_note(doc, "unnamed_code", places->unnamed,
		    "addresses of code without a function's name", false);
	ks_doc_close(doc);
}

struct ks_doc *ks_kmap_view_report(const struct ks_kmap_census *census,
				   const struct ks_kmap_places *places,
				   const struct ks_kmap_report_opts *opts)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-report-1");
	struct groups groups;

	if (!doc)
		return NULL;
	if (groups_init(&groups, census, places, opts))
		doc->failed = true;
	else
		put_groups(doc, &groups, opts);
	groups_deinit(&groups);
	put_hot(doc, census, places, opts->top);
	put_codes(doc, census, places, opts->top);
	put_idle(doc, census, places, opts->top);
	ks_kmap_view_quality(doc, census, places);
	return doc;
}
