// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The kernel's table of symbols: names are packed as numbers of tokens, addresses as differences to a base. Modules
 * have symbol tables of ELF. All of it is bounded: the memory may be anybody's.
 */
#include "heap/symbols.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/btf.h>

#include "base/io.h"
#include "heap/btf-members.h"
#include "heap/layout.h"
#include "heap/vmcoreinfo.h"

/* === Data ================================================================================= */

enum {
	SYMBOLS_MAX = 4 << 20,
	TOKENS = 256,
	NAME_MAX_LEN = 512,
	MODULES_MAX = 4096,
	MODULE_SYMBOLS_MAX = 1 << 20, /* of all modules together */
	PAGE = 4096,
};

/* Bytes one by one, by pages: nothing is read behind the page that a table ends in. */
struct window {
	struct ks_memory *memory;
	u64 page; /* 1 = none */
	u8 data[PAGE];
};

/* What an offset is to be added to. */
enum offsets {
	TO_BASE,
	TO_BASE_OR_NONE, /* as in 6.12: negative ones, less one, are taken from the base; others are addresses */
	TO_OWN_PLACE, /* as in 7.2: there is no base */
};

struct tables {
	u64 names, offsets, base, start;
	enum offsets kind;
	u32 count;
	u16 token_at[TOKENS];
	char tokens[65536 + NAME_MAX_LEN];
};

/* === Internals: the kernel ================================================================ */

static int byte_at(struct window *w, u64 addr, u8 *ret_byte)
{
	if (w->page != addr / PAGE * PAGE) {
		w->page = addr / PAGE * PAGE;
		if (ks_memory_get(w->memory, w->page, w->data, PAGE)) {
			w->page = 1;
			return -EFAULT;
		}
	}
	*ret_byte = w->data[addr % PAGE];
	return 0;
}

static int read_u32(struct window *w, u64 addr, u32 *ret_value)
{
	u8 byte;
	u32 i;

	*ret_value = 0;
	for (i = 0; i < 4; i++) {
		if (byte_at(w, addr + i, &byte))
			return -EFAULT;
		*ret_value |= (u32)byte << 8 * i;
	}
	return 0;
}

static int lacks(struct ks_diag *diag, const char *what)
{
	return ks_diag_set(diag, KS_EBADINPUT,
			   "the dump's vmcoreinfo does not say where %s is (Linux 6.0 and newer "
			   "say it)",
			   what);
}

static int find_tables(struct ks_memory *memory, const char *info, struct tables *t,
		       struct ks_diag *diag)
{
	u64 count, base = 0, index, table, last;

	if (!ks_vmcoreinfo_get(info, "SYMBOL", "kallsyms_names", &t->names))
		return lacks(diag, "kallsyms_names");
	if (!ks_vmcoreinfo_get(info, "SYMBOL", "kallsyms_num_syms", &count) ||
	    !ks_vmcoreinfo_get(info, "SYMBOL", "kallsyms_token_table", &table) ||
	    !ks_vmcoreinfo_get(info, "SYMBOL", "kallsyms_token_index", &index))
		return lacks(diag, "kallsyms_token_table");
	if (!ks_vmcoreinfo_get(info, "SYMBOL", "kallsyms_offsets", &t->offsets))
		return lacks(diag, "kallsyms_offsets");
	ks_vmcoreinfo_get(info, "SYMBOL", "kallsyms_relative_base", &base);
	ks_vmcoreinfo_get(info, "SYMBOL", "_stext", &t->start);
	if (ks_memory_get(memory, count, &t->count, sizeof(t->count)) ||
	    (base && ks_memory_word(memory, base, &t->base)) ||
	    ks_memory_get(memory, index, t->token_at, sizeof(t->token_at)))
		return ks_diag_set(diag, KS_EBADINPUT, "the dump has no table of symbols");
	/* The last token ends the table, and other tables follow it. */
	last = t->token_at[TOKENS - 1];
	if (t->count > SYMBOLS_MAX || ks_memory_get(memory, table, t->tokens, (u32)last) ||
	    ks_memory_string(memory, table + last, t->tokens + last, NAME_MAX_LEN))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "the dump's table of symbols makes no sense");
	return 0;
}

/* The next name, type letter first; moves *@at behind it. */
static int next_name(struct window *w, const struct tables *t, u64 *at, char *name)
{
	u32 len, more, done = 0;
	const char *token;
	u8 byte;

	if (byte_at(w, (*at)++, &byte))
		return -EFAULT;
	len = byte;
	if (len & 0x80) {
		if (byte_at(w, (*at)++, &byte))
			return -EFAULT;
		len = (len & 0x7f) | (u32)byte << 7;
	}
	while (len--) {
		if (byte_at(w, (*at)++, &byte))
			return -EFAULT;
		token = t->tokens + t->token_at[byte];
		more = (u32)strnlen(token, NAME_MAX_LEN);
		if (done + more >= NAME_MAX_LEN)
			return -ERANGE;
		memcpy(name + done, token, more);
		done += more;
	}
	name[done] = '\0';
	return done > 1 ? 0 : -ERANGE;
}

/* With a base, nothing says which kind it is; but no kernel is so large that plain offsets would be negative. */
static enum offsets kind_of_offsets(struct window *w, const struct tables *t)
{
	u32 i, offset;

	if (!t->base)
		return TO_OWN_PLACE;
	for (i = 0; i < t->count && !read_u32(w, t->offsets + i * 4ull, &offset); i++)
		if (offset >> 31)
			return TO_BASE_OR_NONE;
	return TO_BASE;
}

static u64 address_of(const struct tables *t, u32 i, u32 offset)
{
	u64 wide = (u64)(s64)(s32)offset;

	switch (t->kind) {
	case TO_BASE:
		return t->base + offset;
	case TO_BASE_OR_NONE:
		return offset >> 31 ? t->base - 1 - wide : offset;
	case TO_OWN_PLACE:
		break;
	}
	return t->offsets + i * 4ull + wide;
}

/* One symbol that is known from elsewhere shows whether the table was understood. */
static bool is_wrong(const struct tables *t, const char *name, u64 addr)
{
	return t->start && addr != t->start && !strcmp(name, "_stext");
}

static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (*name <= ' ' || *name >= 0x7f)
			return false;
	return true;
}

/* === Internals: modules =================================================================== */

struct module_layout {
	u32 list, name, kallsyms, symtab, count, strtab, types;
};

static bool module_layout(const struct btf *btf, struct module_layout *l)
{
	return ks_btf_member(btf, "module", "list", &l->list) &&
	       ks_btf_member(btf, "module", "name", &l->name) &&
	       ks_btf_member(btf, "module", "kallsyms", &l->kallsyms) &&
	       ks_btf_member(btf, "mod_kallsyms", "symtab", &l->symtab) &&
	       ks_btf_member(btf, "mod_kallsyms", "num_symtab", &l->count) &&
	       ks_btf_member(btf, "mod_kallsyms", "strtab", &l->strtab) &&
	       ks_btf_member(btf, "mod_kallsyms", "typetab", &l->types);
}

static void add_module(struct ks_memory *memory, const struct module_layout *l, u64 module,
		       u32 *left, struct ks_strbuf *text)
{
	char name[64], symbol[NAME_MAX_LEN];
	u64 kallsyms, symtab, strtab, types;
	Elf64_Sym entry;
	u32 count, i;
	char letter;

	if (ks_memory_string(memory, module + l->name, name, sizeof(name)) || !is_plain(name) ||
	    ks_memory_word(memory, module + l->kallsyms, &kallsyms) ||
	    ks_memory_word(memory, kallsyms + l->symtab, &symtab) ||
	    ks_memory_word(memory, kallsyms + l->strtab, &strtab) ||
	    ks_memory_word(memory, kallsyms + l->types, &types) ||
	    ks_memory_get(memory, kallsyms + l->count, &count, sizeof(count)))
		return;
	for (i = 1; i < count && *left; i++, --*left) {
		if (ks_memory_get(memory, symtab + i * sizeof(entry), &entry, sizeof(entry)) ||
		    ks_memory_get(memory, types + i, &letter, 1) ||
		    ks_memory_string(memory, strtab + entry.st_name, symbol, sizeof(symbol)))
			return;
		if (*symbol && entry.st_value && letter > ' ' && letter < 0x7f && is_plain(symbol))
			ks_strbuf_printf(text, "%016" PRIx64 " %c %s\t[%s]\n", (u64)entry.st_value,
					 letter, symbol, name);
	}
}

/* === Public =============================================================================== */

int ks_symbols_of_kernel(struct ks_memory *memory, const char *vmcoreinfo, struct ks_strbuf *text,
			 struct ks_diag *diag)
{
	struct tables *t = calloc(1, sizeof(*t));
	struct window names = { memory, 1 }, offsets = { memory, 1 };
	char name[NAME_MAX_LEN];
	u64 at, addr;
	u32 i, offset;
	int err;

	if (!t)
		return ks_diag_nomem(diag, "reading symbols");
	err = find_tables(memory, vmcoreinfo, t, diag);
	if (!err)
		t->kind = kind_of_offsets(&offsets, t);
	at = t->names;
	for (i = 0; !err && i < t->count; i++) {
		if (next_name(&names, t, &at, name) ||
		    read_u32(&offsets, t->offsets + i * 4ull, &offset)) {
			err = ks_diag_set(
				diag, KS_EBADINPUT,
				"the dump's table of symbols breaks off at symbol %u of %u", i,
				t->count);
			break;
		}
		addr = address_of(t, i, offset);
		if (is_wrong(t, name + 1, addr))
			err = ks_diag_set(
				diag, KS_EBADINPUT,
				"the dump's table of symbols has a form that is not known");
		else if (is_plain(name))
			ks_strbuf_printf(text, "%016" PRIx64 " %c %s\n", addr, name[0], name + 1);
	}
	free(t);
	if (!err && text->failed)
		err = ks_diag_nomem(diag, "reading symbols");
	return err;
}

int ks_symbols_of_modules(struct ks_memory *memory, const struct btf *btf, u64 list,
			  struct ks_strbuf *text)
{
	struct module_layout l;
	u32 i, left = MODULE_SYMBOLS_MAX;
	u64 at = list;

	if (!list || !module_layout(btf, &l))
		return 0;
	for (i = 0; i < MODULES_MAX; i++) {
		if (ks_memory_word(memory, at, &at) || at == list)
			break;
		add_module(memory, &l, at - l.list, &left, text);
	}
	return text->failed ? -ENOMEM : 0;
}

void ks_symbols_find(const char *path, struct ks_wanted_symbol *wanted, size_t count)
{
	FILE *file = fopen(path, "re");
	unsigned long long addr;
	char line[512], name[256];
	size_t i;

	while (file && fgets(line, sizeof(line), file)) {
		/* Of a module: after all that is wanted. */
		if (strchr(line, '['))
			break;
		if (sscanf(line, "%llx %*c %255s", &addr, name) != 2)
			continue;
		for (i = 0; i < count; i++)
			if (!strcmp(name, wanted[i].name))
				wanted[i].addr = addr;
	}
	if (file)
		fclose(file);
}

u64 ks_symbol_address(const char *path, const char *name)
{
	struct ks_wanted_symbol wanted = { name, 0 };

	ks_symbols_find(path, &wanted, 1);
	return wanted.addr;
}

int ks_symbols_keep(int *fd, const struct ks_strbuf *text, struct ks_memory_facts *facts,
		    struct ks_diag *diag)
{
	int err;

	if (text->failed)
		return ks_diag_nomem(diag, "reading symbols");
	if (*fd < 0)
		*fd = memfd_create("symbols", MFD_CLOEXEC);
	err = *fd < 0 ? -errno : ks_write_all(*fd, text->s, text->len);
	if (err)
		return ks_diag_set(diag, err, "keeping the kernel's symbols: %s", strerror(-err));
	snprintf(facts->symbols, sizeof(facts->symbols), "/proc/self/fd/%d", *fd);
	return 0;
}

int ks_symbols_keep_modules(int *fd, struct ks_memory *memory, const struct btf *btf,
			    struct ks_diag *diag)
{
	u64 list = ks_symbol_address(memory->facts.symbols, "modules");
	struct ks_strbuf text;
	int err = 0;

	ks_strbuf_init(&text);
	if (ks_symbols_of_modules(memory, btf, list, &text))
		err = ks_diag_nomem(diag, "reading symbols");
	if (!err && text.len)
		err = ks_symbols_keep(fd, &text, &memory->facts, diag);
	ks_strbuf_deinit(&text);
	return err;
}
