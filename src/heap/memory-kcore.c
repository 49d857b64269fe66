// SPDX-License-Identifier: LGPL-2.1-only
/* Memory of the running kernel by /proc/kcore: an ELF core whose segments are the kernel's address space. */
#include "heap/memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "heap/rights.h"

/* === Data ================================================================================= */

enum { SEGMENTS_MAX = 65534 }; /* 65535 means that the number is elsewhere */

struct kcore_memory {
	struct ks_memory memory;
	int fd;
	char *path;
	KS_VEC(Elf64_Phdr) segments; /* those that hold memory, by address */
};

/* === Internals ============================================================================ */

static int by_address(const void *a, const void *b)
{
	const Elf64_Phdr *x = a, *y = b;

	return x->p_vaddr < y->p_vaddr ? -1 : x->p_vaddr > y->p_vaddr;
}

static int bad(const struct kcore_memory *m, const char *what, struct ks_diag *diag)
{
	return ks_diag_set(diag, KS_EBADINPUT, "%s: %s", m->path, what);
}

static int explain(const char *path, int err, struct ks_diag *diag)
{
	static const unsigned int needed[] = { CAP_SYS_RAWIO };

	if (err == -ENOENT)
		return ks_diag_set(
			diag, err,
			"%s is not there: the kernel was built without CONFIG_PROC_KCORE", path);
	if ((err == -EPERM || err == -EACCES) &&
	    ks_explain_refusal("reading /proc/kcore", needed, ARRAY_SIZE(needed), err, diag))
		return err;
	return ks_diag_set(diag, err, "%s: %s", path, strerror(-err));
}

static int add_segment(struct kcore_memory *m, const Elf64_Phdr *header, struct ks_diag *diag)
{
	Elf64_Phdr *slot;

	if (header->p_type != PT_LOAD || !header->p_memsz ||
	    header->p_vaddr + (header->p_memsz - 1) < header->p_vaddr)
		return 0;
	slot = ks_vec_push(&m->segments);
	if (!slot)
		return ks_diag_nomem(diag, "reading the segments of kernel memory");
	*slot = *header;
	return 0;
}

static int read_segments(struct kcore_memory *m, struct ks_diag *diag)
{
	Elf64_Ehdr head;
	Elf64_Phdr header;
	u32 i;
	int err = 0;

	if (ks_pread_full(m->fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_type != ET_CORE)
		return bad(m, "no 64-bit ELF core", diag);
	if (head.e_machine != EM_X86_64)
		return bad(m, "a core of another architecture than x86-64", diag);
	if (head.e_phentsize != sizeof(header) || head.e_phnum > SEGMENTS_MAX)
		return bad(m, "its program headers are of no known kind", diag);
	for (i = 0; !err && i < head.e_phnum; i++) {
		if (ks_pread_full(m->fd, &header, sizeof(header),
				  head.e_phoff + (u64)i * sizeof(header)) != sizeof(header))
			return bad(m, "it ends inside of its program headers", diag);
		err = add_segment(m, &header, diag);
	}
	if (!err && !m->segments.len)
		return bad(m, "it has no segment of memory", diag);
	if (!err)
		qsort(m->segments.items, m->segments.len, sizeof(*m->segments.items), by_address);
	return err;
}

/* The last segment that begins at or below this address; of several, the one that reaches farthest. */
static const Elf64_Phdr *segment_of(const struct kcore_memory *m, u64 addr, u32 len)
{
	size_t low = 0, high = m->segments.len, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (m->segments.items[mid].p_vaddr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	while (low--) {
		const Elf64_Phdr *s = &m->segments.items[low];

		if (addr - s->p_vaddr < s->p_memsz && s->p_memsz - (addr - s->p_vaddr) >= len)
			return s;
	}
	return NULL;
}

/* === Interface ============================================================================ */

static int kcore_read(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
		      struct ks_diag *diag)
{
	const struct kcore_memory *m = (struct kcore_memory *)memory;
	size_t i;

	for (i = 0; i < count; i++) {
		struct ks_piece *piece = &pieces[i];
		const Elf64_Phdr *s = segment_of(m, piece->addr, piece->len);
		ssize_t got = -EFAULT;

		if (s)
			got = ks_pread_full(m->fd, piece->buf, piece->len,
					    s->p_offset + (piece->addr - s->p_vaddr));
		piece->failed = got != (ssize_t)piece->len;
		if (piece->failed)
			memset(piece->buf, 0, piece->len);
		if (got == -EPERM)
			return ks_diag_set(diag, -EPERM,
					   "%s: the kernel forbids reading it "
					   "(lockdown=confidentiality)",
					   m->path);
	}
	return 0;
}

static int kcore_dup(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct kcore_memory *m = (struct kcore_memory *)memory;
	struct ks_memory_facts facts;
	struct ks_memory *copy;
	int err;

	err = ks_memory_open_kcore(m->path, &copy, diag);
	if (err)
		return err;
	if (ks_memory_copy_facts(&memory->facts, &facts)) {
		ks_memory_free(copy);
		return ks_diag_nomem(diag, "opening kernel memory");
	}
	copy->facts = facts;
	*ret_memory = copy;
	return 0;
}

static int kcore_locate(struct ks_memory *memory, const struct btf *btf, struct ks_diag *diag)
{
	return ks_memory_facts_of_proc(&memory->facts, diag);
}

static void kcore_free(struct ks_memory *memory)
{
	struct kcore_memory *m = (struct kcore_memory *)memory;

	if (m->fd >= 0)
		close(m->fd);
	ks_vec_free(&m->segments);
	free(m->path);
	free(m);
}

static const struct ks_memory_ops kcore_ops = {
	.name = "kcore",
	.live = true,
	.read = kcore_read,
	.dup = kcore_dup,
	.locate = kcore_locate,
	.free = kcore_free,
};

/* === Public =============================================================================== */

int ks_memory_open_kcore(const char *path, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct kcore_memory *m = calloc(1, sizeof(*m));
	int err = 0;

	if (!m)
		return ks_diag_nomem(diag, "opening kernel memory");
	m->memory.ops = &kcore_ops;
	m->path = strdup(path);
	m->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (m->fd < 0)
		err = explain(path, -errno, diag);
	else if (!m->path)
		err = ks_diag_nomem(diag, "opening kernel memory");
	if (!err)
		err = read_segments(m, diag);
	if (err) {
		ks_memory_free(&m->memory);
		return err;
	}
	*ret_memory = &m->memory;
	return 0;
}
