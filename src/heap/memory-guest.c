// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Memory of a guest, by the process that it runs in. That of QEMU has the guest's physical memory as one mapping, in the
 * largest part of its address space that can be written to.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "heap/guests.h"
#include "heap/memory-physical.h"

/* === Data ================================================================================= */

/* What QEMU aligns the guest's memory to. */
#define ALIGNED (2ull << 20)

/* Where the hole for devices ends that a larger guest of x86-64 has in its memory. */
#define HOLE_END (4ull << 30)

/* Where the memory of the machine "virt" begins, which guests of arm64 are. */
#define ARM64_RAM (1ull << 30)

struct qemu {
	struct ks_physical physical;
	int fd; /* /proc/PID/mem */
	bool arm64;
	u64 start, size; /* of that part of the address space */
	u64 before;	 /* bytes of it that are not the guest's, but a neighbour's below */
	u64 hole;	 /* what is behind this is above the hole; UINT64_MAX = there is none */
};

/* === Internals ============================================================================ */

/*
 * The largest part of the address space that can be written to. Mappings that lie together are one: QEMU advises the kernel
 * on pieces of the guest's memory. What can be executed is code that QEMU has made of the guest's, up to a gigabyte.
 */
static int find_largest(pid_t pid, struct qemu *q, struct ks_diag *diag)
{
	unsigned long long from, to, first = 0, end = 0;
	char path[64], line[512], mode[8];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx %7s", &from, &to, mode) != 3 || mode[1] != 'w' ||
		    mode[2] == 'x')
			continue;
		if (from != end)
			first = from;
		end = to;
		if (end - first > q->size) {
			q->start = first;
			q->size = end - first;
		}
	}
	fclose(file);
	return 0;
}

/* === Interface ============================================================================ */

static int qemu_read(struct ks_physical *physical, u64 addr, void *buf, size_t len)
{
	const struct qemu *q = (struct qemu *)physical;
	u64 end = q->size - q->before, offset = addr;

	if (q->arm64) {
		if (addr < ARM64_RAM)
			return -EFAULT;
		offset -= ARM64_RAM;
	} else if (addr >= q->hole) {
		if (addr < HOLE_END)
			return -EFAULT;
		offset = addr - HOLE_END + q->hole;
	} else {
		end = ks_min(end, q->hole);
	}
	if (offset >= end || end - offset < len)
		return -EFAULT;
	offset += q->start + q->before;
	return ks_pread_full(q->fd, buf, len, offset) == (ssize_t)len ? 0 : -EFAULT;
}

/*
 * A thread's stack may end where the guest's memory begins, and nothing tells that from memory in pieces. Where the hole is,
 * depends on the machine, its version and its options; what ends above it must end where the kernel's RAM does.
 */
static bool qemu_guess(struct ks_physical *physical, u32 n)
{
	static const u64 holes[] = { UINT64_MAX, 0x80000000, 0xb0000000, 0xc0000000, 0xe0000000 };
	struct qemu *q = (struct qemu *)physical;
	const u32 count = q->arm64 ? 1 : sizeof(holes) / sizeof(*holes);
	u64 first = -q->start & (ALIGNED - 1), size;
	u32 step;

	q->before = 0;
	q->hole = UINT64_MAX;
	if (n) {
		step = (n - 1) / count;
		q->hole = holes[n % count];
		q->before = step ? first + (step - !!first) * ALIGNED : 0;
	}
	if (q->before >= q->size)
		return false;
	size = q->size - q->before;
	q->physical.exact = q->hole < size || size > HOLE_END;
	q->physical.end = q->hole < size ? HOLE_END + size - q->hole : size;
	if (q->arm64)
		q->physical.end += ARM64_RAM;
	return true;
}

static struct ks_physical *qemu_dup(struct ks_physical *physical)
{
	struct qemu *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *(struct qemu *)physical;
	copy->fd = fcntl(copy->fd, F_DUPFD_CLOEXEC, 0);
	if (copy->fd < 0) {
		free(copy);
		return NULL;
	}
	return &copy->physical;
}

static char *qemu_note(struct ks_physical *physical)
{
	return NULL;
}

static void qemu_free(struct ks_physical *physical)
{
	struct qemu *q = (struct qemu *)physical;

	if (q && q->fd >= 0)
		close(q->fd);
	free(q);
}

static const struct ks_physical_ops qemu_ops = {
	.name = "qemu",
	.read = qemu_read,
	.guess = qemu_guess,
	.dup = qemu_dup,
	.note = qemu_note,
	.free = qemu_free,
};

static int open_qemu(pid_t pid, bool arm64, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct qemu *q = calloc(1, sizeof(*q));
	char path[64], what[32];
	int err;

	if (!q)
		return ks_diag_nomem(diag, "opening a guest");
	q->physical.ops = &qemu_ops;
	q->arm64 = arm64;
	snprintf(what, sizeof(what), "process %d", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	q->fd = open(path, O_RDONLY | O_CLOEXEC);
	err = q->fd < 0 ? ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno))
			: find_largest(pid, q, diag);
	if (err) {
		qemu_free(&q->physical);
		return err;
	}
	qemu_guess(&q->physical, 0);
	q->physical.first = arm64 ? ARM64_RAM >> 12 : 0;
	q->physical.pages = q->size >> 12;
	return ks_memory_open_physical(what, &q->physical, ret_memory, diag);
}

/* === Public =============================================================================== */

int ks_memory_open_guest(pid_t pid, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	enum ks_qemu qemu = ks_qemu_of(pid);
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (access(path, F_OK))
		return ks_diag_set(diag, -ESRCH, "there is no process %d", (int)pid);
	if (qemu)
		return open_qemu(pid, qemu == KS_QEMU_ARM64, ret_memory, diag);
	err = ks_memory_open_uml(pid, ret_memory, diag);
	if (err != -ENOENT)
		return err;
	return ks_diag_set(diag, KS_EBADINPUT,
			   "process %d is neither QEMU for x86-64 or arm64 nor User Mode Linux",
			   (int)pid);
}
