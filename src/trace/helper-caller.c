// SPDX-License-Identifier: LGPL-2.1-only
/* On whose behalf a helper allocated. */
#include "trace/helper-caller.h"

#include <string.h>

/* === Internals ============================================================================ */

static bool skips(const struct ks_frame_filter *filter, const char *func)
{
	return filter->skip(filter->ctx, func, strlen(func));
}

static const char *func_of(const struct ks_names *names, u32 frame)
{
	return ks_sites_get(&names->frames, frame)->func;
}

/* === Public =============================================================================== */

u32 ks_helper_caller(const struct ks_frame_filter *filter, struct ks_names *names, u32 site,
		     u32 stack)
{
	const char *own = ks_sites_get(&names->sites, site)->func;
	size_t len, at = 0;
	const u32 *frames = ks_names_stack(names, stack, &len);
	const struct ks_site *frame;

	if (!len || !*own || !skips(filter, own))
		return site;
	while (at < len && strcmp(func_of(names, frames[at]), own))
		at++;
	for (at++; at < len; at++) {
		const char *func = func_of(names, frames[at]);

		if (*func && !skips(filter, func))
			break;
	}
	if (at >= len)
		return site;
	frame = ks_sites_get(&names->frames, frames[at]);
	return frame->addr ? ks_sites_add_addr(&names->sites, frame->addr, frame->text,
					       strlen(frame->text))
			   : ks_sites_add(&names->sites, frame->text, strlen(frame->text));
}
