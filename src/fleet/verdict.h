/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What makes a verdict on a fleet: the limits, and how sure few witnesses can make us. The statements of
 * fleet/question-sql.c and the functions that ask a directory (fleet/files-*.c) both go by these.
 */
#ifndef KS_FLEET_VERDICT_H
#define KS_FLEET_VERDICT_H

enum {
	KS_VERDICT_SIGMAS = 6,	     /* unless the question says otherwise */
	KS_VERDICT_HOSTS_LEAST = 5,  /* of a build that is accused */
	KS_VERDICT_OTHERS_LEAST = 3, /* hosts that one host is compared with */
	KS_VERDICT_OTHERS_MANY =
		10, /* from here on the hosts of a build judge by their own spread */
	KS_VERDICT_HOURS_LEAST = 3,  /* in which one host stands out */
	KS_VERDICT_SILENT_SPANS = 3, /* intervals without a report that make a host a silent one */
	KS_VERDICT_LATE_SECS = 300,  /* after its interval */
	KS_VERDICT_ROWS_MAX = 10000, /* of an answer */
};

/*
 * Sigmas of a normal distribution that are as unlikely as @t times an error that is itself an estimate, with @df degrees
 * of freedom (Wallace's approximation of Student's distribution). A few hosts that are alike by chance make a small
 * error, and so a large t; they do not make many sigmas.
 */
double ks_verdict_sigmas(double t, double df);

/* The same as an expression of SQL, of two expressions that are columns or stand in parentheses. */
#define KS_VERDICT_SIGMAS_SQL(t_, df_)                                                          \
	"(8 * " df_ " + 1) / (8 * " df_ " + 3) * sqrt(" df_ " * log(1 + " t_ " * " t_ " / " df_ \
	")) * if(" t_ " < 0, -1, 1)"

/* Of n values with this sum and sum of squares: the variance that they are a sample of. 0 for less than two. */
double ks_verdict_variance(double n, double sum, double squares);
#define KS_VERDICT_VARIANCE_SQL(n_, sum_, squares_)                                       \
	"if(" n_ " > 1, greatest(" squares_ " - " sum_ " * " sum_ " / " n_ ", 0.) / (" n_ \
	" - 1), 0.)"

#endif
