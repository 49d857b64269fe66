// SPDX-License-Identifier: GPL-2.0-only
/* Opens the memory of a kernel, and takes a snapshot of it. */
#include "cli/heap-source.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "heap/snapshot-file.h"

/* === Data ================================================================================= */

static const char kcore[] = "/proc/kcore";

static const char *const names[KS_HEAP_MEMORIES] = {
	[KS_HEAP_AUTO] = "auto",
	[KS_HEAP_BPF] = "bpf",
	[KS_HEAP_KCORE] = "kcore",
};

/* === Internals ============================================================================ */

static int open_memory(const struct ks_heap_source *source, struct ks_memory **ret_memory,
		       struct ks_diag *diag)
{
	if (source->vmcore)
		return ks_memory_open_vmcore(source->vmcore, ret_memory, diag);
	if (source->guest)
		return ks_memory_open_guest((pid_t)source->guest, ret_memory, diag);
	if (source->memory == KS_HEAP_KCORE)
		return ks_memory_open_kcore(kcore, ret_memory, diag);
	if (source->memory == KS_HEAP_BPF)
		return ks_memory_open_bpf(ret_memory, diag);
	return ks_memory_open_running(ret_memory, diag);
}

static int load(const char *path, bool graph, struct ks_snapshot **ret_snapshot,
		struct ks_diag *diag)
{
	struct ks_snapshot *snapshot;
	int err = ks_snapshot_load(path, &snapshot, diag);

	if (err)
		return err;
	if (graph && !snapshot->ref_first) {
		ks_snapshot_free(snapshot);
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: has no references: it was saved with --no-graph", path);
	}
	*ret_snapshot = snapshot;
	return 0;
}

/* === Public =============================================================================== */

bool ks_heap_is_snapshot(const char *path, u64 *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char head[16];
	ssize_t n = -1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		n = ks_pread_full(fd, head, sizeof(head), 0);
		*ret_bytes = (u64)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	return n > 0 && ks_snapshot_probe(head, (size_t)n);
}

const char *ks_heap_memory_name(unsigned int memory)
{
	return names[memory];
}

int ks_heap_source_kernel(const struct ks_heap_source *source, struct ks_kernel **ret_kernel,
			  struct ks_diag *diag)
{
	struct ks_memory *memory;
	int err;

	if (source->from)
		return ks_diag_set(diag, -EINVAL, "%s has no contents of memory", source->from);
	err = open_memory(source, &memory, diag);
	return err ? err : ks_kernel_open(memory, source->btf, ret_kernel, diag);
}

int ks_heap_source_snapshot(const struct ks_heap_source *source, bool graph,
			    struct ks_snapshot **ret_snapshot, struct ks_diag *diag)
{
	struct ks_kernel *kernel;
	int err = ks_heap_source_both(source, graph, ret_snapshot, &kernel, diag);

	if (!err)
		ks_kernel_free(kernel);
	return err;
}

int ks_heap_source_both(const struct ks_heap_source *source, bool graph,
			struct ks_snapshot **ret_snapshot, struct ks_kernel **ret_kernel,
			struct ks_diag *diag)
{
	struct ks_snapshot_options options = { .graph = graph, .brief = source->brief };
	struct ks_kernel *kernel;
	int err;

	if (source->from) {
		err = load(source->from, graph, ret_snapshot, diag);
		if (!err)
			*ret_kernel = NULL;
		return err;
	}
	err = ks_heap_source_kernel(source, &kernel, diag);
	if (err)
		return err;
	options.kallsyms = ks_heap_symbols(kernel);
	err = ks_snapshot_take(kernel, &options, ret_snapshot, diag);
	if (err) {
		ks_kernel_free(kernel);
		return err;
	}
#ifdef __GLIBC__
	/* Taking it has needed much that lies between what is left, and what follows needs as much again. */
	malloc_trim(0);
#endif
	*ret_kernel = kernel;
	return 0;
}
