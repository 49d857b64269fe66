/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Questions about a fleet. Each is one statement over the sums by hour, in the dialect that all servers since 18.16
 * take, and a second one for the names of what it found. The answer is a document.
 */
#ifndef KS_FLEET_QUESTION_H
#define KS_FLEET_QUESTION_H

#include "fleet/store.h"
#include "table/doc.h"

enum ks_question_kind {
	KS_ASK_TOP,	 /* growth over the fleet, by something */
	KS_ASK_LEAKS,	 /* what grows on a build and not on the others */
	KS_ASK_OUTLIERS, /* what grows on one host and not on others of its build */
	KS_ASK_DIFF,	 /* two builds */
	KS_ASK_HOST,	 /* one host, against the others of its build */
	KS_ASK_TYPES,	 /* what the objects are, and since when they are seen */
	KS_ASK_HISTORY,	 /* hour by hour */
	KS_ASK_QUALITY,	 /* who is silent, late or lossy */
	KS_ASKS
};

/* What rows of KS_ASK_TOP are of. */
enum ks_fleet_by {
	KS_FLEET_BY_CACHE,
	KS_FLEET_BY_TYPE,
	KS_FLEET_BY_SITE,
	KS_FLEET_BY_BUILD,
	KS_FLEET_BY_STACK, /* this and the next: of the rows themselves, so it takes longer */
	KS_FLEET_BY_CGROUP,
	KS_FLEET_BY_HOST,
	KS_FLEET_BY_LABEL, /* each value of a label */
	KS_FLEET_BYS
};

const char *ks_fleet_by_name(unsigned int by);

struct ks_question {
	enum ks_question_kind kind;
	u32 since, until; /* seconds since 1970; until 0 = the last hour that there is */
	u32 hours;	  /* where since is 0: this many up to until */
	enum ks_fleet_by by;
	const char *by_label; /* of KS_FLEET_BY_LABEL */
	/* What it is of, by name; NULL = all. */
	const char *build, *cache, *type, *site, *host;
	const char *label;     /* "NAME=VALUE": of hosts that have it; NULL = all */
	const char *builds[2]; /* of KS_ASK_DIFF */
	double sigmas;	       /* how sure to be; 0 = 6 */
	u64 least;	       /* bytes an hour and a host that matter */
	u64 top;	       /* rows; 0 = all, up to a limit */
};

/* The document is to be freed. -ENOENT: the name of a host or a build is not known. */
int ks_question_ask(struct ks_store *store, const struct ks_question *question,
		    struct ks_doc **ret_doc, struct ks_diag *diag);

/* The end of the time that an answer is of: seconds since 1970. */
u64 ks_question_until(const struct ks_doc *answer);

#endif
