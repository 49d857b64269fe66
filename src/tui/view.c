// SPDX-License-Identifier: LGPL-2.1-only
/* A table on a screen. */
#include "tui/view.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "table/render.h"
#include "tui/terminal.h"

/* === Data ================================================================================= */

enum { COLUMNS_MAX = 32, NAME_LEAST = 16, GAP = 1 };

/* The columns that have room, and their widths. */
struct layout {
	unsigned int ids[COLUMNS_MAX];
	unsigned int widths[COLUMNS_MAX];
	size_t len;
};

struct sorting {
	const struct ks_view *view;
	const struct ks_table *table;
};

/* === Internals: order ===================================================================== */

static int compare_numbers(double a, double b)
{
	/* What is not known is less than anything. */
	if (isnan(a) || isnan(b))
		return isnan(b) - isnan(a);
	return (a > b) - (a < b);
}

static int compare_cells(const struct ks_table *table, u32 a, u32 b, unsigned int column)
{
	enum ks_cell_state state_a = ks_table_state(table, a, column),
			   state_b = ks_table_state(table, b, column);
	const union ks_cell_value *x = ks_table_cell(table, a, column),
				  *y = ks_table_cell(table, b, column);
	int sign = 1;

	if (state_a == KS_CELL_UNSET || state_b == KS_CELL_UNSET)
		return (state_a != KS_CELL_UNSET) - (state_b != KS_CELL_UNSET);
	switch (table->columns[column].kind) {
	case KS_CELL_TEXT:
		return strcmp(x->text, y->text);
	case KS_CELL_S64:
		return (x->s64 > y->s64) - (x->s64 < y->s64);
	case KS_CELL_DOUBLE:
		return compare_numbers(x->number, y->number);
	case KS_CELL_CHANGE:
		if (state_a != state_b)
			return state_a == KS_CELL_NEGATIVE ? -1 : 1;
		sign = state_a == KS_CELL_NEGATIVE ? -1 : 1;
		break;
	default:
		break;
	}
	return sign * ((x->u64 > y->u64) - (x->u64 < y->u64));
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	int order = compare_cells(s->table, x, y, s->view->sort);

	if (order)
		return s->view->ascending ? order : -order;
	order = compare_cells(s->table, x, y, s->view->key);
	return order ? order : (x > y) - (x < y);
}

/* Capitals make no difference. Bytes above 127 are compared as they are. */
static bool contains(const char *text, const char *part)
{
	size_t len = strlen(part);

	for (; *text; text++)
		if (!strncasecmp(text, part, len))
			return true;
	return !len;
}

/* The cell alone: what was in the buffer is gone, also where the cell has no text. */
static const char *cell_text(const struct ks_table *table, size_t row, unsigned int column,
			     struct ks_strbuf *out)
{
	out->len = 0;
	ks_render_cell(table, row, column, out);
	return out->len ? ks_strbuf_str(out) : "";
}

static const char *name_of(const struct ks_view *view, const struct ks_table *table, size_t row,
			   struct ks_strbuf *out)
{
	return cell_text(table, row, view->key, out);
}

static int choose_rows(struct ks_view *view, const struct ks_table *table)
{
	struct ks_strbuf name;
	size_t row;

	view->order.len = 0;
	if (ks_vec_reserve(&view->order, ks_table_len(table)))
		return -ENOMEM;
	ks_strbuf_init(&name);
	for (row = 0; row < ks_table_len(table); row++) {
		if (*view->search && !contains(name_of(view, table, row, &name), view->search))
			continue;
		view->order.items[view->order.len++] = (u32)row;
	}
	ks_strbuf_deinit(&name);
	return 0;
}

static int find_selected(struct ks_view *view, const struct ks_table *table)
{
	struct ks_strbuf name;
	size_t i;

	if (!view->selected.len) {
		view->cursor = 0;
		return 0;
	}
	ks_strbuf_init(&name);
	for (i = 0; i < view->order.len; i++) {
		name_of(view, table, view->order.items[i], &name);
		if (name.len == view->selected.len &&
		    !memcmp(ks_strbuf_str(&name), view->selected.s, name.len))
			break;
	}
	if (i < view->order.len)
		view->cursor = i;
	/* It is gone: whoever is in its place now. */
	view->cursor = ks_min(view->cursor, view->order.len ? view->order.len - 1 : 0);
	i = name.failed;
	ks_strbuf_deinit(&name);
	return i ? -ENOMEM : 0;
}

static void move_to(struct ks_view *view, const struct ks_table *table, size_t to)
{
	if (!view->order.len)
		return;
	view->cursor = ks_min(to, view->order.len - 1);
	/* The first row of the list is no row of a name: it is on top whatever comes. */
	if (view->cursor)
		name_of(view, table, view->order.items[view->cursor], &view->selected);
	else
		view->selected.len = 0;
}

/* === Internals: keys ====================================================================== */

static void sort_by(struct ks_view *view, const struct ks_table *table, unsigned int column)
{
	view->sort = column;
	view->ascending = table->columns[column].kind == KS_CELL_TEXT;
}

/* The next column to the right, or to the left, that text has. */
static void sort_beside(struct ks_view *view, const struct ks_table *table, bool right)
{
	size_t len = ks_table_selected_len(table, KS_FORM_TEXT), i;

	for (i = 0; i < len; i++)
		if (ks_table_selected(table, KS_FORM_TEXT, i) == view->sort)
			break;
	if (i < len)
		sort_by(view, table,
			ks_table_selected(table, KS_FORM_TEXT, (i + (right ? 1 : len - 1)) % len));
}

/* === Internals: drawing =================================================================== */

static bool is_text(const struct ks_table *table, unsigned int column)
{
	return table->columns[column].kind == KS_CELL_TEXT;
}

/* Text stands left, and so does the name, whatever it is: it has all the room that is left. */
static bool is_left(const struct ks_view *view, const struct ks_table *table, unsigned int column)
{
	return column == view->key || is_text(table, column);
}

static bool is_shown(const struct ks_table *table, unsigned int column)
{
	if (table->columns[column].kind >= KS_CELL_TEXTS)
		return false; /* lists have no room in a row */
	return !table->columns[column].if_any || !ks_table_is_zero(table, column);
}

/* Widths are those of what can be seen now; a least width keeps columns from jumping when it scrolls. */
static unsigned int width_of(const struct ks_view *view, const struct ks_table *table,
			     const struct ks_screen *screen, unsigned int column, size_t rows)
{
	unsigned int width = ks_max(ks_screen_width(screen, table->columns[column].head) + 1,
				    (unsigned int)table->columns[column].width);
	struct ks_strbuf text;
	size_t i;

	ks_strbuf_init(&text);
	for (i = view->top; i < view->order.len && i < view->top + rows; i++) {
		const char *cell = cell_text(table, view->order.items[i], column, &text);

		width = ks_max(width, ks_screen_width(screen, cell));
	}
	ks_strbuf_deinit(&text);
	/* One long text must not push all others out. */
	if (is_text(table, column))
		width = ks_min(width, ks_max(screen->cols / 3, (unsigned int)NAME_LEAST));
	return width;
}

static void lay_out(const struct ks_view *view, const struct ks_table *table,
		    const struct ks_screen *screen, size_t rows, struct layout *layout)
{
	size_t i, len = ks_table_selected_len(table, KS_FORM_TEXT);
	unsigned int room = screen->cols;
	bool named = false;

	layout->len = 0;
	/* The name comes last and gets what is left. */
	room -= ks_min(room, (unsigned int)NAME_LEAST);
	for (i = 0; i < len; i++) {
		unsigned int column = ks_table_selected(table, KS_FORM_TEXT, i), width;

		if (column == view->key) {
			named = true;
			continue;
		}
		if (!is_shown(table, column) || layout->len + 1 >= COLUMNS_MAX)
			continue;
		width = width_of(view, table, screen, column, rows);
		if (width + GAP > room)
			continue;
		room -= width + GAP;
		layout->ids[layout->len] = column;
		layout->widths[layout->len++] = width;
	}
	if (!named)
		return;
	layout->ids[layout->len] = view->key;
	layout->widths[layout->len++] = ks_min(screen->cols, room + NAME_LEAST);
}

/* Text stands left, numbers right. */
static void draw_cell(struct ks_screen *screen, unsigned int row, unsigned int col,
		      unsigned int width, bool left, enum ks_style style, const char *text)
{
	unsigned int used = ks_min(ks_screen_width(screen, text), width);

	ks_screen_put(screen, row, left ? col : col + width - used, width, style, text);
}

static void draw_heads(const struct ks_view *view, const struct ks_table *table,
		       const struct layout *layout, struct ks_screen *screen, unsigned int row)
{
	unsigned int col = 0;
	size_t i;

	ks_screen_paint(screen, row, 0, screen->cols, KS_STYLE_HEAD);
	for (i = 0; i < layout->len; i++) {
		unsigned int id = layout->ids[i];
		char head[64];

		snprintf(head, sizeof(head), "%s%s", table->columns[id].head,
			 id != view->sort  ? ""
			 : view->ascending ? "^"
					   : "v");
		draw_cell(screen, row, col, layout->widths[i], is_left(view, table, id),
			  KS_STYLE_HEAD, head);
		col += layout->widths[i] + GAP;
	}
}

static void draw_row(const struct ks_view *view, const struct ks_table *table,
		     const struct layout *layout, struct ks_screen *screen, unsigned int at,
		     size_t row, bool selected)
{
	struct ks_strbuf text;
	unsigned int col = 0;
	size_t i;

	if (selected)
		ks_screen_paint(screen, at, 0, screen->cols, KS_STYLE_SELECTED);
	ks_strbuf_init(&text);
	for (i = 0; i < layout->len; i++) {
		unsigned int id = layout->ids[i];
		enum ks_style style = selected	    ? KS_STYLE_SELECTED
				      : view->paint ? view->paint(table, row, id)
						    : KS_STYLE_PLAIN;

		draw_cell(screen, at, col, layout->widths[i], is_left(view, table, id), style,
			  cell_text(table, row, id, &text));
		col += layout->widths[i] + GAP;
	}
	ks_strbuf_deinit(&text);
}

/* === Public =============================================================================== */

void ks_view_init(struct ks_view *view, unsigned int key, unsigned int sort, bool ascending)
{
	*view = (struct ks_view){ .key = key, .sort = sort, .ascending = ascending, .page = 1 };
	ks_strbuf_init(&view->selected);
}

void ks_view_deinit(struct ks_view *view)
{
	ks_vec_free(&view->order);
	ks_strbuf_deinit(&view->selected);
}

int ks_view_arrange(struct ks_view *view, const struct ks_table *table)
{
	struct sorting sorting = { view, table };
	int err = table->failed ? -ENOMEM : choose_rows(view, table);

	if (err)
		return err;
	if (view->order.len)
		qsort_r(view->order.items, view->order.len, sizeof(*view->order.items),
			compare_rows, &sorting);
	return find_selected(view, table);
}

size_t ks_view_selected(const struct ks_view *view)
{
	return view->cursor < view->order.len ? view->order.items[view->cursor] : SIZE_MAX;
}

bool ks_view_key(struct ks_view *view, const struct ks_table *table, int key)
{
	size_t at = view->cursor;

	switch (key) {
	case KS_KEY_UP:
	case 'k':
		move_to(view, table, at ? at - 1 : 0);
		return true;
	case KS_KEY_DOWN:
	case 'j':
		move_to(view, table, at + 1);
		return true;
	case KS_KEY_PAGE_UP:
		move_to(view, table, at > view->page ? at - view->page : 0);
		return true;
	case KS_KEY_PAGE_DOWN:
		move_to(view, table, at + view->page);
		return true;
	case KS_KEY_HOME:
	case 'g':
		move_to(view, table, 0);
		return true;
	case KS_KEY_END:
	case 'G':
		move_to(view, table, SIZE_MAX);
		return true;
	case '<':
	case '>':
		sort_beside(view, table, key == '>');
		return true;
	case 's':
		view->ascending = !view->ascending;
		return true;
	default:
		return false;
	}
}

void ks_view_draw(struct ks_view *view, const struct ks_table *table, struct ks_screen *screen,
		  unsigned int row, unsigned int rows)
{
	struct layout layout;
	size_t i;

	if (rows < 2)
		return;
	rows--;
	view->page = rows;
	if (view->cursor < view->top)
		view->top = view->cursor;
	if (view->cursor >= view->top + rows)
		view->top = view->cursor - rows + 1;
	/* Rows have gone, or there is more room: no empty lines while there are rows above. */
	if (view->top + rows > view->order.len)
		view->top = view->order.len > rows ? view->order.len - rows : 0;
	lay_out(view, table, screen, rows, &layout);
	draw_heads(view, table, &layout, screen, row);
	for (i = view->top; i < view->order.len && i < view->top + rows; i++)
		draw_row(view, table, &layout, screen, row + 1 + (unsigned int)(i - view->top),
			 view->order.items[i], i == view->cursor);
}
