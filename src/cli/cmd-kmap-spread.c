// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap lives, sharing: distributions, and who uses what others allocated. */
#include "cli/kmap.h"
#include "cli/run.h"

/* === Internals ============================================================================ */

typedef struct ks_doc *view_fn(const struct ks_kmap_census *census,
			       const struct ks_kmap_places *places, enum ks_kmap_unit unit,
			       u64 top);

static int answer(struct ks_kmap_args *args, view_fn *view)
{
	enum ks_kmap_unit unit = KS_KMAP_FUNCTION;
	struct ks_kmap_map map;
	int code = ks_kmap_take_unit(args, &unit);

	if (!code)
		code = ks_kmap_map_read(args, args->operands[0], KS_KMAP_WITH_SPREAD, &map);
	if (code)
		return code;
	code = ks_kmap_answer(args, view(map.census, map.places, unit, args->cli.rows->top),
			      map.census);
	ks_kmap_map_free(&map);
	return code;
}

/* === Public =============================================================================== */

int ks_kmap_lives(struct ks_kmap_args *args)
{
	return answer(args, ks_kmap_view_lives);
}

int ks_kmap_sharing(struct ks_kmap_args *args)
{
	return answer(args, ks_kmap_view_sharing);
}
