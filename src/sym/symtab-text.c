// SPDX-License-Identifier: LGPL-2.1-only
/*
 * System.map and kallsyms: "address type name", and in kallsyms "[module]". Only functions are
 * kept: what allocates is code.
 */
#include "sym/symtab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

static bool parse_address(const char *s, size_t len, u64 *ret_addr)
{
	char *end;

	if (len < 8 || len > 16 || strspn(s, "0123456789abcdefABCDEF") != len)
		return false;
	*ret_addr = strtoull(s, &end, 16);
	return true;
}

struct map_line {
	u64 addr;
	char type;
	const char *name, *module;
	size_t name_len, module_len;
};

/* The line ends in a newline or a NUL. False: it is not of this kind. */
static bool parse_line(const char *line, struct map_line *ret)
{
	struct map_line l = { .module = "" };
	size_t len = strcspn(line, " \t\n");

	if (!parse_address(line, len, &l.addr) || line[len] != ' ')
		return false;
	l.type = line[len + 1];
	if (!l.type || l.type == '\n' || line[len + 2] != ' ')
		return false;
	l.name = line + len + 3;
	l.name_len = strcspn(l.name, " \t\r\n");
	if (!l.name_len)
		return false;
	line = l.name + l.name_len;
	line += strspn(line, " \t");
	if (*line == '[') {
		l.module = line + 1;
		l.module_len = strcspn(l.module, "]\n");
		if (l.module[l.module_len] != ']')
			return false;
	}
	*ret = l;
	return true;
}

static int add_line(struct ks_symtab *table, const struct map_line *l)
{
	struct ks_symbol symbol = { .addr = l->addr, .unit = KS_NONE };

	if (!strchr(table->of_variables ? "bBdDrRvVaA" : "tTwW", l->type))
		return 0;
	if (strchr("wW", l->type))
		symbol.flags |= KS_SYMBOL_WEAK;
	if (l->type == 't')
		symbol.flags |= KS_SYMBOL_LOCAL;
	return ks_symtab_add(table, l->name, l->name_len, l->module, l->module_len, &symbol);
}

static int read_lines(struct ks_symtab *table, FILE *file, const char *path, struct ks_diag *diag)
{
	struct map_line l;
	char *line = NULL;
	size_t cap = 0;
	u64 number = 0;
	int err = 0;

	errno = 0;
	while (!err && getline(&line, &cap, file) >= 0) {
		number++;
		if (!parse_line(line, &l))
			err = ks_diag_set(
				diag, KS_EBADINPUT,
				"%s:%llu: is neither an ELF file nor lines of \"address type name\"; "
				"give a kernel tree, vmlinux, System.map or a copy of /proc/kallsyms",
				path, (unsigned long long)number);
		else if (add_line(table, &l))
			err = ks_diag_nomem(diag, "reading symbols");
	}
	if (!err && ferror(file))
		err = ks_diag_set(diag, -errno, "%s: cannot read: %s", path, strerror(errno));
	free(line);
	return err;
}

/* === Public =============================================================================== */

int ks_symtab_load_text(struct ks_symtab *table, const char *path, struct ks_diag *diag)
{
	FILE *file = fopen(path, "re");
	int err;

	if (!file)
		return ks_diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
	err = read_lines(table, file, path, diag);
	fclose(file);
	if (err)
		return err;
	if (!table->symbols.len && table->of_variables)
		return 0;
	if (!table->symbols.len)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: holds no function", path);
	if (!table->has_addresses)
		return ks_diag_set(
			diag, -EACCES,
			"%s: all addresses are zero, because the kernel hides them from "
			"you; read the file as root (and with sysctl kernel.kptr_restrict "
			"at 0 or 1), or give vmlinux or System.map instead",
			path);
	return 0;
}
