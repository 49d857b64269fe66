// SPDX-License-Identifier: GPL-2.0-only
/* What it takes to read a dump: its note, its table of symbols, and pieces that must be put in their places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "heap/flattened.h"
#include "heap/kallsyms.h"
#include "heap/memory.h"
#include "heap/symbols.h"
#include "heap/vmcoreinfo.h"

/* === Data ================================================================================= */

#define TABLES 0xffffffff82000000ull
#define TEXT   0xffffffff81000000ull

struct tables {
	struct kallsyms symbols;
	void *image;
	size_t image_len;
	struct ks_memory *memory;
	struct ks_strbuf text;
	char info[512];
};

/* === Internals: symbols =================================================================== */

static void add_symbol(struct tables *t, const char *name, s32 offset)
{
	kallsyms_add(&t->symbols, name, offset);
}

static void add64(struct tables *t, u64 word)
{
	memcpy((u8 *)t->image + t->image_len, &word, 8);
	t->image_len += 8;
}

static int read_symbols(struct tables *t, struct ks_diag *diag)
{
	char note[400];
	int i;

	kallsyms_finish(&t->symbols, TEXT);
	t->image = calloc(1, KALLSYMS_SIZE + 256);
	memcpy(t->image, "KSIMAGE1", 8);
	t->image_len = 8;
	add64(t, 1ull << 32); /* no CPU, one segment */
	for (i = 0; i < 5; i++)
		add64(t, 0);
	add64(t, 1); /* RAM: one page */
	add64(t, TABLES);
	add64(t, KALLSYMS_SIZE);
	memcpy((u8 *)t->image + t->image_len, t->symbols.data, KALLSYMS_SIZE);
	assert_int_equal(
		ks_memory_open_image(t->image, t->image_len + KALLSYMS_SIZE, &t->memory, diag), 0);
	kallsyms_note(note, sizeof(note), TABLES);
	snprintf(t->info, sizeof(t->info), "OSRELEASE=6.0\n%s", note);
	return ks_symbols_of_kernel(t->memory, t->info, &t->text, diag);
}

static struct tables *new_tables(void)
{
	struct tables *t = calloc(1, sizeof(*t));

	kallsyms_add_tokens(&t->symbols);
	ks_strbuf_init(&t->text);
	return t;
}

static void free_tables(struct tables *t)
{
	ks_memory_free(t->memory);
	ks_strbuf_deinit(&t->text);
	free(t->image);
	free(t);
}

/* === Tests ================================================================================ */

static void test_note(void **state)
{
	static const char note[] = "OSRELEASE=6.12\nSYMBOL(_stext)=ffffffff81000000\n"
				   "NUMBER(phys_base)=-4096\nNUMBER(KERNEL_IMAGE_SIZE)=1024\n"
				   "SYMBOL(broken)=12zz\nNUMBER(VMALLOC_START)=0xff64\n"
				   "SYMBOL(last)=10";
	u64 value = 1;

	assert_true(ks_vmcoreinfo_get(note, "SYMBOL", "_stext", &value));
	assert_true(value == 0xffffffff81000000ull);
	assert_true(ks_vmcoreinfo_get(note, "NUMBER", "phys_base", &value));
	assert_true(value == (u64)-4096);
	assert_true(ks_vmcoreinfo_get(note, "NUMBER", "VMALLOC_START", &value));
	assert_true(value == 0xff64);
	assert_true(ks_vmcoreinfo_get(note, "SYMBOL", "last", &value));
	assert_true(value == 0x10);
	assert_false(ks_vmcoreinfo_get(note, "SYMBOL", "broken", &value));
	assert_false(ks_vmcoreinfo_get(note, "SYMBOL", "phys_base", &value));
	assert_false(ks_vmcoreinfo_get(note, "SYMBOL", "stext", &value));
	assert_false(ks_vmcoreinfo_get("", "SYMBOL", "_stext", &value));
	assert_true(value == 0x10);
}

/* Negative, but for per-CPU symbols. */
static void test_symbols_old(void **state)
{
	struct tables *t = new_tables();
	struct ks_diag diag;

	add_symbol(t, "Ttext", -1);
	add_symbol(t,
		   "T\x01\x02"
		   "alloc",
		   -1 - 0x40);
	add_symbol(t, "Apcpu", 0x18000);
	assert_int_equal(read_symbols(t, &diag), 0);
	assert_string_equal(t->text.s, "ffffffff81000000 T text\n"
				       "ffffffff81000040 T kmem_cache_alloc\n"
				       "0000000000018000 A pcpu\n");
	free_tables(t);
}

static void test_symbols_new(void **state)
{
	struct tables *t = new_tables();
	struct ks_diag diag;
	char name[201];

	memset(name, 'x', 200);
	name[0] = 't';
	name[200] = '\0';
	add_symbol(t, "T_stext", 0);
	add_symbol(t, name, 0x123456);
	add_symbol(t,
		   "Dslab\x02"
		   "s",
		   0x7fffffff);
	assert_int_equal(read_symbols(t, &diag), 0);
	assert_memory_equal(t->text.s, "ffffffff81000000 T _stext\nffffffff81123456 t xxx", 47);
	/* Wild offsets wrap around. */
	assert_non_null(strstr(t->text.s, "\n0000000000ffffff D slabcache_s\n"));
	free_tables(t);
}

/* There is no base: each offset is the distance from where it is itself. */
static void test_symbols_newest(void **state)
{
	struct tables *t = new_tables();
	struct ks_diag diag;

	add_symbol(t, "T_stext", (s32)(TEXT - (TABLES + KALLSYMS_OFFSETS)));
	add_symbol(t, "Dafter", 0x1000);
	assert_int_equal(read_symbols(t, &diag), 0);
	t->text.len = 0;
	*strstr(t->info, "kallsyms_relative_base") = 'K';
	strcat(t->info, "SYMBOL(_stext)=ffffffff81000000\n");
	assert_int_equal(ks_symbols_of_kernel(t->memory, t->info, &t->text, &diag), 0);
	assert_string_equal(t->text.s, "ffffffff81000000 T _stext\n"
				       "ffffffff82001214 D after\n");
	/* A form that it does not understand. */
	memcpy(strstr(t->info, "_stext)=") + 8, "ffffffff81000040", 16);
	assert_int_equal(ks_symbols_of_kernel(t->memory, t->info, &t->text, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "form that is not known"));
	free_tables(t);
}

static void test_symbols_broken(void **state)
{
	struct tables *t = new_tables();
	struct ks_diag diag;

	/* More symbols than there are names for: the next name is of no length. */
	add_symbol(t, "Ttext", 0);
	t->symbols.count = 100;
	assert_int_equal(read_symbols(t, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "symbol 1 of 100"));
	free_tables(t);

	t = new_tables();
	add_symbol(t, "Ttext", 0);
	t->symbols.count = UINT32_MAX;
	assert_int_equal(read_symbols(t, &diag), KS_EBADINPUT);
	/* What older kernels don't say. */
	*strstr(t->info, "kallsyms_names") = 'K';
	assert_int_equal(ks_symbols_of_kernel(t->memory, t->info, &t->text, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "kallsyms_names"));
	free_tables(t);
}

static int make_flattened(const char *bytes, size_t len)
{
	int fd = memfd_create("flattened", 0);
	char head[4096] = "makedumpfile";

	assert_int_equal(ks_write_all(fd, head, sizeof(head)), 0);
	assert_int_equal(ks_write_all(fd, bytes, len), 0);
	return fd;
}

static size_t add_piece(char *bytes, size_t at, u64 place, u64 len, const char *data)
{
	u64 head[2] = { htobe64(place), htobe64(len) };

	memcpy(bytes + at, head, 16);
	memcpy(bytes + at + 16, data, strlen(data));
	return at + 16 + strlen(data);
}

static void test_flattened(void **state)
{
	char bytes[256], got[16] = "";
	struct ks_diag diag;
	size_t len = 0;
	int fd, plain;

	len = add_piece(bytes, len, 6, 4, "last");
	len = add_piece(bytes, len, 0, 6, "first ");
	len = add_piece(bytes, len, 0, 1, "F");
	len = add_piece(bytes, len, UINT64_MAX, UINT64_MAX, "");
	fd = make_flattened(bytes, len);
	assert_true(ks_is_flattened(fd));
	assert_int_equal(ks_unflatten(fd, "dump", &plain, &diag), 0);
	assert_int_equal(ks_pread_full(plain, got, sizeof(got), 0), 10);
	assert_string_equal(got, "First last");
	assert_false(ks_is_flattened(plain));
	close(plain);
	close(fd);
}

static void check_broken(const char *bytes, size_t len, const char *message)
{
	int fd = make_flattened(bytes, len), plain = -1;
	struct ks_diag diag;

	assert_int_equal(ks_unflatten(fd, "dump", &plain, &diag), KS_EBADINPUT);
	assert_int_equal(plain, -1);
	assert_non_null(strstr(diag.text, message));
	close(fd);
}

static void test_flattened_broken(void **state)
{
	char bytes[64] = "";

	check_broken(bytes, 0, "before its last piece");
	check_broken(bytes, add_piece(bytes, 0, 0, 6, "first "), "before its last piece");
	check_broken(bytes, add_piece(bytes, 0, 0, 7, "first "), "inside of a piece");
	check_broken(bytes, add_piece(bytes, 0, 1ull << 60, 6, "first "), "no plausible place");
	check_broken(bytes, add_piece(bytes, 0, 0, 1ull << 60, "first "), "no plausible place");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_note),
		cmocka_unit_test(test_symbols_old),
		cmocka_unit_test(test_symbols_new),
		cmocka_unit_test(test_symbols_newest),
		cmocka_unit_test(test_symbols_broken),
		cmocka_unit_test(test_flattened),
		cmocka_unit_test(test_flattened_broken),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
