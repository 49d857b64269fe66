// SPDX-License-Identifier: LGPL-2.1-only
/* The arithmetic of verdicts. */
#include "fleet/verdict.h"

#include <math.h>

/* === Public =============================================================================== */

double ks_verdict_sigmas(double t, double df)
{
	double sigmas;

	if (df <= 0)
		return 0;
	sigmas = (8 * df + 1) / (8 * df + 3) * sqrt(df * log(1 + t * t / df));
	return t < 0 ? -sigmas : sigmas;
}

double ks_verdict_variance(double n, double sum, double squares)
{
	return n > 1 ? fmax(squares - sum * sum / n, 0) / (n - 1) : 0;
}
