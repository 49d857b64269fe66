// SPDX-License-Identifier: LGPL-2.1-only
/* From physical to virtual addresses: page tables, the note, symbols, types, and where RAM is. */
#include "heap/memory-physical.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "heap/btf-members.h"
#include "heap/layout.h"
#include "heap/symbols.h"
#include "heap/vmcoreinfo.h"

/* === Data ================================================================================= */

enum {
	SLOTS = 1024, /* of remembered translations */
	RESOURCES_MAX = 4096,
	BTF_MAX = 256 << 20,
};

#define IMAGE_MAP 0xffffffff80000000ull /* where the kernel's image is mapped, before it is moved */
#define NO_PAGE	  UINT64_MAX

/* Of entries of page tables. */
#define PRESENT	       1ull
#define X86_PHYSICAL   0x000ffffffffff000ull
#define X86_LARGE      0x80ull
#define ARM64_PHYSICAL 0x0000fffffffff000ull
#define ARM64_TABLE    2ull /* or, in the lowest level, a page */

static const char unknown_layout[] =
	"a guest whose memory is in several parts, or has a hole that is not known here: dump it "
	"with QEMU's dump-guest-memory, for --vmcore";

struct translation {
	u64 page, physical; /* page: NO_PAGE = none */
};

struct physical_memory {
	struct ks_memory memory;
	struct ks_memory_ops ops; /* with the name of who reads physical memory */
	struct ks_physical *physical;
	int symbols; /* a file in memory; -1 = another handle has it */
	char *path;
	u64 root, encrypted;
	u64 code, code_at; /* where code begins, and the physical address of it */
	u32 levels;
	bool arm64;
	u64 physical_offset, structs; /* of arm64: its PHYS_OFFSET and VMEMMAP_START */
	u32 guess;		      /* the number of the layout that is assumed */
	struct translation small[SLOTS], large[SLOTS]; /* by pages of 4 KiB and of 2 MiB */
};

/* === Internals: addresses ================================================================= */

static int read_physical(const struct physical_memory *m, u64 addr, void *buf, size_t len)
{
	return m->physical->ops->read(m->physical, addr, buf, len);
}

/* Whether an entry ends the walk: what it leads to is memory. */
static bool is_page(const struct physical_memory *m, u64 entry, u32 shift)
{
	if (shift == 12)
		return true;
	return shift <= 30 && (m->arm64 ? !(entry & ARM64_TABLE) : !!(entry & X86_LARGE));
}

/* The page tables as the processor walks them; gives the size of the page, too. */
static int walk(struct physical_memory *m, u64 addr, u64 *ret_physical, u32 *ret_shift)
{
	u32 shift = 12 + 9 * (m->levels - 1);
	u64 table = m->root, entry, mask;

	for (;; shift -= 9) {
		if (read_physical(m, table + (addr >> shift & 511) * 8, &entry, sizeof(entry)) ||
		    !(entry & PRESENT))
			return -EFAULT;
		table = entry & (m->arm64 ? ARM64_PHYSICAL : X86_PHYSICAL & ~m->encrypted);
		if (is_page(m, entry, shift))
			break;
	}
	mask = (1ull << shift) - 1;
	*ret_physical = (table & ~mask) | (addr & mask);
	*ret_shift = shift;
	return 0;
}

/* Where an address is, and how many bytes from there on lie together. */
static int translate(struct physical_memory *m, u64 addr, u64 *ret_physical, u64 *ret_room)
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

static void forget(struct physical_memory *m)
{
	u32 i;

	for (i = 0; i < SLOTS; i++)
		m->small[i].page = m->large[i].page = NO_PAGE;
}

static int read_virtual(struct physical_memory *m, u64 addr, u8 *buf, u64 len)
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

static int refuse(const struct physical_memory *m, struct ks_diag *diag, const char *what)
{
	return ks_diag_set(diag, KS_EBADINPUT, "%s: %s", m->path, what);
}

/* Assumes the next layout by which the page tables map the kernel's code to where it is. */
static bool next_layout(struct physical_memory *m)
{
	bool (*guess)(struct ks_physical * physical, u32 n) = m->physical->ops->guess;
	u64 physical, room;

	while (guess ? guess(m->physical, ++m->guess) : !m->guess++) {
		forget(m);
		if (!translate(m, m->code, &physical, &room) && physical == m->code_at)
			return true;
	}
	return false;
}

/*
 * The kernel of arm64 says where its image lies, and where it maps memory. It is built for addresses of up to 52 bits,
 * but uses 48 where the processor has no more.
 */
static int find_arm64(struct physical_memory *m, const char *info, u64 image, struct ks_diag *diag)
{
	u64 root, bits, unused, offset, structs;

	if (!ks_vmcoreinfo_get(info, "SYMBOL", "swapper_pg_dir", &root) ||
	    !ks_vmcoreinfo_get(info, "SYMBOL", "_stext", &m->code) ||
	    !ks_vmcoreinfo_get(info, "NUMBER", "VA_BITS", &bits) ||
	    !ks_vmcoreinfo_get(info, "NUMBER", "TCR_EL1_T1SZ", &unused) ||
	    !ks_vmcoreinfo_get(info, "NUMBER", "PHYS_OFFSET", &offset) ||
	    !ks_vmcoreinfo_get(info, "NUMBER", "VMEMMAP_START", &structs) || bits > 52)
		return refuse(m, diag,
			      "its vmcoreinfo does not say where it maps memory: a kernel of "
			      "arm64 that is not known here");
	if (unused != 16)
		return refuse(m, diag,
			      "a kernel of arm64 whose addresses have other than 48 bits (with "
			      "-cpu max,lpa2=off they have)");
	m->arm64 = true;
	m->levels = 4;
	m->root = root - image;
	m->code_at = m->code - image;
	m->physical_offset = offset;
	m->structs = structs;
	m->memory.facts.page_offset = -(1ull << bits) - offset;
	m->guess = 0;
	if (!next_layout(m))
		return refuse(m, diag, "its page tables do not map its own code");
	return 0;
}

static int find_page_tables(struct physical_memory *m, const char *info, struct ks_diag *diag)
{
	u64 root, base, five = 0, image;

	if (ks_vmcoreinfo_get(info, "NUMBER", "kimage_voffset", &image))
		return find_arm64(m, info, image, diag);
	if (!ks_vmcoreinfo_get(info, "SYMBOL", "swapper_pg_dir", &root) ||
	    !ks_vmcoreinfo_get(info, "NUMBER", "phys_base", &base) ||
	    !ks_vmcoreinfo_get(info, "SYMBOL", "_stext", &m->code))
		return refuse(m, diag,
			      "its vmcoreinfo lacks swapper_pg_dir, phys_base or _stext: a "
			      "kernel that is not known here");
	ks_vmcoreinfo_get(info, "NUMBER", "pgtable_l5_enabled", &five);
	ks_vmcoreinfo_get(info, "NUMBER", "sme_mask", &m->encrypted);
	m->levels = five ? 5 : 4;
	m->root = root - IMAGE_MAP + base;
	m->code_at = m->code - IMAGE_MAP + base;
	m->guess = 0;
	if (!next_layout(m))
		return refuse(m, diag, "its page tables do not map its own code");
	m->memory.facts.page_table = root;
	return 0;
}

/*
 * Who dumps a machine from outside may not have the note; it is in a page of its own. There may be copies, and that of a
 * kernel that ran before: the first that leads to page tables is taken.
 */
static int search_note(struct physical_memory *m, char **ret_text, struct ks_diag *diag)
{
	char head[sizeof(KS_VMCOREINFO_START) - 1];
	u64 pages = m->physical->pages, pfn;
	int err = refuse(m, diag, "no vmcoreinfo in it, which says where the kernel is");
	char *text = malloc(4096 + 1);

	if (!text)
		return ks_diag_nomem(diag, "opening kernel memory");
	for (pfn = m->physical->first; err && pfn < m->physical->first + pages; pfn++) {
		if (m->physical->ops->guess)
			m->physical->ops->guess(m->physical, 0);
		if (read_physical(m, pfn << 12, head, sizeof(head)) ||
		    memcmp(head, KS_VMCOREINFO_START, sizeof(head)))
			continue;
		if (read_physical(m, pfn << 12, text, 4096)) {
			err = refuse(m, diag, "its vmcoreinfo can't be read");
			continue;
		}
		text[4096] = '\0';
		err = find_page_tables(m, text, diag);
	}
	if (err) {
		free(text);
		return err;
	}
	*ret_text = text;
	return 0;
}

static int read_symbols(struct physical_memory *m, const char *info, struct ks_diag *diag)
{
	struct ks_strbuf text;
	int err;

	ks_strbuf_init(&text);
	err = ks_symbols_of_kernel(&m->memory, info, &text, diag);
	if (!err)
		err = ks_symbols_keep(&m->symbols, &text, &m->memory.facts, diag);
	ks_strbuf_deinit(&text);
	return err;
}

static int find_kernel(struct physical_memory *m, struct ks_diag *diag)
{
	char *info = m->physical->ops->note(m->physical);
	int err = info ? find_page_tables(m, info, diag) : search_note(m, &info, diag);

	if (!err)
		do
			err = read_symbols(m, info, diag);
		while (err == KS_EBADINPUT && next_layout(m));
	free(info);
	return err;
}

static u64 symbol(const struct physical_memory *m, const char *name)
{
	return ks_symbol_address(m->memory.facts.symbols, name);
}

/* === Internals: RAM ======================================================================= */

struct resource_layout {
	u32 start, end, name, sibling, child;
};

/* As /proc/iomem has it: only these pages have a struct page that means something. */
static int add_ram(struct physical_memory *m, const struct resource_layout *l, u64 resource,
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

/* Whether RAM ends where it does by the layout that is assumed. */
static bool fits(const struct physical_memory *m)
{
	const struct ks_physical *physical = m->physical;
	u64 end = 0;
	size_t i;

	for (i = 0; i < m->memory.facts.ram.len; i++)
		end = ks_max(end, m->memory.facts.ram.items[i].end);
	return !physical->end || end == physical->end >> 12 ||
	       (!physical->exact && end && end < physical->end >> 12);
}

static int find_ram(struct physical_memory *m, const struct btf *btf, struct ks_diag *diag)
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

static int virtual_read(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
			struct ks_diag *diag)
{
	struct physical_memory *m = (struct physical_memory *)memory;
	size_t i;

	for (i = 0; i < count; i++) {
		pieces[i].failed = read_virtual(m, pieces[i].addr, pieces[i].buf, pieces[i].len);
		if (pieces[i].failed)
			memset(pieces[i].buf, 0, pieces[i].len);
	}
	return 0;
}

static int virtual_dup(struct ks_memory *memory, struct ks_memory **ret_memory,
		       struct ks_diag *diag)
{
	struct physical_memory *m = (struct physical_memory *)memory, *copy = malloc(sizeof(*copy));

	if (!copy)
		return ks_diag_nomem(diag, "opening kernel memory");
	*copy = *m;
	copy->memory.ops = &copy->ops;
	copy->memory.bytes = copy->memory.failed = 0;
	copy->symbols = -1;
	copy->path = NULL;
	copy->physical = m->physical->ops->dup(m->physical);
	if (!copy->physical || ks_memory_copy_facts(&memory->facts, &copy->memory.facts)) {
		m->physical->ops->free(copy->physical);
		free(copy);
		return ks_diag_nomem(diag, "opening kernel memory");
	}
	forget(copy);
	*ret_memory = &copy->memory;
	return 0;
}

static int read_types(struct physical_memory *m, struct btf **ret_btf, struct ks_diag *diag)
{
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
			      m->physical->ops->guess
				      ? unknown_layout
				      : "the type information (BTF) is not in it; --btf FILE "
					"gives it");
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

/* Tables for parts of the kernel may be elsewhere than those for its code, and not be there by a wrong layout. */
static int virtual_types(struct ks_memory *memory, struct btf **ret_btf, struct ks_diag *diag)
{
	struct physical_memory *m = (struct physical_memory *)memory;
	int err;

	do
		err = read_types(m, ret_btf, diag);
	while (err == KS_EBADINPUT && next_layout(m));
	return err;
}

/* The struct page of physical address 0, if there were one. */
static int find_structs(struct physical_memory *m, const struct btf *btf, struct ks_diag *diag)
{
	s32 page = btf__find_by_name_kind(btf, "page", BTF_KIND_STRUCT);
	s64 size = page < 0 ? page : btf__resolve_size(btf, (u32)page);

	if (size <= 0)
		return refuse(m, diag, "its types have no struct page");
	m->memory.facts.vmemmap = m->structs - (u64)((s64)m->physical_offset >> 12) * (u64)size;
	return 0;
}

static int virtual_locate(struct ks_memory *memory, const struct btf *btf, struct ks_diag *diag)
{
	struct physical_memory *m = (struct physical_memory *)memory;
	int err = find_ram(m, btf, diag);

	while (!err && !fits(m)) {
		m->memory.facts.ram.len = 0;
		err = next_layout(m) ? find_ram(m, btf, diag) : refuse(m, diag, unknown_layout);
	}
	if (!err && m->arm64)
		err = find_structs(m, btf, diag);
	return err ? err : ks_symbols_keep_modules(&m->symbols, memory, btf, diag);
}

static void virtual_free(struct ks_memory *memory)
{
	struct physical_memory *m = (struct physical_memory *)memory;

	m->physical->ops->free(m->physical);
	if (m->symbols >= 0)
		close(m->symbols);
	free(m->path);
	free(m);
}

static const struct ks_memory_ops virtual_ops = {
	.read = virtual_read,
	.dup = virtual_dup,
	.types = virtual_types,
	.locate = virtual_locate,
	.free = virtual_free,
};

/* === Public =============================================================================== */

int ks_memory_open_physical(const char *path, struct ks_physical *physical,
			    struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct physical_memory *m = calloc(1, sizeof(*m));
	int err;

	if (!m) {
		physical->ops->free(physical);
		return ks_diag_nomem(diag, "opening kernel memory");
	}
	m->ops = virtual_ops;
	m->ops.name = physical->ops->name;
	m->memory.ops = &m->ops;
	m->physical = physical;
	m->symbols = -1;
	forget(m);
	m->path = strdup(path);
	err = m->path ? find_kernel(m, diag) : ks_diag_nomem(diag, "opening kernel memory");
	if (err) {
		ks_memory_free(&m->memory);
		return err;
	}
	*ret_memory = &m->memory;
	return 0;
}
