// SPDX-License-Identifier: LGPL-2.1-only
/* kmemscope top: its pages, and what keys do. */
#include "tui/top.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "table/render.h"
#include "tui/terminal.h"

/* === Data ================================================================================= */

/* Between the frames of a stack. */
static const char arrow[] = " <- ";

/* === Internals: pages ===================================================================== */

static void page_deinit(struct ks_top_page *page)
{
	unsigned int by;

	for (by = 0; by < KS_LIVE_BYS; by++)
		free(page->within[by]);
	free(page->title);
	ks_view_deinit(&page->view);
	ks_strbuf_deinit(&page->text);
	if (page->doc)
		ks_doc_free(page->doc);
	else
		ks_table_free(page->table);
	memset(page, 0, sizeof(*page));
}

static struct ks_top_page *push(struct ks_top *top)
{
	struct ks_top_page *page;

	if (top->depth == KS_TOP_DEPTH)
		return NULL;
	page = &top->pages[top->depth++];
	memset(page, 0, sizeof(*page));
	ks_view_init(&page->view, KS_TOP_NAME, KS_TOP_BYTES, false);
	page->view.paint = ks_top_paint;
	return page;
}

static void pop(struct ks_top *top)
{
	if (top->depth > 1)
		page_deinit(&top->pages[--top->depth]);
}

/* The table of rows again, from the newest snapshot. */
static void make_rows(struct ks_top *top, struct ks_top_page *page)
{
	struct ks_live_within within;
	struct ks_table *table = NULL;
	struct ks_live_rows rows;

	if (!top->snapshot)
		return;
	memcpy(within.name, page->within, sizeof(within.name));
	if (!ks_live_rows(top->snapshot, page->by, &within, &rows)) {
		page->present = rows.present;
		table = ks_top_table(&rows, page->by);
		ks_live_rows_free(&rows);
	}
	if (!table) {
		top->failed = true;
		return;
	}
	ks_table_free(page->table);
	page->table = table;
}

static void arrange(struct ks_top *top)
{
	struct ks_top_page *page = ks_top_page(top);

	if (page->kind != KS_TOP_TEXT && page->table && ks_view_arrange(&page->view, page->table))
		top->failed = true;
}

static void refresh(struct ks_top *top)
{
	if (ks_top_page(top)->kind == KS_TOP_ROWS)
		make_rows(top, ks_top_page(top));
	arrange(top);
}

/* === Internals: deeper ==================================================================== */

/* A cell of text in the selected row; NULL where there is none. */
static const char *selected_name(const struct ks_top_page *page)
{
	size_t row = page->table ? ks_view_selected(&page->view) : SIZE_MAX;

	return row == SIZE_MAX ? NULL : ks_table_cell(page->table, row, KS_TOP_NAME)->text;
}

static bool can_tell(const struct ks_top *top, enum ks_live_by by, char *const *names)
{
	struct ks_live_within within;
	struct ks_live_rows rows;
	bool present;

	memcpy(within.name, names, sizeof(within.name));
	if (ks_live_rows(top->snapshot, by, &within, &rows))
		return false;
	present = rows.present && rows.items.len;
	ks_live_rows_free(&rows);
	return present;
}

static bool copy_names(char **to, char *const *from)
{
	unsigned int by;

	for (by = 0; by < KS_LIVE_BYS; by++) {
		to[by] = from[by] ? strdup(from[by]) : NULL;
		if (from[by] && !to[by])
			return false;
	}
	return true;
}

static void want(struct ks_top *top, const char *what)
{
	snprintf(top->wanted, sizeof(top->wanted), "%s", what);
}

/* The objects themselves, by the closest that is known of them. */
static enum ks_top_ask ask_objects(struct ks_top *top, char *const *names)
{
	const char *type = names[KS_LIVE_BY_TYPE], *cache = names[KS_LIVE_BY_CACHE];

	if (type && *type && strcmp(type, "unknown") != 0)
		want(top, type);
	else if (cache)
		want(top, cache);
	else {
		ks_top_say(top, "which objects these are is not known: no type and no cache");
		return KS_TOP_NOTHING;
	}
	return KS_TOP_OBJECTS;
}

static void push_rows(struct ks_top *top, enum ks_live_by by, char *const *names)
{
	struct ks_top_page *page = push(top);

	if (!page)
		return;
	page->kind = KS_TOP_ROWS;
	page->by = by;
	if (!copy_names(page->within, names))
		top->failed = true;
	refresh(top);
}

/* All frames of a stack, a line each: rows have no room for them. */
static void push_stack(struct ks_top *top, char *const *names)
{
	struct ks_top_page *page = push(top);
	const char *part, *end;

	if (!page)
		return;
	page->kind = KS_TOP_TEXT;
	page->title = strdup("stack, the allocation first");
	for (part = names[KS_LIVE_BY_STACK]; part; part = end ? end + strlen(arrow) : NULL) {
		end = strstr(part, arrow);
		ks_strbuf_add(&page->text, part, end ? (size_t)(end - part) : strlen(part));
		ks_strbuf_puts(&page->text, "\n");
	}
	ks_strbuf_puts(&page->text, "\nEnter lists the objects.\n");
	if (!copy_names(page->within, names) || !page->title || page->text.failed)
		top->failed = true;
}

/*
 * cache -> types -> sites -> stacks -> objects: the next that this level can tell. What a site allocates has no type
 * yet, so from there on the cache alone decides.
 */
static enum ks_top_ask go_deeper(struct ks_top *top, struct ks_top_page *page)
{
	char *names[KS_LIVE_BYS], *untyped[KS_LIVE_BYS];
	const char *name = selected_name(page);
	enum ks_top_ask ask = KS_TOP_NOTHING;

	if (!name || !top->snapshot)
		return KS_TOP_NOTHING;
	memcpy(names, page->within, sizeof(names));
	names[page->by] = (char *)(strcmp(name, "unknown") != 0 ? name : "");
	memcpy(untyped, names, sizeof(names));
	if (names[KS_LIVE_BY_CACHE])
		untyped[KS_LIVE_BY_TYPE] = NULL;
	if (page->by == KS_LIVE_BY_STACK) {
		push_stack(top, names);
	} else if (page->by == KS_LIVE_BY_CGROUP && !names[KS_LIVE_BY_CACHE]) {
		push_rows(top, KS_LIVE_BY_CACHE, names);
	} else if (page->by == KS_LIVE_BY_CACHE && !names[KS_LIVE_BY_TYPE]) {
		push_rows(top, KS_LIVE_BY_TYPE, names);
	} else if (page->by != KS_LIVE_BY_SITE && can_tell(top, KS_LIVE_BY_SITE, untyped)) {
		push_rows(top, KS_LIVE_BY_SITE, untyped);
	} else if (can_tell(top, KS_LIVE_BY_STACK, untyped)) {
		push_rows(top, KS_LIVE_BY_STACK, untyped);
	} else {
		ask = ask_objects(top, names);
	}
	return ask;
}

static enum ks_top_ask enter(struct ks_top *top)
{
	struct ks_top_page *page = ks_top_page(top);
	size_t row;

	if (page->kind == KS_TOP_ROWS)
		return go_deeper(top, page);
	if (page->kind == KS_TOP_TEXT)
		return page->doc ? KS_TOP_NOTHING : ask_objects(top, page->within);
	row = ks_view_selected(&page->view);
	if (row == SIZE_MAX || page->table->columns[0].kind != KS_CELL_HEX)
		return KS_TOP_NOTHING;
	snprintf(top->wanted, sizeof(top->wanted), "0x%" PRIx64,
		 ks_table_cell(page->table, row, 0)->u64);
	return KS_TOP_OBJECTS;
}

/* === Internals: keys ====================================================================== */

static void search_key(struct ks_top *top, int key)
{
	struct ks_view *view = &ks_top_page(top)->view;
	size_t len = strlen(view->search);

	if (key == KS_KEY_ENTER) {
		top->mode = KS_TOP_BROWSE;
	} else if (key == KS_KEY_ESCAPE) {
		view->search[0] = '\0';
		top->mode = KS_TOP_BROWSE;
	} else if (key == KS_KEY_BACKSPACE && len) {
		view->search[len - 1] = '\0';
	} else if (key >= ' ' && key < 0x7f && len + 1 < sizeof(view->search)) {
		view->search[len] = (char)key;
		view->search[len + 1] = '\0';
	}
	arrange(top);
}

static void scroll_text(struct ks_top_page *page, int key)
{
	size_t step = page->view.page;

	switch (key) {
	case KS_KEY_UP:
	case 'k':
		page->line -= page->line > 0;
		break;
	case KS_KEY_DOWN:
	case 'j':
		page->line++;
		break;
	case KS_KEY_PAGE_UP:
		page->line -= ks_min(page->line, step);
		break;
	case KS_KEY_PAGE_DOWN:
	case ' ':
		page->line += step;
		break;
	case KS_KEY_HOME:
	case 'g':
		page->line = 0;
		break;
	case KS_KEY_END:
	case 'G':
		page->line = SIZE_MAX - KS_SCREEN_ROWS_MAX; /* drawing finds the last page */
		break;
	default:
		break;
	}
}

/* The first page by something else; deeper ones are left. */
static void group_by(struct ks_top *top, enum ks_live_by by)
{
	while (top->depth > 1)
		pop(top);
	page_deinit(ks_top_page(top));
	top->depth = 0;
	push(top)->by = by;
	refresh(top);
}

static enum ks_top_ask write_key(struct ks_top *top, int key)
{
	top->mode = KS_TOP_BROWSE;
	return key == 's' ? KS_TOP_SNAPSHOT : key == 'c' ? KS_TOP_CAPTURE : KS_TOP_NOTHING;
}

static enum ks_top_ask browse_key(struct ks_top *top, int key)
{
	struct ks_top_page *page = ks_top_page(top);

	switch (key) {
	case 'q':
		return KS_TOP_QUIT;
	case KS_KEY_ENTER:
	case KS_KEY_RIGHT:
		return enter(top);
	case KS_KEY_ESCAPE:
	case KS_KEY_LEFT:
	case KS_KEY_BACKSPACE:
		/* The search goes first, by the key that ends it. */
		if (key == KS_KEY_ESCAPE && *page->view.search)
			page->view.search[0] = '\0';
		else
			pop(top);
		refresh(top);
		break;
	case '/':
		if (page->kind != KS_TOP_TEXT)
			top->mode = KS_TOP_SEARCH;
		break;
	case 'p':
		top->paused = !top->paused;
		break;
	case 'r':
		return KS_TOP_REBASE;
	case 'l':
		top->level = (top->level + 1) % KS_LIVE_LEVELS;
		return KS_TOP_LEVEL;
	case 't':
		return KS_TOP_TYPES;
	case 'w':
		top->mode = KS_TOP_WRITE;
		break;
	case '?':
	case 'h':
		top->mode = KS_TOP_HELP;
		break;
	case 12: /* Ctrl-L */
		return KS_TOP_REDRAW;
	case KS_KEY_TAB:
	case 'b':
		group_by(top, (top->pages[0].by + 1) % KS_LIVE_BYS);
		break;
	default:
		if (key >= '1' && key < '1' + KS_LIVE_BYS)
			group_by(top, (enum ks_live_by)(key - '1'));
		else if (page->kind == KS_TOP_TEXT)
			scroll_text(page, key);
		else if (page->table && ks_view_key(&page->view, page->table, key))
			arrange(top);
	}
	return KS_TOP_NOTHING;
}

/* === Internals: history =================================================================== */

static void remember(struct ks_top *top, const struct ks_live_memory *m)
{
	if (top->history == KS_TOP_HISTORY) {
		size_t bytes = (KS_TOP_HISTORY - 1) * sizeof(u64);

		memmove(top->slab, top->slab + 1, bytes);
		memmove(top->unreclaimable, top->unreclaimable + 1, bytes);
		memmove(top->used, top->used + 1, bytes);
		top->history--;
	}
	top->slab[top->history] = m->slab;
	top->unreclaimable[top->history] = m->unreclaimable;
	top->used[top->history] = m->total - ks_min(m->free, m->total);
	top->history++;
}

static void judge_cost(struct ks_top *top, const struct ks_live_snapshot *s)
{
	if (!top->first_ns) {
		top->first_ns = s->at_ns;
		top->first_cpu_ns = s->quality.cpu_ns;
	} else if (s->at_ns > top->first_ns && s->quality.cpu_ns >= top->first_cpu_ns) {
		top->cpu = (double)(s->quality.cpu_ns - top->first_cpu_ns) /
			   (double)(s->at_ns - top->first_ns);
	}
}

/* === Public =============================================================================== */

void ks_top_init(struct ks_top *top, enum ks_live_by by)
{
	memset(top, 0, sizeof(*top));
	top->cpu = (double)NAN;
	push(top)->by = by;
}

void ks_top_deinit(struct ks_top *top)
{
	while (top->depth)
		page_deinit(&top->pages[--top->depth]);
	ks_live_snapshot_put(top->snapshot);
	top->snapshot = NULL;
}

void ks_top_feed(struct ks_top *top, struct ks_live_snapshot *snapshot)
{
	/* Time does not stop: the curves go on. */
	remember(top, &snapshot->memory);
	judge_cost(top, snapshot);
	if (top->paused && top->snapshot) {
		ks_live_snapshot_put(snapshot);
		return;
	}
	ks_live_snapshot_put(top->snapshot);
	top->snapshot = snapshot;
	top->level = snapshot->level;
	refresh(top);
}

enum ks_top_ask ks_top_key(struct ks_top *top, int key)
{
	top->message[0] = '\0';
	switch (top->mode) {
	case KS_TOP_SEARCH:
		search_key(top, key);
		return KS_TOP_NOTHING;
	case KS_TOP_WRITE:
		return write_key(top, key);
	case KS_TOP_HELP:
		top->mode = KS_TOP_BROWSE;
		return KS_TOP_NOTHING;
	case KS_TOP_BROWSE:
		break;
	}
	return browse_key(top, key);
}

enum ks_top_ask ks_top_wish(const struct ks_top *top)
{
	static const u64 old_ns = 60000000000;
	const struct ks_top_page *page = &top->pages[top->depth - 1];
	const struct ks_live_part_info *info;

	if (!top->snapshot || top->paused || page->kind != KS_TOP_ROWS)
		return KS_TOP_NOTHING;
	if (page->by != KS_LIVE_BY_TYPE && page->by != KS_LIVE_BY_CGROUP)
		return KS_TOP_NOTHING;
	info = &top->snapshot->parts[page->by == KS_LIVE_BY_TYPE ? KS_LIVE_TYPES : KS_LIVE_CGROUPS];
	return info->present && top->snapshot->at_ns < info->at_ns + old_ns ? KS_TOP_NOTHING
									    : KS_TOP_TYPES;
}

void ks_top_show(struct ks_top *top, struct ks_doc *doc)
{
	struct ks_top_page *page = push(top);

	if (!page) {
		ks_doc_free(doc);
		return;
	}
	page->doc = doc;
	page->table = doc->main;
	page->title = strdup(top->wanted);
	/* A list begins with addresses, and each can be looked at. All about one object is text. */
	if (doc->main && doc->main->columns[0].kind == KS_CELL_HEX && doc->parts.len == 1) {
		page->kind = KS_TOP_TABLE;
		ks_view_deinit(&page->view);
		ks_view_init(&page->view, 0, 0, true);
	} else {
		page->kind = KS_TOP_TEXT;
		ks_render_doc(doc, &page->text);
	}
	if (!page->title || ks_doc_failed(doc) || page->text.failed)
		top->failed = true;
	arrange(top);
}

void ks_top_say(struct ks_top *top, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(top->message, sizeof(top->message), fmt, ap);
	va_end(ap);
}
