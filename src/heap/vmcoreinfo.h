/* SPDX-License-Identifier: LGPL-2.1-only */
/* What a kernel notes about itself for who reads its dumps: lines of text, "SYMBOL(name)=address" and others. */
#ifndef KS_HEAP_VMCOREINFO_H
#define KS_HEAP_VMCOREINFO_H

#include "base/types.h"

/* How the note begins; it begins a page. */
#define KS_VMCOREINFO_START "OSRELEASE="

/* @kind "SYMBOL": hexadecimal; "NUMBER": decimal, with a sign. False: there is no such line. */
bool ks_vmcoreinfo_get(const char *text, const char *kind, const char *name, u64 *ret_value);

#endif
