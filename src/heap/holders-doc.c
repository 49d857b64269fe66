// SPDX-License-Identifier: LGPL-2.1-only
/* The tables of holders, tasks and steps of a way; and in words who alone holds most. */
#include "heap/holders-doc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/dominators.h"
#include "heap/holders.h"
#include "heap/ways.h"

/* === Data ================================================================================= */

enum { H_HOLDER, H_FIELD, H_OBJECTS, H_REFERENCES, H_HOLDERS, H_EXAMPLE, H_COLUMNS };

static const struct ks_column holder_columns[H_COLUMNS] = {
	[H_HOLDER] = { "holder", "held by", KS_CELL_TEXT },
	[H_FIELD] = { "field", "field", KS_CELL_TEXT },
	[H_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[H_REFERENCES] = { "references", "references", KS_CELL_U64, KS_UNIT_COUNT, .width = 10 },
	[H_HOLDERS] = { "holders", "holders", KS_CELL_U64, KS_UNIT_COUNT, .width = 9 },
	[H_EXAMPLE] = { "example", "example", KS_CELL_HEX, KS_UNIT_ADDRESS },
};

static const unsigned int holder_text[] = { H_OBJECTS, H_REFERENCES, H_HOLDERS,
					    H_EXAMPLE, H_HOLDER,     H_FIELD };

enum { T_TASK, T_OBJECTS, T_BYTES, T_COLUMNS };

static const struct ks_column task_columns[T_COLUMNS] = {
	[T_TASK] = { "task", "nearest task", KS_CELL_TEXT },
	[T_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[T_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
};

static const unsigned int task_text[] = { T_BYTES, T_OBJECTS, T_TASK };

enum { W_ADDRESS, W_WHAT, W_NAME, W_FIELD, W_RETAINED, W_COLUMNS };

static const struct ks_column way_columns[W_COLUMNS] = {
	[W_ADDRESS] = { "address", "address", KS_CELL_HEX, KS_UNIT_ADDRESS },
	[W_WHAT] = { "what", "what", KS_CELL_TEXT },
	[W_NAME] = { "name", "name", KS_CELL_TEXT },
	[W_FIELD] = { "field", "holds the next by", KS_CELL_TEXT },
	[W_RETAINED] = { "retained", "retains", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
};

static const unsigned int way_text[] = { W_RETAINED, W_ADDRESS, W_WHAT, W_FIELD, W_NAME };

enum { WAY_MAX = 40, NAME_LEN = 300 };

struct making {
	struct ks_doc *doc;
	const struct ks_snapshot *snapshot;
	const struct ks_selection *selection;
	const char *name;
	u64 top;
	struct ks_field_index *fields;
	struct ks_holders *holders;
	struct ks_ways *ways;
	struct ks_dominators *dominators;
	u32 *tasks;
};

struct task_sum {
	u32 task;
	u64 objects, bytes;
};

/* === Internals: holders =================================================================== */

static void add_holder(struct ks_table *table, const struct ks_snapshot *s,
		       const struct ks_field_index *fields, const struct ks_holders_row *row)
{
	struct ks_row out = ks_table_add(table);
	char text[NAME_LEN] = "";

	if (row->type == KS_NONE) {
		const struct ks_heap_root *root = &s->roots.items[row->example];

		ks_row_text(out, H_HOLDER, ks_root_kind_name(row->word));
		ks_row_text(out, H_FIELD, row->holders == 1 ? root->name : "");
		ks_row_u64(out, H_EXAMPLE, root->addr);
	} else {
		ks_field_text(s, fields, row->type, row->word, text, sizeof(text));
		ks_row_text(out, H_HOLDER,
			    row->type ? s->types.items[row->type].name
				      : s->caches.items[s->cache[row->example]].name);
		ks_row_text(out, H_FIELD, *text == '.' ? text + 1 : text);
		ks_row_u64(out, H_EXAMPLE, s->addr[row->example]);
	}
	ks_row_u64(out, H_OBJECTS, row->objects);
	ks_row_u64(out, H_REFERENCES, row->references);
	ks_row_u64(out, H_HOLDERS, row->holders);
}

static void add_holders(struct ks_doc *doc, const struct ks_snapshot *s,
			const struct ks_field_index *fields, const struct ks_holders *holders,
			u64 top)
{
	struct ks_table *table = ks_doc_table(doc, "holders", holder_columns, H_COLUMNS);
	size_t i;

	if (!table)
		return;
	ks_table_select(table, KS_FORM_TEXT, holder_text, ARRAY_SIZE(holder_text));
	table->text_rows = (size_t)top;
	table->more = "more kinds of holders";
	for (i = 0; i < holders->items.len; i++)
		add_holder(table, s, fields, &holders->items.items[i]);
}

/* === Internals: tasks ===================================================================== */

static int by_bytes(const void *a, const void *b)
{
	const struct task_sum *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

static int sum_tasks(const struct making *m, struct task_sum **ret_sums, size_t *ret_count)
{
	const struct ks_snapshot *s = m->snapshot;
	u32 *number = calloc(s->count + 1ul, sizeof(*number)), i, task;
	KS_VEC(struct task_sum) sums = { 0 };
	int err = number ? 0 : -ENOMEM;

	for (i = 0; !err && i < s->count; i++) {
		task = m->tasks[i];
		if (!ks_selected(m->selection, i) || task == KS_NONE)
			continue;
		if (!number[task]) {
			if (!ks_vec_push(&sums)) {
				err = -ENOMEM;
				break;
			}
			number[task] = (u32)sums.len;
			sums.items[sums.len - 1].task = task;
		}
		sums.items[number[task] - 1].objects++;
		sums.items[number[task] - 1].bytes += s->caches.items[s->cache[i]].size;
	}
	free(number);
	if (err) {
		ks_vec_free(&sums);
		return err;
	}
	if (sums.len)
		qsort(sums.items, sums.len, sizeof(*sums.items), by_bytes);
	*ret_sums = sums.items;
	*ret_count = sums.len;
	return 0;
}

static int add_tasks(struct making *m)
{
	struct task_sum *sums;
	struct ks_table *table;
	struct ks_row row;
	size_t count, i;
	int err = sum_tasks(m, &sums, &count);

	if (err)
		return err;
	if (count)
		ks_doc_say(m->doc, "\n");
	table = ks_doc_loose_table(m->doc, "tasks", task_columns, T_COLUMNS);
	for (i = 0; table && i < count; i++) {
		row = ks_table_add(table);
		ks_row_text(row, T_TASK, ks_snapshot_label(m->snapshot, sums[i].task));
		ks_row_u64(row, T_OBJECTS, sums[i].objects);
		ks_row_u64(row, T_BYTES, sums[i].bytes);
	}
	free(sums);
	if (!table)
		return 0;
	ks_table_select(table, KS_FORM_TEXT, task_text, ARRAY_SIZE(task_text));
	table->text_rows = (size_t)m->top;
	table->more = "more tasks";
	ks_doc_place(m->doc, table, count ? KS_IN_BOTH : KS_IN_JSON);
	return 0;
}

/* === Internals: the way =================================================================== */

static const char *what(const struct ks_snapshot *s, u32 object)
{
	return s->type[object] ? s->types.items[s->type[object]].name
			       : s->caches.items[s->cache[object]].name;
}

/* Where the object is held on its way: the text for its holder's row. */
static void holds_by(const struct making *m, u32 holder, u32 object, char *text, size_t size)
{
	const struct ks_heap_ref *ref = ks_ways_ref(m->snapshot, holder, object);
	const struct ks_snapshot *s = m->snapshot;

	*text = '\0';
	if (!ref)
		return;
	if (!(holder & KS_FROM_ROOT))
		ks_field_text(s, m->fields, s->type[holder], ref->at, text, size);
	else if (ref->at != UINT16_MAX)
		snprintf(text, size, "+0x%x", ref->at * 8u);
}

static void add_step(const struct making *m, struct ks_table *table, u32 from, const char *by)
{
	const struct ks_snapshot *s = m->snapshot;
	struct ks_row row = ks_table_add(table);
	u32 number = from & ~KS_FROM_ROOT, node;

	if (from & KS_FROM_ROOT) {
		node = number + 1;
		ks_row_u64(row, W_ADDRESS, s->roots.items[number].addr);
		ks_row_text(row, W_WHAT, ks_root_kind_name(s->roots.items[number].kind));
		ks_row_text(row, W_NAME, s->roots.items[number].name);
	} else {
		node = m->dominators->first_object + number;
		ks_row_u64(row, W_ADDRESS, s->addr[number]);
		ks_row_text(row, W_WHAT, what(s, number));
		ks_row_text(row, W_NAME, ks_snapshot_label(s, number));
	}
	ks_row_text(row, W_FIELD, *by == '.' ? by + 1 : by);
	ks_row_u64(row, W_RETAINED, m->dominators->retained[node]);
}

/* To the first object that a root leads to, if there is one. */
static u32 whose_way(const struct making *m)
{
	u32 i;

	for (i = m->selection->first; i < m->snapshot->count; i++)
		if (ks_selected(m->selection, i) && m->ways->from[i] != KS_NONE)
			return i;
	return m->selection->first;
}

/* From the root down to the object. A long way lacks its middle. */
static int add_way(struct making *m)
{
	struct ks_table *table;
	KS_VEC(u32) steps = { 0 };
	char by[NAME_LEN];
	u32 first = whose_way(m), object = first, *slot;
	size_t i;
	int err = 0;

	while (!err) {
		slot = ks_vec_push(&steps);
		if (!slot)
			err = -ENOMEM;
		else
			*slot = object;
		if (object & KS_FROM_ROOT || (!err && m->ways->from[object] == KS_NONE))
			break;
		object = m->ways->from[object];
	}
	ks_doc_say(m->doc, "\nThe shortest way to 0x%" PRIx64 ":\n", m->snapshot->addr[first]);
	table = ks_doc_table(m->doc, "way", way_columns, W_COLUMNS);
	if (table)
		ks_table_select(table, KS_FORM_TEXT, way_text, ARRAY_SIZE(way_text));
	for (i = steps.len; table && !err && i-- > 0;) {
		if (steps.len > WAY_MAX && i + WAY_MAX / 2 == steps.len) {
			table->left_out = steps.len - WAY_MAX;
			i = WAY_MAX / 2;
		}
		*by = '\0';
		if (i)
			holds_by(m, steps.items[i], steps.items[i - 1], by, sizeof(by));
		add_step(m, table, steps.items[i], by);
	}
	if (!err && !(object & KS_FROM_ROOT))
		ks_doc_say(m->doc, "No root leads to it.\n");
	if (table && table->left_out)
		ks_doc_say(m->doc, "%" PRIu64 " steps in the middle are left out\n",
			   table->left_out);
	ks_doc_u64(m->doc, "way_left_out", table ? table->left_out : 0);
	if (table)
		table->left_out = 0;
	ks_vec_free(&steps);
	return err;
}

/* === Internals: in words ================================================================== */

static int add_culprit(struct making *m)
{
	const struct ks_snapshot *s = m->snapshot;
	const struct ks_dominators *d = m->dominators;
	bool one = m->selection->objects == 1;
	u64 bytes = 0, retained = 0;
	const char *label;
	u32 node = 0, i;
	int err = ks_dominators_of_set(d, m->selection->set, &retained);

	if (!err)
		err = ks_dominators_culprit(d, s, m->selection->set, &node, &bytes);
	if (err)
		return err;
	ks_doc_u64(m->doc, "objects", m->selection->objects);
	ks_doc_u64(m->doc, "bytes", m->selection->bytes);
	ks_doc_u64(m->doc, "retained", retained);
	ks_doc_say_escaped(m->doc, m->name);
	ks_doc_say(m->doc, ": %" PRIu64 " object%s of ", m->selection->objects, one ? "" : "s");
	ks_doc_say_bytes(m->doc, 0, m->selection->bytes, " bytes");
	ks_doc_say(m->doc, one ? "; it and what it alone holds are "
			       : "; they and what they alone hold are ");
	ks_doc_say_bytes(m->doc, 0, retained, " bytes");
	ks_doc_say(m->doc, "\n");
	if (!node)
		return 0;
	i = node < d->first_object ? node - 1 : node - d->first_object;
	label = node < d->first_object ? s->roots.items[i].name : ks_snapshot_label(s, i);
	ks_doc_open(m->doc, "alone_held_by");
	ks_doc_text(m->doc, "what",
		    node < d->first_object ? ks_root_kind_name(s->roots.items[i].kind)
					   : what(s, i));
	ks_doc_text(m->doc, "name", label);
	ks_doc_hex(m->doc, "address", node < d->first_object ? s->roots.items[i].addr : s->addr[i]);
	ks_doc_u64(m->doc, "bytes", bytes);
	ks_doc_close(m->doc);
	if (!one)
		ks_doc_say_bytes(m->doc, 0, bytes, " bytes");
	ks_doc_say(m->doc, one ? "it is held by 1 " : " of them are held by 1 ");
	ks_doc_say_escaped(m->doc, node < d->first_object
					   ? ks_root_kind_name(s->roots.items[i].kind)
					   : what(s, i));
	ks_doc_say(m->doc, " alone: 0x%" PRIx64 "%s",
		   node < d->first_object ? s->roots.items[i].addr : s->addr[i], *label ? " " : "");
	ks_doc_say_escaped(m->doc, label);
	ks_doc_say(m->doc, "\n");
	return 0;
}

static int make_doc(struct making *m)
{
	int err = add_culprit(m);

	if (err)
		return err;
	ks_doc_say(m->doc, "\n");
	add_holders(m->doc, m->snapshot, m->fields, m->holders, m->top);
	err = add_tasks(m);
	return err ? err : add_way(m);
}

/* === Public =============================================================================== */

int ks_doc_add_holders(struct ks_doc *doc, const struct ks_snapshot *s,
		       const struct ks_selection *selection, u64 top)
{
	struct ks_field_index *fields;
	struct ks_holders *holders;
	int err = ks_field_index_new(s, &fields);

	if (err)
		return err;
	err = ks_holders_find(s, fields, selection, &holders);
	if (!err) {
		add_holders(doc, s, fields, holders, top);
		ks_holders_free(holders);
	}
	ks_field_index_free(fields);
	return err;
}

int ks_doc_of_holders(const struct ks_snapshot *s, const struct ks_selection *selection,
		      const char *name, u64 top, struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct making m = { .doc = ks_doc_new("kmemscope-heap-holders-1"),
			    .snapshot = s,
			    .selection = selection,
			    .name = name,
			    .top = top };
	/* What takes more memory while it works than it leaves comes first. */
	int err = !m.doc || ks_field_index_new(s, &m.fields) ||
				  ks_holders_find(s, m.fields, selection, &m.holders)
			  ? ks_diag_nomem(diag, "adding holders up")
			  : 0;

	if (!err)
		err = ks_dominators_find(s, &m.dominators, diag);
	if (!err)
		err = ks_ways_find(s, &m.ways, diag);
	if (!err)
		err = ks_ways_from_tasks(s, &m.tasks, diag);
	if (!err && make_doc(&m))
		err = ks_diag_nomem(diag, "making a report of holders");
	ks_ways_free(m.ways);
	ks_dominators_free(m.dominators);
	ks_holders_free(m.holders);
	ks_field_index_free(m.fields);
	free(m.tasks);
	if (err)
		ks_doc_free(m.doc);
	else
		*ret_doc = m.doc;
	return err;
}
