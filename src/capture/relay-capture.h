/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * kmemtrace captures: per-CPU files of relay records, copied from the kernel module's relay files, or
 * made from a trace.dat where there is no module.
 */
#ifndef KS_CAPTURE_RELAY_CAPTURE_H
#define KS_CAPTURE_RELAY_CAPTURE_H

#include "base/diag.h"

/* Where the module puts its files. */
#define KS_RELAY_DIR "/sys/kernel/debug/kmemtrace"

bool ks_relay_available(const char *relay_dir);

struct ks_relay_capture;

/* Opens every relay file and creates cpuN.out in @out_dir; then enables the module. */
int ks_relay_capture_start(const char *relay_dir, const char *out_dir,
			   struct ks_relay_capture **ret_capture, struct ks_diag *diag);

/* Disables the module, copies the rest, and frees. *ret_overruns is the module's own count. */
int ks_relay_capture_stop(struct ks_relay_capture *capture, u64 *ret_bytes, u64 *ret_overruns,
			  struct ks_diag *diag);

/* Writes the events of a capture as cpuN.out; losses leave holes in the sequence. */
int ks_relay_convert(const char *path, const char *out_dir, u32 cpus, u64 *ret_events,
		     u64 *ret_lost, struct ks_diag *diag);

/* Copies /proc/kallsyms to @out_dir/kallsyms. */
int ks_relay_save_symbols(const char *out_dir, struct ks_diag *diag);

#endif
