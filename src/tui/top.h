/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * kmemscope top without a kernel and without a terminal: snapshots and keys go in, a screen comes out. What needs the
 * kernel is asked of the caller.
 */
#ifndef KS_TUI_TOP_H
#define KS_TUI_TOP_H

#include "live/snapshot.h"
#include "tui/view.h"

/* What the caller is to do after a key. */
enum ks_top_ask {
	KS_TOP_NOTHING,
	KS_TOP_QUIT,
	KS_TOP_REBASE,
	KS_TOP_LEVEL,	 /* to ks_top.level */
	KS_TOP_TYPES,	 /* an exact count of types */
	KS_TOP_OBJECTS,	 /* those of ks_top.wanted: a type, a cache or an address */
	KS_TOP_SNAPSHOT, /* write one */
	KS_TOP_CAPTURE,	 /* start one */
	KS_TOP_REDRAW,	 /* the terminal may show something else */
};

enum { KS_TOP_DEPTH = 8, KS_TOP_HISTORY = 1024, KS_TOP_WANTED_MAX = 256 };

struct ks_top_page {
	enum { KS_TOP_ROWS, KS_TOP_TABLE, KS_TOP_TEXT } kind;
	enum ks_live_by by;	   /* of rows */
	char *within[KS_LIVE_BYS]; /* of rows; NULL = it does not matter */
	bool present;		   /* of rows: the level can tell them */
	struct ks_view view;	   /* but for text */
	struct ks_table *table; /* of rows: made from the snapshot; of a document: its main one */
	struct ks_doc *doc;	/* but for rows */
	struct ks_strbuf text;
	size_t line; /* of text: the first on the screen */
	char *title; /* but for rows */
};

enum ks_top_mode { KS_TOP_BROWSE, KS_TOP_SEARCH, KS_TOP_WRITE, KS_TOP_HELP };

struct ks_top {
	struct ks_live_snapshot *snapshot; /* NULL before the first */
	struct ks_top_page pages[KS_TOP_DEPTH];
	size_t depth; /* at least 1 */
	enum ks_top_mode mode;
	bool paused;
	bool failed; /* there was no memory */
	enum ks_live_level level;
	char wanted[KS_TOP_WANTED_MAX];
	char message[256];
	u64 first_cpu_ns, first_ns; /* for what it costs */
	double cpu;		    /* share of one; NaN = not yet known */

	/* One value a snapshot, the newest last. */
	u64 slab[KS_TOP_HISTORY], unreclaimable[KS_TOP_HISTORY], used[KS_TOP_HISTORY];
	size_t history;
};

void ks_top_init(struct ks_top *top, enum ks_live_by by);
void ks_top_deinit(struct ks_top *top);

/* A new snapshot, of which it takes the caller's use. While it is paused, it is dropped. */
void ks_top_feed(struct ks_top *top, struct ks_live_snapshot *snapshot);

enum ks_top_ask ks_top_key(struct ks_top *top, int key);

/* What the page needs beside: KS_TOP_TYPES where its types were not counted yet, or a minute ago. */
enum ks_top_ask ks_top_wish(const struct ks_top *top);

/* The answer to KS_TOP_OBJECTS, which becomes the top's: a list, or all about one object. */
void ks_top_show(struct ks_top *top, struct ks_doc *doc);

/* In the last line, until the next key. */
void ks_top_say(struct ks_top *top, const char *fmt, ...) ks_printf(2, 3);

void ks_top_draw(struct ks_top *top, struct ks_screen *screen);

/* === For the files of top alone ===================================================================== */

enum {
	KS_TOP_BYTES,
	KS_TOP_CHANGE,
	KS_TOP_RATE,
	KS_TOP_COUNT,
	KS_TOP_COUNT_CHANGE,
	KS_TOP_AGE,
	KS_TOP_ERROR,
	KS_TOP_RECLAIMABLE,
	KS_TOP_NAME,
	KS_TOP_COLUMNS
};

/* The rows as a table. NULL: no memory. */
struct ks_table *ks_top_table(const struct ks_live_rows *rows, enum ks_live_by by);
ks_paint_fn ks_top_paint;

/* "1.5M", with a sign where @sign. */
void ks_top_bytes(struct ks_strbuf *out, double bytes, bool sign);
void ks_top_duration(struct ks_strbuf *out, u64 ns);

static inline struct ks_top_page *ks_top_page(struct ks_top *top)
{
	return &top->pages[top->depth - 1];
}

#endif
