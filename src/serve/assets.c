// SPDX-License-Identifier: LGPL-2.1-only
/* The page and what it needs, as strings. */
#include "serve/assets.h"

/* === Public =============================================================================== */

const char ks_serve_page[] =
#include "serve/live.html.inc"
	;

const char ks_serve_script[] =
#include "serve/live.js.inc"
	;

const char ks_serve_style[] =
#include "serve/live.css.inc"
	;
