/* SPDX-License-Identifier: LGPL-2.1-only */
/* The verdict on a capture, as text and as JSON. */
#ifndef KS_REPORT_CHECK_H
#define KS_REPORT_CHECK_H

#include "analysis/check.h"
#include "table/json.h"

/* @path names the capture; @repaired: it was finished just before it was read. */
void ks_render_check(const char *path, const struct ks_check *check, bool repaired,
		     struct ks_strbuf *out);

/* One object of the array "files". */
void ks_render_check_json(const char *path, const struct ks_check *check, bool repaired,
			  struct ks_json *json);

#endif
