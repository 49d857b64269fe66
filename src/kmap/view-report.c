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

static const struct ks_view_column group_columns[] = {
	{ "objects", "objects", KS_CELL_U64, false },
	{ "bytes", "bytes", KS_CELL_U64, false },
	{ "live_objects", NULL, KS_CELL_U64, false },
	{ "live_bytes", "live", KS_CELL_U64, false },
	{ "mean_bytes", "mean", KS_CELL_U64, false },
	{ "lifetime_mean", "life", KS_CELL_U64, false },
	{ "lifetime_min", NULL, KS_CELL_U64, false },
	{ "lifetime_max", NULL, KS_CELL_U64, false },
	{ "implied_frees", NULL, KS_CELL_U64, false },
	{ "reads", "reads", KS_CELL_U64, true },
	{ "writes", "writes", KS_CELL_U64, true },
	{ "bytes_read", "B read", KS_CELL_U64, true },
	{ "bytes_written", "B written", KS_CELL_U64, true },
	{ "own_accesses", "own", KS_CELL_U64, true },
	{ "foreign_accesses", "foreign", KS_CELL_U64, true },
	{ "irq_accesses", "irq", KS_CELL_U64, true },
	{ "cold_objects", NULL, KS_CELL_U64, false },
	{ "cold_bytes", "cold", KS_CELL_U64, true },
	{ "unread_bytes", "unread", KS_CELL_U64, true },
	{ "unwritten_bytes", NULL, KS_CELL_U64, false },
	{ "write_only_bytes", "wr-only", KS_CELL_U64, true },
	{ "read_once_objects", NULL, KS_CELL_U64, false },
	{ "read_once_bytes", NULL, KS_CELL_U64, false },
	{ "group", "group", KS_CELL_TEXT, false },
	/* from here on with an allocation capture only */
	{ "capture_allocs", "allocs", KS_CELL_U64, false },
	{ "capture_bytes", "alloc'd", KS_CELL_U64, false },
	{ "capture_waste", "waste", KS_CELL_U64, false },
};

static const struct ks_view_column hot_columns[] = {
	{ "reads", "reads", KS_CELL_U64, false },
	{ "writes", "writes", KS_CELL_U64, false },
	{ "size", "size", KS_CELL_U64, false },
	{ "address", "address", KS_CELL_HEX, false },
	{ "alloc_time", NULL, KS_CELL_U64, false },
	{ "pid", "pid", KS_CELL_S64, false },
	{ "comm", "command", KS_CELL_TEXT, false },
	{ "cache", "cache", KS_CELL_TEXT, false },
	{ "site", "allocated by", KS_CELL_TEXT, false },
};

static const struct ks_view_column code_columns[] = {
	{ "reads", "reads", KS_CELL_U64, false },
	{ "writes", "writes", KS_CELL_U64, false },
	{ "bytes_read", "B read", KS_CELL_U64, true },
	{ "bytes_written", "B written", KS_CELL_U64, true },
	{ "irq_accesses", "irq", KS_CELL_U64, true },
	{ "sites", "sites", KS_CELL_U64, false },
	{ "ip", "ip", KS_CELL_HEX, false },
	{ "instruction", "instruction", KS_CELL_TEXT, false },
};

static const struct ks_view_column idle_columns[] = {
	{ "objects", "objects", KS_CELL_U64, false },
	{ "bytes", "bytes", KS_CELL_U64, false },
	{ "accesses", "accesses", KS_CELL_U64, false },
	{ "function", "allocating function", KS_CELL_TEXT, false },
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
		return name[0] ? name : "[not recorded]";
	case KS_KMAP_BY_TYPE:
		name = ks_intern_get(&census->types, s->type).s;
		return name[0] ? name : "[not recorded]";
	case KS_KMAP_BY_LEVEL:
		break;
	}
	return ks_kmap_label(places, places->sites[site][opts->level]);
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
	stat->unread_bytes = stat->unwritten_bytes = 0;
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

static void put_group(struct ks_view *view, struct ks_view_table *table, const struct group *group)
{
	const struct ks_kmap_stat *stat = &group->stat;
	union ks_view_cell *row = ks_view_add_row(view, table);
	const char *name = ks_view_string(view, group->name);
	u64 life = stat->ended ? (u64)(stat->lifetime_sum / stat->ended) : 0;
	u64 numbers[] = {
		stat->objects,
		stat->bytes,
		stat->live_objects,
		stat->live_bytes,
		group->mean,
		life,
		stat->lifetime_min,
		stat->lifetime_max,
		stat->implied,
		stat->reads,
		stat->writes,
		stat->bytes_read,
		stat->bytes_written,
		group->own,
		stat->foreign,
		stat->irq,
		stat->cold_objects,
		stat->cold_bytes,
		stat->unread_bytes,
		stat->unwritten_bytes,
		stat->write_only_bytes,
		stat->read_once_objects,
		stat->read_once_bytes,
	};
	size_t i, label = ARRAY_SIZE(numbers);

	if (!row)
		return;
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		row[i].u64 = numbers[i];
	row[label].text = name;
	if (table->nr_columns > label + 1) {
		row[label + 1].u64 = group->allocs;
		row[label + 2].u64 = group->total_bytes;
		row[label + 3].u64 = group->waste;
	}
}

static void put_groups(struct ks_view *view, const struct groups *groups,
		       const struct ks_kmap_report_opts *opts)
{
	size_t i, len = groups->items.len;
	struct ks_view_table *table =
		ks_view_add_table(view, "groups", "objects", group_columns,
				  ARRAY_SIZE(group_columns) - (opts->waste ? 0 : 3));

	for (i = 0; i < len && (!opts->top || i < opts->top); i++)
		put_group(view, table, groups->sorted[i]);
}

static void put_hot(struct ks_view *view, const struct ks_kmap_census *census,
		    const struct ks_kmap_places *places, u64 top)
{
	struct ks_view_table *table;
	size_t i;

	if (!census->nr_hot)
		return;
	table = ks_view_add_table(view, "hottest_objects", "hottest objects", hot_columns,
				  ARRAY_SIZE(hot_columns));
	for (i = 0; i < census->nr_hot && (!top || i < top); i++) {
		const struct ks_kmap_hot *hot = &census->hot[i];
		u32 cache = census->sites.items[hot->site].cache;
		union ks_view_cell *row = ks_view_add_row(view, table);

		if (!row)
			return;
		row[0].u64 = hot->reads;
		row[1].u64 = hot->writes;
		row[2].u64 = hot->size;
		row[3].u64 = hot->addr;
		row[4].u64 = hot->alloc_time;
		row[5].s64 = hot->pid;
		row[6].text = ks_view_string(view, ks_intern_get(&census->comms, hot->comm).s);
		row[7].text = ks_view_string(view, ks_intern_get(&census->caches, cache).s);
		row[8].text = ks_view_string(
			view, ks_kmap_label(places, places->sites[hot->site][KS_KMAP_SITE]));
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

static void put_codes(struct ks_view *view, const struct ks_kmap_census *census,
		      const struct ks_kmap_places *places, u64 top)
{
	struct heat *heat = calloc(census->codes.keys.len + 1, sizeof(*heat));
	struct ks_view_table *table;
	size_t i;

	if (!heat) {
		view->failed = true;
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
	if (heat[0].sites) {
		table = ks_view_add_table(view, "hottest_instructions", "hottest instructions",
					  code_columns, ARRAY_SIZE(code_columns));
		top = top && top < KS_KMAP_HOTTEST ? top : KS_KMAP_HOTTEST;
		for (i = 0; i < census->codes.keys.len && i < top && heat[i].sites; i++) {
			union ks_view_cell *row = ks_view_add_row(view, table);
			u32 label = places->codes[heat[i].code][KS_KMAP_SITE];

			if (!row)
				break;
			row[0].u64 = heat[i].reads;
			row[1].u64 = heat[i].writes;
			row[2].u64 = heat[i].bytes_read;
			row[3].u64 = heat[i].bytes_written;
			row[4].u64 = heat[i].irq;
			row[5].u64 = heat[i].sites;
			row[6].u64 = heat[i].ip;
			row[7].text = ks_view_string(view, ks_kmap_label(places, label));
		}
	}
	free(heat);
}

/* Functions that allocate what others use: wrappers, constructors, and candidates for a closer look. */
static void put_idle(struct ks_view *view, const struct ks_kmap_census *census,
		     const struct ks_kmap_places *places, u64 top)
{
	struct ks_kmap_report_opts by_function = { .by = KS_KMAP_BY_LEVEL,
						   .level = KS_KMAP_FUNCTION };
	struct ks_view_table *table = NULL;
	struct groups groups;
	size_t i, rows = 0;

	if (groups_init(&groups, census, places, &by_function)) {
		view->failed = true;
		groups_deinit(&groups);
		return;
	}
	for (i = 0; i < groups.items.len && (!top || rows < top); i++) {
		const struct group *group = groups.sorted[i];
		u64 accesses = ks_add_sat(group->stat.reads, group->stat.writes);
		union ks_view_cell *row;

		if (group->own || !accesses || group->name[0] == '[')
			continue;
		if (!rows++)
			table = ks_view_add_table(view, "allocates_only",
						  "functions that allocate and never touch",
						  idle_columns, ARRAY_SIZE(idle_columns));
		row = ks_view_add_row(view, table);
		if (!row)
			break;
		row[0].u64 = group->stat.objects;
		row[1].u64 = group->stat.bytes;
		row[2].u64 = accesses;
		row[3].text = ks_view_string(view, group->name);
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

void ks_kmap_view_quality(struct ks_view *view, const struct ks_kmap_census *census,
			  const struct ks_kmap_places *places)
{
	const struct ks_kmap_quality *q = &census->quality;
	struct ks_kmap_stat total = { 0 };
	size_t i;

	for (i = 0; i < census->sites.len; i++)
		ks_kmap_stat_add(&total, &census->sites.items[i].stat);
	ks_view_note(view, "objects", total.objects, "objects");
	ks_view_note(view, "bytes", total.bytes, "bytes in them");
	ks_view_note(view, "live_objects", total.live_objects, "objects live at the end");
	ks_view_note(view, "accesses", census->nr_accesses, "lines or records of accesses");
	ks_view_note(view, "reads", total.reads, "reads");
	ks_view_note(view, "writes", total.writes, "writes");
	ks_view_note(view, "bytes_read", total.bytes_read, "bytes read");
	ks_view_note(view, "bytes_written", total.bytes_written, "bytes written");
	ks_view_note(view, "no_accesses", !census->nr_accesses,
		     "map without any access: who touched its objects is not known");
	ks_view_note(view, "implied_frees", total.implied,
		     "objects ended unseen: their address was allocated again");
	ks_view_note(view, "endless_objects", total.objects - total.live_objects - total.ended,
		     "freed objects without a time of their end");
	ks_view_note(view, "bad_lines", q->bad_lines, "lines or records not understood");
	ks_view_note(view, "short_lines", q->short_lines, "object lines that lack a field");
	ks_view_note(view, "orphan_accesses", q->orphan_accesses, "accesses of no object");
	ks_view_note(view, "shared_indices", q->shared_indices,
		     "objects whose index an earlier one had");
	ks_view_note(view, "unnamed_code", places->unnamed,
		     "addresses of code without a function's name");
}

struct ks_view *ks_kmap_view_report(const struct ks_kmap_census *census,
				    const struct ks_kmap_places *places,
				    const struct ks_kmap_report_opts *opts)
{
	struct ks_view *view = ks_view_new("kmemscope-kmap-report-1");
	struct groups groups;

	if (!view)
		return NULL;
	if (groups_init(&groups, census, places, opts))
		view->failed = true;
	else
		put_groups(view, &groups, opts);
	groups_deinit(&groups);
	put_hot(view, census, places, opts->top);
	put_codes(view, census, places, opts->top);
	put_idle(view, census, places, opts->top);
	ks_kmap_view_quality(view, census, places);
	return view;
}
