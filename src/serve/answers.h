/* SPDX-License-Identifier: LGPL-2.1-only */
/* What is served, by path: made from the newest snapshot. Knows nothing of HTTP but media types. */
#ifndef KS_SERVE_ANSWERS_H
#define KS_SERVE_ANSWERS_H

#include "base/strbuf.h"
#include "live/snapshot.h"
#include "serve/metrics.h"

/* What a request asks for, beside its path. */
struct ks_question {
	const char *path;
	const char *accept;	   /* media types that the client takes; "" = any */
	const char *by;		   /* of /live.json; NULL = cache */
	bool otlp;		   /* it is permitted */
	struct ks_metrics metrics; /* with the snapshot */
};

struct ks_answer {
	unsigned int status; /* 200, 400, 404, 500 */
	const char *type;
	const char *download; /* the name of the file that a browser should make; NULL = none */
	struct ks_strbuf body;
};

/* The body is the caller's, also when the status is not 200. */
void ks_answer(const struct ks_question *question, struct ks_answer *answer);

#endif
