// SPDX-License-Identifier: LGPL-2.1-only
/* Rows in order: a total order, so that the same capture always gives the same table. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

static const char *const order_names[] = {
	[KS_ORDER_CURRENT] = "current_dynamic",
	[KS_ORDER_TOTAL] = "total_dynamic",
	[KS_ORDER_ALLOCS] = "alloc_count",
	[KS_ORDER_FREES] = "free_count",
	[KS_ORDER_WASTE] = "waste",
	[KS_ORDER_PEAK] = "peak",
};
_Static_assert(ARRAY_SIZE(order_names) == KS_ORDERS, "a name for every order");

/* As the columns are called. */
static const char *const plain_names[] = {
	[KS_ORDER_CURRENT] = "live", [KS_ORDER_TOTAL] = "total", [KS_ORDER_ALLOCS] = "allocs",
	[KS_ORDER_FREES] = "frees",  [KS_ORDER_WASTE] = "waste", [KS_ORDER_PEAK] = "peak",
};
_Static_assert(ARRAY_SIZE(plain_names) == KS_ORDERS, "a name for every order");

/* === Internals ============================================================================ */

static u64 value_of(const struct ks_stat *stat, enum ks_order order)
{
	switch (order) {
	case KS_ORDER_CURRENT:
		return stat->live_bytes;
	case KS_ORDER_TOTAL:
		return stat->total_bytes;
	case KS_ORDER_ALLOCS:
		return stat->allocs;
	case KS_ORDER_FREES:
		return stat->frees;
	case KS_ORDER_WASTE:
		return ks_stat_waste(stat);
	case KS_ORDER_PEAK:
		return ks_stat_has_peak(stat) ? stat->peak_bytes : 0;
	case KS_ORDERS:
		break;
	}
	return 0;
}

/* Digits compare as numbers, so that pid 9 comes before pid 10. */
static int compare_names(const char *a, const char *b)
{
	return strverscmp(a, b);
}

/* Of groups by stack. */
static int compare_callers(const struct ks_group *a, const struct ks_group *b)
{
	size_t i;

	for (i = 0; i < a->callers_len && i < b->callers_len; i++)
		if (strcmp(a->callers[i], b->callers[i]))
			return strcmp(a->callers[i], b->callers[i]);
	return a->callers_len < b->callers_len ? -1 : a->callers_len > b->callers_len;
}

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct ks_group *a = *(const struct ks_group *const *)pa;
	const struct ks_group *b = *(const struct ks_group *const *)pb;
	enum ks_order keys[] = { *(enum ks_order *)arg, KS_ORDER_CURRENT, KS_ORDER_TOTAL,
				 KS_ORDER_ALLOCS };
	size_t i;
	int diff;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		u64 va = value_of(&a->stat, keys[i]), vb = value_of(&b->stat, keys[i]);

		if (va != vb)
			return va > vb ? -1 : 1;
	}
	diff = compare_names(a->label, b->label);
	if (!diff)
		diff = strcmp(a->text, b->text);
	if (!diff)
		diff = strcmp(a->cache, b->cache);
	if (!diff && a->owner && b->owner)
		diff = strcmp(a->owner, b->owner);
	return diff ? diff : compare_callers(a, b);
}

/* === Public =============================================================================== */

const char *ks_order_name(enum ks_order order)
{
	return order < KS_ORDERS ? order_names[order] : "?";
}

int ks_order_from_name(const char *name)
{
	int order;

	for (order = 0; order < KS_ORDERS; order++)
		if (!strcmp(name, order_names[order]) || !strcmp(name, plain_names[order]))
			return order;
	return -ENOENT;
}

int ks_rows_init(struct ks_rows *rows, const struct ks_model *model, enum ks_order order, u64 top)
{
	return ks_rows_of_sums(rows, ks_model_account(model), order, top);
}

int ks_rows_of_sums(struct ks_rows *rows, const struct ks_sums *sums, enum ks_order order, u64 top)
{
	size_t i, len = 0;

	rows->items = calloc(sums->groups.len + 1, sizeof(*rows->items));
	rows->len = 0;
	if (!rows->items)
		return -ENOMEM;
	for (i = 0; i < sums->groups.len; i++)
		rows->items[len++] = &sums->groups.items[i];
	qsort_r(rows->items, len, sizeof(*rows->items), compare, &order);
	rows->len = top && top < len ? (size_t)top : len;
	return 0;
}

void ks_rows_deinit(struct ks_rows *rows)
{
	free(rows->items);
	rows->items = NULL;
}
