// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope lab: finds what is to be done, reads the options; builds kernels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/num.h"
#include "cli/commands.h"
#include "cli/lab.h"
#include "heap/btf-merge.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope lab build [OPTION...]\n"
	"       kmemscope lab run [OPTION...] [--] COMMAND...\n"
	"       kmemscope lab shell [OPTION...]\n"
	"\n"
	"Runs a command in a kernel with the memorizer built in, on a view of this machine's\n"
	"files, and records the command's use of kernel memory. Needs no root.\n"
	"\n"
	"  lab build            build the kernel from Debian's source package\n"
	"  lab run COMMAND      boot the kernel, run COMMAND in it, write the map; with --stock, a\n"
	"                       kernel of Debian's as it is, in which QEMU counts accesses\n"
	"  lab shell            run a shell in the kernel\n";

static const char examples[] =
	"examples:\n"
	"  kmemscope lab build\n"
	"  kmemscope lab run --access -o ls.kmap -- ls -l /\n"
	"  kmemscope lab build --types && kmemscope lab run --heap ls.heap -- ls -l /\n";

enum { STOCK_MB_LEAST = 384 };

/* === Internals: options =================================================================== */

static const char *arch_name(unsigned int arch)
{
	return ks_lab_arch_names[arch];
}

static const char *accel_name(unsigned int accel)
{
	static const char *const names[] = { "auto", "kvm", "tcg" };

	return names[accel];
}

static int parse_mem(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	u64 bytes;

	if (ks_parse_size(arg, &bytes) || bytes < 64 << 20 || bytes > 1ull << 40)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--mem '%s': give 64M or more", arg);
	*(u64 *)option->value = bytes >> 20;
	return -1;
}

static int parse_share(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_lab_args *args = option->value;
	char *dir = realpath(arg, NULL), **slot;

	if (!dir)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--share '%s': %s", arg, strerror(errno));
	slot = ks_vec_push(&args->shares);
	if (!slot) {
		free(dir);
		return ks_cli_error(cli, KS_EXIT_LAB, "out of memory");
	}
	*slot = dir;
	return -1;
}

/* It becomes part of a file name, and of a command line. */
static int parse_version(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_lab_args *args = option->value;

	/* With --stock it is a file. */
	if (strchr(arg, '/') || strstr(arg, ".deb")) {
		args->image = arg;
		return -1;
	}
	if (!*arg || arg[strspn(arg, "0123456789.")])
		return ks_cli_error(cli, KS_EXIT_USAGE, "--kernel '%s': give a version, like 6.12",
				    arg);
	args->kernel.version = arg;
	return -1;
}

static int parse_add(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_lab_args *args = option->value;
	const char **slot = ks_vec_push(&args->adds);

	if (!slot)
		return ks_cli_error(cli, KS_EXIT_LAB, "out of memory");
	*slot = arg;
	return -1;
}

/* What --stock makes of the others. */
static int finish_stock(struct ks_lab_args *args)
{
	if (!args->stock && args->kernel.arch == KS_LAB_ARM64)
		return ks_cli_error(
			&args->cli, KS_EXIT_USAGE,
			"--arch arm64 is for --stock: the lab has no kernel of its own for it");
	if (!args->stock && !args->image && !args->adds.len)
		return -1;
	if (!args->stock)
		return ks_cli_error(
			&args->cli, KS_EXIT_USAGE,
			"%s is for --stock; the lab's own kernels have versions, like 6.12",
			args->image ? "--kernel with a file" : "--add");
	if (args->boot || args->mode || args->access || args->kernel.calls || args->binary ||
	    args->heap || args->shares.len || args->accel == KS_LAB_ACCEL_KVM)
		return ks_cli_error(
			&args->cli, KS_EXIT_USAGE,
			"--stock takes no --boot, --mode, --access, --calls, --binary, "
			"--heap, --share or --accel kvm: QEMU counts all that the kernel does");
	/* The table of counts must not be taken for the guest's memory, which is larger than anything else in QEMU. */
	if (args->memory_mb && args->memory_mb < STOCK_MB_LEAST)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "--stock: --mem %u M or more",
				    STOCK_MB_LEAST);
	if (args->kernel.arch != KS_LAB_ARM64)
		args->kernel.arch = KS_LAB_X86_64;
	args->binary = true;
	args->accel = KS_LAB_ACCEL_TCG;
	return -1;
}

static int finish(struct ks_lab_args *args, int argc, char **argv)
{
	int code = finish_stock(args);

	if (code >= 0)
		return code;
	if (!ks_vec_push(&args->shares))
		return ks_cli_error(&args->cli, KS_EXIT_LAB, "out of memory");
	args->command = argv + optind;
	args->nr_words = argc - optind;
	if (args->kernel.arch == KS_LAB_UM && args->processors > 1 &&
	    strcmp(args->kernel.version, "7.2") != 0)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--smp %llu: before 7.2 User Mode Linux has one processor; add "
				    "--kernel 7.2 or --arch x86_64",
				    (unsigned long long)args->processors);
	if (args->kernel.arch != KS_LAB_UM && (args->heap || args->types))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--heap and --types are for User Mode Linux, not for --arch %s",
				    ks_lab_arch_names[args->kernel.arch]);
	if (!args->memory_mb)
		args->memory_mb = args->kernel.arch == KS_LAB_UM ? 512 : 1024;
	return -1;
}

/* === Internals: building ================================================================== */

/* Its last word is the directory with the result. 0 or an exit code. */
static int build(const struct ks_lab_args *args, const char *script, struct ks_strbuf *ret_dir)
{
	const char *argv[9] = { script, "--kernel", args->kernel.version, "--arch",
				ks_lab_arch_names[args->kernel.arch] };
	size_t nr = 5;

	if (args->types)
		argv[nr++] = "--types";
	if (args->sites)
		argv[nr++] = "--sites";
	if (args->kernel.calls)
		argv[nr++] = "--calls";
	return ks_lab_run_script(&args->cli, argv, ret_dir);
}

/* One file of the types that the script has made, which are then of no use any more. */
static int keep_types(const struct ks_lab_kernel *kernel, struct ks_diag *diag)
{
	struct ks_strbuf folder;
	int err;

	if (!access(kernel->btf, R_OK))
		return 0;
	ks_strbuf_init(&folder);
	ks_strbuf_printf(&folder, "%s/types", kernel->dir);
	err = folder.failed ? ks_diag_nomem(diag, "putting types together")
			    : ks_btf_merge(ks_strbuf_str(&folder), kernel->btf, diag);
	ks_strbuf_deinit(&folder);
	return err;
}

/* === Public =============================================================================== */

int ks_lab_run_script(const struct ks_cli *cli, const char *const *argv, struct ks_strbuf *ret_text)
{
	int ends[2], status;
	char buf[4096];
	ssize_t n;
	pid_t pid;

	if (pipe(ends))
		return ks_cli_error(cli, KS_EXIT_FAILED, "%s", strerror(errno));
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	while (pid > 0 && (n = read(ends[0], buf, sizeof(buf))) > 0)
		ks_strbuf_add(ret_text, buf, (size_t)n);
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return ks_cli_error(cli, KS_EXIT_FAILED, "%s: %s", argv[0], strerror(errno));
	if (WIFSIGNALED(status))
		return ks_cli_error(cli, 128 + WTERMSIG(status),
				    "interrupted; the next time it continues where it stopped");
	if (WEXITSTATUS(status))
		return ks_cli_error(cli, KS_EXIT_FAILED,
				    WEXITSTATUS(status) == 127
					    ? "%s: cannot run it"
					    : "the kernel could not be made (%s)",
				    argv[0]);
	while (ret_text->len && ret_text->s[ret_text->len - 1] == '\n')
		ret_text->s[--ret_text->len] = '\0';
	return 0;
}

int ks_lab_build(struct ks_lab_args *args)
{
	struct ks_lab_kernel kernel = { 0 };
	struct ks_strbuf script, dir;
	struct ks_diag diag = { 0 };
	int err, code;

	if (args->stock)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--stock needs no kernel to be built");
	ks_strbuf_init(&script);
	ks_strbuf_init(&dir);
	err = ks_lab_find_home(&script, &diag);
	ks_strbuf_puts(&script, "/lab/build.sh");
	code = err ? ks_cli_fail(&args->cli, err, &diag)
		   : build(args, ks_strbuf_str(&script), &dir);
	if (!code) {
		err = ks_lab_kernel_set(&args->kernel, ks_strbuf_str(&dir), &diag);
		if (!err)
			err = ks_lab_kernel_find(&args->kernel, &kernel, &diag);
		if (!err && args->types)
			err = keep_types(&kernel, &diag);
		if (err)
			code = ks_cli_fail(&args->cli, err, &diag);
		else
			puts(kernel.dir);
		ks_lab_kernel_deinit(&kernel);
	}
	ks_strbuf_deinit(&dir);
	ks_strbuf_deinit(&script);
	return code;
}

int ks_cmd_lab(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(struct ks_lab_args *args);
	} deeds[] = {
		{ "build", ks_lab_build },
		{ "run", ks_lab_run },
		{ "shell", ks_lab_shell },
	};
	struct ks_lab_args args = {
		.cli = { .usage = usage,
			 .epilogue = examples,
			 .shared = KS_WITH_COMMON,
			 .runs_command = true },
		.kernel = { .version = "6.12" },
		.processors = 1,
		.parameters = "",
	};
	const struct ks_option own[] = {
		{ 0, "kernel", "VERSION",
		  "7.2, 6.12 (default) or 6.1; with --stock a package of Debian's (.deb)\n"
		  "or an image",
		  .parse = parse_version, .value = &args },
		{ 0, "arch", "ARCH",
		  "um: User Mode Linux (default); x86_64: under QEMU;\n"
		  "with --stock x86_64 (default) or arm64",
		  .choice = &args.kernel.arch, .choices = KS_LAB_ARCHES, .name_of = arch_name },
		{ 0, "types", NULL, "build: also the kernel's types, which run --heap needs",
		  .flag = &args.types },
		{ 0, "sites", NULL, "build: also debug information, for 'kmap fields --types'",
		  .flag = &args.sites },
		{ 'o', "output", "FILE", "the map (run: trace.kmap; shell: none)",
		  .string = &args.output },
		{ 0, "mode", "N",
		  "1 the whole system, 2 COMMAND and interrupts, 3 COMMAND (default)",
		  .number = &args.mode, .min = 1, .max = 3 },
		{ 0, "access", NULL, "also count each object's reads and writes",
		  .flag = &args.access },
		{ 0, "calls", NULL,
		  "build: a kernel that counts calls, too; run, shell: count them\n"
		  "in that kernel",
		  .flag = &args.kernel.calls },
		{ 0, "boot", NULL,
		  "record from the kernel's start; in mode 1 unless --mode is given",
		  .flag = &args.boot },
		{ 0, "binary", NULL, "binary records, which have more detail than lines",
		  .flag = &args.binary },
		{ 0, "smp", "N", "processors (1); more with --kernel 7.2 or --arch x86_64",
		  .number = &args.processors, .min = 1, .max = 8 },
		{ 0, "mem", "SIZE", "the guest's memory (512M; 1G with --arch x86_64)",
		  .parse = parse_mem, .value = &args.memory_mb },
		{ 0, "share", "DIR", "a directory that the guest writes to directly, not to a copy",
		  .parse = parse_share, .value = &args },
		{ 0, "stock", NULL, "run: Debian's kernel as it is; accesses are counted by QEMU",
		  .flag = &args.stock },
		{ 0, "add", "FILE",
		  "with --stock: a file that the command needs, beside its program\n"
		  "and its words; may be repeated",
		  .parse = parse_add, .value = &args },
		{ 0, "append", "TEXT", "more parameters for the kernel",
		  .string = &args.parameters },
		{ 0, "accel", "HOW", "auto, kvm or tcg: how QEMU executes", .choice = &args.accel,
		  .choices = KS_LAB_ACCELS, .name_of = accel_name },
		{ 0, "timeout", "TIME", "give up after 60, 5m, ...", .parse = ks_cli_parse_time,
		  .value = &args.timeout_ns, .min = 1000000 },
		{ 0, "log", "FILE", "the kernel's console output; else kept only after a failure",
		  .string = &args.log },
		{ 0, "heap", "FILE", "a snapshot of the guest's heap at the end of COMMAND",
		  .string = &args.heap },
		{ 'q', "quiet", NULL, "print nothing about the map", .flag = &args.quiet },
		{ 0, "strict", NULL, "exit with 4 when objects or accesses were dropped",
		  .flag = &args.cli.output.strict },
		{ 0, "no-pager", NULL, "accepted, but has no effect here",
		  .flag = &args.cli.output.no_pager },
		{ 0 },
	};
	char name[64];
	size_t i;
	int code;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		ks_cli_help(&args.cli, own);
		return KS_EXIT_OK;
	}
	for (i = 0; argc > 1 && i < ARRAY_SIZE(deeds); i++) {
		if (strcmp(argv[1], deeds[i].name))
			continue;
		snprintf(name, sizeof(name), "kmemscope lab %s", deeds[i].name);
		args.cli.command = argv[1] = name;
		code = ks_cli_parse(&args.cli, own, argc - 1, argv + 1);
		if (code < 0)
			code = finish(&args, argc - 1, argv + 1);
		if (code < 0)
			code = deeds[i].run(&args);
		for (i = 0; i < args.shares.len; i++)
			free(args.shares.items[i]);
		ks_vec_free(&args.shares);
		ks_vec_free(&args.adds);
		return code;
	}
	if (argc > 1) {
		struct ks_nearest nearest = ks_nearest_to(argv[1]);

		for (i = 0; i < ARRAY_SIZE(deeds); i++)
			ks_nearest_offer(&nearest, deeds[i].name);
		return ks_cli_unknown_subcommand(&args.cli, "lab", &nearest);
	}
	fprintf(stderr, "Try 'kmemscope lab --help'.\n");
	return KS_EXIT_USAGE;
}
