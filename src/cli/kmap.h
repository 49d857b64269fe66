/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of "kmemscope kmap" share. */
#ifndef KS_CLI_KMAP_H
#define KS_CLI_KMAP_H

#include "cli/cli.h"
#include "kmap/views.h"
#include "cli/progress.h"

/* How the file of a map is read. */
struct ks_kmap_file_opts {
	u64 fields;	      /* --dialect; 0 = found out */
	const char *accesses; /* the second file of a CSV pair */
	bool slab_pages;      /* add up pages of slabs, too */
};

/* How the tables of a map are made. */
struct ks_kmap_view_opts {
	unsigned int by;      /* --by: a unit, or one of the numbers below */
	unsigned int order;   /* --order-by: enum ks_kmap_order */
	const char *with;     /* an allocation capture of the same run */
	const char *heat_map; /* -o of matrix */
	const char *cut;      /* a compartmentalization */
};

struct ks_kmap_privilege_opts {
	unsigned int model;  /* --model */
	const char *output;  /* -o of compartments */
	const char *weights; /* of score */
	u64 number, size;    /* of compartments */
};

#define KS_KMAP_TYPES_PATHS 16

struct ks_kmap_fields_opts {
	const char *types[KS_KMAP_TYPES_PATHS]; /* --types: where debug information is */
	size_t nr_types;
	const char *drawing; /* -o */
};

/* The option --types, whose value is a struct ks_kmap_fields_opts. */
int ks_kmap_take_types(struct ks_cli *cli, const struct ks_option *option, const char *arg);

/* What --by can say: a unit of code, or what objects are. KS_KMAP_BYS = it was not given. */
enum { KS_KMAP_CACHE = KS_KMAP_UNITS, KS_KMAP_TYPE, KS_KMAP_BYS };

struct ks_kmap_convert_opts {
	const char *to;	    /* the name of the form */
	const char *output; /* -o */
};

struct ks_kmap_stream_opts {
	const char *to; /* FILE or tcp:HOST:PORT */
	const char *spool;
	const char *token; /* a file; NULL = none */
};

struct ks_kmap_listen_opts {
	const char *output; /* -o: a directory */
	const char *bind;
	const char *token; /* a file; NULL = none */
	u64 max_peers;
};

struct ks_kmap_record_opts {
	const char *output; /* -o */
	u64 mode;	    /* 0 = not given */
	u64 duration_ns;
	u32 pid;
	bool text, live, clear;
};

/* What the options said: each subcommand has a struct of its own. */
struct ks_kmap_args {
	struct ks_cli cli;
	struct ks_capture_opts capture; /* -k; and --with, while its capture is read */
	struct ks_rows_opts rows;
	struct ks_kmap_file_opts file;
	struct ks_kmap_view_opts view;
	struct ks_kmap_privilege_opts privilege;
	struct ks_kmap_fields_opts fields;
	struct ks_kmap_convert_opts convert;
	struct ks_kmap_stream_opts stream;
	struct ks_kmap_listen_opts listen;
	struct ks_kmap_record_opts record;
	char **operands;
	int nr_operands;
};

/* Opens the map at @path, with the options. 0 or an exit code. */
int ks_kmap_open(struct ks_kmap_args *args, const char *path, struct ks_kmap_reader **ret_reader);

/* A map that was added up, and the names of its code. */
struct ks_kmap_map {
	struct ks_kmap_census *census;
	struct ks_kmap_places *places;
	struct ks_resolver *resolver; /* NULL = there is no kernel */
};

/* @flags: enum ks_kmap_census_flags. 0 or an exit code; free accepts what read left. */
int ks_kmap_map_read(struct ks_kmap_args *args, const char *path, unsigned int flags,
		     struct ks_kmap_map *ret_map);
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

/* The name of what --by can say. */
const char *ks_kmap_by_name(unsigned int by);

/* The unit of --by, where it was given; an exit code where it is none. */
int ks_kmap_take_unit(struct ks_kmap_args *args, enum ks_kmap_unit *unit);

/* Prints the document and frees it. The exit code, with --strict also for what is wrong with the map. */
int ks_kmap_answer(struct ks_kmap_args *args, struct ks_doc *doc,
		   const struct ks_kmap_census *census);

/* The models of --model. */
enum { KS_KMAP_MODEL_OWN, KS_KMAP_MODEL_USCOPE, KS_KMAP_MODELS };
const char *ks_kmap_model_name(unsigned int model);

/* The subcommands: each returns the exit code. */
int ks_kmap_report(struct ks_kmap_args *args);
int ks_kmap_accesses(struct ks_kmap_args *args);
int ks_kmap_touches(struct ks_kmap_args *args);
int ks_kmap_matrix(struct ks_kmap_args *args);
int ks_kmap_calls_command(struct ks_kmap_args *args);
int ks_kmap_lives(struct ks_kmap_args *args);
int ks_kmap_sharing(struct ks_kmap_args *args);
int ks_kmap_privilege(struct ks_kmap_args *args);
int ks_kmap_compartments(struct ks_kmap_args *args);
int ks_kmap_score(struct ks_kmap_args *args);
int ks_kmap_fields_command(struct ks_kmap_args *args);
int ks_kmap_diff(struct ks_kmap_args *args);
int ks_kmap_convert_command(struct ks_kmap_args *args);
int ks_kmap_stream(struct ks_kmap_args *args);
int ks_kmap_listen(struct ks_kmap_args *args);
int ks_kmap_record(struct ks_kmap_args *args);

#endif
