// SPDX-License-Identifier: LGPL-2.1-only
/* kmemscope top: what it looks like. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tui/top.h"

/* === Data ================================================================================= */

static const char *const help[] = {
	"Up Down PgUp PgDn Home End   choose a row",
	"Enter     deeper: cache, its types, their sites and stacks, the objects, one object",
	"Esc       back; Left and Backspace too",
	"Tab 1-6   by cache, type, site, stack, process, cgroup",
	"/         only rows with this text; Esc shows all again",
	"< >       sort by the next column; s turns the order around",
	"p         pause, and go on",
	"r         changes count from now on",
	"l         the next level: census, growth, sampled, exact",
	"t         count types now",
	"w         write a snapshot of the heap, or start a capture",
	"Ctrl-L    draw all of the screen again",
	"q         leave",
};

static const char keys[] =
	"Enter deeper  Esc back  Tab by  / search  <> sort  l level  w write  ? help  q";
static const char few_keys[] = "? help  q  Enter  Esc  Tab  /"; /* of a narrow screen */

static const char *const plural[KS_LIVE_BYS] = {
	[KS_LIVE_BY_CACHE] = "caches",	    [KS_LIVE_BY_TYPE] = "types",
	[KS_LIVE_BY_SITE] = "sites",	    [KS_LIVE_BY_STACK] = "stacks",
	[KS_LIVE_BY_PROCESS] = "processes", [KS_LIVE_BY_CGROUP] = "cgroups",
};

/* What the columns of the sums begin at. */
enum { SUM_VALUE = 15, SUM_CHANGE = 24, SUM_SPARK = 34 };

/* === Internals: above the table =========================================================== */

static void put_right(struct ks_screen *screen, unsigned int row, enum ks_style style,
		      const char *text)
{
	unsigned int width = ks_screen_width(screen, text);

	if (width < screen->cols)
		ks_screen_put(screen, row, screen->cols - width, width, style, text);
}

static void draw_title(const struct ks_top *top, struct ks_screen *screen)
{
	const struct ks_live_snapshot *s = top->snapshot;
	unsigned int taken;
	const char *right;
	struct ks_strbuf text;
	char clock[32] = "";
	struct tm tm;
	time_t at;

	ks_strbuf_init(&text);
	ks_strbuf_printf(&text, "kmemscope top: level %d, %s", (int)top->level,
			 ks_live_level_name(top->level));
	if (s) {
		at = (time_t)(s->wall_ns / 1000000000);
		if (localtime_r(&at, &tm))
			strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
		ks_strbuf_puts(&text, ", changes over ");
		ks_top_duration(&text, s->at_ns - s->base_ns);
	}
	right = top->paused ? "PAUSED" : clock;
	taken = ks_min(ks_screen_width(screen, right) + 1, screen->cols);
	ks_screen_put(screen, 0, 0, screen->cols - taken, KS_STYLE_BOLD, ks_strbuf_str(&text));
	put_right(screen, 0, KS_STYLE_BOLD, right);
	ks_strbuf_deinit(&text);
}

static void draw_sum(struct ks_screen *screen, unsigned int row, const char *name, u64 now,
		     u64 before, const u64 *values, size_t len)
{
	double change = (double)now - (double)before;
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_screen_put(screen, row, 0, SUM_VALUE, KS_STYLE_PLAIN, name);
	ks_top_bytes(&text, (double)now, false);
	ks_screen_put(screen, row, SUM_VALUE, SUM_CHANGE - SUM_VALUE, KS_STYLE_BOLD,
		      ks_strbuf_str(&text));
	text.len = 0;
	ks_top_bytes(&text, change, true);
	ks_screen_put(screen, row, SUM_CHANGE, SUM_SPARK - SUM_CHANGE,
		      change > 0   ? KS_STYLE_GROWN
		      : change < 0 ? KS_STYLE_SHRUNK
				   : KS_STYLE_PLAIN,
		      ks_strbuf_str(&text));
	ks_strbuf_deinit(&text);
	ks_screen_spark(screen, row, SUM_SPARK, screen->cols, KS_STYLE_DIM, values, len);
}

/* The rest of memory that the kernel itself uses, in words. */
static void draw_pages(const struct ks_live_memory *m, struct ks_screen *screen, unsigned int row)
{
	static const char *const names[] = { "page tables", "stacks", "vmalloc", "per CPU" };
	const u64 values[] = { m->page_tables, m->stacks, m->vmalloc, m->percpu };
	struct ks_strbuf text;
	size_t i;

	ks_strbuf_init(&text);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ks_strbuf_printf(&text, "%s%s ", i ? ", " : "", names[i]);
		ks_top_bytes(&text, (double)values[i], false);
	}
	ks_screen_put(screen, row, 0, screen->cols, KS_STYLE_PLAIN, ks_strbuf_str(&text));
	ks_strbuf_deinit(&text);
}

/* How good the numbers are, and what they cost. */
static void draw_quality(const struct ks_top *top, struct ks_screen *screen, unsigned int row)
{
	const struct ks_live_snapshot *s = top->snapshot;
	const struct ks_live_quality *q = &s->quality;
	const struct ks_live_part_info *caches = &s->parts[KS_LIVE_CACHES];
	u64 missed = q->no_room + q->no_stack + q->recursion;
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_strbuf_puts(&text, caches->exact ? "counted exactly" : "by the kernel's counters");
	if (!isnan(top->cpu))
		ks_strbuf_printf(&text, ", %.2f %% of a CPU", 100 * top->cpu);
	if (q->events)
		ks_strbuf_printf(&text, ", %" PRIu64 " events", q->events);
	if (q->events || missed)
		ks_strbuf_printf(&text, ", %" PRIu64 " missed", missed);
	if (q->reconciled)
		ks_strbuf_printf(&text, ", %" PRIu64 " found gone", q->reconciled);
	if (s->unseen.len)
		ks_strbuf_printf(&text, "; not seen: %s", s->unseen.items[0]);
	ks_screen_put(screen, row, 0, screen->cols, missed ? KS_STYLE_BOLD : KS_STYLE_DIM,
		      ks_strbuf_str(&text));
	ks_strbuf_deinit(&text);
}

/* As many lines as leave most of the screen to the table. Returns how many. */
static unsigned int draw_sums(const struct ks_top *top, struct ks_screen *screen)
{
	const struct ks_live_snapshot *s = top->snapshot;
	const struct ks_live_memory *m, *b;
	unsigned int row = 1;

	if (!s || screen->rows < 8)
		return row;
	m = &s->memory;
	b = &s->base_memory;
	draw_sum(screen, row++, "slab", m->slab, b->slab, top->slab, top->history);
	if (screen->rows < 12)
		return row;
	draw_sum(screen, row++, "unreclaimable", m->unreclaimable, b->unreclaimable,
		 top->unreclaimable, top->history);
	if (screen->rows < 20)
		return row;
	draw_sum(screen, row++, "all in use", m->total - ks_min(m->free, m->total),
		 b->total - ks_min(b->free, b->total), top->used, top->history);
	draw_pages(m, screen, row++);
	draw_quality(top, screen, row++);
	return row;
}

/* === Internals: the page ================================================================== */

static void draw_where(const struct ks_top *top, struct ks_screen *screen, unsigned int row)
{
	const struct ks_top_page *page = &top->pages[top->depth - 1];
	struct ks_strbuf text;
	size_t i;

	ks_strbuf_init(&text);
	for (i = 0; i < top->depth; i++) {
		const struct ks_top_page *p = &top->pages[i];
		const char *name = NULL;

		if (i)
			ks_strbuf_puts(&text, " > ");
		/* The name that this page has and the one before it has not. */
		if (i && p->kind == KS_TOP_ROWS && top->pages[i - 1].kind == KS_TOP_ROWS)
			name = p->within[top->pages[i - 1].by];
		if (name)
			ks_strbuf_printf(&text, "%s > ", *name ? name : "unknown");
		ks_strbuf_puts(&text, p->kind == KS_TOP_ROWS ? plural[p->by]
				      : p->title	     ? p->title
							     : "");
	}
	if (page->kind != KS_TOP_TEXT && page->table)
		ks_strbuf_printf(&text, " (%zu)", ks_view_len(&page->view));
	if (*page->view.search)
		ks_strbuf_printf(&text, " with \"%s\"", page->view.search);
	if (page->kind != KS_TOP_TEXT && page->table && page->table->left_out)
		ks_strbuf_printf(&text, ", %" PRIu64 " more are not listed", page->table->left_out);
	ks_screen_put(screen, row, 0, screen->cols, KS_STYLE_BOLD, ks_strbuf_str(&text));
	ks_strbuf_deinit(&text);
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void draw_text(struct ks_top_page *page, struct ks_screen *screen, unsigned int row,
		      unsigned int rows)
{
	const char *text = ks_strbuf_str(&page->text);
	size_t lines = lines_of(text), i;

	page->view.page = rows;
	page->line = ks_min(page->line, lines > rows ? lines - rows : 0);
	for (i = 0; *text && i < page->line + rows; i++) {
		size_t len = strcspn(text, "\n");
		char line[KS_SCREEN_COLS_MAX + 1];

		if (i >= page->line) {
			snprintf(line, sizeof(line), "%.*s",
				 (int)ks_min(len, (size_t)KS_SCREEN_COLS_MAX), text);
			ks_screen_put(screen, row + (unsigned int)(i - page->line), 0, screen->cols,
				      KS_STYLE_PLAIN, line);
		}
		text += len + (text[len] == '\n');
	}
}

/* Exact sums are without stacks, since each would cost ten times as much as all the rest. */
static const char *why_absent(const struct ks_top *top, enum ks_live_by by)
{
	if (by == KS_LIVE_BY_TYPE || by == KS_LIVE_BY_CGROUP)
		return "not counted yet; t counts types and cgroups now";
	if (by == KS_LIVE_BY_STACK && top->level == KS_LIVE_EXACT)
		return "level %d has no stacks; levels 1 and 2 do, and l changes the level";
	return "level %d can't tell this; l takes the next level";
}

static void draw_page(struct ks_top *top, struct ks_screen *screen, unsigned int row,
		      unsigned int rows)
{
	struct ks_top_page *page = ks_top_page(top);

	if (page->kind == KS_TOP_TEXT) {
		draw_text(page, screen, row, rows);
		return;
	}
	if (!page->table)
		return;
	ks_view_draw(&page->view, page->table, screen, row, rows);
	if (page->kind == KS_TOP_ROWS && !page->present && rows > 2)
		ks_screen_printf(screen, row + 2, 0, KS_STYLE_PLAIN, why_absent(top, page->by),
				 (int)top->level);
}

/* === Internals: over and below ============================================================ */

static void draw_help(struct ks_screen *screen, unsigned int row)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(help) && row + i + 1 < screen->rows; i++)
		ks_screen_put(screen, row + (unsigned int)i, 0, screen->cols, KS_STYLE_PLAIN,
			      help[i]);
}

static void draw_bar(const struct ks_top *top, struct ks_screen *screen)
{
	const struct ks_top_page *page = &top->pages[top->depth - 1];
	unsigned int row = screen->rows - 1;

	if (top->mode == KS_TOP_SEARCH)
		ks_screen_printf(screen, row, 0, KS_STYLE_BOLD, "/%s_", page->view.search);
	else if (top->mode == KS_TOP_WRITE)
		ks_screen_put(screen, row, 0, screen->cols, KS_STYLE_BOLD,
			      "write: s a snapshot of the heap, c a capture of 10 s, Esc nothing");
	else if (top->mode == KS_TOP_HELP)
		ks_screen_put(screen, row, 0, screen->cols, KS_STYLE_BOLD, "any key goes back");
	else if (top->failed)
		ks_screen_put(screen, row, 0, screen->cols, KS_STYLE_BOLD, "out of memory");
	else if (*top->message)
		ks_screen_put(screen, row, 0, screen->cols, KS_STYLE_BOLD, top->message);
	else
		ks_screen_put(screen, row, 0, screen->cols, KS_STYLE_DIM,
			      strlen(keys) <= screen->cols ? keys : few_keys);
}

/* === Public =============================================================================== */

void ks_top_draw(struct ks_top *top, struct ks_screen *screen)
{
	unsigned int row;

	ks_screen_clear(screen);
	if (screen->rows < 3 || screen->cols < 8)
		return;
	draw_title(top, screen);
	row = draw_sums(top, screen);
	if (top->mode == KS_TOP_HELP) {
		draw_help(screen, row);
	} else {
		draw_where(top, screen, row);
		draw_page(top, screen, row + 1, screen->rows - row - 2);
	}
	draw_bar(top, screen);
	top->failed = false;
}
