// SPDX-License-Identifier: LGPL-2.1-only
/* Letters that are missing, too many, wrong or swapped are counted. */
#include "base/nearest.h"

#include <string.h>

/* === Internals ============================================================================ */

enum { LONGEST = 40 };

/* The least number of such mistakes that make one word of the other. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][LONGEST + 1] = { 0 };
	size_t a_len = strlen(a), b_len = strlen(b), i, j;

	if (a_len > LONGEST || b_len > LONGEST)
		return LONGEST;
	for (j = 0; j <= b_len; j++)
		rows[0][j] = (unsigned int)j;
	for (i = 1; i <= a_len; i++) {
		unsigned int *row = rows[i % 3], *last = rows[(i + 2) % 3];
		const unsigned int *before = rows[(i + 1) % 3];

		row[0] = (unsigned int)i;
		for (j = 1; j <= b_len; j++) {
			row[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = ks_min(row[j], last[j] + 1);
			row[j] = ks_min(row[j], row[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = ks_min(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

/* === Public =============================================================================== */

void ks_nearest_offer(struct ks_nearest *nearest, const char *candidate)
{
	unsigned int most = strlen(nearest->word) < 5 ? 1 : 2, d;

	/* Who types the beginning of a word means it. */
	if (strlen(nearest->word) > 2 && !strncmp(candidate, nearest->word, strlen(nearest->word)))
		d = 1;
	else
		d = distance(nearest->word, candidate);
	if (d > most || (nearest->best && d >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->distance = d;
}
