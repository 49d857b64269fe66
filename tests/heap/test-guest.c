// SPDX-License-Identifier: GPL-2.0-only
/*
 * A machine that was made by hand as the guest of a process that has its memory as QEMU has it: what a reader must find,
 * wherever that memory begins and whatever hole is in it. By fake-qemu, whose path is the argument.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/io.h"
#include "heap/guests.h"
#include "heap/machine.h"

/* === Data ================================================================================= */

#define GIB 0x40000000ull

static const char *fake_qemu;

struct guest {
	pid_t pid;
	int hold; /* it ends when this is closed */
};

/* === Internals ============================================================================ */

/* With the second stretch at the end of its memory; the hole is from @hole to 4 GiB, or 0. */
static struct machine *make_machine(u64 size, u64 hole)
{
	struct machine *d = new_machine(4);

	d->high_at = hole ? 4 * GIB + size - hole - HIGH : size - HIGH;
	/* Mapped by one page of 1 GiB from where such a page begins. */
	assert_int_equal(d->high_at % GIB, 0);
	fill(d);
	/* As a kernel has it: what it allocates is as high as can be. */
	move_table(d, TYPES_MAP);
	memcpy(d->low + NOTE, d->note, sizeof(d->note));
	return d;
}

static int memory_file(const struct machine *d, u64 size)
{
	int fd = memfd_create("guest", 0);

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(ks_pwrite_all(fd, d->low, LOW, 0), 0);
	assert_int_equal(ks_pwrite_all(fd, d->high, HIGH, size - HIGH), 0);
	return fd;
}

static struct guest start(int fd, u64 size, u64 below)
{
	char text[3][32], byte;
	struct guest g;
	int in[2], out[2];

	snprintf(text[0], sizeof(text[0]), "%d", fd);
	snprintf(text[1], sizeof(text[1]), "%llu", (unsigned long long)size);
	snprintf(text[2], sizeof(text[2]), "%llu", (unsigned long long)below);
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	g.pid = fork();
	assert_true(g.pid >= 0);
	if (!g.pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		execl(fake_qemu, fake_qemu, text[0], text[1], text[2], NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	close(fd);
	assert_int_equal(read(out[0], &byte, 1), 1);
	close(out[0]);
	g.hold = in[1];
	return g;
}

static void end(struct guest g)
{
	int status;

	close(g.hold);
	assert_int_equal(waitpid(g.pid, &status, 0), g.pid);
	assert_int_equal(status, 0);
}

/* Up to where a command goes on to read the heap. */
static int open_guest(struct guest g, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct ks_memory *m = NULL;
	struct btf *btf = NULL;
	int err = ks_memory_open_guest(g.pid, &m, diag);

	if (!err)
		err = m->ops->types(m, &btf, diag);
	if (!err)
		err = m->ops->locate(m, btf, diag);
	btf__free(btf);
	if (err) {
		ks_memory_free(m);
		return err;
	}
	*ret_memory = m;
	return 0;
}

static void check_guest(u64 size, u64 hole, u64 below)
{
	struct machine *d = make_machine(size, hole);
	struct guest g = start(memory_file(d, size), size, below);
	struct ks_memory *m, *copy;
	struct ks_diag diag = { 0 };

	if (open_guest(g, &m, &diag))
		fail_msg("%s", diag.text);
	assert_string_equal(m->ops->name, "qemu");
	assert_int_equal(m->facts.ram.len, 3);
	assert_true(m->facts.ram.items[2].first == d->high_at >> 12);
	check_reading(d, m);
	assert_int_equal(ks_memory_dup(m, &copy, &diag), 0);
	check_reading(d, copy);
	ks_memory_free(copy);
	ks_memory_free(m);
	end(g);
	free_machine(d);
}

/* === Tests ================================================================================ */

static void test_alone(void **state)
{
	check_guest(GIB + HIGH, 0, 0);
}

static void test_found(void **state)
{
	struct machine *d = make_machine(GIB + HIGH, 0);
	struct guest g = start(memory_file(d, GIB + HIGH), GIB + HIGH, 0);
	ks_pids pids = { 0 };
	size_t i, found = 0;

	assert_int_equal(ks_find_guests(&pids), 0);
	for (i = 0; i < pids.len; i++) {
		found += pids.items[i] == g.pid;
		assert_true(pids.items[i] != getpid());
	}
	assert_int_equal(found, 1);
	ks_vec_free(&pids);
	end(g);
	free_machine(d);
}

/* The stack of a thread, of any length, ends where the guest's memory begins. */
static void test_neighbour(void **state)
{
	check_guest(GIB + HIGH, 0, 8 << 20);
	check_guest(GIB + HIGH, 0, 4096);
	check_guest(GIB + HIGH, 0, (11 << 20) + 0x19000);
}

static void test_hole(void **state)
{
	check_guest(2 * GIB + HIGH, 2 * GIB, 0); /* of machine q35 */
	check_guest(4 * GIB + HIGH, 3 * GIB, 0); /* of machine pc */
	check_guest(4 * GIB + HIGH, 3 * GIB, 8 << 20);
	check_guest(3 * GIB + HIGH, 0, 0); /* just no hole yet */
}

/* What a kernel has left that ran before: a note that leads nowhere. */
static void test_old_note(void **state)
{
	struct machine *d = make_machine(GIB + HIGH, 0);
	struct ks_diag diag = { 0 };
	struct ks_memory *m;
	struct guest g;
	char *base;

	memcpy(d->low + NOTE - 4096, d->note, sizeof(d->note));
	base = strstr((char *)d->low + NOTE - 4096, "NUMBER(phys_base)=-1");
	assert_non_null(base);
	base[19] = '3';
	g = start(memory_file(d, GIB + HIGH), GIB + HIGH, 8 << 20);
	if (open_guest(g, &m, &diag))
		fail_msg("%s", diag.text);
	check_reading(d, m);
	ks_memory_free(m);
	end(g);
	free_machine(d);
}

static void check_refused(struct machine *d, u64 size, const char *message)
{
	struct guest g = start(memory_file(d, size), size, 0);
	struct ks_memory *m = NULL;
	struct ks_diag diag = { 0 };

	assert_int_equal(open_guest(g, &m, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, message));
	assert_null(m);
	end(g);
	free_machine(d);
}

static void test_refused(void **state)
{
	struct machine *d = make_machine(GIB + HIGH, 0);

	/* Half of its memory is elsewhere. */
	check_refused(d, GIB / 2, "in several parts");
	d = make_machine(4 * GIB + HIGH, 3 * GIB);
	check_refused(d, 4 * GIB + 2 * HIGH, "a hole that is not known here");
	d = make_machine(GIB + HIGH, 0);
	memset(d->low + ROOT, 0, 4096);
	check_refused(d, 16 << 20, "do not map its own code");
	d = make_machine(GIB + HIGH, 0);
	d->low[NOTE] = 'o';
	check_refused(d, 16 << 20, "no vmcoreinfo");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),	  cmocka_unit_test(test_found),
		cmocka_unit_test(test_neighbour), cmocka_unit_test(test_hole),
		cmocka_unit_test(test_old_note),  cmocka_unit_test(test_refused),
	};

	if (argc != 2)
		return 2;
	fake_qemu = argv[1];
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
