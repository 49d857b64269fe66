/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included at the start of every instrumented file, where the kernel lets the compiler use the
 * segment of per-CPU variables. Before gcc 13.3 it reports accesses to them with the offset in the
 * segment for an address. With the assembler that older compilers get it reports none.
 */
#undef CONFIG_USE_X86_SEG_SUPPORT
