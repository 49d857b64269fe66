// SPDX-License-Identifier: LGPL-2.1-only
/* Memory of the running kernel, copied by the BPF program of bpf/heap-read.bpf.c. */
#include "heap/memory.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/heap-read.h"
#include "bpf/heap-read.skel.h"
#include "heap/rights.h"

/* === Data ================================================================================= */

struct bpf_memory {
	struct ks_memory memory;
	struct heap_read_bpf *program;
};

/* === Internals ============================================================================ */

/* libbpf prints what goes wrong unless it is kept from it. */
static struct heap_read_bpf *load_silently(void)
{
	libbpf_print_fn_t before = libbpf_set_print(NULL);
	struct heap_read_bpf *program = heap_read_bpf__open_and_load();
	int err = errno;

	libbpf_set_print(before);
	errno = err;
	return program;
}

static int explain(int err, struct ks_diag *diag)
{
	static const unsigned int needed[] = { CAP_BPF, CAP_PERFMON };

	/* The verifier calls what is not permitted an invalid argument. */
	if ((err == -EPERM || err == -EACCES || err == -EINVAL) &&
	    ks_explain_refusal("reading memory by BPF", needed, ARRAY_SIZE(needed), err, diag))
		return err;
	if (err == -EPERM || err == -EACCES)
		return ks_diag_set(diag, err,
				   "the kernel does not let BPF read its memory: this needs root "
				   "(CAP_BPF and CAP_PERFMON), and lockdown=confidentiality "
				   "forbids it");
	/* Old kernels call options of later ones too many. */
	if (err == -ENOSYS || err == -EINVAL || err == -EOPNOTSUPP || err == -E2BIG)
		return ks_diag_set(diag, err,
				   "this kernel lacks BPF programs of type syscall with bpf_loop() "
				   "and bpf_map_lookup_percpu_elem(), which Linux 5.18 has: %s",
				   strerror(-err));
	return ks_diag_set(diag, err, "the BPF program that reads memory does not load: %s",
			   strerror(-err));
}

static int run(const struct bpf_program *program, struct ks_diag *diag)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(bpf_program__fd(program), &opts);

	return err ? ks_diag_set(diag, err, "running the BPF program that reads memory: %s",
				 strerror(-err))
		   : 0;
}

/* Where in struct bpf_array the per-CPU pointers are, or a negative number. */
static int pointer_offset(const struct btf *btf)
{
	const struct btf_member *member;
	const struct btf_type *type;
	int id, i, offset = -ENOENT;

	/* The pointers are in a nameless union, the last member. */
	id = btf__find_by_name_kind(btf, "bpf_array", BTF_KIND_STRUCT);
	type = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
	for (i = 0; type && i < btf_vlen(type); i++) {
		member = btf_members(type) + i;
		if (!btf__name_by_offset(btf, member->name_off)[0])
			offset = (int)(btf_member_bit_offset(type, (u32)i) / 8);
	}
	return offset;
}

static int copy_out(struct bpf_memory *m, struct ks_piece **pieces, u32 *done, u32 count,
		    struct ks_diag *diag)
{
	struct heap_read_bpf__bss *bss = m->program->bss;
	int err;
	u32 i;

	if (!count)
		return 0;
	bss->request_count = count;
	err = run(m->program->progs.copy, diag);
	for (i = 0; !err && i < count; i++) {
		pieces[i]->failed |= bss->results[i] != 0;
		memcpy((u8 *)pieces[i]->buf + done[i], bss->data + bss->requests[i].at,
		       bss->requests[i].len);
	}
	return err;
}

/* === Interface ============================================================================ */

/* Pieces are packed one behind the other; a long one is read in several parts. */
static int bpf_read(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
		    struct ks_diag *diag)
{
	struct bpf_memory *m = (struct bpf_memory *)memory;
	struct ks_copy_request *requests = m->program->bss->requests;
	struct ks_piece *batch[KS_COPY_REQUESTS];
	u32 done[KS_COPY_REQUESTS], n = 0, at = 0, from = 0, len;
	size_t i = 0;
	int err;

	for (i = 0; i < count; i++)
		pieces[i].failed = false;
	for (i = 0; i < count;) {
		len = ks_min(pieces[i].len - from, KS_COPY_MOST);
		if (n == KS_COPY_REQUESTS || at + len > KS_COPY_BYTES) {
			err = copy_out(m, batch, done, n, diag);
			if (err)
				return err;
			n = at = 0;
		}
		requests[n] = (struct ks_copy_request){ pieces[i].addr + from, len, at };
		batch[n] = &pieces[i];
		done[n++] = from;
		at += (len + 7) & ~7u;
		from += len;
		if (from == pieces[i].len) {
			from = 0;
			i++;
		}
	}
	return copy_out(m, batch, done, n, diag);
}

/*
 * A per-CPU pointer and the address that it stands for on a CPU differ by that CPU's offset, for every
 * per-CPU object. The program's own map is one whose pointer and addresses can both be had.
 */
static int bpf_locate(struct ks_memory *memory, const struct btf *btf, struct ks_diag *diag)
{
	struct bpf_memory *m = (struct bpf_memory *)memory;
	int cpus = libbpf_num_possible_cpus(), offset = pointer_offset(btf), i, err;
	u64 pointer, *slot;

	if (cpus <= 0 || cpus > (int)KS_COPY_CPUS)
		return ks_diag_set(diag, -ERANGE, "%d possible CPUs", cpus);
	m->program->bss->cpu_count = (u32)cpus;
	err = run(m->program->progs.locate, diag);
	if (err)
		return err;
	memory->facts.task = m->program->bss->current_task;
	if (offset < 0 ||
	    ks_memory_word(memory, m->program->bss->probe_map + (u32)offset, &pointer))
		return ks_diag_set(diag, -ENOENT,
				   "where the kernel's per-CPU memory is can't be found");
	for (i = 0; i < cpus; i++) {
		slot = ks_vec_push(&memory->facts.percpu);
		if (!slot)
			return ks_diag_nomem(diag, "locating per-CPU memory");
		*slot = m->program->bss->probe_at[i] - pointer;
	}
	return 0;
}

static void bpf_free(struct ks_memory *memory)
{
	struct bpf_memory *m = (struct bpf_memory *)memory;

	heap_read_bpf__destroy(m->program);
	free(m);
}

static int bpf_dup(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag);

static const struct ks_memory_ops bpf_ops = {
	.name = "bpf",
	.live = true,
	.read = bpf_read,
	.dup = bpf_dup,
	.locate = bpf_locate,
	.free = bpf_free,
};

/* The kernel's side of the program's variables. The copies in them look like pointers to objects. */
static int find_copies(struct bpf_memory *m, struct ks_diag *diag)
{
	const struct heap_read_bpf__bss *bss = m->program->bss;
	int err;

	m->program->bss->cpu_count = 0;
	err = run(m->program->progs.locate, diag);
	if (err)
		return err;
	m->memory.facts.copies =
		bss->requests_at - (u64)((const u8 *)bss->requests - (const u8 *)bss);
	m->memory.facts.copies_end = m->memory.facts.copies + sizeof(*bss);
	return 0;
}

static int bpf_new(struct bpf_memory **ret_memory, struct ks_diag *diag)
{
	struct bpf_memory *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return ks_diag_nomem(diag, "opening kernel memory");
	m->memory.ops = &bpf_ops;
	m->program = load_silently();
	if (!m->program) {
		err = errno ? -errno : -EIO;
		free(m);
		return explain(err, diag);
	}
	err = find_copies(m, diag);
	if (err) {
		bpf_free(&m->memory);
		return err;
	}
	*ret_memory = m;
	return 0;
}

static int bpf_dup(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct bpf_memory *m;
	u64 copies, end;
	int err = bpf_new(&m, diag);

	if (err)
		return err;
	copies = m->memory.facts.copies;
	end = m->memory.facts.copies_end;
	if (ks_memory_copy_facts(&memory->facts, &m->memory.facts)) {
		ks_memory_free(&m->memory);
		return ks_diag_nomem(diag, "opening kernel memory");
	}
	m->memory.facts.copies = copies;
	m->memory.facts.copies_end = end;
	*ret_memory = &m->memory;
	return 0;
}

/* === Public =============================================================================== */

int ks_memory_open_bpf(struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct bpf_memory *m;
	int err = bpf_new(&m, diag);

	if (err)
		return err;
	err = ks_memory_facts_of_proc(&m->memory.facts, diag);
	if (err) {
		ks_memory_free(&m->memory);
		return err;
	}
	*ret_memory = &m->memory;
	return 0;
}
