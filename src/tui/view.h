/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A table on a screen: sorted, searched, scrolled, with one row selected. The table may be another one each time it is
 * drawn, with other rows in another order: the selection stays with the row of its name.
 */
#ifndef KS_TUI_VIEW_H
#define KS_TUI_VIEW_H

#include "table/table.h"
#include "tui/screen.h"

enum { KS_SEARCH_MAX = 64 };

/* How a cell should look; NULL = plain. */
typedef enum ks_style ks_paint_fn(const struct ks_table *table, size_t row, unsigned int column);

struct ks_view {
	unsigned int key;  /* the column that names a row; it is always shown */
	unsigned int sort; /* the column */
	bool ascending;
	char search[KS_SEARCH_MAX]; /* rows whose name has this in it; "" = all */
	ks_paint_fn *paint;

	/* The rest is for ks_view_* alone. */
	KS_VEC(u32) order;	   /* numbers of the rows that are shown */
	struct ks_strbuf selected; /* the name of the row; empty = the first one, whichever it is */
	size_t cursor;		   /* in order */
	size_t top;		   /* the first that is on the screen */
	size_t page;		   /* rows that were on the screen */
};

void ks_view_init(struct ks_view *view, unsigned int key, unsigned int sort, bool ascending);
void ks_view_deinit(struct ks_view *view);

/* To be called whenever the table, the order or the search is another one. 0 or -ENOMEM. */
int ks_view_arrange(struct ks_view *view, const struct ks_table *table);

/* Rows that are shown. */
static inline size_t ks_view_len(const struct ks_view *view)
{
	return view->order.len;
}

/* The number of the selected row, or SIZE_MAX when there is none. */
size_t ks_view_selected(const struct ks_view *view);

/* Keys that move the selection or sort: whether it was one of them. The view is to be arranged then. */
bool ks_view_key(struct ks_view *view, const struct ks_table *table, int key);

/* Heads and rows, in @rows rows of the screen. Columns that have no room are left out. */
void ks_view_draw(struct ks_view *view, const struct ks_table *table, struct ks_screen *screen,
		  unsigned int row, unsigned int rows);

#endif
