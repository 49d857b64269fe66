/* SPDX-License-Identifier: LGPL-2.1-only */
/* A snapshot as metrics for Prometheus and those who read its formats. */
#ifndef KS_SERVE_METRICS_H
#define KS_SERVE_METRICS_H

#include "base/strbuf.h"
#include "live/snapshot.h"

/* What is told beside the snapshot. */
struct ks_metrics {
	const struct ks_live_snapshot *snapshot;
	u64 top;      /* rows that have a name of their own; the rest is "other" */
	u64 looks;    /* at the kernel, so far */
	bool failing; /* the last one went wrong: the snapshot is an older one */
	u64 scrapes;
	bool openmetrics; /* else the older text format of Prometheus */
};

void ks_metrics_write(const struct ks_metrics *metrics, struct ks_strbuf *out);

/* Its media type. */
const char *ks_metrics_type(bool openmetrics);

#endif
