// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin for QEMU that counts the loads and stores of each instruction of the kernel,
 * independently of the memorizer. It counts from the execution of the instruction at one address to
 * that of the instruction at another address. At the end it writes the counts to a file:
 *   address loads stores
 *
 * Debian has no package with QEMU's header, so the part of version 1 of its interface that is used
 * is declared here.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t id, void *),
				    void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, qemu_plugin_meminfo_t info,
						 uint64_t addr, void *data),
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *data),
					    enum qemu_plugin_cb_flags flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_version = 1;

/* === Data ================================================================================= */

/* The kernel's image. Modules and user space are not counted. */
#define TEXT_START 0xffffffff80000000ULL

#define BUCKETS	   65536

struct counts {
	struct counts *next;
	uint64_t addr, loads, stores;
};

static struct counts *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for adding */
static const char *output;
static uint64_t begin, end;
static bool counting;

/* === Internals ============================================================================ */

static struct counts *counts_of(uint64_t addr)
{
	struct counts **bucket = &buckets[addr % BUCKETS], *counts;

	pthread_mutex_lock(&lock);
	for (counts = *bucket; counts && counts->addr != addr; counts = counts->next)
		;
	if (!counts) {
		counts = calloc(1, sizeof(*counts));
		if (!counts)
			abort();
		counts->addr = addr;
		counts->next = *bucket;
		*bucket = counts;
	}
	pthread_mutex_unlock(&lock);
	return counts;
}

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t addr, void *data)
{
	struct counts *counts = data;

	(void)cpu;
	(void)addr;
	if (!counting)
		return;
	__atomic_add_fetch(qemu_plugin_mem_is_store(info) ? &counts->stores : &counts->loads, 1,
			   __ATOMIC_RELAXED);
}

/*
 * A call stores its return address. The compiler does not instrument that store, so it is not
 * counted.
 */
static bool is_call(const struct qemu_plugin_insn *insn)
{
	const uint8_t *bytes = qemu_plugin_insn_data(insn);

	return bytes[0] == 0xe8 || (bytes[0] == 0xff && (bytes[1] >> 3 & 7) == 2);
}

static void on_mark(unsigned int cpu, void *is_begin)
{
	(void)cpu;
	counting = is_begin;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i;

	(void)id;
	for (i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(insn);

		if (addr == begin || addr == end)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
							       QEMU_PLUGIN_CB_NO_REGS,
							       addr == begin ? &counting : NULL);
		if (addr >= TEXT_START && !is_call(insn))
			qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW, counts_of(addr));
	}
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *unused)
{
	FILE *f = fopen(output, "w");
	unsigned int i;

	(void)id;
	(void)unused;
	for (i = 0; f && i < BUCKETS; i++) {
		struct counts *counts;

		for (counts = buckets[i]; counts; counts = counts->next)
			fprintf(f, "%016" PRIx64 " %" PRIu64 " %" PRIu64 "\n", counts->addr,
				counts->loads, counts->stores);
	}
	if (!f || fclose(f))
		perror(output);
}

/* === Public =============================================================================== */

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

/* The arguments are out=PATH, begin=ADDRESS and end=ADDRESS, in this order. */
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 3 || strncmp(argv[0], "out=", 4) ||
	    sscanf(argv[1], "begin=%" SCNx64, &begin) != 1 ||
	    sscanf(argv[2], "end=%" SCNx64, &end) != 1)
		return -1;
	output = strdup(argv[0] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
