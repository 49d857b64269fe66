/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A screen of characters that nobody sees: views draw into it, a terminal shows it (tui/terminal.h), and tests read
 * it. Text is hostile: what is not printable UTF-8 becomes \xNN, and what would take no column of its own a question mark.
 */
#ifndef KS_TUI_SCREEN_H
#define KS_TUI_SCREEN_H

#include "base/strbuf.h"

/* How a character looks. Without colours all but the last three still differ from plain text. */
enum ks_style {
	KS_STYLE_PLAIN,
	KS_STYLE_HEAD,
	KS_STYLE_SELECTED,
	KS_STYLE_BOLD,
	KS_STYLE_DIM,
	KS_STYLE_GROWN,
	KS_STYLE_SHRUNK,
	KS_STYLES
};

struct ks_glyph {
	u32 code;
	u8 style; /* enum ks_style */
	u8 width; /* 1 or 2; 0 = the right half of the one before it */
};

struct ks_screen {
	unsigned int rows, cols;
	bool ascii;		 /* the terminal has no other characters */
	struct ks_glyph *glyphs; /* row by row */
};

/* The largest size that is drawn; a terminal may be larger. */
enum { KS_SCREEN_ROWS_MAX = 500, KS_SCREEN_COLS_MAX = 1000 };

void ks_screen_init(struct ks_screen *screen);
void ks_screen_deinit(struct ks_screen *screen);

/* Another size, and empty. 0 or -ENOMEM, which leaves it as it was. */
int ks_screen_resize(struct ks_screen *screen, unsigned int rows, unsigned int cols);
void ks_screen_clear(struct ks_screen *screen);

/*
 * Text in one row, at most @width columns; '~' stands for what has no room. Returns how many columns it took. What lies
 * outside of the screen is not drawn.
 */
unsigned int ks_screen_put(struct ks_screen *screen, unsigned int row, unsigned int col,
			   unsigned int width, enum ks_style style, const char *text);
unsigned int ks_screen_printf(struct ks_screen *screen, unsigned int row, unsigned int col,
			      enum ks_style style, const char *fmt, ...) ks_printf(5, 6);

/* The columns that text takes. */
unsigned int ks_screen_width(const struct ks_screen *screen, const char *text);

/* A style for part of a row, whatever is there. */
void ks_screen_paint(struct ks_screen *screen, unsigned int row, unsigned int col,
		     unsigned int width, enum ks_style style);

/* The last @width values as bars in one row, from the lowest to the highest of them. */
void ks_screen_spark(struct ks_screen *screen, unsigned int row, unsigned int col,
		     unsigned int width, enum ks_style style, const u64 *values, size_t len);

/* A row as text, without the blanks at its end. */
void ks_screen_row(const struct ks_screen *screen, unsigned int row, struct ks_strbuf *out);

static inline struct ks_glyph *ks_screen_at(const struct ks_screen *screen, unsigned int row,
					    unsigned int col)
{
	return &screen->glyphs[(size_t)row * screen->cols + col];
}

#endif
