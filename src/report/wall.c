// SPDX-License-Identifier: LGPL-2.1-only
/* Times of a capture as times of day. */
#include <inttypes.h>
#include <time.h>

#include "report/report.h"

/* === Data ================================================================================= */

#define SECOND ((u64)1000000000)

/* === Internals ============================================================================ */

static void put(struct ks_strbuf *out, const char *format, const struct tm *tm)
{
	char text[64];

	if (strftime(text, sizeof(text), format, tm))
		ks_strbuf_puts(out, text);
}

static bool local(const struct ks_model *model, u64 ts, struct tm *ret)
{
	time_t at = (time_t)(ks_wall_of(&model->wall, ts) / SECOND);

	return model->wall.len && localtime_r(&at, ret);
}

/* === Public =============================================================================== */

void ks_render_wall(const struct ks_model *model, u64 ts, struct ks_strbuf *out)
{
	struct tm tm;

	if (!local(model, ts, &tm))
		return;
	put(out, "%H:%M:%S", &tm);
	ks_strbuf_printf(out, ".%03" PRIu64, ks_wall_of(&model->wall, ts) % SECOND / 1000000);
}

void ks_render_wall_span(const struct ks_model *model, struct ks_strbuf *out)
{
	struct tm first, last;

	if (!local(model, model->first_ts, &first) || !local(model, model->last_ts, &last))
		return;
	put(out, "%Y-%m-%d %H:%M:%S to ", &first);
	if (first.tm_yday != last.tm_yday || first.tm_year != last.tm_year)
		put(out, "%Y-%m-%d ", &last);
	put(out, "%H:%M:%S %Z", &last);
}

void ks_render_wall_utc(const struct ks_model *model, u64 ts, struct ks_strbuf *out)
{
	u64 ns = ks_wall_of(&model->wall, ts);
	time_t at = (time_t)(ns / SECOND);
	struct tm tm;

	if (!model->wall.len || !gmtime_r(&at, &tm))
		return;
	put(out, "%Y-%m-%dT%H:%M:%S", &tm);
	ks_strbuf_printf(out, ".%09" PRIu64 "Z", ns % SECOND);
}
