/* SPDX-License-Identifier: GPL-2.0-only */
/* When a recorder that keeps only the last of it saves what it has. */
#ifndef KS_CLI_RECORD_TRIGGER_H
#define KS_CLI_RECORD_TRIGGER_H

#include "capture/recorder.h"
#include "cli/option.h"

struct ks_triggers {
	u64 slab;    /* bytes of Slab in /proc/meminfo; 0 = none */
	u64 growth;  /* by so many bytes since the start, or the last time */
	bool raised; /* Slab was above the threshold when it was last looked at */
	u64 base;    /* what growth is counted from; 0 = not known yet */
	u64 looked;  /* when, in ns */
	u64 save_at; /* in ns; 0 = nothing is to be saved */
	const char *why;
	u32 saved; /* files */
};

/* "slab=2G,growth=500M". */
ks_option_fn ks_cli_parse_trigger;

/* "192", ">=4k", "<64", "64-256": a struct ks_record_filter. */
ks_option_fn ks_cli_parse_sizes;

/* "10m" is a time, "2G" a size: into opts of a recorder. */
ks_option_fn ks_cli_parse_keep;

/* Asks for a save because of a signal. */
void ks_trigger_pull(struct ks_triggers *triggers, const char *why, u64 now_ns);

/* Looks at the kernel once a second. True: it is time to save. */
bool ks_trigger_look(struct ks_triggers *triggers, u64 now_ns);

/* The name of the next file to save: PATH.1, PATH.2, ..., the first that nobody has. NULL when there is no memory. */
char *ks_trigger_path(const char *path);

#endif
