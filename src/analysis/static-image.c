// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The footprint of a linked kernel: each symbol is put to the file that it came from, by DWARF or by
 * the order of STT_FILE symbols. What no symbol covers, or no file claims, is a file without a name.
 */
#include "analysis/static-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/dwarf.h"
#include "sym/sym.h"
#include "sym/tree.h"

/* === Data ================================================================================= */

struct image_symbol {
	u64 lo, hi;
	const char *name; /* in the ELF file */
	u32 unit;	  /* its STT_FILE, in order; KS_NONE for globals */
	u32 path;	  /* into the model's strings; KS_NONE = not known */
	u8 class;
	bool is_function;
};

struct image {
	struct ks_static_model *model;
	struct ks_elf elf;
	struct ks_code_map code;
	struct ks_measured measured;
	struct ks_arena arena;
	u8 *classes;			     /* by section */
	KS_VEC(struct image_symbol) symbols; /* by address */
	KS_VEC(u32) units;		     /* the path of each STT_FILE group */
};

/* === Internals ============================================================================ */

static u32 intern(struct image *im, const char *s)
{
	return ks_intern_add(&im->model->strings, s, strlen(s));
}

static int read_classes(struct image *im, struct ks_diag *diag)
{
	const char *name;
	GElf_Shdr shdr;
	size_t i;
	int err;

	im->classes = calloc(im->elf.sections + 1, 1);
	if (!im->classes)
		return ks_diag_nomem(diag, "reading the image");
	for (i = 1; i < im->elf.sections; i++) {
		err = ks_elf_section(&im->elf, i, &shdr, &name, diag);
		if (err)
			return err;
		im->classes[i] = KS_SECS;
		if (shdr.sh_flags & SHF_ALLOC)
			im->classes[i] =
				(u8)ks_section_class_of(name, shdr.sh_flags, shdr.sh_type, true);
	}
	return 0;
}

static int add_symbol(struct image *im, const struct ks_elf_sym *sym, u32 unit)
{
	struct image_symbol *s;

	if ((sym->type != STT_FUNC && sym->type != STT_OBJECT) || !sym->size ||
	    sym->section >= im->elf.sections || im->classes[sym->section] >= KS_SEC_DISCARDED ||
	    sym->value + sym->size < sym->value)
		return 0;
	s = ks_vec_push(&im->symbols);
	if (!s)
		return -ENOMEM;
	*s = (struct image_symbol){
		.lo = sym->value,
		.hi = sym->value + sym->size,
		.name = sym->name,
		.unit = sym->bind == STB_LOCAL ? unit : KS_NONE,
		.path = KS_NONE,
		.class = im->classes[sym->section],
		.is_function = sym->type == STT_FUNC,
	};
	return 0;
}

static int read_symbols(struct image *im, struct ks_diag *diag)
{
	struct ks_elf_cursor cursor = { .elf = &im->elf };
	struct ks_elf_sym sym;
	u32 unit = KS_NONE, *slot;
	int got, err = 0;

	while (!err && (got = ks_elf_next_symbol(&cursor, &sym, diag)) > 0) {
		if (sym.type != STT_FILE) {
			err = add_symbol(im, &sym, unit);
			continue;
		}
		unit = KS_NONE;
		if (!sym.name[0])
			continue;
		slot = ks_vec_push(&im->units);
		if (slot)
			*slot = intern(im, sym.name);
		if (!slot || *slot == KS_NONE)
			err = -ENOMEM;
		unit = (u32)im->units.len - 1;
	}
	return err ? ks_diag_nomem(diag, "reading the image") : got;
}

static int by_address(const void *pa, const void *pb)
{
	const struct image_symbol *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi > b->hi ? -1 : 1; /* the one that covers the others first */
	return strcmp(a->name, b->name);
}

/* By DWARF where it knows; it also gives the unit's full path, which all its statics share. */
static int place_by_dwarf(struct image *im)
{
	size_t i;

	for (i = 0; i < im->symbols.len; i++) {
		struct image_symbol *s = &im->symbols.items[i];
		const char *path = ks_code_map_find(&im->code, s->lo);

		if (!path)
			continue;
		s->path = intern(im, path);
		if (s->path == KS_NONE)
			return -ENOMEM;
		if (s->unit != KS_NONE)
			im->units.items[s->unit] = s->path;
	}
	return 0;
}

/*
 * Statics by their group. A global lies among the statics of its file: between two of one file it
 * belongs to it, between two files it is anyone's.
 */
static void place_rest(struct image *im)
{
	u32 before = KS_NONE;
	size_t i, ahead = 0;

	for (i = 0; i < im->symbols.len; i++) {
		struct image_symbol *s = &im->symbols.items[i];

		if (s->path == KS_NONE && s->unit != KS_NONE)
			s->path = im->units.items[s->unit];
	}
	for (i = 0; i < im->symbols.len; i++) {
		struct image_symbol *s = &im->symbols.items[i];

		if (s->path != KS_NONE) {
			before = s->path;
			continue;
		}
		for (ahead = ks_max(ahead, i);
		     ahead < im->symbols.len && im->symbols.items[ahead].path == KS_NONE;)
			ahead++;
		if (ahead < im->symbols.len && im->symbols.items[ahead].path == before &&
		    im->symbols.items[ahead].class == s->class)
			s->path = before;
	}
}

static int compare_files(const void *pa, const void *pb)
{
	const struct ks_static_file *a = pa, *b = pb;

	return strcmp(a->path, b->path);
}

static struct ks_static_file *new_file(struct ks_static_model *model, const char *path)
{
	struct ks_static_file *file = ks_vec_push(&model->files);

	if (file) {
		file->path = path;
		file->object = "";
		file->module = "";
	}
	return file;
}

/* One file for each path that a symbol has, and at the end one without a path for what is left. */
static int sum_files(struct image *im, const char *branch)
{
	struct ks_static_model *model = im->model;
	u32 *index = calloc(model->strings.strs.len + 1, sizeof(*index));
	struct ks_footprint left = im->measured.size;
	struct ks_static_file *file;
	u64 end = 0;
	size_t i;

	if (!index)
		return -ENOMEM;
	for (i = 0; i < im->symbols.len; i++) {
		const struct image_symbol *s = &im->symbols.items[i];
		u64 lo = ks_max(s->lo, end), bytes = s->hi > lo ? s->hi - lo : 0;

		end = ks_max(end, s->hi);
		if (s->path == KS_NONE)
			continue;
		if (!index[s->path]) {
			if (!new_file(model, model->strings.strs.items[s->path].s))
				goto nomem;
			index[s->path] = (u32)model->files.len;
		}
		bytes = ks_min(bytes, left.bytes[s->class]);
		left.bytes[s->class] -= bytes;
		model->files.items[index[s->path] - 1].size.bytes[s->class] += bytes;
	}
	free(index);
	if (!branch) {
		file = new_file(model, "");
		if (!file)
			return -ENOMEM;
		file->size = left;
	}
	qsort(model->files.items, model->files.len, sizeof(*model->files.items), compare_files);
	return 0;
nomem:
	free(index);
	return -ENOMEM;
}

static void keep_branch(struct ks_static_model *model, const char *branch)
{
	size_t i, kept = 0;

	for (i = 0; i < model->files.len; i++)
		if (!branch || ks_path_in_branch(model->files.items[i].path, branch))
			model->files.items[kept++] = model->files.items[i];
	model->files.len = kept;
	for (i = 0; i < kept; i++)
		ks_footprint_add(&model->builtin, &model->files.items[i].size);
}

/* Symbols go to files by path; both are sorted, so a binary search finds the file. */
static int list_symbols(struct image *im)
{
	struct ks_static_model *model = im->model;
	size_t i;

	for (i = 0; i < im->symbols.len; i++) {
		const struct image_symbol *s = &im->symbols.items[i];
		struct ks_static_file key = {
			.path = s->path == KS_NONE ? "" : model->strings.strs.items[s->path].s
		};
		const struct ks_static_file *file =
			bsearch(&key, model->files.items, model->files.len,
				sizeof(*model->files.items), compare_files);
		struct ks_static_symbol *to;

		if (!file)
			continue;
		to = ks_vec_push(&model->symbols);
		if (!to)
			return -ENOMEM;
		*to = (struct ks_static_symbol){
			.name = ks_static_keep(model, s->name),
			.file = (u32)(file - model->files.items),
			.class = s->class,
			.bytes = s->hi - s->lo,
			.is_function = s->is_function,
		};
		if (!to->name)
			return -ENOMEM;
	}
	return 0;
}

static int image_open(struct image *im, const char *path, struct ks_diag *diag)
{
	int err;

	ks_arena_init(&im->arena);
	err = ks_elf_open(&im->elf, path, diag);
	if (err)
		return err;
	if (ks_measure_object(path, true, false, &im->arena, &im->measured))
		return ks_diag_nomem(diag, "reading the image");
	if (im->measured.error)
		return ks_diag_set(diag, KS_EBADINPUT, "%s", im->measured.error);
	return read_classes(im, diag);
}

static void image_close(struct image *im)
{
	ks_elf_close(&im->elf);
	ks_code_map_deinit(&im->code);
	ks_vec_free(&im->measured.sections);
	ks_vec_free(&im->measured.symbols);
	ks_arena_deinit(&im->arena);
	free(im->classes);
	ks_vec_free(&im->symbols);
	ks_vec_free(&im->units);
}

static int sum_sections(struct image *im)
{
	struct ks_section_sums sums;
	int err = ks_section_sums_init(&sums);

	if (!err)
		err = ks_section_sums_add(&sums, &im->measured);
	if (!err)
		err = ks_section_sums_move(&sums, im->model);
	ks_section_sums_deinit(&sums);
	return err;
}

static int place_all(struct image *im, const struct ks_static_options *options,
		     struct ks_diag *diag)
{
	struct ks_static_model *model = im->model;

	if (im->symbols.len)
		qsort(im->symbols.items, im->symbols.len, sizeof(*im->symbols.items), by_address);
	if (place_by_dwarf(im))
		return ks_diag_nomem(diag, "reading the image");
	place_rest(im);
	if (sum_files(im, options->branch) || sum_sections(im))
		return ks_diag_nomem(diag, "reading the image");
	keep_branch(model, options->branch);
	if (!model->files.len)
		return ks_branch_missing(options->branch, model->source, diag);
	if (options->symbols && list_symbols(im))
		return ks_diag_nomem(diag, "reading the image");
	return 0;
}

/* From the first table of kallsyms to the first symbol behind the last. */
static u64 kallsyms_bytes(const struct ks_elf *elf, struct ks_diag *diag)
{
	u64 lo = UINT64_MAX, last = 0, end = UINT64_MAX;
	struct ks_elf_cursor cursor = { .elf = elf };
	struct ks_elf_sym sym;

	while (ks_elf_next_symbol(&cursor, &sym, diag) > 0)
		if (!strncmp(sym.name, "kallsyms_", 9) && sym.type != STT_FUNC &&
		    sym.section < SHN_LORESERVE && (sym.bind != STB_LOCAL || !sym.size)) {
			lo = ks_min(lo, sym.value);
			last = ks_max(last, sym.value);
		}
	if (lo == UINT64_MAX)
		return 0;
	cursor = (struct ks_elf_cursor){ .elf = elf };
	while (ks_elf_next_symbol(&cursor, &sym, diag) > 0)
		if (sym.value > last && sym.section < SHN_LORESERVE)
			end = ks_min(end, sym.value);
	return end == UINT64_MAX ? 0 : end - lo;
}

/* === Public =============================================================================== */

int ks_static_measure_image(struct ks_static_model *model, const char *path,
			    const struct ks_static_options *options, struct ks_diag *diag)
{
	struct image im = { .model = model };
	int err;

	model->release = "";
	err = image_open(&im, path, diag);
	if (!err)
		err = ks_code_map_load(&im.code, path, true, diag);
	if (!err)
		err = read_symbols(&im, diag);
	if (!err && !im.symbols.len)
		err = ks_diag_set(diag, KS_EBADINPUT,
				  "%s: has no symbol table; give the vmlinux of the build, not a "
				  "stripped copy",
				  path);
	if (!err)
		err = place_all(&im, options, diag);
	image_close(&im);
	return err;
}

int ks_static_reconcile(struct ks_static_model *model, const char *path, struct ks_diag *diag)
{
	struct image im = { .model = model };
	size_t i;
	int err = image_open(&im, path, diag);

	if (!err) {
		model->have_image = true;
		model->image = im.measured.size;
		model->image_kallsyms = kallsyms_bytes(&im.elf, diag);
		for (i = 0; i < im.measured.sections.len; i++)
			if (!strcmp(im.measured.sections.items[i].name, ".BTF"))
				model->image_btf = im.measured.sections.items[i].bytes;
	}
	image_close(&im);
	return err;
}
