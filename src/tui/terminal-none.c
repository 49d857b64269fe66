// SPDX-License-Identifier: LGPL-2.1-only
/* For programs that were built without ncursesw. */
#include <errno.h>

#include "tui/terminal.h"

/* === Public =============================================================================== */

bool ks_terminal_exists(void)
{
	return false;
}

int ks_terminal_open(bool color, struct ks_terminal **ret_terminal, struct ks_diag *diag)
{
	return ks_diag_set(diag, -ENOTSUP,
			   "this program was built without ncursesw; --once needs none");
}

void ks_terminal_close(struct ks_terminal *terminal)
{
}

int ks_terminal_size(struct ks_terminal *terminal, struct ks_screen *screen)
{
	return -ENOTSUP;
}

void ks_terminal_show(struct ks_terminal *terminal, const struct ks_screen *screen)
{
}

void ks_terminal_redraw(struct ks_terminal *terminal)
{
}

int ks_terminal_key(struct ks_terminal *terminal)
{
	return KS_KEY_NONE;
}

void ks_terminal_leave(struct ks_terminal *terminal)
{
}

void ks_terminal_return(struct ks_terminal *terminal)
{
}
