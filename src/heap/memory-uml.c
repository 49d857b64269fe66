// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Memory of a guest of User Mode Linux. Its kernel is a process whose addresses are the kernel's own, so /proc/PID/mem has
 * all of them, and the program that it runs has the symbols.
 */
#include "heap/memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "heap/symbols.h"
#include "sym/elf.h"
#include "sym/quiet-btf.h"

/* === Data ================================================================================= */

#define MODULES_SIZE (1ull << 32) /* behind the memory: what vmalloc() gives to modules */

struct uml_memory {
	struct ks_memory memory;
	pid_t pid;
	int fd;
	int symbols; /* a file in memory; -1 = another handle has it */
};

/* What makes a User Mode Linux, and where its tables are. */
enum { PHYSMEM, MEM_MAP, MAX_PFN, CACHES, BANNER, END, CPU_OFFSETS, WANTED };

/* === Internals: symbols =================================================================== */

/* As nm(1) and kallsyms have it. */
static char letter_of(const struct ks_elf *elf, const struct ks_elf_sym *sym)
{
	struct ks_diag ignored;
	GElf_Shdr section;

	if (sym->section >= SHN_LORESERVE ||
	    ks_elf_section(elf, sym->section, &section, NULL, &ignored))
		return 'a';
	if (section.sh_flags & SHF_EXECINSTR)
		return 't';
	return section.sh_flags & SHF_WRITE ? 'd' : 'r';
}

static int read_symbols(const char *path, struct ks_strbuf *text, struct ks_diag *diag)
{
	struct ks_elf_cursor cursor;
	struct ks_elf_sym sym;
	struct ks_elf elf;
	int err = ks_elf_open(&elf, path, diag);

	if (err)
		return err;
	cursor = (struct ks_elf_cursor){ .elf = &elf };
	if (elf.ehdr.e_machine != EM_X86_64)
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: of another architecture than x86-64",
				  path);
	while (!err && (err = ks_elf_next_symbol(&cursor, &sym, diag)) > 0) {
		err = 0;
		if (*sym.name && sym.type != STT_FILE && sym.type != STT_SECTION)
			ks_strbuf_printf(text, "%016llx %c %s\n", (unsigned long long)sym.value,
					 letter_of(&elf, &sym), sym.name);
	}
	ks_elf_close(&elf);
	return err;
}

/* === Internals: the kernel ================================================================ */

static int refuse(const struct uml_memory *m, struct ks_diag *diag, const char *what)
{
	return ks_diag_set(diag, KS_EBADINPUT, "process %d: %s", (int)m->pid, what);
}

static int add_ram(struct uml_memory *m, u64 pages, struct ks_diag *diag)
{
	struct ks_memory_facts *facts = &m->memory.facts;
	struct ks_ram *ram = ks_vec_push(&facts->ram);
	u64 *offset = ks_vec_push(&facts->percpu);

	if (!ram || !offset)
		return ks_diag_nomem(diag, "opening a guest");
	*ram = (struct ks_ram){ 0, pages };
	/* With one processor a per-CPU pointer is a plain one. */
	*offset = 0;
	return 0;
}

static int find_kernel(struct uml_memory *m, struct ks_diag *diag)
{
	struct ks_wanted_symbol w[WANTED] = {
		[PHYSMEM] = { "uml_physmem", 0 },
		[MEM_MAP] = { "mem_map", 0 },
		[MAX_PFN] = { "max_pfn", 0 },
		[CACHES] = { "slab_caches", 0 },
		[BANNER] = { "linux_banner", 0 },
		[END] = { "_end", 0 },
		[CPU_OFFSETS] = { "__per_cpu_offset", 0 },
	};
	struct ks_memory_facts *facts = &m->memory.facts;
	char banner[15] = "";
	u64 pages;

	ks_symbols_find(facts->symbols, w, WANTED);
	if (!w[PHYSMEM].addr)
		return -ENOENT;
	if (ks_memory_get(&m->memory, w[BANNER].addr, banner, sizeof(banner) - 1) ||
	    strcmp(banner, "Linux version "))
		return refuse(m, diag,
			      "no kernel in its memory: of the processes of a User Mode Linux, "
			      "the first one has it");
	if (w[CPU_OFFSETS].addr)
		return refuse(m, diag,
			      "a User Mode Linux with more than one processor, which is not known "
			      "here");
	if (!w[MEM_MAP].addr || !w[CACHES].addr ||
	    ks_memory_word(&m->memory, w[PHYSMEM].addr, &facts->page_offset) ||
	    ks_memory_word(&m->memory, w[MEM_MAP].addr, &facts->vmemmap) ||
	    ks_memory_word(&m->memory, w[MAX_PFN].addr, &pages) || !pages ||
	    w[END].addr <= facts->page_offset)
		return refuse(m, diag,
			      "a User Mode Linux whose memory is not laid out as is known");
	facts->slab_caches = w[CACHES].addr;
	facts->image = (struct ks_span){ facts->page_offset, w[END].addr - facts->page_offset };
	facts->modules = (struct ks_span){ facts->page_offset + (pages << 12), MODULES_SIZE };
	return add_ram(m, pages, diag);
}

/* === Interface ============================================================================ */

static int uml_read(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
		    struct ks_diag *diag)
{
	const struct uml_memory *m = (struct uml_memory *)memory;
	size_t i;

	for (i = 0; i < count; i++) {
		pieces[i].failed = ks_pread_full(m->fd, pieces[i].buf, pieces[i].len,
						 pieces[i].addr) != (ssize_t)pieces[i].len;
		if (pieces[i].failed)
			memset(pieces[i].buf, 0, pieces[i].len);
	}
	return 0;
}

static int uml_dup(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct uml_memory *m = (struct uml_memory *)memory, *copy = malloc(sizeof(*copy));

	if (!copy)
		return ks_diag_nomem(diag, "opening a guest");
	*copy = *m;
	copy->memory.bytes = copy->memory.failed = 0;
	copy->symbols = -1;
	copy->fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
	if (copy->fd < 0 || ks_memory_copy_facts(&memory->facts, &copy->memory.facts)) {
		if (copy->fd >= 0)
			close(copy->fd);
		free(copy);
		return ks_diag_nomem(diag, "opening a guest");
	}
	*ret_memory = &copy->memory;
	return 0;
}

static int uml_types(struct ks_memory *memory, struct btf **ret_btf, struct ks_diag *diag)
{
	const struct uml_memory *m = (struct uml_memory *)memory;
	char path[64];
	struct btf *btf;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)m->pid);
	btf = ks_btf_parse(path);
	if (!btf)
		return refuse(m, diag,
			      "its kernel has no type information (BTF); --btf FILE gives it");
	*ret_btf = btf;
	return 0;
}

static int uml_locate(struct ks_memory *memory, const struct btf *btf, struct ks_diag *diag)
{
	return ks_symbols_keep_modules(&((struct uml_memory *)memory)->symbols, memory, btf, diag);
}

static void uml_free(struct ks_memory *memory)
{
	struct uml_memory *m = (struct uml_memory *)memory;

	if (m->fd >= 0)
		close(m->fd);
	if (m->symbols >= 0)
		close(m->symbols);
	free(m);
}

static const struct ks_memory_ops uml_ops = {
	.name = "uml",
	.read = uml_read,
	.dup = uml_dup,
	.types = uml_types,
	.locate = uml_locate,
	.free = uml_free,
};

/* === Public =============================================================================== */

int ks_memory_open_uml(pid_t pid, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct uml_memory *m = calloc(1, sizeof(*m));
	struct ks_strbuf text;
	char path[64];
	int err;

	if (!m)
		return ks_diag_nomem(diag, "opening a guest");
	m->memory.ops = &uml_ops;
	m->pid = pid;
	m->symbols = -1;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	m->fd = open(path, O_RDONLY | O_CLOEXEC);
	err = m->fd < 0 ? ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno)) : 0;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ks_strbuf_init(&text);
	if (!err)
		err = read_symbols(path, &text, diag);
	if (!err)
		err = ks_symbols_keep(&m->symbols, &text, &m->memory.facts, diag);
	ks_strbuf_deinit(&text);
	if (!err)
		err = find_kernel(m, diag);
	if (err) {
		ks_memory_free(&m->memory);
		return err;
	}
	*ret_memory = &m->memory;
	return 0;
}
