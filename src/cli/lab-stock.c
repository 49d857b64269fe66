// SPDX-License-Identifier: GPL-2.0-only
/* A stock kernel in the lab: its image, what its command needs, and the table that QEMU counts in. */
#include "cli/lab-stock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/tracefs.h"
#include "cli/heap-source.h"
#include "heap/btf-merge.h"

/* === Data ================================================================================= */

/* Places of the table: 192 MiB, where all are used. */
enum { PLACES = 1 << 22 };

/*
 * Where all memory is mapped: by x86-64 without KASLR and with page tables of four levels, by arm64 with addresses of 48
 * bits.
 */
static const struct ks_span direct_maps[KS_LAB_ARCHES] = {
	[KS_LAB_X86_64] = { 0xffff888000000000, 1ull << 46 },
	[KS_LAB_ARM64] = { 0xffff000000000000, 1ull << 47 },
};

/* === Internals: before ==================================================================== */

/* "lab/stock.sh root ARCHIVE ARCH WORD...": the words of the command, then files to add. */
static int pack_root(struct ks_lab_args *args, struct ks_stock *stock, const char *script)
{
	char path[] = "/tmp/kmemscope-root-XXXXXX";
	const char **argv;
	struct ks_strbuf none;
	size_t words = (size_t)args->nr_words, adds = args->adds.len, i;
	int fd, code;

	argv = calloc(5 + words + adds, sizeof(*argv));
	fd = argv ? mkostemp(path, O_CLOEXEC) : -1;
	if (fd < 0) {
		free(argv);
		return ks_cli_error(&args->cli, KS_EXIT_LAB, "%s: %s", path, strerror(errno));
	}
	close(fd);
	stock->has_root = true;
	ks_strbuf_puts(&stock->root, path);
	argv[0] = script;
	argv[1] = "root";
	argv[2] = path;
	argv[3] = ks_lab_arch_names[args->kernel.arch];
	for (i = 0; i < words; i++)
		argv[4 + i] = args->command[i];
	for (i = 0; i < adds; i++)
		argv[4 + words + i] = args->adds.items[i];
	ks_strbuf_init(&none);
	code = ks_lab_run_script(&args->cli, argv, &none);
	ks_strbuf_deinit(&none);
	free(argv);
	return code;
}

static int make_table(struct ks_stock *stock, enum ks_lab_arch arch, struct ks_diag *diag)
{
	stock->direct_map = direct_maps[arch];
	stock->size = sizeof(*stock->table) + PLACES * sizeof(stock->table->counts[0]);
	stock->fd = memfd_create("counts", MFD_CLOEXEC);
	if (stock->fd >= 0 && !ftruncate(stock->fd, (off_t)stock->size))
		stock->table =
			mmap(NULL, stock->size, PROT_READ | PROT_WRITE, MAP_SHARED, stock->fd, 0);
	if (!stock->table || stock->table == MAP_FAILED) {
		stock->table = NULL;
		return ks_diag_set(diag, -errno, "cannot make a table for counts: %s",
				   strerror(errno));
	}
	stock->table->magic = LAB_COUNTS_MAGIC;
	stock->table->first = stock->direct_map.start;
	stock->table->end = stock->direct_map.start + stock->direct_map.size;
	stock->table->places = PLACES;
	return 0;
}

/* === Internals: after ===================================================================== */

/* Names of the guest's functions, as text; the file of the memory's back end goes with it. */
static int save_symbols(const struct ks_kernel *kernel, const char *path, struct ks_diag *diag)
{
	const char *from = ks_heap_symbols(kernel);
	struct ks_strbuf text;
	struct ks_outfile out;
	int err;

	ks_strbuf_init(&text);
	err = from && !ks_slurp(from, &text)
		      ? ks_outfile_open(&out, path, diag)
		      : ks_diag_set(diag, -ENODATA, "the guest's symbols can't be found");
	if (!err) {
		err = ks_outfile_write(&out, text.s, text.len, diag);
		if (err)
			ks_outfile_abort(&out);
		else
			err = ks_outfile_commit(&out, diag);
	}
	ks_strbuf_deinit(&text);
	return err;
}

static int save_beside(const struct ks_stock_look *look, const char *path, struct ks_diag *diag)
{
	struct ks_strbuf name;
	int err;

	ks_strbuf_init(&name);
	ks_strbuf_printf(&name, "%s.syms", path);
	err = save_symbols(look->kernel, ks_strbuf_str(&name), diag);
	name.len = 0;
	ks_strbuf_printf(&name, "%s.btf", path);
	if (!err)
		err = ks_btf_write(look->kernel->btf, ks_strbuf_str(&name), diag);
	ks_strbuf_deinit(&name);
	return err;
}

static void tell(const struct ks_stock *stock, const char *path)
{
	const struct ks_stock_sums *sums = &stock->sums;

	fprintf(stderr,
		"%s: %llu accesses to %llu places of slab objects, %llu of which are free at the end\n",
		path, (unsigned long long)sums->counted, (unsigned long long)sums->objects,
		(unsigned long long)sums->gone);
	fprintf(stderr,
		"%s: in no object: %llu accesses to memory that was no slab's before or after, %llu to "
		"memory that came to another cache, %llu to variables, stacks and other mappings\n",
		path, (unsigned long long)sums->no_slab, (unsigned long long)sums->moved,
		(unsigned long long)sums->elsewhere);
	if (sums->fresh)
		fprintf(stderr,
			"%s: %llu of the accesses to slab objects are to memory that was no slab's before: what was "
			"done to it until then is among them\n",
			path, (unsigned long long)sums->fresh);
	if (sums->lost)
		fprintf(stderr, "%s: lost: %llu accesses, since the table of counts is full\n",
			path, (unsigned long long)sums->lost);
	fprintf(stderr, "%s: read it with 'kmemscope kmap fields -k %s.syms --types %s.btf %s'\n",
		path, path, path, path);
}

/* === Public =============================================================================== */

int ks_stock_prepare(struct ks_lab_args *args, struct ks_stock *stock)
{
	struct ks_diag diag = { 0 };
	struct ks_strbuf script;
	int code = 0, err;

	*stock = (struct ks_stock){ .fd = -1, .err = 1 };
	ks_strbuf_init(&script);
	err = ks_lab_find_home(&script, &diag);
	ks_strbuf_puts(&script, "/lab/stock.sh");
	if (!err)
		err = ks_lab_find_helper("lab-counts.so", &stock->plugin, &diag);
	if (!err)
		err = make_table(stock, args->kernel.arch, &diag);
	if (err)
		code = ks_cli_error(&args->cli, KS_EXIT_LAB, "%s", diag.text);
	if (!code) {
		const char *argv[] = { ks_strbuf_str(&script), "kernel",
				       ks_lab_arch_names[args->kernel.arch], args->image, NULL };

		code = ks_lab_run_script(&args->cli, argv, &stock->image);
	}
	if (!code && args->kernel.arch == KS_LAB_ARM64) {
		const char *argv[] = { ks_strbuf_str(&script), "init",
				       ks_lab_arch_names[args->kernel.arch], NULL };

		code = ks_lab_run_script(&args->cli, argv, &stock->init);
	}
	if (!code)
		code = pack_root(args, stock, ks_strbuf_str(&script));
	ks_strbuf_deinit(&script);
	return code;
}

int ks_stock_kernel(const struct ks_stock *stock, enum ks_lab_arch arch,
		    struct ks_lab_kernel *ret_kernel, struct ks_diag *diag)
{
	struct ks_lab_kernel kernel = { .arch = arch,
					.image = strdup(ks_strbuf_str(&stock->image)) };

	if (!kernel.image)
		return ks_diag_nomem(diag, "looking for a kernel");
	*ret_kernel = kernel;
	return 0;
}

int ks_stock_init(const struct ks_stock *stock, struct ks_strbuf *ret_path, struct ks_diag *diag)
{
	ks_strbuf_puts(ret_path, ks_strbuf_str(&stock->init));
	return ret_path->failed ? ks_diag_nomem(diag, "looking for the lab") : 0;
}

void ks_stock_free(struct ks_stock *stock)
{
	if (stock->has_root)
		unlink(ks_strbuf_str(&stock->root));
	if (stock->table)
		munmap(stock->table, stock->size);
	if (stock->fd >= 0)
		close(stock->fd);
	ks_stock_look_free(&stock->begin);
	ks_strbuf_deinit(&stock->image);
	ks_strbuf_deinit(&stock->root);
	ks_strbuf_deinit(&stock->plugin);
	ks_strbuf_deinit(&stock->init);
}

/* Whether all memory is mapped from there on where accesses are counted. */
static bool maps_as_expected(const struct ks_stock *stock)
{
	const struct ks_kernel *k = stock->begin.kernel;
	u64 first = k->memory->facts.ram.items[0].first;

	return k->page_offset + (first << 12) - stock->direct_map.start < 1 << 20;
}

void ks_stock_begin(struct ks_stock *stock, pid_t pid)
{
	stock->err = ks_stock_look(pid, &stock->begin, &stock->diag);
	if (!stock->err && !maps_as_expected(stock))
		stock->err = ks_diag_set(&stock->diag, KS_EBADINPUT,
					 "this kernel maps its memory at %#llx",
					 (unsigned long long)stock->begin.kernel->page_offset);
	if (!stock->err && !stock->table->ready)
		stock->err = ks_diag_set(&stock->diag, -EIO, "QEMU has not taken the plugin");
	stock->table->counting = 1;
}

void ks_stock_end(struct ks_stock *stock, pid_t pid, const char *path, struct ks_outfile *map,
		  u64 *ret_bytes)
{
	struct ks_stock_look end = { 0 };

	stock->table->counting = 0;
	if (stock->err)
		return;
	stock->sums.lost = stock->table->lost;
	stock->sums.elsewhere = stock->table->elsewhere;
	stock->err = ks_stock_look(pid, &end, &stock->diag);
	if (!stock->err)
		stock->err = ks_stock_map(stock, &end, map, ret_bytes, &stock->diag);
	if (!stock->err)
		stock->err = save_beside(&end, path, &stock->diag);
	ks_stock_look_free(&end);
}

int ks_stock_judge(const struct ks_stock *stock, const struct ks_lab_args *args, const char *path,
		   int status)
{
	if (stock->err)
		return ks_cli_error(&args->cli, KS_EXIT_LAB, "%s",
				    stock->err > 0 ? "the guest ended before its command"
						   : stock->diag.text);
	if (!args->quiet)
		tell(stock, path);
	if (!status && args->cli.output.strict && stock->sums.lost)
		return KS_EXIT_LOST;
	return status;
}
