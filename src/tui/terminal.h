/* SPDX-License-Identifier: LGPL-2.1-only */
/* The terminal that shows a screen: ncursesw, which writes what has changed since the last time and no more. */
#ifndef KS_TUI_TERMINAL_H
#define KS_TUI_TERMINAL_H

#include "base/diag.h"
#include "tui/screen.h"

/* What came in: a character, or one of these. */
enum ks_key {
	KS_KEY_NONE = 0,
	KS_KEY_ESCAPE = 27,
	KS_KEY_UP = 0x200000, /* above all characters */
	KS_KEY_DOWN,
	KS_KEY_PAGE_UP,
	KS_KEY_PAGE_DOWN,
	KS_KEY_HOME,
	KS_KEY_END,
	KS_KEY_LEFT,
	KS_KEY_RIGHT,
	KS_KEY_ENTER,
	KS_KEY_BACKSPACE,
	KS_KEY_TAB,
};

struct ks_terminal;

/* Whether this program was built with one. */
bool ks_terminal_exists(void);

/*
 * Takes over the terminal that standard input and output are. The caller waits for SIGWINCH, SIGTSTP and those that
 * end the program, which must be blocked. There is one terminal at a time.
 */
int ks_terminal_open(bool color, struct ks_terminal **ret_terminal, struct ks_diag *diag);
void ks_terminal_close(struct ks_terminal *terminal); /* accepts NULL; the terminal is as it was */

/* Gives the screen the size that the terminal has now. */
int ks_terminal_size(struct ks_terminal *terminal, struct ks_screen *screen);
void ks_terminal_show(struct ks_terminal *terminal, const struct ks_screen *screen);
void ks_terminal_redraw(struct ks_terminal *terminal); /* all of it with the next screen */

/* The next key that waits, or KS_KEY_NONE. Input is readable before that. */
int ks_terminal_key(struct ks_terminal *terminal);

/* Gives the terminal back for a while, and takes it over again. */
void ks_terminal_leave(struct ks_terminal *terminal);
void ks_terminal_return(struct ks_terminal *terminal);

#endif
