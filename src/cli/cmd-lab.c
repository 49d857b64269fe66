// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope lab: finds what is to be done, reads the options; builds kernels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/lab.h"

/* === Data ================================================================================= */

static const char help[] =
	"usage: kmemscope lab build [OPTION...]\n"
	"       kmemscope lab run [OPTION...] [--] COMMAND...\n"
	"       kmemscope lab shell [OPTION...]\n"
	"\n"
	"A kernel with the memorizer in it, which runs a command on a view of this machine's\n"
	"files and records what it does with kernel memory. It needs no root.\n"
	"\n"
	"  lab build            make the kernel, from Debian's source package\n"
	"  lab run COMMAND      boot it, run COMMAND in it, write its map, exit as it does\n"
	"  lab shell            a shell in it\n"
	"\n"
	"      --kernel VERSION 6.12 (default) or 6.1\n"
	"      --arch ARCH      um: User Mode Linux (default); x86_64: under QEMU\n"
	"  -o, --output FILE    the map (run: trace.kmap; shell: none)\n"
	"      --mode N         1 the whole system, 2 COMMAND and interrupts, 3 COMMAND (default)\n"
	"      --access         also count each object's reads and writes\n"
	"      --boot           from the kernel's start on; in mode 1 unless --mode is given\n"
	"      --binary         binary records, which have more to tell than lines\n"
	"      --smp N          processors (1); more than one with --arch x86_64\n"
	"      --mem SIZE       the guest's memory (512M; 1G with --arch x86_64)\n"
	"      --share DIR      a directory that the guest writes to, not to a copy\n"
	"      --append TEXT    more parameters for the kernel\n"
	"      --accel HOW      auto, kvm or tcg: how QEMU executes\n"
	"      --timeout TIME   give up after 60, 5m, ...\n"
	"      --log FILE       what the kernel prints; else it is kept only after a failure\n"
	"  -q, --quiet          no words about the map\n"
	"      --strict         exit 4 when objects or accesses were dropped\n"
	"      --no-pager       accepted, and without effect here\n"
	"      --color WHEN     auto, always, never\n"
	"  -h, --help           this text\n";

enum {
	OPT_KERNEL = KS_OPT_OWN,
	OPT_ARCH,
	OPT_MODE,
	OPT_ACCESS,
	OPT_BOOT,
	OPT_BINARY,
	OPT_SMP,
	OPT_MEM,
	OPT_SHARE,
	OPT_APPEND,
	OPT_ACCEL,
	OPT_TIMEOUT,
	OPT_LOG
};

static const struct option options[] = {
	KS_LONG_PLAIN,
	{ "kernel", required_argument, NULL, OPT_KERNEL },
	{ "arch", required_argument, NULL, OPT_ARCH },
	{ "output", required_argument, NULL, 'o' },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "access", no_argument, NULL, OPT_ACCESS },
	{ "boot", no_argument, NULL, OPT_BOOT },
	{ "binary", no_argument, NULL, OPT_BINARY },
	{ "smp", required_argument, NULL, OPT_SMP },
	{ "mem", required_argument, NULL, OPT_MEM },
	{ "share", required_argument, NULL, OPT_SHARE },
	{ "append", required_argument, NULL, OPT_APPEND },
	{ "accel", required_argument, NULL, OPT_ACCEL },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "quiet", no_argument, NULL, 'q' },
	{ NULL, 0, NULL, 0 },
};

/* === Internals: options =================================================================== */

static int usage(const struct ks_lab_args *args, const char *option, const char *arg,
		 const char *advice)
{
	return ks_cli_error(&args->cli, KS_EXIT_USAGE, "%s '%s': %s", option, arg, advice);
}

static int parse_arch(struct ks_lab_args *args, const char *arg)
{
	int i;

	for (i = 0; i < KS_LAB_ARCHES; i++)
		if (!strcmp(arg, ks_lab_arch_names[i])) {
			args->arch = (enum ks_lab_arch)i;
			return -1;
		}
	return usage(args, "--arch", arg, "choose um or x86_64");
}

static int parse_accel(struct ks_lab_args *args, const char *arg)
{
	static const char *const names[] = { "auto", "kvm", "tcg" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(arg, names[i])) {
			args->accel = (enum ks_lab_accel)i;
			return -1;
		}
	return usage(args, "--accel", arg, "choose auto, kvm or tcg");
}

static int parse_number(const struct ks_lab_args *args, const char *option, const char *arg,
			u64 max, u64 *ret_value)
{
	u64 value;

	if (ks_parse_u64(arg, &value) || !value || value > max)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "%s '%s': give 1 to %llu", option,
				    arg, (unsigned long long)max);
	*ret_value = value;
	return -1;
}

static int parse_mem(struct ks_lab_args *args, const char *arg)
{
	u64 bytes;

	if (ks_parse_size(arg, &bytes) || bytes < 64 << 20 || bytes > 1ull << 40)
		return usage(args, "--mem", arg, "give 64M or more");
	args->memory_mb = bytes >> 20;
	return -1;
}

static int parse_timeout(struct ks_lab_args *args, const char *arg)
{
	u64 ns;

	if (ks_parse_time(arg, &ns) || ns < 1000000)
		return usage(args, "--timeout", arg, "give seconds, or 5m, 1h");
	args->timeout_ms = ns / 1000000;
	return -1;
}

static int parse_share(struct ks_lab_args *args, const char *arg)
{
	char *dir = realpath(arg, NULL), **slot;

	if (!dir)
		return usage(args, "--share", arg, strerror(errno));
	slot = ks_vec_push(&args->shares);
	if (!slot) {
		free(dir);
		return ks_cli_error(&args->cli, KS_EXIT_LAB, "out of memory");
	}
	*slot = dir;
	return -1;
}

/* It becomes part of a file name, and of a command line. */
static int parse_version(struct ks_lab_args *args, const char *arg)
{
	if (!*arg || arg[strspn(arg, "0123456789.")])
		return usage(args, "--kernel", arg, "give a version, like 6.12");
	args->version = arg;
	return -1;
}

static int take_option(struct ks_lab_args *args, int opt)
{
	switch (opt) {
	case OPT_KERNEL:
		return parse_version(args, optarg);
	case OPT_ARCH:
		return parse_arch(args, optarg);
	case 'o':
		args->output = optarg;
		return -1;
	case OPT_MODE:
		return parse_number(args, "--mode", optarg, 3, &args->mode);
	case OPT_ACCESS:
		args->access = true;
		return -1;
	case OPT_BOOT:
		args->boot = true;
		return -1;
	case OPT_BINARY:
		args->binary = true;
		return -1;
	case OPT_SMP:
		return parse_number(args, "--smp", optarg, 8, &args->processors);
	case OPT_MEM:
		return parse_mem(args, optarg);
	case OPT_SHARE:
		return parse_share(args, optarg);
	case OPT_APPEND:
		args->parameters = optarg;
		return -1;
	case OPT_ACCEL:
		return parse_accel(args, optarg);
	case OPT_TIMEOUT:
		return parse_timeout(args, optarg);
	case OPT_LOG:
		args->log = optarg;
		return -1;
	case 'q':
		args->quiet = true;
		return -1;
	default:
		return ks_cli_option(&args->cli, opt);
	}
}

static int parse(struct ks_lab_args *args, int argc, char **argv)
{
	int opt, code;

	/* The plus sign: options behind a command are the command's. */
	while ((opt = getopt_long(argc, argv, "+" KS_SHORT_COMMON "o:q", options, NULL)) != -1) {
		code = take_option(args, opt);
		if (code >= 0)
			return code;
	}
	if (!ks_vec_push(&args->shares))
		return ks_cli_error(&args->cli, KS_EXIT_LAB, "out of memory");
	args->command = argv + optind;
	args->nr_words = argc - optind;
	if (args->arch == KS_LAB_UM && args->processors > 1)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--smp %llu: User Mode Linux has one processor; add --arch "
				    "x86_64",
				    (unsigned long long)args->processors);
	if (!args->memory_mb)
		args->memory_mb = args->arch == KS_LAB_UM ? 512 : 1024;
	return -1;
}

/* === Internals: building ================================================================== */

/* Runs the script; its last word is the directory with the result. 0 or an exit code. */
static int run_script(const struct ks_lab_args *args, const char *script, struct ks_strbuf *ret_dir)
{
	int ends[2], status;
	char buf[4096];
	ssize_t n;
	pid_t pid;

	if (pipe(ends))
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "%s", strerror(errno));
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(script, script, "--kernel", args->version, "--arch",
		      ks_lab_arch_names[args->arch], (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while (pid > 0 && (n = read(ends[0], buf, sizeof(buf))) > 0)
		ks_strbuf_add(ret_dir, buf, (size_t)n);
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "%s: %s", script, strerror(errno));
	if (WIFSIGNALED(status))
		return ks_cli_error(&args->cli, 128 + WTERMSIG(status),
				    "interrupted; 'kmemscope lab build' goes on where it was");
	if (WEXITSTATUS(status))
		return ks_cli_error(&args->cli, KS_EXIT_FAILED,
				    WEXITSTATUS(status) == 127
					    ? "%s: cannot run it"
					    : "the kernel could not be built (%s)",
				    script);
	while (ret_dir->len && ret_dir->s[ret_dir->len - 1] == '\n')
		ret_dir->s[--ret_dir->len] = '\0';
	return 0;
}

/* === Public =============================================================================== */

int ks_lab_build(struct ks_lab_args *args)
{
	struct ks_lab_kernel kernel;
	struct ks_strbuf script, dir;
	struct ks_diag diag = { 0 };
	int err, code;

	ks_strbuf_init(&script);
	ks_strbuf_init(&dir);
	err = ks_lab_find_home(&script, &diag);
	ks_strbuf_puts(&script, "/lab/build.sh");
	code = err ? ks_cli_fail(&args->cli, err, &diag)
		   : run_script(args, ks_strbuf_str(&script), &dir);
	if (!code) {
		err = ks_lab_kernel_set(args->version, args->arch, ks_strbuf_str(&dir), &diag);
		if (!err)
			err = ks_lab_kernel_find(args->version, args->arch, &kernel, &diag);
		if (err) {
			code = ks_cli_fail(&args->cli, err, &diag);
		} else {
			puts(kernel.dir);
			ks_lab_kernel_deinit(&kernel);
		}
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
		.cli = { .help = help }, .version = "6.12", .processors = 1, .parameters = ""
	};
	char name[64];
	size_t i;
	int code;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return KS_EXIT_OK;
	}
	for (i = 0; argc > 1 && i < ARRAY_SIZE(deeds); i++) {
		if (strcmp(argv[1], deeds[i].name))
			continue;
		snprintf(name, sizeof(name), "kmemscope lab %s", deeds[i].name);
		args.cli.command = argv[1] = name;
		code = parse(&args, argc - 1, argv + 1);
		if (code < 0)
			code = deeds[i].run(&args);
		for (i = 0; i < args.shares.len; i++)
			free(args.shares.items[i]);
		ks_vec_free(&args.shares);
		return code;
	}
	if (argc > 1)
		fprintf(stderr, "kmemscope lab: there is no '%s'\n", argv[1]);
	fprintf(stderr, "Try 'kmemscope lab --help'.\n");
	return KS_EXIT_USAGE;
}
