// SPDX-License-Identifier: LGPL-2.1-only
/* What is served, by path. */
#include "serve/answers.h"

#include <string.h>

#include "serve/assets.h"
#include "serve/profile.h"
#include "table/render.h"

/* === Data ================================================================================= */

enum { ROWS_MAX = 200 }; /* of the page; metrics have their own limit */

typedef void answer_fn(const struct ks_question *question, struct ks_answer *answer);

/* === Internals ============================================================================ */

static void refuse(struct ks_answer *answer, unsigned int status, const char *why)
{
	answer->status = status;
	answer->type = "text/plain; charset=utf-8";
	ks_strbuf_puts(&answer->body, why);
}

static void metrics(const struct ks_question *q, struct ks_answer *answer)
{
	struct ks_metrics m = q->metrics;

	m.openmetrics = strstr(q->accept, "application/openmetrics-text") != NULL;
	answer->type = ks_metrics_type(m.openmetrics);
	ks_metrics_write(&m, &answer->body);
}

static void pprof(const struct ks_question *q, struct ks_answer *answer, enum ks_profile_kind kind)
{
	answer->type = "application/octet-stream";
	answer->download = kind == KS_PROFILE_HEAP ? "heap.pb.gz" : "allocs.pb.gz";
	ks_profile_pprof(q->metrics.snapshot, kind, &answer->body);
}

static void pprof_heap(const struct ks_question *q, struct ks_answer *answer)
{
	pprof(q, answer, KS_PROFILE_HEAP);
}

static void pprof_allocs(const struct ks_question *q, struct ks_answer *answer)
{
	pprof(q, answer, KS_PROFILE_ALLOCS);
}

static void otlp(const struct ks_question *q, struct ks_answer *answer)
{
	bool traced = q->metrics.snapshot->parts[KS_LIVE_TRACED].present;

	if (!q->otlp) {
		refuse(answer, 404, "OTLP profiles are served with --otlp v1development\n");
		return;
	}
	answer->type = "application/x-protobuf";
	ks_profile_otlp(q->metrics.snapshot, traced ? KS_PROFILE_ALLOCS : KS_PROFILE_HEAP,
			&answer->body);
}

static void live_json(const struct ks_question *q, struct ks_answer *answer)
{
	unsigned int by = 0;
	struct ks_doc *doc;

	while (q->by && by < KS_LIVE_BYS && strcmp(q->by, ks_live_by_name(by)) != 0)
		by++;
	if (by == KS_LIVE_BYS) {
		refuse(answer, 400, "by: choose cache, type, site, stack, process or cgroup\n");
		return;
	}
	answer->type = "application/json";
	doc = ks_live_doc(q->metrics.snapshot, by, NULL, ROWS_MAX);
	if (doc)
		ks_render_doc_json(doc, &answer->body);
	else
		answer->body.failed = true;
	ks_doc_free(doc);
}

static void page(const struct ks_question *q, struct ks_answer *answer)
{
	answer->type = "text/html; charset=utf-8";
	ks_strbuf_puts(&answer->body, ks_serve_page);
}

static void script(const struct ks_question *q, struct ks_answer *answer)
{
	answer->type = "text/javascript; charset=utf-8";
	ks_strbuf_puts(&answer->body, ks_serve_script);
}

static void style(const struct ks_question *q, struct ks_answer *answer)
{
	answer->type = "text/css; charset=utf-8";
	ks_strbuf_puts(&answer->body, ks_serve_style);
}

static const struct {
	const char *path;
	answer_fn *answer;
} paths[] = {
	{ "/", page },
	{ "/live.js", script },
	{ "/live.css", style },
	{ "/live.json", live_json },
	{ "/metrics", metrics },
	{ "/debug/pprof/heap", pprof_heap },
	{ "/debug/pprof/allocs", pprof_allocs },
	{ "/v1development/profiles", otlp },
};

/* === Public =============================================================================== */

void ks_answer(const struct ks_question *question, struct ks_answer *answer)
{
	size_t i;

	*answer = (struct ks_answer){ .status = 200 };
	ks_strbuf_init(&answer->body);
	for (i = 0; i < ARRAY_SIZE(paths); i++)
		if (!strcmp(paths[i].path, question->path))
			break;
	if (i < ARRAY_SIZE(paths))
		paths[i].answer(question, answer);
	else
		refuse(answer, 404, "there is nothing at this path\n");
	if (answer->body.failed) {
		ks_strbuf_deinit(&answer->body);
		refuse(answer, 500, "out of memory\n");
	}
}
