// SPDX-License-Identifier: GPL-2.0-only
/* Symbols and their places, on a tiny kernel made by the real compiler, linker and archiver. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sym/symtab.h"
#include "sym/sym.h"
#include "sym/tree.h"

/* === Data ================================================================================= */

static char dir[] = "/tmp/kmemscope-test-sym-XXXXXX";
static char path_buf[4096];

/* === Internals ============================================================================ */

static const char *in_dir(const char *name)
{
	snprintf(path_buf, sizeof(path_buf), "%s/%s", dir, name);
	return path_buf;
}

static const char *write_file(const char *name, const char *text)
{
	const char *path = in_dir(name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	return path;
}

static int setup(void **state)
{
	char command[8192];

	if (!mkdtemp(dir))
		return -1;
	snprintf(command, sizeof(command), "'%s' '%s' >&2", getenv("MAKE_TREE"), dir);
	return system(command);
}

static int teardown(void **state)
{
	char command[8192];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static struct ks_resolver *open_resolver(const char *name)
{
	struct ks_resolver *r = NULL;
	struct ks_diag diag = { 0 };

	if (ks_resolver_new(name ? in_dir(name) : NULL, &r, &diag))
		fail_msg("%s", diag.text);
	return r;
}

static struct ks_sym_place look_up(struct ks_resolver *r, const char *func, const char *module,
				   u64 extent, u64 addr)
{
	struct ks_sym_query q = { .func = func, .module = module, .extent = extent, .addr = addr };
	struct ks_sym_place place = { 0 };
	struct ks_diag diag = { 0 };

	if (ks_resolver_lookup(r, &q, &place, &diag))
		fail_msg("%s", diag.text);
	return place;
}

static void assert_path(struct ks_sym_place place, const char *path)
{
	if (!place.path)
		fail_msg("%s is unresolved (status %d), should be in %s", place.func, place.status,
			 path);
	assert_string_equal(place.path, path);
	assert_int_equal(place.status, KS_PLACE_FOUND);
}

/* Reads the oracle: the address and the file of each "helper". */
static int read_oracle(u64 *addrs, char paths[][64], int max)
{
	FILE *file = fopen(in_dir("oracle"), "r");
	unsigned long long addr;
	int n = 0;

	assert_non_null(file);
	while (n < max && fscanf(file, "%llx %63s", &addr, paths[n]) == 2)
		addrs[n++] = addr;
	fclose(file);
	return n;
}

static void check_tree(const char *tree)
{
	struct ks_resolver *r = open_resolver(tree);
	struct ks_sym_place place;
	u64 addrs[8];
	char paths[8][64];
	int i, n = read_oracle(addrs, paths, 8);

	assert_int_equal(n, 4);
	/* The same name in four files: the address decides, with and without the name. */
	for (i = 0; i < n; i++) {
		assert_path(look_up(r, "helper", "", 0, addrs[i] + 3), paths[i]);
		place = look_up(r, "", "", 0, addrs[i] + 3);
		assert_path(place, paths[i]);
		assert_string_equal(place.func, "helper");
		assert_int_equal(place.offset, 3);
	}
	place = look_up(r, "helper", "", 0, 0);
	assert_null(place.path);
	assert_int_equal(place.status, KS_PLACE_NAMESAKES);

	/* One name is a prefix of the other. */
	assert_path(look_up(r, "slub_alloc", "", 0, 0), "mm/slub.c");
	assert_path(look_up(r, "slub_alloc_more", "", 0, 0), "mm/slub.c");
	assert_int_equal(look_up(r, "slub_al", "", 0, 0).status, KS_PLACE_NOT_FOUND);
	/* The strong one replaces the weak one; assembly; a clone of a function. */
	assert_path(look_up(r, "arch_hook", "", 0, 0), "drivers/base/core.c");
	assert_path(look_up(r, "memchew", "", 0, 0), "arch/x86/lib/chew.S");
	place = look_up(r, "base_alloc.constprop.0.cold", "", 0, 0);
	assert_path(place, "drivers/base/core.c");
	assert_string_equal(place.owner, "base_alloc");
	assert_string_equal(place.func, "base_alloc.constprop.0.cold");
	/* Not linked, so not in the kernel. */
	assert_int_equal(look_up(r, "never_called", "", 0, 0).status, KS_PLACE_NOT_FOUND);

	/* In a module, whose name has "_" for the "-" of its file. */
	assert_path(look_up(r, "veth_one", "veth_pair", 0, 0), "drivers/net/veth-one.c");
	assert_path(look_up(r, "veth_two", "veth_pair", 0, 0), "drivers/net/veth-two.c");
	assert_int_equal(look_up(r, "veth_one", "", 0, 0).status, KS_PLACE_NOT_FOUND);
	assert_int_equal(look_up(r, "slub_alloc", "veth_pair", 0, 0).status, KS_PLACE_NOT_FOUND);
	assert_int_equal(look_up(r, "anything", "absent", 0, 0).status, KS_PLACE_NOT_FOUND);
	assert_string_equal(ks_resolver_release(r), "6.0.0-tiny");
	ks_resolver_free(r);
}

/* === Tests ================================================================================ */

static void test_base_len(void **state)
{
	static const struct {
		const char *name, *base;
	} cases[] = {
		{ "kmalloc", "kmalloc" },     { "foo.cold", "foo" },
		{ "foo.constprop.0", "foo" }, { "foo.isra.0.part.12.cold", "foo" },
		{ "foo.lto_priv.3", "foo" },  { "foo.llvm.123456", "foo" },
		{ "foo.bar", "foo.bar" },     { "foo.7", "foo.7" },
		{ ".cold", ".cold" },	      { "", "" },
		{ "foo.", "foo." },	      { "foo.colder", "foo.colder" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (ks_symbol_base_len(cases[i].name) != strlen(cases[i].base))
			fail_msg("%s: length %zu", cases[i].name,
				 ks_symbol_base_len(cases[i].name));
}

static void test_with_dwarf(void **state)
{
	check_tree("src");
}

static void test_without_dwarf(void **state)
{
	check_tree("out/");
}

/*
 * The size that the kernel prints distinguishes functions of the same name if there is no address.
 */
static void test_extent(void **state)
{
	struct ks_resolver *r = open_resolver("out");
	u64 addrs[8];
	char paths[8][64];
	int i, n = read_oracle(addrs, paths, 8);
	/* From nm -n: to the next symbol. */
	static const u64 sizes[] = { 0x31, 0x59, 0x87, 0xa9 };

	for (i = 0; i < n; i++)
		assert_path(look_up(r, "helper", "", sizes[i], 0), paths[i]);
	assert_int_equal(look_up(r, "helper", "", 0x1000, 0).status, KS_PLACE_NAMESAKES);
	assert_path(look_up(r, "helper", "veth_pair", 0x21, 0), "drivers/net/veth-one.c");
	ks_resolver_free(r);
}

static void test_vmlinux_alone(void **state)
{
	struct ks_resolver *r = open_resolver("src/vmlinux");
	struct ks_diag diag;

	assert_path(look_up(r, "ext4_alloc", "", 0, 0), "fs/ext4/inode.c");
	assert_int_equal(ks_resolver_check_branch(r, "fs/ext4", &diag), 0);
	assert_int_equal(ks_resolver_check_branch(r, "fs/ext", &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "fs/ext"));
	ks_resolver_free(r);
	/* Without debug information there are names, but no places. */
	r = open_resolver("out/vmlinux");
	assert_int_equal(look_up(r, "ext4_alloc", "", 0, 0).status, KS_PLACE_NOT_FOUND);
	ks_resolver_free(r);
}

static void test_objects_alone(void **state)
{
	struct ks_resolver *r;
	char command[8192];

	snprintf(command, sizeof(command),
		 "cp -r '%s/out' '%s/bare' && rm '%s/bare/vmlinux' '%s/bare/System.map'", dir, dir,
		 dir, dir);
	assert_int_equal(system(command), 0);
	r = open_resolver("bare");
	assert_path(look_up(r, "ext4_alloc", "", 0, 0), "fs/ext4/inode.c");
	assert_path(look_up(r, "helper", "", 0x59, 0), "fs/inode.c");
	assert_int_equal(look_up(r, "helper", "", 0, 0).status, KS_PLACE_NAMESAKES);
	assert_int_equal(look_up(r, "main", "", 0, 0).status, KS_PLACE_NOT_FOUND);
	ks_resolver_free(r);
}

static void test_system_map(void **state)
{
	struct ks_resolver *r = open_resolver("src/System.map");
	u64 addrs[8];
	char paths[8][64];
	struct ks_sym_place place;

	read_oracle(addrs, paths, 8);
	place = look_up(r, "", "", 0, addrs[0] + 0x32);
	assert_string_equal(place.func, "ext4_alloc"); /* helper is 0x31 long */
	assert_int_equal(place.offset, 1);
	assert_null(place.path);
	place = look_up(r, "", "", 0, 0x1000);
	assert_string_equal(place.func, "");
	assert_int_equal(place.status, KS_PLACE_NOT_FOUND);
	ks_resolver_free(r);
}

/* System.map as kallsyms shows it after a boot that moved the kernel by @slide, and one module. */
static void write_kallsyms(u64 slide)
{
	FILE *in = fopen(in_dir("src/System.map"), "r");
	FILE *out = fopen(in_dir("kallsyms"), "w");
	unsigned long long addr;
	char type, name[128];

	assert_non_null(in);
	assert_non_null(out);
	while (fscanf(in, "%llx %c %127s", &addr, &type, name) == 3)
		fprintf(out, "%llx %c %s\n", addr + slide, type, name);
	fprintf(out, "ffffffffc0000000 t veth_one\t[veth_pair]\n");
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/*
 * A boot that KASLR moved: its kallsyms names the address, and vmlinux, linked at another address,
 * has the file.
 */
static void test_kaslr(void **state)
{
	struct ks_resolver *r;
	struct ks_diag diag = { 0 };
	struct ks_sym_place place;
	u64 addrs[8], slide = 0x1e000000;
	char paths[8][64];
	int i, n = read_oracle(addrs, paths, 8);

	write_kallsyms(slide);
	r = open_resolver("out");
	if (ks_resolver_add_kallsyms(r, in_dir("kallsyms"), &diag))
		fail_msg("%s", diag.text);
	for (i = 0; i < n; i++) {
		place = look_up(r, "", "", 0, addrs[i] + slide + 1);
		assert_path(place, paths[i]);
		assert_string_equal(place.func, "helper");
	}
	place = look_up(r, "", "", 0, 0xffffffffc0000004);
	assert_string_equal(place.module, "veth_pair");
	assert_path(place, "drivers/net/veth-one.c");
	ks_resolver_free(r);
}

static void test_bad_input(void **state)
{
	static const struct {
		const char *name, *text, *says;
		int err;
	} cases[] = {
		{ "hidden", "0000000000000000 T _stext\n0000000000000000 t foo\t[bar]\n",
		  "kptr_restrict", -EACCES },
		{ "prose", "This is no table of symbols.\n", "prose:1:", KS_EBADINPUT },
		{ "half", "ffffffff81000000 T _stext\nffffffff810", "half:2:", KS_EBADINPUT },
		{ "open", "ffffffff81000000 T f [mod\n", "open:1:", KS_EBADINPUT },
		{ "empty", "", "no function", KS_EBADINPUT },
		{ "data", "ffffffff81000000 D table\n", "no function", KS_EBADINPUT },
		{ "elf", "\177ELF\2\1\1 and then nothing", "elf", KS_EBADINPUT },
	};
	struct ks_resolver *r;
	struct ks_diag diag;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *path = write_file(cases[i].name, cases[i].text);

		memset(&diag, 0, sizeof(diag));
		assert_int_equal(ks_resolver_new(path, &r, &diag), cases[i].err);
		if (!strstr(diag.text, cases[i].says))
			fail_msg("%s: message is: %s", cases[i].name, diag.text);
	}
	assert_int_equal(ks_resolver_new(in_dir("absent"), &r, &diag), -ENOENT);
	assert_int_equal(ks_resolver_new(in_dir("src/include"), &r, &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "holds no built kernel"));
}

static void test_branches(void **state)
{
	static const struct {
		const char *path, *branch;
		bool in;
	} cases[] = {
		{ "fs/ext4/inode.c", "fs/ext4", true },
		{ "fs/ext4/inode.c", "fs/ext4/", true },
		{ "fs/ext4/inode.c", "./fs/ext4", true },
		{ "fs/ext4/inode.c", ".//fs", true },
		{ "fs/ext4/inode.c", "fs/ext4/inode.c", true },
		{ "fs/ext4/inode.c", ".", true },
		{ "fs/ext4/inode.c", "", true },
		{ "fs/ext4/inode.c", "fs/ext", false },
		{ "fs/ext4/inode.c", "ext4", false },
		{ "fs/ext4/inode.c", "fs/ext4/inode.c.d", false },
		{ "fs/ext4/inode.c", "fs/ext4/inode", false },
	};
	struct ks_resolver *r = open_resolver("out");
	struct ks_sym_place place = { 0 };
	struct ks_diag diag;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (ks_path_in_branch(cases[i].path, cases[i].branch) != cases[i].in)
			fail_msg("%s in %s", cases[i].path, cases[i].branch);
	assert_false(ks_place_in_branch(&place, "."));
	assert_int_equal(ks_resolver_check_branch(r, "./fs/ext4/", &diag), 0);
	assert_int_equal(ks_resolver_check_branch(r, "mm/slub.c", &diag), 0);
	assert_int_equal(ks_resolver_check_branch(r, "mm/slab.c", &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "mm/slab.c"));
	assert_int_equal(ks_resolver_check_branch(r, "/etc", &diag), -ENOENT);
	ks_resolver_free(r);
	r = open_resolver(NULL);
	assert_int_equal(ks_resolver_check_branch(r, "fs", &diag), -EINVAL);
	assert_non_null(strstr(diag.text, "-k"));
	ks_resolver_free(r);
}

static void test_inlined(void **state)
{
	struct ks_resolver *r = open_resolver("src");
	FILE *file = fopen(in_dir("inlined"), "r");
	struct ks_sym_place place;
	struct ks_sym_query q = { .func = "base_outer", .module = "" };
	unsigned long long addr;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llx", &addr), 1);
	fclose(file);
	place = look_up(r, "", "", 0, addr);
	assert_string_equal(place.func, "base_outer");
	assert_string_equal(place.inlined, "base_inner");
	assert_path(place, "drivers/base/core.c");
	/* By name and offset too; and not where nothing was inlined. */
	q.offset = place.offset;
	assert_int_equal(ks_resolver_lookup(r, &q, &place, NULL), 0);
	assert_string_equal(place.inlined, "base_inner");
	q.func = "slub_alloc";
	assert_int_equal(ks_resolver_lookup(r, &q, &place, NULL), 0);
	assert_string_equal(place.inlined, "");
	ks_resolver_free(r);
	r = open_resolver("out"); /* no DWARF */
	assert_string_equal(look_up(r, "", "", 0, addr).inlined, "");
	ks_resolver_free(r);
}

static void test_echo(void **state)
{
	struct ks_resolver *r = open_resolver(NULL);
	struct ks_sym_query q = { .func = "foo.isra.0", .module = "bar", .offset = 0x4f };
	struct ks_sym_place place;

	assert_int_equal(ks_resolver_lookup(r, &q, &place, NULL), 0);
	assert_string_equal(place.func, "foo.isra.0");
	assert_string_equal(place.owner, "foo");
	assert_string_equal(place.module, "bar");
	assert_int_equal(place.offset, 0x4f);
	assert_int_equal(place.status, KS_PLACE_NO_TREE);
	ks_resolver_free(r);
}

static void test_fates(void **state)
{
	static const struct {
		const char *path;
		enum ks_object_fate fate;
	} cases[] = {
		{ "arch/x86/lib/chew.o", KS_OBJECT_BUILTIN },
		{ "boot/setup.o", KS_OBJECT_NOT_LINKED },
		{ "drivers/base/core.o", KS_OBJECT_BUILTIN },
		{ "drivers/net/veth-one.o", KS_OBJECT_MODULE },
		{ "drivers/net/veth-pair.o", KS_OBJECT_COMPOSITE },
		{ "drivers/net/veth-two.o", KS_OBJECT_MODULE },
		{ "fs/ext4/inode.o", KS_OBJECT_BUILTIN },
		{ "fs/inode.o", KS_OBJECT_BUILTIN },
		{ "init/main.o", KS_OBJECT_BUILTIN },
		{ "lib/never.o", KS_OBJECT_NOT_LINKED },
		{ "mm/slub.o", KS_OBJECT_BUILTIN },
		{ "scripts/tool.o", KS_OBJECT_HOST },
	};
	struct ks_object_files objects;
	struct ks_tree tree;
	struct ks_diag diag;
	size_t i;

	assert_int_equal(ks_tree_open(&tree, in_dir("out"), &diag), 0);
	assert_true(ks_tree_has_branch(&tree, "")); /* all of it */
	assert_true(ks_tree_has_branch(&tree, "./"));
	assert_false(ks_tree_has_branch(&tree, "nowhere"));
	assert_false(ks_tree_has_branch(&tree, "/tmp"));
	assert_false(ks_tree_has_branch(&tree, "../src"));
	assert_int_equal(ks_object_files_init(&objects, &tree, &diag), 0);
	assert_int_equal(objects.items.len, ARRAY_SIZE(cases));
	for (i = 0; i < objects.items.len; i++) {
		const struct ks_object_file *o = &objects.items.items[i];

		assert_string_equal(ks_object_files_str(&objects, o->path), cases[i].path);
		assert_string_equal(ks_object_fate_name(o->fate),
				    ks_object_fate_name(cases[i].fate));
		assert_int_not_equal(o->source, cases[i].fate == KS_OBJECT_COMPOSITE ? 0 : KS_NONE);
	}
	ks_object_files_deinit(&objects);
	ks_tree_close(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base_len),      cmocka_unit_test(test_with_dwarf),
		cmocka_unit_test(test_without_dwarf), cmocka_unit_test(test_extent),
		cmocka_unit_test(test_vmlinux_alone), cmocka_unit_test(test_objects_alone),
		cmocka_unit_test(test_system_map),    cmocka_unit_test(test_kaslr),
		cmocka_unit_test(test_bad_input),     cmocka_unit_test(test_branches),
		cmocka_unit_test(test_inlined),	      cmocka_unit_test(test_echo),
		cmocka_unit_test(test_fates),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("sym", tests, setup, teardown);
}
