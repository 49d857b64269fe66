// SPDX-License-Identifier: GPL-2.0-only
/*
 * memorizer/global_table: the variables of the kernel image, by the symbols that accesses are
 * counted by. A line is: address, size, name, and what it is part of.
 */
#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/seq_file.h>
#include <asm/sections.h>

#include "files.h"

/* === Internals ============================================================================ */

/* Where variables are, in the order of their addresses or not. */
static const struct {
	const char *start, *end;
} ranges[] = {
	{ __start_rodata, __end_rodata },
	{ _sdata, _edata },
	{ __bss_start, __bss_stop },
};

/* The variable at an address, if there is one. Return: where the next may begin. */
static unsigned long show_at(struct seq_file *m, unsigned long addr)
{
	unsigned long size, offset;
	char name[KSYM_NAME_LEN];

	if (!kallsyms_lookup_size_offset(addr, &size, &offset) || offset >= size)
		return addr + sizeof(long);
	scnprintf(name, sizeof(name), "%ps", (void *)(addr - offset));
	seq_printf(m, "%lx %lu %s vmlinux\n", addr - offset, size, name);
	return addr - offset + size;
}

static int global_table_show(struct seq_file *m, void *unused)
{
	unsigned long addr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		for (addr = (unsigned long)ranges[i].start; addr < (unsigned long)ranges[i].end;) {
			addr = show_at(m, addr);
			cond_resched();
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(global_table);

/* === Public =============================================================================== */

void mz_globals_publish(struct dentry *directory)
{
	debugfs_create_file("global_table", 0400, directory, NULL, &global_table_fops);
}
