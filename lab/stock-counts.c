// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin for QEMU that counts the loads and stores of the guest's kernel by address and instruction, in a table that it
 * shares with the runner (src/lab/counts.h). The kernel is not changed for that, and does not notice.
 *
 * All processors run in one thread of QEMU (tcg,thread=single), so nothing here is locked.
 *
 * Debian has no package with QEMU's header, so the part of version 1 of its interface that is used is declared here.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lab/counts.h"

/* === QEMU's interface ===================================================================== */

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t id,
						      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, qemu_plugin_meminfo_t info,
						 uint64_t addr, void *data),
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_version = 1;

/* === Data ================================================================================= */

/* The upper half of addresses is the kernel's. */
#define KERNEL_START (1ull << 63)

#define PAGE	     4096

#define BUCKETS	     65536

/* How many places are looked at for one that is free. */
#define PROBES 64

/* The accesses of a string instruction that may go on. */
struct run {
	struct lab_count *count; /* NULL = there is none */
	uint64_t next;		 /* the address at which it goes on */
};

/* An instruction of the kernel, of which QEMU may make code more than once. */
struct instruction {
	struct instruction *link;
	uint64_t addr;
	bool repeats;
	struct run runs[2]; /* loads, stores */
};

static struct lab_counts *table;
static struct instruction *buckets[BUCKETS];

/* === Internals ============================================================================ */

static uint64_t hash(uint64_t addr, uint64_t ip, uint32_t cpu)
{
	uint64_t h = (addr ^ ip << 20 ^ ip >> 44 ^ (uint64_t)cpu << 56) * 0x9e3779b97f4a7c15ull;

	return h ^ h >> 29;
}

static struct lab_count *count_of(uint64_t addr, uint64_t ip, uint32_t cpu)
{
	uint64_t at = hash(addr, ip, cpu);
	unsigned int i;

	for (i = 0; i < PROBES; i++, at++) {
		struct lab_count *count = &table->counts[at & (table->places - 1)];

		if (count->addr == addr && count->ip == ip && count->cpu == cpu)
			return count;
		if (count->addr)
			continue;
		count->addr = addr;
		count->ip = ip;
		count->cpu = cpu;
		table->used++;
		return count;
	}
	return NULL;
}

static void add(struct lab_count *count, bool store, uint32_t size)
{
	uint32_t *times = store ? &count->writes : &count->reads;
	uint64_t *bytes = store ? &count->bytes_written : &count->bytes_read;

	if (*times && *bytes != (uint64_t)*times * size)
		count->lengths_vary = 1;
	++*times;
	*bytes += size;
}

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t addr, void *data)
{
	struct instruction *insn = data;
	bool store = qemu_plugin_mem_is_store(info);
	uint32_t size = 1u << qemu_plugin_mem_size_shift(info);
	struct run *run = &insn->runs[store];
	struct lab_count *count;

	if (!table->counting)
		return;
	if (addr < table->first || addr >= table->end) {
		table->elsewhere++;
		return;
	}
	/* What a string instruction does to a page is one access. */
	if (insn->repeats && run->count && addr == run->next && addr % PAGE &&
	    run->count->cpu == cpu) {
		*(store ? &run->count->bytes_written : &run->count->bytes_read) += size;
		run->next += size;
		return;
	}
	count = count_of(addr, insn->addr, cpu);
	run->count = count;
	run->next = addr + size;
	if (!count)
		table->lost++;
	else
		add(count, store, size);
}

/* A string instruction with a prefix that repeats it: movs, stos, cmps, scas, lods. */
static bool repeats(const struct qemu_plugin_insn *insn)
{
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
	size_t len = qemu_plugin_insn_size(insn), i = 1;

	if (bytes[0] != 0xf3 && bytes[0] != 0xf2)
		return false;
	if (i < len && (bytes[i] & 0xf0) == 0x40)
		i++;
	return i + 1 == len && bytes[i] >= 0xa4 && bytes[i] <= 0xaf && bytes[i] != 0xa8 &&
	       bytes[i] != 0xa9;
}

static struct instruction *instruction_of(const struct qemu_plugin_insn *insn, uint64_t addr)
{
	struct instruction **bucket = &buckets[addr % BUCKETS], *found;

	for (found = *bucket; found && found->addr != addr; found = found->link)
		;
	if (found)
		return found;
	found = calloc(1, sizeof(*found));
	if (!found)
		abort();
	found->addr = addr;
	found->repeats = repeats(insn);
	found->link = *bucket;
	*bucket = found;
	return found;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i;

	(void)id;
	for (i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(insn);

		if (addr >= KERNEL_START)
			qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW,
							 instruction_of(insn, addr));
	}
}

/* === Public =============================================================================== */

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

/* The argument is fd=N: the file that is the table. */
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	struct stat st;
	int fd;

	(void)info;
	if (argc != 1 || sscanf(argv[0], "fd=%d", &fd) != 1 || fstat(fd, &st))
		return -1;
	table = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (table == MAP_FAILED || table->magic != LAB_COUNTS_MAGIC)
		return -1;
	table->ready = 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
