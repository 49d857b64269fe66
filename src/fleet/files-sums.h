/* SPDX-License-Identifier: LGPL-2.1-only */
/* Sums by hour of a directory of tables: what fleet/rollup.c has a server make, made here. */
#ifndef KS_FLEET_FILES_SUMS_H
#define KS_FLEET_FILES_SUMS_H

#include "fleet/files.h"
#include "fleet/question.h"

/* What a sum is of: ids, and the hour in seconds since 1970. */
enum ks_key_part {
	KS_KEY_HOST,
	KS_KEY_BUILD,
	KS_KEY_CACHE,
	KS_KEY_TYPE,
	KS_KEY_SITE,
	KS_KEY_HOUR,
	KS_KEY_PARTS
};

/* A series of one host in one hour. */
struct ks_host_sum {
	u64 key[KS_KEY_PARTS];
	u64 boot;
	bool warm;
	s64 bytes, objects;
	double growth; /* bytes an hour */
};

/* A series of all hosts of a build in one hour. */
struct ks_hour_sum {
	u64 key[KS_KEY_PARTS]; /* the host is the one that grew most */
	u32 build_hosts, warm_hosts, all_warm, growing;
	s64 bytes, objects;
	double growth, growth_sq, top_growth; /* of warm hosts */
};

/* Which sums. */
struct ks_sums_of {
	u32 since, until;	/* hours from @since to before @until */
	u64 host;		/* series of this host are wanted, too; 0 = of none */
	u64 only[KS_KEY_PARTS]; /* of rows: of this build, cache, ... alone; 0 = all */
	const char *label;	/* "NAME=VALUE": of hosts that have it; NULL = all */
	enum ks_fleet_by by;	/* a stack or a cgroup is put in the place of the site, */
	const char *by_label;	/* a host or the id of a label's value in that of the build */
};

struct ks_sums {
	KS_VEC(struct ks_hour_sum) hours;
	KS_VEC(struct ks_host_sum) hosts; /* of one host alone */
};

/* Frees nothing that failed: ks_sums_free(). */
int ks_files_sum(const struct ks_files *files, const struct ks_sums_of *of, struct ks_sums *sums,
		 struct ks_diag *diag);
void ks_sums_free(struct ks_sums *sums);

#endif
