/* SPDX-License-Identifier: LGPL-2.1-only */
/* Sums by hour of a directory of tables: what fleet/rollup.c has a server make, made here. */
#ifndef KS_FLEET_FILES_SUMS_H
#define KS_FLEET_FILES_SUMS_H

#include "fleet/files.h"

/* A series of one host in one hour. */
struct ks_host_sum {
	u64 host, boot, build, cache, type, site;
	u32 hour;
	bool warm;
	s64 bytes, objects;
	double growth; /* bytes an hour */
};

/* A series of all hosts of a build in one hour. */
struct ks_hour_sum {
	u64 build, cache, type, site;
	u32 hour, build_hosts, warm_hosts, all_warm, growing;
	s64 bytes, objects;
	double growth, growth_sq, top_growth; /* of warm hosts */
	u64 top_host;
};

struct ks_sums {
	KS_VEC(struct ks_hour_sum) hours;
	KS_VEC(struct ks_host_sum) hosts; /* of one host alone */
};

/* Of hours from @since to before @until; series of @host, unless it is 0. Frees nothing that failed: ks_sums_free(). */
int ks_files_sum(const struct ks_files *files, u32 since, u32 until, u64 host, struct ks_sums *sums,
		 struct ks_diag *diag);
void ks_sums_free(struct ks_sums *sums);

#endif
