/* SPDX-License-Identifier: LGPL-2.1-only */
/* The tables of the fleet's database, as both their makers and their fillers see them. */
#ifndef KS_FLEET_SCHEMA_H
#define KS_FLEET_SCHEMA_H

#include "fleet/native.h"

enum ks_store_table {
	KS_STORE_NAMES,	 /* what the ids stand for */
	KS_STORE_LABELS, /* what the hosts say of themselves */
	KS_STORE_ROWS,	 /* live memory by host, interval and series */
	KS_STORE_REPORTS, /* a row for each interval of a host: that it is there, and how good it is */
	KS_STORE_MINUTE,       /* rows added up by minute, build and series */
	KS_STORE_HOST_HOUR,    /* growth of each series of each host in each hour */
	KS_STORE_HOUR,	       /* the same added up by build */
	KS_STORE_HOST_SUM,     /* host_hour added up over all series */
	KS_STORE_LABEL_HOUR,   /* hour for the hosts of each value of a label */
	KS_STORE_HOST_REPORTS, /* reports added up by hour and host */
	KS_STORE_ROLLUPS,      /* when the sums of a minute or an hour were made */
	KS_STORE_META,	       /* the version of these tables */
	KS_STORE_TABLES
};

struct ks_store_shape {
	const char *name;
	const struct ks_native_column *columns;
	size_t nr_columns;
	const char *more;      /* columns that the server fills in itself; NULL = none */
	const char *time;      /* the column that partitions and days to keep go by; NULL = none */
	const char *partition; /* function of it */
	const char *order;
	const char *version; /* column; of rows with one key the one with the highest counts */
	const char *shard;   /* what decides on which shard a row is */
};

extern const struct ks_store_shape ks_store_shapes[KS_STORE_TABLES];

/* How long a kernel runs before its growth counts: caches fill after a boot, on any build. */
enum { KS_STORE_WARM_SECS = 7200 };

/* A label with more values gets no sums of its own. */
enum { KS_STORE_VALUES_MAX = 100 };

/* Level of KS_STORE_ROLLUPS. The last are the sums that are made of the sums by host and hour. */
enum { KS_STORE_BY_MINUTE = 0, KS_STORE_BY_HOUR = 1, KS_STORE_SHORT = 2 };

#endif
