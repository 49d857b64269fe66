/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of "kmemscope kmap" share. */
#ifndef KS_CLI_KMAP_H
#define KS_CLI_KMAP_H

#include "cli/cli.h"
#include "kmap/views.h"

/* What the options said. */
struct ks_kmap_args {
	struct ks_cli cli;
	u64 fields;	      /* --dialect; 0 = found out */
	const char *accesses; /* the second file of a CSV pair */
	const char *with;     /* an allocation capture of the same run */
	const char *output;   /* -o */
	const char *to;	      /* --to */
	const char *bind;     /* --bind */
	const char *spool;    /* --spool */
	const char *by_name, *order_name;
	/* of record: */
	u64 mode; /* --mode; 0 = not given */
	u64 duration_ns;
	u32 pid;
	bool text, live, clear;
	char **operands;
	int nr_operands;
};

/* Opens the map at @path, with the options. 0 or an exit code. */
int ks_kmap_open(struct ks_kmap_args *args, const char *path, struct ks_kmap_reader **ret_reader);

/* A map that was added up, and the names of its code. */
struct ks_kmap_map {
	struct ks_kmap_census *census;
	struct ks_kmap_places *places;
};

/* 0 or an exit code; free accepts what read left. */
int ks_kmap_map_read(struct ks_kmap_args *args, const char *path, struct ks_kmap_map *ret_map);
void ks_kmap_map_free(struct ks_kmap_map *map);

/* Names the code of a census; the resolver may be NULL. */
int ks_kmap_name_places(struct ks_kmap_args *args, const struct ks_kmap_census *census,
			struct ks_resolver *resolver, struct ks_kmap_places **ret_places);

/* Progress of reading a map, for a person. */
struct ks_kmap_reading {
	struct ks_progress progress;
	const struct ks_kmap_reader *reader;
};

int ks_kmap_show_progress(void *reading);

/* The commands: each returns the exit code. */
int ks_kmap_report(struct ks_kmap_args *args);
int ks_kmap_accesses(struct ks_kmap_args *args);
int ks_kmap_touches(struct ks_kmap_args *args);
int ks_kmap_matrix(struct ks_kmap_args *args);
int ks_kmap_privilege(struct ks_kmap_args *args);
int ks_kmap_diff(struct ks_kmap_args *args);
int ks_kmap_convert_command(struct ks_kmap_args *args);
int ks_kmap_stream(struct ks_kmap_args *args);
int ks_kmap_listen(struct ks_kmap_args *args);
int ks_kmap_record(struct ks_kmap_args *args);

#endif
