// SPDX-License-Identifier: LGPL-2.1-only
/* The frames of a call site. */
#include "report/frames.h"

#include <string.h>

/* === Data ================================================================================= */

static const char built_in[] = "[kernel]";

/* === Internals ============================================================================ */

/* Function and site are always shown; what is deeper than a sane tree is cut off above them. */
static void push(struct ks_frames *frames, const char *s, size_t len)
{
	if (len && frames->len < KS_FRAMES_MAX)
		frames->items[frames->len++] = (struct ks_frame){ s, len };
}

static void push_path(struct ks_frames *frames, const char *path)
{
	const char *slash = path;

	while ((slash = strchr(slash, '/')) && frames->len < KS_FRAMES_MAX - 3)
		push(frames, path, (size_t)(slash++ - path));
	push(frames, path, strlen(path));
}

/* === Public =============================================================================== */

struct ks_frames ks_frames_of(const struct ks_group *group)
{
	struct ks_frames frames = { .len = 0 };
	size_t i;

	if (group->owner) {
		push(&frames, group->owner, strlen(group->owner));
		push(&frames, group->cache, strlen(group->cache));
		push(&frames, group->label, strlen(group->label));
		return frames;
	}
	for (i = group->callers_len; i-- > 0;)
		push(&frames, group->callers[i], strlen(group->callers[i]));
	if (group->callers_len)
		; /* the stack tells more than the place */
	else if (*group->path)
		push_path(&frames, group->path);
	else if (*group->module)
		push(&frames, group->module, strlen(group->module));
	else /* not as the directory of that name, whose files may be beside it */
		push(&frames, built_in, strlen(built_in));
	push(&frames, group->func, strlen(group->func));
	push(&frames, group->label, strlen(group->label));
	return frames;
}
