// SPDX-License-Identifier: GPL-2.0-only
/* Dumps of a machine that was made by hand: what a reader must find in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/io.h"
#include "heap/machine.h"
#include "heap/symbols.h"

/* === Internals: the file ================================================================== */

static void write_elf(const struct machine *d, int fd)
{
	u32 len = (u32)strlen(d->note), whole = 12 + 12 + (len + 3) / 4 * 4;
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr parts[3];
		Elf64_Nhdr note;
		char name[12];
		char text[1024];
	} file = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_CORE,
			  .e_machine = d->machine,
			  .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phoff = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 3 },
		.parts = { { .p_type = PT_NOTE,
			     .p_offset = offsetof(typeof(file), note),
			     .p_filesz = d->no_note ? 0 : whole,
			     .p_memsz = d->no_note ? 0 : whole },
			   { .p_type = PT_LOAD, .p_offset = 4096, .p_filesz = LOW, .p_memsz = LOW },
			   { .p_type = PT_LOAD,
			     .p_offset = 4096 + LOW,
			     .p_paddr = HIGH_AT,
			     .p_filesz = HIGH,
			     .p_memsz = HIGH } },
		.note = { .n_namesz = 11, .n_descsz = len },
		.name = "VMCOREINFO",
	};

	if (!d->no_note)
		memcpy(file.text, d->note, sizeof(d->note));
	assert_int_equal(ks_write_all(fd, &file, sizeof(file)), 0);
	assert_int_equal(lseek(fd, 4096, SEEK_SET), 4096);
	assert_int_equal(ks_write_all(fd, d->low, LOW), 0);
	assert_int_equal(ks_write_all(fd, d->high, HIGH), 0);
}

static int open_dump(struct machine *d, struct ks_diag *diag)
{
	int fd = memfd_create("dump", 0), err;

	write_elf(d, fd);
	snprintf(d->path, sizeof(d->path), "/proc/self/fd/%d", fd);
	err = ks_memory_open_vmcore(d->path, &d->memory, diag);
	close(fd);
	return err;
}

static struct machine *make_dump(int levels)
{
	struct machine *d = new_machine(levels);
	struct ks_diag diag = { 0 };

	fill(d);
	if (open_dump(d, &diag))
		fail_msg("%s", diag.text);
	return d;
}

static void check_refused(struct machine *d, const char *message)
{
	struct ks_diag diag = { 0 };

	assert_int_equal(open_dump(d, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, message));
	assert_null(d->memory);
	free_machine(d);
}

/* === Tests: reading ======================================================================= */

/* Pages one behind the other whose memory lies in another order. */
static void check_pages(const struct machine *d, struct ks_memory *m)
{
	u8 *got = malloc((size_t)d->types_len);
	u64 at;

	assert_int_equal(ks_memory_get(m, TYPES_MAP, got, (u32)d->types_len), 0);
	for (at = 0; at < d->types_len; at++)
		assert_int_equal(got[at], d->low[TYPES + (15 - at / 4096) * 4096 + at % 4096]);
	/* By small steps, across each border. */
	for (at = 4096 - 100; at + 8 < d->types_len; at += 4096) {
		u8 word[200];

		assert_int_equal(ks_memory_get(m, TYPES_MAP + at, word,
					       (u32)ks_min(sizeof(word), d->types_len - at)),
				 0);
		assert_memory_equal(word, got + at,
				    (size_t)ks_min(sizeof(word), d->types_len - at));
	}
	free(got);
}

static void test_reading(void **state)
{
	struct machine *d = make_dump(4);
	struct ks_memory *copy;
	struct ks_diag diag;

	assert_string_equal(d->memory->ops->name, "vmcore");
	assert_false(d->memory->ops->live);
	assert_true(d->memory->facts.page_table == IMAGE_MAP + ROOT - MOVED);
	check_reading(d, d->memory);
	check_pages(d, d->memory);
	assert_int_equal(ks_memory_dup(d->memory, &copy, &diag), 0);
	assert_int_equal(copy->bytes, 0);
	assert_int_equal(copy->failed, 0);
	assert_string_equal(copy->facts.symbols, d->memory->facts.symbols);
	check_reading(d, copy);
	ks_memory_free(copy);
	check_reading(d, d->memory);
	free_machine(d);
}

static void test_five_levels(void **state)
{
	struct machine *d = make_dump(5);

	check_reading(d, d->memory);
	check_pages(d, d->memory);
	free_machine(d);
}

/* A bit of each entry says that the page is encrypted. */
static void test_encrypted(void **state)
{
	struct machine *d = new_machine(4);
	struct ks_diag diag = { 0 };

	d->encrypted = 1ull << 47;
	fill(d);
	assert_int_equal(open_dump(d, &diag), 0);
	check_reading(d, d->memory);
	free_machine(d);
}

/* Without a note the page is searched that it begins. */
static void test_searched_note(void **state)
{
	struct machine *d = new_machine(4);
	struct ks_diag diag = { 0 };

	fill(d);
	d->no_note = true;
	memcpy(d->low + NOTE, d->note, sizeof(d->note));
	assert_int_equal(open_dump(d, &diag), 0);
	check_reading(d, d->memory);
	free_machine(d);

	d = new_machine(4);
	fill(d);
	d->no_note = true;
	memcpy(d->low + NOTE + 8, d->note, sizeof(d->note)); /* in the middle of a page */
	check_refused(d, "no vmcoreinfo");
}

/* === Tests: the kernel ==================================================================== */

static void test_symbols(void **state)
{
	struct ks_wanted_symbol wanted[] = { { "_stext", 0 },
					     { "iomem_resource", 0 },
					     { "stext", 0 } };
	struct machine *d = make_dump(4);

	ks_symbols_find(d->memory->facts.symbols, wanted, 3);
	assert_true(wanted[0].addr == TEXT);
	assert_true(wanted[1].addr == TEXT + RESOURCES_AT);
	assert_true(wanted[2].addr == 0);
	free_machine(d);
}

static void test_types_and_ram(void **state)
{
	static const struct ks_ram expected[] = { { 0x1, 0x9f },
						  { 0x101, 0x600 },
						  { HIGH_AT >> 12, (HIGH_AT + HIGH) >> 12 } };
	struct machine *d = make_dump(4);
	struct ks_memory *m = d->memory;
	char text[512] = "";
	struct ks_diag diag;
	struct btf *btf;
	FILE *file;
	size_t len;
	u32 i;

	assert_int_equal(m->ops->types(m, &btf, &diag), 0);
	assert_true(btf__find_by_name_kind(btf, "resource", BTF_KIND_STRUCT) > 0);
	assert_true(btf__find_by_name_kind(btf, "some_name_that_takes_room_199", BTF_KIND_FWD) > 0);
	assert_int_equal(m->ops->locate(m, btf, &diag), 0);
	assert_int_equal(m->facts.ram.len, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(m->facts.ram.items[i].first, expected[i].first);
		assert_int_equal(m->facts.ram.items[i].end, expected[i].end);
	}
	file = fopen(m->facts.symbols, "re");
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	snprintf(text + len, sizeof(text) - len, "|");
	assert_non_null(strstr(text, " R __stop_BTF\nffffffffc0001000 t one\t[toy]\n"
				     "ffffffffc0002000 d two\t[toy]\n|"));
	btf__free(btf);
	free_machine(d);
}

static void test_without_types(void **state)
{
	struct machine *d = new_machine(4), *other = make_dump(4);
	struct ks_diag diag = { 0 };
	struct btf *btf;

	d->no_types = d->no_ram = true;
	fill(d);
	assert_int_equal(open_dump(d, &diag), 0);
	assert_int_equal(d->memory->ops->types(d->memory, &btf, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "--btf FILE"));
	assert_int_equal(other->memory->ops->types(other->memory, &btf, &diag), 0);
	assert_int_equal(d->memory->ops->locate(d->memory, btf, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "iomem_resource"));
	btf__free(btf);
	free_machine(d);
	free_machine(other);

	/* The symbols are there, and what they point to is not. */
	d = make_dump(4);
	map(d, TYPES_MAP + 4096, 0, 0);
	put64(d, TYPES + 15 * 4096, 0); /* the head of the types */
	ks_memory_free(d->memory);
	assert_int_equal(open_dump(d, &diag), 0);
	assert_int_equal(d->memory->ops->types(d->memory, &btf, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "can't be read"));
	free_machine(d);
}

/* === Tests: what is no dump =============================================================== */

static void test_refused(void **state)
{
	struct machine *d = new_machine(4);

	d->machine = EM_AARCH64;
	fill(d);
	check_refused(d, "another architecture");

	d = new_machine(4);
	fill(d);
	*strstr(d->note, "swapper_pg_dir") = 'S';
	check_refused(d, "lacks swapper_pg_dir");

	d = new_machine(4);
	fill(d);
	map(d, TEXT, IMAGE + (2 << 20), 1); /* to another place than the note says */
	check_refused(d, "do not map its own code");

	d = new_machine(4);
	fill(d);
	memset(d->low + ROOT, 0, 4096);
	check_refused(d, "do not map its own code");

	d = new_machine(4);
	fill(d);
	*strstr(d->note, "kallsyms_names") = 'K';
	check_refused(d, "kallsyms_names");
}

static void test_no_file(void **state)
{
	struct ks_memory *memory = NULL;
	struct ks_diag diag;

	assert_int_equal(ks_memory_open_vmcore("/nonexistent/vmcore", &memory, &diag), -ENOENT);
	assert_int_equal(ks_memory_open_vmcore("/proc/self/exe", &memory, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "no dump of a kernel"));
	assert_null(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading),	      cmocka_unit_test(test_five_levels),
		cmocka_unit_test(test_encrypted),     cmocka_unit_test(test_searched_note),
		cmocka_unit_test(test_symbols),	      cmocka_unit_test(test_types_and_ram),
		cmocka_unit_test(test_without_types), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
