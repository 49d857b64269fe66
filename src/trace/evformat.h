/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The kernel's own description of an event, the "format" file: where each field lies in the
 * record, and the names of the flags that its print format gives. libtraceevent does the same for any event, at
 * 4 to 6 million events a second; we need a dozen fields, at ten times that.
 */
#ifndef KS_TRACE_EVFORMAT_H
#define KS_TRACE_EVFORMAT_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct ks_field {
	char name[32];
	u32 offset, size;
	bool is_signed;
	bool data_loc; /* "__data_loc": 16 bits of offset, 16 bits of length */
};

struct ks_flag {
	u64 mask;
	char name[32];
};

struct ks_evformat {
	char name[48];
	u32 id;
	KS_VEC(struct ks_field) fields;
	KS_VEC(struct ks_flag) flags; /* in the order of the kernel's table */
};

/*
 * Reads one format file. KS_EBADINPUT where it is none, or a field lies outside of any sane record; or
 * -ENOMEM.
 */
int ks_evformat_parse(struct ks_evformat *fmt, const char *text, size_t len);
void ks_evformat_deinit(struct ks_evformat *fmt);

/* Reads "header_page", which has fields but neither name nor id. Errors as ks_evformat_parse(). */
int ks_evformat_parse_header(struct ks_evformat *fmt, const char *text, size_t len);

const struct ks_field *ks_evformat_field(const struct ks_evformat *fmt, const char *name);

/* Appends "GFP_KERNEL|__GFP_ZERO", with what has no name in hex, as the kernel prints it. */
void ks_evformat_print_flags(const struct ks_evformat *fmt, u64 value, struct ks_strbuf *sb);

#endif
