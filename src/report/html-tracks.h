/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the HTML report: a timeline as members of the JSON object that is open. */
#ifndef KS_REPORT_HTML_TRACKS_H
#define KS_REPORT_HTML_TRACKS_H

#include "report/html.h"

/* "total", "by", "frame_names", "pids", "lives" and "cpus"; "least" where ends were unseen. */
void ks_html_put_timeline(struct ks_json *json, const struct ks_timeline *timeline);

#endif
