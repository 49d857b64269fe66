// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Memory of a kernel that no longer runs, or of a guest: a dump (vmcore) that kdump or QEMU has written, as ELF or
 * compressed. libkdumpfile reads the pages. Which page an address is in, the kernel's own page tables say, and where
 * these and its symbols are, the note that it has left for this (vmcoreinfo).
 */
#include "heap/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/io.h"
#include "heap/btf-members.h"
#include "heap/flattened.h"
#include "heap/layout.h"
#include "heap/symbols.h"
#include "heap/vmcoreinfo.h"

#ifdef KS_HAVE_KDUMPFILE

#include <libkdumpfile/kdumpfile.h>

/* === Data ================================================================================= */

enum {
	SLOTS = 1024, /* of remembered translations */
	RESOURCES_MAX = 4096,
	BTF_MAX = 256 << 20,
};

#define IMAGE_MAP 0xffffffff80000000ull /* where the kernel's image is mapped, before it is moved */
#define PHYSICAL  0x000ffffffffff000ull /* of an entry of a page table */
#define PRESENT	  1ull
#define LARGE	  0x80ull
#define NO_PAGE	  UINT64_MAX

struct translation {
	u64 page, physical; /* page: NO_PAGE = none */
};

struct vmcore_memory {
	struct ks_memory memory;
	kdump_ctx_t *dump;
	int fd;
	int symbols; /* a file in memory; -1 = another handle has it */
	char *path;
	u64 root, encrypted;
	u32 levels;
	struct translation small[SLOTS], large[SLOTS]; /* by pages of 4 KiB and of 2 MiB */
};

/* === Internals: addresses ================================================================= */

static int read_physical(struct vmcore_memory *m, u64 addr, void *buf, size_t len)
{
	size_t got = len;

	return kdump_read(m->dump, KDUMP_MACHPHYSADDR, addr, buf, &got) == KDUMP_OK && got == len
		       ? 0
		       : -EFAULT;
}

/* The page tables as the processor walks them; gives the size of the page, too. */
static int walk(struct vmcore_memory *m, u64 addr, u64 *ret_physical, u32 *ret_shift)
{
	u32 shift = 12 + 9 * (m->levels - 1);
	u64 table = m->root, entry, mask;

	for (;; shift -= 9) {
		if (read_physical(m, table + (addr >> shift & 511) * 8, &entry, sizeof(entry)) ||
		    !(entry & PRESENT))
			return -EFAULT;
		table = entry & PHYSICAL & ~m->encrypted;
		if (shift == 12 || (entry & LARGE && shift <= 30))
			break;
	}
	mask = (1ull << shift) - 1;
	*ret_physical = (table & ~mask) | (addr & mask);
	*ret_shift = shift;
	return 0;
}

/* Where an address is, and how many bytes from there on lie together. */
static int translate(struct vmcore_memory *m, u64 addr, u64 *ret_physical, u64 *ret_room)
{
	struct translation *small = &m->small[addr >> 12 & (SLOTS - 1)];
	struct translation *large = &m->large[addr >> 21 & (SLOTS - 1)];
	struct translation *hit;
	u64 physical, mask;
	u32 shift;

	if (large->page == addr >> 21) {
		hit = large;
		mask = (1ull << 21) - 1;
	} else if (small->page == addr >> 12) {
		hit = small;
		mask = 4095;
	} else {
		if (walk(m, addr, &physical, &shift))
			return -EFAULT;
		hit = shift == 12 ? small : large;
		mask = shift == 12 ? 4095 : (1ull << 21) - 1;
		*hit = (struct translation){ shift == 12 ? addr >> 12 : addr >> 21,
					     physical & ~mask };
	}
	*ret_physical = hit->physical | (addr & mask);
	*ret_room = mask + 1 - (addr & mask);
	return 0;
}

static int read_virtual(struct vmcore_memory *m, u64 addr, u8 *buf, u64 len)
{
	u64 physical, room;

	while (len) {
		if (translate(m, addr, &physical, &room))
			return -EFAULT;
		room = ks_min(room, len);
		if (read_physical(m, physical, buf, (size_t)room))
			return -EFAULT;
		addr += room;
		buf += room;
		len -= room;
	}
	return 0;
}

/* === Internals: opening =================================================================== */

static int refuse(const struct vmcore_memory *m, struct ks_diag *diag, const char *what)
{
	return ks_diag_set(diag, KS_EBADINPUT, "%s: %s", m->path, what);
}

static int open_dump(struct vmcore_memory *m, struct ks_diag *diag)
{
	const char *arch;
	int plain, err;

	if (ks_is_flattened(m->fd)) {
		err = ks_unflatten(m->fd, m->path, &plain, diag);
		if (err)
			return err;
		close(m->fd);
		m->fd = plain;
	}
	m->dump = kdump_new();
	if (!m->dump)
		return ks_diag_nomem(diag, "opening a dump");
	if (kdump_open_fd(m->dump, m->fd) != KDUMP_OK)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: no dump of a kernel that is known: %s",
				   m->path, kdump_get_err(m->dump));
	/* QEMU's compressed dumps do not say it. If it is another, its page tables will make no sense. */
	if (kdump_get_string_attr(m->dump, KDUMP_ATTR_ARCH_NAME, &arch) != KDUMP_OK &&
	    (kdump_set_string_attr(m->dump, KDUMP_ATTR_ARCH_NAME, KDUMP_ARCH_X86_64) != KDUMP_OK ||
	     kdump_get_string_attr(m->dump, KDUMP_ATTR_ARCH_NAME, &arch) != KDUMP_OK))
		return refuse(m, diag, "a dump that does not say of which architecture it is");
	if (strcmp(arch, KDUMP_ARCH_X86_64))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: a dump of another architecture (%s) than x86-64", m->path,
				   arch);
	/* Pages of zeros may have been left out. */
	kdump_set_number_attr(m->dump, KDUMP_ATTR_ZERO_EXCLUDED, 1);
	return 0;
}

/* Who dumps a machine from outside may not have the note; it is in a page of its own. */
static int search_note(struct vmcore_memory *m, char **ret_text, struct ks_diag *diag)
{
	char head[sizeof(KS_VMCOREINFO_START) - 1];
	kdump_num_t pages = 0;
	u64 pfn;
	char *text;

	if (kdump_get_number_attr(m->dump, "max_pfn", &pages) != KDUMP_OK)
		pages = 0;
	for (pfn = 0; pfn < pages; pfn++)
		if (!read_physical(m, pfn << 12, head, sizeof(head)) &&
		    !memcmp(head, KS_VMCOREINFO_START, sizeof(head)))
			break;
	if (pfn >= pages)
		return refuse(m, diag, "no vmcoreinfo in it, which says where the kernel is");
	text = malloc(4096 + 1);
	if (!text)
		return ks_diag_nomem(diag, "opening a dump");
	if (read_physical(m, pfn << 12, text, 4096)) {
		free(text);
		return refuse(m, diag, "its vmcoreinfo can't be read");
	}
	text[4096] = '\0';
	*ret_text = text;
	return 0;
}

static int find_page_tables(struct vmcore_memory *m, const char *info, struct ks_diag *diag)
{
	u64 root, base, start, five = 0, physical, room;

	if (!ks_vmcoreinfo_get(info, "SYMBOL", "swapper_pg_dir", &root) ||
	    !ks_vmcoreinfo_get(info, "NUMBER", "phys_base", &base) ||
	    !ks_vmcoreinfo_get(info, "SYMBOL", "_stext", &start))
		return refuse(m, diag,
			      "its vmcoreinfo lacks swapper_pg_dir, phys_base or _stext: a "
			      "kernel that is not known here");
	ks_vmcoreinfo_get(info, "NUMBER", "pgtable_l5_enabled", &five);
	ks_vmcoreinfo_get(info, "NUMBER", "sme_mask", &m->encrypted);
	m->levels = five ? 5 : 4;
	m->root = root - IMAGE_MAP + base;
	if (translate(m, start, &physical, &room) || physical != start - IMAGE_MAP + base)
		return refuse(m, diag, "its page tables do not map its own code");
	m->memory.facts.page_table = root;
	return 0;
}

/* The symbols go to a file in memory, since who wants them reads them as those of a running kernel. */
static int keep_symbols(struct vmcore_memory *m, const struct ks_strbuf *text, struct ks_diag *diag)
{
	int err = m->symbols < 0 ? -EBADF : ks_write_all(m->symbols, text->s, text->len);

	return err ? ks_diag_set(diag, err, "keeping the symbols of a dump: %s", strerror(-err))
		   : 0;
}

static int read_symbols(struct vmcore_memory *m, const char *info, struct ks_diag *diag)
{
	struct ks_strbuf text;
	int err;

	ks_strbuf_init(&text);
	err = ks_symbols_of_kernel(&m->memory, info, &text, diag);
	if (!err) {
		m->symbols = memfd_create("symbols", MFD_CLOEXEC);
		err = keep_symbols(m, &text, diag);
	}
	ks_strbuf_deinit(&text);
	if (err)
		return err;
	snprintf(m->memory.facts.symbols, sizeof(m->memory.facts.symbols), "/proc/self/fd/%d",
		 m->symbols);
	return 0;
}

static int find_kernel(struct vmcore_memory *m, struct ks_diag *diag)
{
	char *info = NULL;
	int err = 0;

	if (kdump_vmcoreinfo_raw(m->dump, &info) != KDUMP_OK)
		err = search_note(m, &info, diag);
	if (!err)
		err = find_page_tables(m, info, diag);
	if (!err)
		err = read_symbols(m, info, diag);
	free(info);
	return err;
}

static u64 symbol(const struct vmcore_memory *m, const char *name)
{
	struct ks_wanted_symbol wanted = { name, 0 };

	ks_symbols_find(m->memory.facts.symbols, &wanted, 1);
	return wanted.addr;
}

/* === Internals: RAM ======================================================================= */

struct resource_layout {
	u32 start, end, name, sibling, child;
};

/* As /proc/iomem has it: only these pages have a struct page that means something. */
static int add_ram(struct vmcore_memory *m, const struct resource_layout *l, u64 resource,
		   struct ks_diag *diag)
{
	u64 start, end, name;
	struct ks_ram *ram;
	char text[16];

	if (ks_memory_word(&m->memory, resource + l->start, &start) ||
	    ks_memory_word(&m->memory, resource + l->end, &end) ||
	    ks_memory_word(&m->memory, resource + l->name, &name) ||
	    ks_memory_string(&m->memory, name, text, sizeof(text)) ||
	    strncmp(text, "System RAM", 10) || end <= start)
		return 0;
	start = (start + 4095) >> 12;
	end = (end + 1) >> 12;
	if (start >= end)
		return 0;
	ram = ks_vec_push(&m->memory.facts.ram);
	if (!ram)
		return ks_diag_nomem(diag, "locating memory");
	*ram = (struct ks_ram){ start, end };
	return 0;
}

static int find_ram(struct vmcore_memory *m, const struct btf *btf, struct ks_diag *diag)
{
	u64 resource = symbol(m, "iomem_resource");
	struct resource_layout l;
	int i, err = 0;

	if (!resource || !ks_btf_member(btf, "resource", "start", &l.start) ||
	    !ks_btf_member(btf, "resource", "end", &l.end) ||
	    !ks_btf_member(btf, "resource", "name", &l.name) ||
	    !ks_btf_member(btf, "resource", "sibling", &l.sibling) ||
	    !ks_btf_member(btf, "resource", "child", &l.child))
		return refuse(m, diag, "nothing in it says where its RAM is (iomem_resource)");
	if (ks_memory_word(&m->memory, resource + l.child, &resource))
		resource = 0;
	for (i = 0; !err && resource && i < RESOURCES_MAX; i++) {
		err = add_ram(m, &l, resource, diag);
		if (ks_memory_word(&m->memory, resource + l.sibling, &resource))
			break;
	}
	return err;
}

/* === Interface ============================================================================ */

static int vmcore_read(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
		       struct ks_diag *diag)
{
	struct vmcore_memory *m = (struct vmcore_memory *)memory;
	size_t i;

	for (i = 0; i < count; i++) {
		pieces[i].failed = read_virtual(m, pieces[i].addr, pieces[i].buf, pieces[i].len);
		if (pieces[i].failed)
			memset(pieces[i].buf, 0, pieces[i].len);
	}
	return 0;
}

static void forget(struct vmcore_memory *m)
{
	u32 i;

	for (i = 0; i < SLOTS; i++)
		m->small[i].page = m->large[i].page = NO_PAGE;
}

static int vmcore_dup(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct vmcore_memory *m = (struct vmcore_memory *)memory, *copy = malloc(sizeof(*copy));

	if (!copy)
		return ks_diag_nomem(diag, "opening a dump");
	*copy = *m;
	copy->memory.bytes = copy->memory.failed = 0;
	copy->fd = copy->symbols = -1;
	copy->path = NULL;
	copy->dump = kdump_clone(m->dump, 0);
	if (!copy->dump || ks_memory_copy_facts(&memory->facts, &copy->memory.facts)) {
		if (copy->dump)
			kdump_free(copy->dump);
		free(copy);
		return ks_diag_nomem(diag, "opening a dump");
	}
	forget(copy);
	*ret_memory = &copy->memory;
	return 0;
}

static int vmcore_types(struct ks_memory *memory, struct btf **ret_btf, struct ks_diag *diag)
{
	struct vmcore_memory *m = (struct vmcore_memory *)memory;
	u64 start = symbol(m, "__start_BTF"), end = symbol(m, "__stop_BTF");
	struct btf *btf;
	u8 *data;
	int err;

	if (!start || end <= start || end - start > BTF_MAX)
		return refuse(m, diag,
			      "its kernel has no type information (BTF); --btf FILE gives it");
	data = malloc((size_t)(end - start));
	if (!data)
		return ks_diag_nomem(diag, "reading type information");
	if (read_virtual(m, start, data, end - start)) {
		free(data);
		return refuse(m, diag,
			      "the type information (BTF) is not in it; --btf FILE gives it");
	}
	btf = btf__new(data, (u32)(end - start));
	err = btf ? 0 : -errno;
	free(data);
	if (err)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: its type information (BTF) can't be read: %s", m->path,
				   strerror(-err));
	*ret_btf = btf;
	return 0;
}

static int vmcore_locate(struct ks_memory *memory, const struct btf *btf, struct ks_diag *diag)
{
	struct vmcore_memory *m = (struct vmcore_memory *)memory;
	struct ks_strbuf text;
	int err = find_ram(m, btf, diag);

	if (err)
		return err;
	ks_strbuf_init(&text);
	if (ks_symbols_of_modules(memory, btf, symbol(m, "modules"), &text))
		err = ks_diag_nomem(diag, "reading symbols");
	if (!err && text.len)
		err = keep_symbols(m, &text, diag);
	ks_strbuf_deinit(&text);
	return err;
}

/*
 * With the last handle of a compressed dump libkdumpfile 0.5 writes to attributes that it has freed, and with some dumps
 * that crashes. The first handle is the last to go; of such a dump it stays, and what all handles share stays with it.
 */
static bool stays(kdump_ctx_t *dump)
{
	const char *format;

	return kdump_get_string_attr(dump, KDUMP_ATTR_FILE_FORMAT, &format) == KDUMP_OK &&
	       strcmp(format, "elf");
}

static void vmcore_free(struct ks_memory *memory)
{
	struct vmcore_memory *m = (struct vmcore_memory *)memory;

	if (m->dump && (m->fd < 0 || !stays(m->dump)))
		kdump_free(m->dump);
	if (m->fd >= 0)
		close(m->fd);
	if (m->symbols >= 0)
		close(m->symbols);
	free(m->path);
	free(m);
}

static const struct ks_memory_ops vmcore_ops = {
	.name = "vmcore",
	.read = vmcore_read,
	.dup = vmcore_dup,
	.types = vmcore_types,
	.locate = vmcore_locate,
	.free = vmcore_free,
};

/* === Public =============================================================================== */

int ks_memory_open_vmcore(const char *path, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct vmcore_memory *m = calloc(1, sizeof(*m));
	int err = 0;

	if (!m)
		return ks_diag_nomem(diag, "opening a dump");
	m->memory.ops = &vmcore_ops;
	m->symbols = -1;
	forget(m);
	m->path = strdup(path);
	m->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (m->fd < 0)
		err = ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	else if (!m->path)
		err = ks_diag_nomem(diag, "opening a dump");
	if (!err)
		err = open_dump(m, diag);
	if (!err)
		err = find_kernel(m, diag);
	if (err) {
		ks_memory_free(&m->memory);
		return err;
	}
	*ret_memory = &m->memory;
	return 0;
}

bool ks_memory_reads_dumps(void)
{
	return true;
}

#else

int ks_memory_open_vmcore(const char *path, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	return ks_diag_set(diag, -EOPNOTSUPP,
			   "%s: this kmemscope was built without libkdumpfile, which reads dumps",
			   path);
}

bool ks_memory_reads_dumps(void)
{
	return false;
}

#endif
