/* SPDX-License-Identifier: GPL-2.0-only */
/* When a recorder that keeps only the last of it saves what it has. */
#ifndef KS_CLI_RECORD_TRIGGER_H
#define KS_CLI_RECORD_TRIGGER_H

#include "capture/recorder.h"
#include "cli/option.h"

struct ks_triggers {
	u64 slab;    /* bytes of Slab in /proc/meminfo; 0 = none */
	u64 growth;  /* in bytes, since the start or the last time */
	bool raised; /* Slab was above the threshold when it was last looked at */
	u64 base;    /* what growth is counted from; 0 = not known yet */
	u64 looked;  /* when, in ns */
	char *command; /* words of a program that is run every now and then, with zeros in between; NULL = none */
	char **words; /* the same */
	u64 every;    /* ns from one run to the next */
	u64 ran;      /* when it was started last, in ns; 0 = never */
	pid_t child;  /* 0 = it does not run */
	bool agreed;  /* it exited with 0 the last time */
	u64 save_at;  /* in ns; 0 = nothing is to be saved */
	const char *why;
	u32 saved; /* files */
};

/* "slab=2G,growth=500M", "every=10s,command=PROGRAM ARGUMENT...". */
ks_option_fn ks_cli_parse_trigger;

/* "192", ">=4k", "<64", "64-256": a struct ks_record_filter. */
ks_option_fn ks_cli_parse_sizes;

/* "10m" is a time, "2G" a size: into opts of a recorder. */
ks_option_fn ks_cli_parse_keep;

/* When a new file is begun; the same words. */
struct ks_rotation {
	u64 bytes, ns; /* 0 = never for that reason */
	u64 next;      /* not before this time, in ns */
	bool now;      /* a signal came */
	u32 files;     /* that are finished */
};
ks_option_fn ks_cli_parse_rotate;

/* Whether it is time for a new file, which has @size bytes now. */
bool ks_rotation_is_due(const struct ks_rotation *rotation, u64 size, u64 now_ns);

/* Starts the command, if there is one, for the first time. 0 or the errno. */
int ks_trigger_start(struct ks_triggers *triggers, u64 now_ns);

/* Ends it, and frees what there is. */
void ks_trigger_stop(struct ks_triggers *triggers);

/* Asks for a save because of a signal. */
void ks_trigger_pull(struct ks_triggers *triggers, const char *why, u64 now_ns);

/* Looks at the kernel once a second. True: it is time to save. */
bool ks_trigger_look(struct ks_triggers *triggers, u64 now_ns);

/* The name of the next file to save: PATH.1, PATH.2, ..., the first that nobody has. NULL when there is no memory. */
char *ks_trigger_path(const char *path);

#endif
