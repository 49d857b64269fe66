// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A module's BTF goes on where the kernel's ends: its types have the numbers behind the last of the kernel, its strings the
 * offsets behind. So those of two modules have the same numbers, and no library puts them side by side. Here they
 * become one: types and strings are appended, and whatever refers to a module's own is moved along.
 */
#include "heap/btf-modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/bytes.h"
#include "base/strbuf.h"
#include "heap/btf-members.h"
#include "heap/kernel.h"
#include "heap/symbols.h"

/* === Data ================================================================================= */

enum {
	HEADER = 24,
	MODULE_MAX = 64 << 20, /* bytes of one module's types */
	MODULES_MAX = 4096,
};

struct ks_btf_merge {
	struct ks_strbuf types, strings;
	u32 base_types, base_strings; /* where those of a module begin */
	u32 count;		      /* types so far */
};

/* One module: what is behind the kernel's numbers is moved by so much. */
struct shift {
	u32 base_types, base_strings;
	u32 types, strings; /* that the module has itself */
	u32 move_types, move_strings;
};

struct sections {
	const u8 *types, *strings;
	u32 types_len, strings_len;
};

/* === Internals: one module ================================================================ */

static bool find_sections(const u8 *data, size_t len, struct sections *s)
{
	u32 header, type_off, str_off;

	if (len < HEADER || ks_load(data, 2, false) != 0xeb9f)
		return false;
	header = (u32)ks_load(data + 4, 4, false);
	type_off = (u32)ks_load(data + 8, 4, false);
	s->types_len = (u32)ks_load(data + 12, 4, false);
	str_off = (u32)ks_load(data + 16, 4, false);
	s->strings_len = (u32)ks_load(data + 20, 4, false);
	if (header < HEADER || (u64)header + type_off + s->types_len > len ||
	    (u64)header + str_off + s->strings_len > len || !s->strings_len)
		return false;
	s->types = data + header + type_off;
	s->strings = data + header + str_off;
	return !s->strings[s->strings_len - 1];
}

/* What a type has behind its first 12 bytes: the number of items and the size of each; -EINVAL = a kind that is not known. */
static int item_size(u32 kind, u32 *count)
{
	switch (kind) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		*count = 1;
		return 4;
	case BTF_KIND_ARRAY:
		*count = 1;
		return 12;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return 12;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return 8;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		*count = 0;
		return 0;
	default:
		return -EINVAL;
	}
}

static bool move(u8 *at, u32 base, u32 own, u32 by)
{
	u32 value;

	memcpy(&value, at, sizeof(value));
	if (value < base)
		return true;
	if (value - base >= own)
		return false;
	value += by;
	memcpy(at, &value, sizeof(value));
	return true;
}

static bool move_type(const struct shift *s, u8 *at)
{
	return move(at, s->base_types, s->types, s->move_types);
}

static bool move_string(const struct shift *s, u8 *at)
{
	return move(at, s->base_strings, s->strings, s->move_strings);
}

/* Whether the third word is a type, and not a size. */
static bool has_type(u32 kind)
{
	return kind != BTF_KIND_INT && kind != BTF_KIND_STRUCT && kind != BTF_KIND_UNION &&
	       kind != BTF_KIND_ENUM && kind != BTF_KIND_ENUM64 && kind != BTF_KIND_FLOAT &&
	       kind != BTF_KIND_DATASEC && kind != BTF_KIND_ARRAY && kind != BTF_KIND_FWD;
}

static bool move_item(const struct shift *s, u32 kind, u8 *item)
{
	switch (kind) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_FUNC_PROTO:
		return move_string(s, item) && move_type(s, item + 4);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return move_string(s, item);
	case BTF_KIND_ARRAY:
		return move_type(s, item) && move_type(s, item + 4);
	case BTF_KIND_DATASEC:
		return move_type(s, item);
	default:
		return true;
	}
}

/* The size of the type at @at and its items; 0 = it makes no sense. */
static u32 type_size(const u8 *at, u32 left, u32 *ret_kind, u32 *ret_count, int *ret_item)
{
	u32 info;

	if (left < 12)
		return 0;
	info = (u32)ks_load(at + 4, 4, false);
	*ret_kind = info >> 24 & 0x1f;
	*ret_count = info & 0xffff;
	*ret_item = item_size(*ret_kind, ret_count);
	if (*ret_item < 0 || 12ull + (u64)*ret_count * (u32)*ret_item > left)
		return 0;
	return 12 + *ret_count * (u32)*ret_item;
}

/* How many types there are, or KS_NONE. */
static u32 count_types(const struct sections *s)
{
	u32 at, size, kind, items, count = 0;
	int item;

	for (at = 0; at < s->types_len; at += size, count++) {
		size = type_size(s->types + at, s->types_len - at, &kind, &items, &item);
		if (!size)
			return KS_NONE;
	}
	return count;
}

static bool move_all(const struct shift *s, u8 *types, u32 len)
{
	u32 at, size, kind, count, i;
	int item;

	for (at = 0; at < len; at += size) {
		size = type_size(types + at, len - at, &kind, &count, &item);
		if (!size)
			return false;
		if (!move_string(s, types + at) ||
		    (has_type(kind) && !move_type(s, types + at + 8)))
			return false;
		for (i = 0; i < count; i++)
			if (!move_item(s, kind, types + at + 12 + i * (u32)item))
				return false;
	}
	return true;
}

/* === Internals: the running kernel ======================================================== */

static int add_file(struct ks_btf_merge *merge, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC), err = 0;
	size_t done = 0;
	struct stat st;
	u8 *data = NULL;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0 || st.st_size > MODULE_MAX)
		err = KS_EBADINPUT;
	if (!err) {
		data = malloc((size_t)st.st_size);
		err = data ? 0 : -ENOMEM;
	}
	while (!err && n > 0 && done < (size_t)st.st_size) {
		n = read(fd, data + done, (size_t)st.st_size - done);
		done += n > 0 ? (size_t)n : 0;
	}
	if (!err)
		err = ks_btf_merge_add(merge, data, done);
	if (fd >= 0)
		close(fd);
	free(data);
	return err;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_module(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, "vmlinux") != 0;
}

/* In the order of names, so that of two structs of one name it is always the same that counts. */
static int add_running(struct ks_kernel *k, struct ks_btf_merge *merge)
{
	static const char path[] = "/sys/kernel/btf";
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), count, i, err = 0;
	struct dirent **names = NULL;

	if (dir < 0)
		return 0;
	count = scandir(path, &names, is_module, by_name);
	for (i = 0; i < count; i++) {
		if (!err)
			err = add_file(merge, dir, names[i]->d_name);
		if (err == KS_EBADINPUT) {
			k->odd_modules++;
			err = 0;
		}
		free(names[i]);
	}
	free(names);
	close(dir);
	return err;
}

/* === Internals: a dump ==================================================================== */

struct module_layout {
	u32 list, btf, data, size;
};

static int add_from_memory(struct ks_kernel *k, struct ks_btf_merge *merge, u64 module,
			   const struct module_layout *l)
{
	u64 btf, data;
	u32 size;
	u8 *copy;
	int err;

	if (ks_memory_word(k->memory, module + l->btf, &btf) ||
	    ks_memory_word(k->memory, btf + l->data, &data) ||
	    ks_memory_get(k->memory, btf + l->size, &size, sizeof(size)) || size > MODULE_MAX)
		return KS_EBADINPUT;
	copy = malloc(size + 1ul);
	if (!copy)
		return -ENOMEM;
	err = ks_memory_get(k->memory, data, copy, size) ? KS_EBADINPUT
							 : ks_btf_merge_add(merge, copy, size);
	free(copy);
	return err;
}

/* The kernel keeps a list of the types that modules brought along; what the modules had themselves is gone. */
static int add_dumped(struct ks_kernel *k, struct ks_btf_merge *merge)
{
	struct ks_wanted_symbol list = { "btf_modules", 0 };
	struct module_layout l;
	u64 at;
	u32 i;
	int err = 0;

	if (!ks_btf_member(k->btf, "btf_module", "list", &l.list) ||
	    !ks_btf_member(k->btf, "btf_module", "btf", &l.btf) ||
	    !ks_btf_member(k->btf, "btf", "data", &l.data) ||
	    !ks_btf_member(k->btf, "btf", "data_size", &l.size) || !*k->memory->facts.symbols)
		return 0;
	ks_symbols_find(k->memory->facts.symbols, &list, 1);
	at = list.addr;
	for (i = 0; at && !err && i < MODULES_MAX; i++) {
		if (ks_memory_word(k->memory, at, &at) || at == list.addr)
			break;
		err = add_from_memory(k, merge, at - l.list, &l);
		if (err == KS_EBADINPUT) {
			k->odd_modules++;
			err = 0;
		}
	}
	return err;
}

/* === Public =============================================================================== */

int ks_btf_merge_new(const struct btf *base, struct ks_btf_merge **ret_merge)
{
	struct ks_btf_merge *merge = calloc(1, sizeof(*merge));
	struct sections s;
	const void *data;
	u32 len;

	if (!merge)
		return -ENOMEM;
	ks_strbuf_init(&merge->types);
	ks_strbuf_init(&merge->strings);
	data = btf__raw_data(base, &len);
	if (!data || !find_sections(data, len, &s)) {
		ks_btf_merge_free(merge);
		return data ? KS_EBADINPUT : -ENOMEM;
	}
	ks_strbuf_add(&merge->types, s.types, s.types_len);
	ks_strbuf_add(&merge->strings, s.strings, s.strings_len);
	merge->base_types = merge->count = btf__type_cnt(base);
	merge->base_strings = s.strings_len;
	if (merge->types.failed || merge->strings.failed) {
		ks_btf_merge_free(merge);
		return -ENOMEM;
	}
	*ret_merge = merge;
	return 0;
}

void ks_btf_merge_free(struct ks_btf_merge *merge)
{
	if (!merge)
		return;
	ks_strbuf_deinit(&merge->types);
	ks_strbuf_deinit(&merge->strings);
	free(merge);
}

int ks_btf_merge_add(struct ks_btf_merge *merge, const void *data, size_t len)
{
	size_t before = merge->types.len;
	struct sections s;
	struct shift shift;
	u32 count;

	if (!find_sections(data, len, &s))
		return KS_EBADINPUT;
	count = count_types(&s);
	if (count == KS_NONE || (u64)merge->count + count > INT32_MAX ||
	    (u64)merge->strings.len + s.strings_len > INT32_MAX)
		return KS_EBADINPUT;
	shift = (struct shift){
		.base_types = merge->base_types,
		.base_strings = merge->base_strings,
		.types = count,
		.strings = s.strings_len,
		.move_types = merge->count - merge->base_types,
		.move_strings = (u32)merge->strings.len - merge->base_strings,
	};
	ks_strbuf_add(&merge->types, s.types, s.types_len);
	ks_strbuf_add(&merge->strings, s.strings, s.strings_len);
	if (merge->types.failed || merge->strings.failed)
		return -ENOMEM;
	if (!move_all(&shift, (u8 *)merge->types.s + before, s.types_len)) {
		merge->types.len = before;
		merge->strings.len -= s.strings_len;
		return KS_EBADINPUT;
	}
	merge->count += count;
	return 0;
}

int ks_btf_merge_end(struct ks_btf_merge *merge, struct btf **ret_btf)
{
	u32 header[HEADER / 4] = { 0x0001eb9f,
				   HEADER,
				   0,
				   (u32)merge->types.len,
				   (u32)merge->types.len,
				   (u32)merge->strings.len };
	struct ks_strbuf all;
	struct btf *btf = NULL;

	ks_strbuf_init(&all);
	ks_strbuf_add(&all, header, sizeof(header));
	ks_strbuf_add(&all, merge->types.s, merge->types.len);
	ks_strbuf_add(&all, merge->strings.s, merge->strings.len);
	if (!all.failed)
		btf = btf__new(all.s, (u32)all.len);
	ks_strbuf_deinit(&all);
	if (!btf)
		return all.failed || errno == ENOMEM ? -ENOMEM : KS_EBADINPUT;
	*ret_btf = btf;
	return 0;
}

int ks_kernel_add_modules(struct ks_kernel *k, struct ks_diag *diag)
{
	struct ks_btf_merge *merge;
	struct btf *all;
	int err;

	if (k->modules_added || k->foreign_types)
		return 0;
	err = ks_btf_merge_new(k->btf, &merge);
	if (err)
		return err == -ENOMEM ? ks_diag_nomem(diag, "reading types of modules") : 0;
	err = k->live ? add_running(k, merge) : add_dumped(k, merge);
	if (!err && merge->count > merge->base_types) {
		err = ks_btf_merge_end(merge, &all);
		if (!err) {
			btf__free(k->btf);
			k->btf = all;
		} else if (err == KS_EBADINPUT) {
			k->odd_modules++;
			err = 0;
		}
	}
	ks_btf_merge_free(merge);
	k->modules_added = true;
	return err ? ks_diag_nomem(diag, "reading types of modules") : 0;
}
