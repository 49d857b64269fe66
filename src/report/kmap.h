/* SPDX-License-Identifier: LGPL-2.1-only */
/* Renderers of the views of access maps. */
#ifndef KS_REPORT_KMAP_H
#define KS_REPORT_KMAP_H

#include "base/strbuf.h"
#include "kmap/view.h"

/* Tables for people, and the notes that are not zero. */
void ks_render_view(const struct ks_view *view, struct ks_strbuf *out);

/* One document with all tables and notes. */
void ks_render_view_json(const struct ks_view *view, struct ks_strbuf *out);

/* The first table. */
void ks_render_view_csv(const struct ks_view *view, struct ks_strbuf *out);

#endif
