// SPDX-License-Identifier: LGPL-2.1-only
/* The functions of one image, found by address and by name. */
#include "sym/symtab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/elf.h"

/* === Data ================================================================================= */

static const char *const clone_suffixes[] = {
	"constprop", "isra", "part", "cold", "lto_priv", "llvm", "local", "localalias",
};

/* No function is as long: what is further behind one lies in a module that went, or in no code. */
enum { FUNCTION_MAX = 1 << 20 };

/* === Internals ============================================================================ */

static unsigned int leading_underscores(const char *name)
{
	return (unsigned int)strspn(name, "_");
}

/*
 * By address. Of several names for one address the kernel shows the one that is not weak and has
 * the fewest underscores in front; we show the same, and the rest makes the order total.
 */
static int compare_symbols(const void *pa, const void *pb, void *arg)
{
	const struct ks_symbol *a = pa, *b = pb;
	const struct ks_symtab *table = arg;
	const char *name_a, *name_b;
	unsigned int weak_a = a->flags & KS_SYMBOL_WEAK, weak_b = b->flags & KS_SYMBOL_WEAK;
	int diff;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (weak_a != weak_b)
		return weak_a ? 1 : -1;
	name_a = ks_symtab_name(table, a);
	name_b = ks_symtab_name(table, b);
	diff = (int)leading_underscores(name_a) - (int)leading_underscores(name_b);
	if (!diff)
		diff = strcmp(name_a, name_b);
	if (!diff)
		diff = a->unit != b->unit ? (a->unit < b->unit ? -1 : 1) : 0;
	return diff;
}

static int index_names(struct ks_symtab *table)
{
	size_t i;

	if (ks_vec_reserve(&table->first, table->names.strs.len))
		return -ENOMEM;
	table->first.len = table->names.strs.len;
	for (i = 0; i < table->first.len; i++)
		table->first.items[i] = KS_NONE;
	/* Backwards, so that every chain runs up the addresses. */
	for (i = table->symbols.len; i-- > 0;) {
		struct ks_symbol *symbol = &table->symbols.items[i];

		symbol->next = table->first.items[symbol->name];
		table->first.items[symbol->name] = (u32)i;
	}
	return 0;
}

static int read_magic(const char *path, char *magic, size_t *ret_len, struct ks_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return ks_diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
	n = read(fd, magic, SELFMAG);
	close(fd);
	if (n < 0)
		return ks_diag_set(diag, -errno, "%s: cannot read: %s", path, strerror(errno));
	*ret_len = (size_t)n;
	return 0;
}

static bool is_clone_suffix(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clone_suffixes); i++)
		if (strlen(clone_suffixes[i]) == len && !memcmp(clone_suffixes[i], s, len))
			return true;
	return false;
}

/* === Public =============================================================================== */

int ks_symtab_new(struct ks_symtab **ret_table)
{
	struct ks_symtab *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	if (ks_intern_init(&table->names) || ks_intern_init(&table->modules) ||
	    ks_intern_init(&table->files)) {
		ks_symtab_free(table);
		return -ENOMEM;
	}
	*ret_table = table;
	return 0;
}

void ks_symtab_free(struct ks_symtab *table)
{
	if (!table)
		return;
	ks_intern_deinit(&table->names);
	ks_intern_deinit(&table->modules);
	ks_intern_deinit(&table->files);
	ks_vec_free(&table->symbols);
	ks_vec_free(&table->units);
	ks_vec_free(&table->first);
	free(table);
}

static int load(const char *path, bool of_variables, struct ks_symtab **ret_table,
		struct ks_diag *diag)
{
	struct ks_symtab *table;
	char magic[SELFMAG];
	size_t len = 0;
	int err;

	err = read_magic(path, magic, &len, diag);
	if (err)
		return err;
	if (ks_symtab_new(&table))
		return ks_diag_nomem(diag, "loading symbols");
	table->of_variables = of_variables;
	if (ks_elf_is_magic(magic, len))
		err = ks_symtab_load_elf(table, path, diag);
	else
		err = ks_symtab_load_text(table, path, diag);
	if (!err && ks_symtab_sort(table))
		err = ks_diag_nomem(diag, "sorting symbols");
	if (err)
		ks_symtab_free(table);
	else
		*ret_table = table;
	return err;
}

int ks_symtab_load(const char *path, struct ks_symtab **ret_table, struct ks_diag *diag)
{
	return load(path, false, ret_table, diag);
}

int ks_symtab_load_variables(const char *path, struct ks_symtab **ret_table, struct ks_diag *diag)
{
	return load(path, true, ret_table, diag);
}

int ks_symtab_add(struct ks_symtab *table, const char *name, size_t len, const char *module,
		  size_t module_len, const struct ks_symbol *symbol)
{
	struct ks_symbol *slot;
	u32 id = ks_intern_add(&table->names, name, len), mod = KS_NONE;

	if (module_len)
		mod = ks_intern_add(&table->modules, module, module_len);
	if (id == KS_NONE || (module_len && mod == KS_NONE) || table->symbols.len >= KS_NONE)
		return -ENOMEM;
	slot = ks_vec_push(&table->symbols);
	if (!slot)
		return -ENOMEM;
	*slot = *symbol;
	slot->name = id;
	slot->module = mod;
	table->has_addresses |= symbol->addr != 0;
	return 0;
}

int ks_symtab_sort(struct ks_symtab *table)
{
	if (table->symbols.len)
		qsort_r(table->symbols.items, table->symbols.len, sizeof(*table->symbols.items),
			compare_symbols, table);
	return index_names(table);
}

const struct ks_symbol *ks_symtab_find(const struct ks_symtab *table, u64 addr)
{
	const struct ks_symbol *items = table->symbols.items;
	size_t lo = 0, hi = table->symbols.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (items[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	if (addr - items[lo - 1].addr >= FUNCTION_MAX)
		return NULL;
	for (lo--; lo && items[lo - 1].addr == items[lo].addr;)
		lo--;
	return &items[lo];
}

const struct ks_symbol *ks_symtab_by_name(const struct ks_symtab *table, const char *name)
{
	u32 id = ks_intern_find(&table->names, name, strlen(name));

	if (id == KS_NONE || table->first.items[id] == KS_NONE)
		return NULL;
	return &table->symbols.items[table->first.items[id]];
}

u64 ks_symtab_extent(const struct ks_symtab *table, const struct ks_symbol *symbol)
{
	const struct ks_symbol *end = table->symbols.items + table->symbols.len, *s;

	for (s = symbol + 1; s < end; s++)
		if (s->addr != symbol->addr)
			return s->addr - symbol->addr;
	return symbol->size;
}

size_t ks_symbol_base_len(const char *name)
{
	size_t len = strlen(name);

	for (;;) {
		const char *dot = memrchr(name, '.', len), *word;

		if (!dot || dot == name)
			return len;
		/* "part.0": the number belongs to the word in front of it. */
		if (strspn(dot + 1, "0123456789") == (size_t)(name + len - dot - 1) &&
		    name + len > dot + 1) {
			word = memrchr(name, '.', (size_t)(dot - name));
			if (!word || word == name ||
			    !is_clone_suffix(word + 1, (size_t)(dot - word - 1)))
				return len;
			len = (size_t)(word - name);
		} else if (is_clone_suffix(dot + 1, (size_t)(name + len - dot - 1))) {
			len = (size_t)(dot - name);
		} else {
			return len;
		}
	}
}
