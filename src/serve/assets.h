/* SPDX-License-Identifier: LGPL-2.1-only */
/* The page and what it needs, from assets/. */
#ifndef KS_SERVE_ASSETS_H
#define KS_SERVE_ASSETS_H

extern const char ks_serve_page[], ks_serve_script[], ks_serve_style[];

#endif
