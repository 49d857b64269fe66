/* SPDX-License-Identifier: LGPL-2.1-only */
/* The page of assets/, which assets/embed.py turns into C: what comes before the data, and after. */
#ifndef KS_REPORT_HTML_ASSETS_H
#define KS_REPORT_HTML_ASSETS_H

#include <stddef.h>

extern const unsigned char ks_html_before[], ks_html_after[];
extern const size_t ks_html_before_len, ks_html_after_len;

#endif
