// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope lab run and shell: boot the lab's kernel, run a command in it, bring its map home. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "capture/tracefs.h"
#include "cli/heap-source.h"
#include "cli/lab.h"
#include "cli/lab-stock.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "heap/snapshot-file.h"
#include "kmap/kernel-stats.h"
#include "lab/ramdisk.h"
#include "lab/session.h"

/* === Data ================================================================================= */

static const char default_output[] = "trace.kmap";

/* How long a kernel may take to come up. Emulated on a busy machine it is slow. */
enum { BOOT_MS_UM = 120000, BOOT_MS_KVM = 20000, BOOT_MS_TCG = 600000 };

struct lab {
	struct ks_lab_args *args;
	const char *path; /* of the map, or NULL */
	struct ks_lab_kernel kernel;
	struct ks_strbuf init, shim, orders, parameters;
	struct ks_outfile map;
	bool has_map;
	int ramdisk, signals;
	sigset_t blocked;
	/* of the heap's snapshot; 1 = none was taken */
	int heap_err;
	struct ks_diag heap_diag;
	u64 heap_objects;
	struct ks_stock stock; /* of a stock run */
	/* the caller's terminal, where the command gets one */
	bool tty;
	struct termios terminal;
};

/* === Internals: before the guest ========================================================== */

static void order(struct lab *lab, const char *key, const char *value)
{
	ks_strbuf_puts(&lab->orders, key);
	ks_strbuf_add(&lab->orders, value, strlen(value) + 1);
}

static void order_window(struct lab *lab)
{
	struct winsize size;
	char text[32];

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size))
		return;
	snprintf(text, sizeof(text), "%ux%u", size.ws_row, size.ws_col);
	order(lab, "window=", text);
}

static void order_map(struct lab *lab)
{
	const struct ks_lab_args *args = lab->args;
	char mode[8] = "3";

	if (args->mode)
		snprintf(mode, sizeof(mode), "%u", (unsigned int)args->mode);
	order(lab, "kmap=", args->binary ? "kmap_stream_bin" : "kmap_stream");
	if (args->mode || !args->boot)
		order(lab, "mode=", mode);
	if (args->access)
		order(lab, "access", "");
	if (args->kernel.calls)
		order(lab, "calls", "");
}

/* What the guest's first process is to do, as lab/guest/init.c reads it. */
static void make_orders(struct lab *lab)
{
	const struct ks_lab_args *args = lab->args;
	char *cwd = get_current_dir_name(), **word;
	size_t i;

	if (args->kernel.arch == KS_LAB_UM)
		order(lab, "um", "");
	if (args->boot)
		order(lab, "boot", "");
	if (args->stock)
		order(lab, "stock", "");
	else if (lab->path)
		order_map(lab);
	if (lab->tty) {
		order(lab, "tty", "");
		order_window(lab);
	}
	for (i = 0; args->shares.items[i]; i++)
		order(lab, "share=", args->shares.items[i]);
	if (cwd)
		order(lab, "cwd=", cwd);
	free(cwd);
	for (word = environ; *word; word++)
		order(lab, "env=", *word);
	for (word = args->command; *word; word++)
		order(lab, "arg=", *word);
}

static void make_parameters(struct lab *lab)
{
	const struct ks_lab_args *args = lab->args;

	/* Each cache by itself, and all memory mapped where it is looked for. */
	ks_strbuf_puts(&lab->parameters,
		       args->stock ? "slab_nomerge no5lvl " : "memorizer.page_callers=1 ");
	if (args->boot)
		ks_strbuf_printf(&lab->parameters, "memorizer_enabled_boot=yes mem_log_boot=%s %s",
				 args->access ? "yes" : "no",
				 args->kernel.calls ? "cfg_log_boot=yes " : "");
	ks_strbuf_puts(&lab->parameters, args->parameters);
}

/* Signals are read, not handled, so that none can come between us and cleaning up. */
static int catch_signals(struct lab *lab, struct ks_diag *diag)
{
	ks_cli_block_signals((const int[]){ SIGWINCH, 0 }, &lab->blocked);
	lab->signals = ks_cli_signal_fd(&lab->blocked, diag);
	if (lab->signals < 0)
		return lab->signals;
	return 0;
}

static int prepare(struct lab *lab, struct ks_diag *diag)
{
	const struct ks_lab_args *args = lab->args;
	int err = 0;

	if (args->stock)
		err = ks_stock_kernel(&lab->stock, args->kernel.arch, &lab->kernel, diag);
	else
		err = ks_lab_kernel_find(&args->kernel, &lab->kernel, diag);
	if (!err && args->heap && access(lab->kernel.btf, R_OK))
		err = ks_diag_set(diag, -ENOENT,
				  "%s: no types of the kernel, which --heap needs; make them with "
				  "'kmemscope lab build --types --kernel %s --arch %s'",
				  lab->kernel.btf, args->kernel.version,
				  ks_lab_arch_names[args->kernel.arch]);
	if (!err)
		err = args->kernel.arch == KS_LAB_ARM64
			      ? ks_stock_init(&lab->stock, &lab->init, diag)
			      : ks_lab_find_helper("lab-init", &lab->init, diag);
	if (!err && args->kernel.arch == KS_LAB_UM)
		err = ks_lab_find_helper("lab-xstate.so", &lab->shim, diag);
	if (!err) {
		make_orders(lab);
		make_parameters(lab);
		err = ks_lab_ramdisk(ks_strbuf_str(&lab->init), &lab->orders,
				     args->stock ? ks_strbuf_str(&lab->stock.root) : NULL,
				     &lab->ramdisk, diag);
	}
	if (!err && lab->path) {
		err = ks_outfile_open(&lab->map, lab->path, diag);
		lab->has_map = !err;
	}
	if (!err)
		err = catch_signals(lab, diag);
	return err;
}

/* === Internals: the terminal ============================================================== */

/* A shell in the background must not be stopped for reading a terminal that it does not need. */
static int usable_input(void)
{
	if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp())
		return -1;
	return STDIN_FILENO;
}

static void set_raw(const struct lab *lab)
{
	struct termios raw = lab->terminal;

	cfmakeraw(&raw);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

/* === Internals: the heap ================================================================== */

/* What the guest holds when its command has ended. What comes of it is told in conclude(). */
static void save_heap(struct ks_lab_session *session)
{
	struct lab *lab = session->arg;
	struct ks_heap_source source = { .guest = (u64)session->guest->pid,
					 .btf = lab->kernel.btf };
	struct ks_snapshot *snapshot;

	lab->heap_err = ks_heap_source_snapshot(&source, true, &snapshot, &lab->heap_diag);
	if (lab->heap_err)
		return;
	lab->heap_err = ks_snapshot_save(snapshot, lab->args->heap, NULL, NULL, &lab->heap_diag);
	lab->heap_objects = snapshot->count;
	ks_snapshot_free(snapshot);
}

/* === Internals: a stock kernel ============================================================ */

static void begin_stock(struct ks_lab_session *session)
{
	struct lab *lab = session->arg;

	ks_stock_begin(&lab->stock, session->guest->pid);
}

static void end_stock(struct ks_lab_session *session)
{
	struct lab *lab = session->arg;

	ks_stock_end(&lab->stock, session->guest->pid, lab->path, session->map,
		     &session->counter.bytes);
}

/* === Internals: the guest ================================================================= */

static int run_guest(struct lab *lab, bool kvm, struct ks_lab_session *session,
		     struct ks_diag *diag)
{
	const struct ks_lab_args *args = lab->args;
	struct ks_lab_machine machine = {
		.kernel = &lab->kernel,
		.shim = ks_strbuf_str(&lab->shim),
		.parameters = ks_strbuf_str(&lab->parameters),
		.shares = args->shares.items,
		.ramdisk = lab->ramdisk,
		.processors = (u32)args->processors,
		.memory_mb = args->memory_mb,
		.kvm = kvm,
		.plugin = args->stock ? ks_strbuf_str(&lab->stock.plugin) : NULL,
		.table = lab->stock.fd,
	};
	struct ks_lab_guest guest;
	int err;

	*session = (struct ks_lab_session){
		.guest = &guest,
		.map = lab->has_map ? &lab->map : NULL,
		.text = !args->binary,
		.in = usable_input(),
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.signals = lab->signals,
		.boot_ms = args->kernel.arch == KS_LAB_UM ? BOOT_MS_UM
			   : kvm			  ? BOOT_MS_KVM
							  : BOOT_MS_TCG,
		.run_ms = args->timeout_ns / 1000000,
		.tty = lab->tty,
		.at_begin = args->stock ? begin_stock : NULL,
		.at_end = args->stock  ? end_stock
			  : args->heap ? save_heap
				       : NULL,
		.arg = lab,
	};
	err = ks_lab_guest_start(&guest, &machine, diag);
	if (err)
		return err;
	if (lab->tty)
		set_raw(lab);
	err = ks_lab_session_run(session, diag);
	if (lab->tty)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &lab->terminal);
	ks_lab_guest_end(&guest);
	return err;
}

/* Machines offer KVM that does not get a kernel up; only trying tells. */
static int run_somehow(struct lab *lab, struct ks_lab_session *session, struct ks_diag *diag)
{
	const struct ks_lab_args *args = lab->args;
	bool kvm = args->kernel.arch != KS_LAB_UM &&
		   (args->accel == KS_LAB_ACCEL_KVM ||
		    (args->accel == KS_LAB_ACCEL_AUTO && ks_lab_kvm_promises()));
	int err = run_guest(lab, kvm, session, diag);

	if (!kvm || args->accel != KS_LAB_ACCEL_AUTO || session->stage != KS_LAB_BOOT || !err ||
	    err == -EINTR)
		return err;
	if (!args->quiet)
		fputs("kmemscope lab: KVM does not work here; emulating\n", stderr);
	ks_lab_kvm_failed(&lab->args->cli);
	ks_lab_session_deinit(session);
	return run_guest(lab, false, session, diag);
}

/* === Internals: after the guest =========================================================== */

static void tell_losses(const struct lab *lab, const struct ks_kmap_kernel_stats *stats)
{
	size_t i;

	for (i = 0; i < KS_KMAP_LOSSES; i++)
		if (stats->lost[i])
			fprintf(stderr, "%s: %s: %llu\n", lab->path,
				ks_kmap_loss_name((enum ks_kmap_loss)i),
				(unsigned long long)stats->lost[i]);
	if (stats->lost[KS_KMAP_LOST_FULL] || stats->lost[KS_KMAP_LOST_ACCESSES_FULL])
		fprintf(stderr,
			"%s: out of memory: give the guest more with --mem, or the memorizer more of "
			"it with --append memorizer.max_mb=N\n",
			lab->path);
}

/* A map that broke off ends with its last whole object. */
static int keep_map(struct lab *lab, const struct ks_lab_session *session, int err,
		    struct ks_diag *diag)
{
	u64 size = err && session->text ? session->counter.last_begin : session->counter.bytes;
	int next;

	if (!lab->has_map)
		return 0;
	lab->has_map = false;
	if (!size) {
		ks_outfile_abort(&lab->map);
		return 0;
	}
	if (size != session->counter.bytes && ftruncate(lab->map.fd, (off_t)size)) {
		next = ks_diag_set(diag, -errno, "%s: cannot cut off the end: %s", lab->path,
				   strerror(errno));
		ks_outfile_abort(&lab->map);
		return next;
	}
	return ks_outfile_commit(&lab->map, diag);
}

static void tell(const struct lab *lab, const struct ks_lab_session *session)
{
	if (session->text)
		fprintf(stderr, "%s: %llu objects\n", lab->path,
			(unsigned long long)session->counter.objects);
	else
		fprintf(stderr, "%s: %llu bytes\n", lab->path,
			(unsigned long long)session->counter.bytes);
	/* The tree has the object files, which tell the source file of each function. */
	fprintf(stderr, "%s: read it with 'kmemscope kmap report -k %s/build %s'\n", lab->path,
		lab->kernel.dir, lab->path);
}

/* Writes the console's text where it was wanted, or to a new file if something went wrong. */
static void keep_log(const struct lab *lab, const struct ks_lab_session *session, bool failed)
{
	const char *tmp = getenv("TMPDIR");
	char path[512];
	int fd;

	if (lab->args->log) {
		ks_cli_write(&lab->args->cli, lab->args->log, &session->console);
		snprintf(path, sizeof(path), "%s", lab->args->log);
	} else {
		if (!failed || !session->console.len)
			return;
		snprintf(path, sizeof(path), "%s/kmemscope-lab-XXXXXX", tmp && *tmp ? tmp : "/tmp");
		fd = mkostemp(path, O_CLOEXEC);
		if (fd < 0 || write(fd, session->console.s, session->console.len) < 0)
			snprintf(path, sizeof(path), "lost: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	if (failed)
		fprintf(stderr, "%s: the kernel's log is in %s\n", lab->args->cli.command, path);
}

/* What the kernel's own counters say about the map. Returns the exit code. */
static int judge_map(struct lab *lab, const struct ks_lab_session *session)
{
	const struct ks_cli *cli = &lab->args->cli;
	struct ks_kmap_kernel_stats stats;
	struct ks_diag diag = { 0 };
	int err = ks_kmap_kernel_stats_parse(ks_strbuf_str(&session->stats), "show_stats", &stats,
					     &diag);

	if (err)
		return ks_cli_error(cli, KS_EXIT_LAB, "%s", diag.text);
	if (!lab->args->quiet) {
		tell_losses(lab, &stats);
		tell(lab, session);
	}
	if (stats.failed)
		return ks_cli_error(
			cli, KS_EXIT_LAB,
			"the memorizer has switched itself off (%s); the map ends there",
			stats.state);
	if (!session->status && cli->output.strict && ks_kmap_lost_total(&stats))
		return KS_EXIT_LOST;
	return session->status;
}

static int conclude(struct lab *lab, struct ks_lab_session *session, int err, struct ks_diag *diag)
{
	const struct ks_cli *cli = &lab->args->cli;
	bool told_status = session->stage == KS_LAB_END && session->status;
	struct ks_diag map_diag = { 0 };
	int kept = keep_map(lab, session, err, &map_diag);
	bool command_missing = err && told_status && session->status != KS_EXIT_LAB;
	/* Where it was the host's disk that failed, the guest's words are of no use. */
	bool guest_failed = err == -EIO || err == -EPROTO || err == -ETIMEDOUT;

	if (err == -EINTR)
		return 128 + session->signal;
	if (err)
		ks_cli_error(cli, KS_EXIT_LAB, "%s", diag->text);
	if (err && !kept && session->counter.last_begin && !lab->args->quiet)
		fprintf(stderr, "%s: holds what was recorded before\n", lab->path);
	keep_log(lab, session, guest_failed && !command_missing);
	if (command_missing)
		return session->status;
	if (kept)
		return ks_cli_error(cli, KS_EXIT_LAB, "%s", map_diag.text);
	if (err)
		return KS_EXIT_LAB;
	if (lab->args->heap && lab->heap_err)
		return ks_cli_error(cli, KS_EXIT_LAB, "the heap: %s",
				    lab->heap_err > 0 ? "the guest ended before"
						      : lab->heap_diag.text);
	if (lab->args->heap && !lab->args->quiet)
		fprintf(stderr, "%s: %llu objects; read it with 'kmemscope heap --from %s'\n",
			lab->args->heap, (unsigned long long)lab->heap_objects, lab->args->heap);
	if (lab->args->stock)
		return ks_stock_judge(&lab->stock, lab->args, lab->path, session->status);
	return lab->path ? judge_map(lab, session) : session->status;
}

static int run(struct ks_lab_args *args, const char *path, bool tty)
{
	struct lab lab = {
		.args = args, .path = path, .tty = tty, .ramdisk = -1, .signals = -1, .heap_err = 1
	};
	struct ks_lab_session session = { 0 };
	struct ks_diag diag = { 0 };
	int err, code;

	if (tty && tcgetattr(STDIN_FILENO, &lab.terminal))
		lab.tty = false;
	code = args->stock ? ks_stock_prepare(args, &lab.stock) : 0;
	err = code ? 0 : prepare(&lab, &diag);
	if (code) {
		err = 0; /* it has been said */
	} else if (err) {
		code = ks_cli_error(&args->cli, KS_EXIT_LAB, "%s", diag.text);
	} else {
		err = run_somehow(&lab, &session, &diag);
		code = conclude(&lab, &session, err, &diag);
		ks_lab_session_deinit(&session);
	}
	if (lab.has_map)
		ks_outfile_abort(&lab.map);
	if (lab.ramdisk >= 0)
		close(lab.ramdisk);
	if (lab.signals >= 0)
		close(lab.signals);
	ks_strbuf_deinit(&lab.parameters);
	ks_strbuf_deinit(&lab.orders);
	ks_strbuf_deinit(&lab.shim);
	ks_strbuf_deinit(&lab.init);
	ks_lab_kernel_deinit(&lab.kernel);
	if (args->stock)
		ks_stock_free(&lab.stock);
	return code;
}

/* === Public =============================================================================== */

int ks_lab_run(struct ks_lab_args *args)
{
	if (!args->nr_words && !args->boot)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "give a command, or --boot for the kernel's start alone");
	return run(args, args->output ? args->output : default_output, false);
}

int ks_lab_shell(struct ks_lab_args *args)
{
	static char fallback[] = "/bin/sh";
	char *shell = getenv("SHELL"), *words[] = { shell && *shell ? shell : fallback, NULL };

	if (args->nr_words || args->stock)
		return ks_cli_error(
			&args->cli, KS_EXIT_USAGE,
			"give no command and no --stock; 'kmemscope lab run' takes them");
	if (!args->output && (args->access || args->kernel.calls || args->mode || args->binary))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "give -o FILE too: without it nothing is recorded");
	args->command = words;
	return run(args, args->output, isatty(STDIN_FILENO));
}
