// SPDX-License-Identifier: LGPL-2.1-only
/* A screen on a terminal, by ncursesw. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tui/terminal.h"

/* === Data ================================================================================= */

struct ks_terminal {
	SCREEN *screen;
	bool color, ascii;
	attr_t looks[KS_STYLES];
	short pairs[KS_STYLES];
};

/* === Internals ============================================================================ */

static void choose_looks(struct ks_terminal *t)
{
	t->looks[KS_STYLE_HEAD] = A_REVERSE;
	t->looks[KS_STYLE_SELECTED] = A_REVERSE | A_BOLD;
	t->looks[KS_STYLE_BOLD] = A_BOLD;
	if (!t->color)
		return;
	t->looks[KS_STYLE_DIM] = A_DIM;
	init_pair(1, COLOR_RED, -1);
	init_pair(2, COLOR_GREEN, -1);
	t->pairs[KS_STYLE_GROWN] = 1;
	t->pairs[KS_STYLE_SHRUNK] = 2;
}

/* The rows and columns of the terminal now; SIGWINCH is not handled by ncurses, since it is blocked. */
static void measure(int *ret_rows, int *ret_cols)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col) {
		*ret_rows = LINES;
		*ret_cols = COLS;
		return;
	}
	*ret_rows = size.ws_row;
	*ret_cols = size.ws_col;
}

static int named_key(int code)
{
	switch (code) {
	case KEY_UP:
		return KS_KEY_UP;
	case KEY_DOWN:
		return KS_KEY_DOWN;
	case KEY_PPAGE:
		return KS_KEY_PAGE_UP;
	case KEY_NPAGE:
		return KS_KEY_PAGE_DOWN;
	case KEY_HOME:
		return KS_KEY_HOME;
	case KEY_END:
		return KS_KEY_END;
	case KEY_LEFT:
		return KS_KEY_LEFT;
	case KEY_RIGHT:
		return KS_KEY_RIGHT;
	case KEY_ENTER:
		return KS_KEY_ENTER;
	case KEY_BACKSPACE:
		return KS_KEY_BACKSPACE;
	default:
		return KS_KEY_NONE;
	}
}

/* === Public =============================================================================== */

bool ks_terminal_exists(void)
{
	return true;
}

int ks_terminal_open(bool color, struct ks_terminal **ret_terminal, struct ks_diag *diag)
{
	const char *name = getenv("TERM");
	struct ks_terminal *t;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ks_diag_set(diag, -ENOTTY,
				   "this is no terminal; --once and --json need none");
	t = calloc(1, sizeof(*t));
	if (!t)
		return ks_diag_nomem(diag, "opening the terminal");
	/* Which characters the terminal has. Nothing else depends on the locale. */
	setlocale(LC_CTYPE, "");
	t->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	t->screen = newterm(NULL, stdout, stdin);
	if (!t->screen) {
		free(t);
		return ks_diag_set(diag, -ENOTSUP,
				   "the terminal '%s' is not known; --once and --json need none",
				   name ? name : "");
	}
	set_term(t->screen);
	t->color = color && has_colors() && start_color() == OK && use_default_colors() == OK;
	choose_looks(t);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	*ret_terminal = t;
	return 0;
}

void ks_terminal_close(struct ks_terminal *t)
{
	if (!t)
		return;
	endwin();
	delscreen(t->screen);
	free(t);
}

int ks_terminal_size(struct ks_terminal *t, struct ks_screen *screen)
{
	int rows, cols;

	measure(&rows, &cols);
	if (rows != LINES || cols != COLS)
		resizeterm(rows, cols);
	screen->ascii = t->ascii;
	if (screen->rows == (unsigned int)rows && screen->cols == (unsigned int)cols)
		return 0;
	return ks_screen_resize(screen, (unsigned int)rows, (unsigned int)cols);
}

void ks_terminal_show(struct ks_terminal *t, const struct ks_screen *screen)
{
	unsigned int row, col;

	erase();
	for (row = 0; row < screen->rows; row++) {
		for (col = 0; col < screen->cols; col++) {
			const struct ks_glyph *at = ks_screen_at(screen, row, col);
			wchar_t text[2] = { (wchar_t)at->code, 0 };
			cchar_t c;

			if (!at->width || (at->code == ' ' && at->style == KS_STYLE_PLAIN))
				continue;
			setcchar(&c, text, t->looks[at->style], t->pairs[at->style], NULL);
			mvadd_wch((int)row, (int)col, &c);
		}
	}
	refresh();
}

void ks_terminal_redraw(struct ks_terminal *t)
{
	clearok(curscr, TRUE);
}

int ks_terminal_key(struct ks_terminal *t)
{
	wint_t c;
	int kind, key;

	/* Keys that mean nothing here are no end of those that wait. */
	do {
		kind = get_wch(&c);
		if (kind == ERR)
			return KS_KEY_NONE;
		key = kind == KEY_CODE_YES ? named_key((int)c) : (int)c;
	} while (key == KS_KEY_NONE);
	if (kind == KEY_CODE_YES)
		return key;
	if (c == '\r' || c == '\n')
		return KS_KEY_ENTER;
	if (c == '\t')
		return KS_KEY_TAB;
	if (c == 127 || c == 8)
		return KS_KEY_BACKSPACE;
	return key;
}

void ks_terminal_leave(struct ks_terminal *t)
{
	endwin();
}

void ks_terminal_return(struct ks_terminal *t)
{
	clearok(curscr, TRUE);
	refresh();
}
