// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The host side of a guest: the lab's kernel as a process of this machine.
 *
 * A keeper stands between the runner and the guest. It does nothing but wait for the guest's end, or
 * for the runner's, and then kill whatever is left: User Mode Linux has a process for each address
 * space in it, which would not notice that their kernel was killed.
 */
#include "lab/guest-process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* === Data ================================================================================= */

/* The guest's descriptors, beside the console on 1 and 2. */
enum { CHANNEL_FD = 3, RAMDISK_FD = 4, TABLE_FD = 5 };

enum { MANY_FILES = 1 << 20 }; /* as many as most kernels let one process have */

/* Strings of a command line, owned. */
struct words {
	KS_VEC(char *) list;
	bool failed;
};

/* === Internals: command lines ============================================================= */

static void add_word(struct words *words, const char *fmt, ...) ks_printf(2, 3);

static void add_word(struct words *words, const char *fmt, ...)
{
	char **slot = ks_vec_push(&words->list);
	va_list ap;

	if (!slot) {
		words->failed = true;
		return;
	}
	va_start(ap, fmt);
	if (vasprintf(slot, fmt, ap) < 0) {
		*slot = NULL;
		words->failed = true;
	}
	va_end(ap);
}

static void free_words(struct words *words)
{
	size_t i;

	for (i = 0; i < words->list.len; i++)
		free(words->list.items[i]);
	ks_vec_free(&words->list);
}

static void um_command(struct words *words, const struct ks_lab_machine *machine)
{
	const char *at = machine->parameters;

	add_word(words, "%s", machine->kernel->image);
	add_word(words, "mem=%lluM", (unsigned long long)machine->memory_mb);
	add_word(words, "initrd=/proc/self/fd/%d", RAMDISK_FD);
	add_word(words, "con=null");
	add_word(words, "con0=null,fd:1");
	add_word(words, "con1=fd:%d", CHANNEL_FD);
	/* It would make a directory there for its control socket, and leave it when it is killed. */
	add_word(words, "uml_dir=/dev/null");
	if (machine->kernel->smp) {
		/* Several processors take another way to run processes than ptrace(). */
		add_word(words, "seccomp=on");
		add_word(words, "ncpus=%u", machine->processors);
	}
	while (*at) {
		size_t len = strcspn(at, " ");

		if (len)
			add_word(words, "%.*s", (int)len, at);
		at += len + strspn(at + len, " ");
	}
}

/* Commas separate QEMU's options; one in a value is written twice. */
static char *double_commas(const char *path)
{
	char *out = malloc(2 * strlen(path) + 1), *to = out;

	for (; out && *path; path++) {
		*to++ = *path;
		if (*path == ',')
			*to++ = ',';
	}
	if (out)
		*to = '\0';
	return out;
}

static void add_9p(struct words *words, const char *path, const char *tag, bool writable)
{
	char *quoted = double_commas(path);

	if (!quoted) {
		words->failed = true;
		return;
	}
	add_word(words, "-fsdev");
	/* The host's tree is of many file systems: their inode numbers must not collide. */
	add_word(words, "local,id=%s,path=%s,security_model=none,multidevs=remap%s", tag, quoted,
		 writable ? "" : ",readonly=on");
	add_word(words, "-device");
	add_word(words, "virtio-9p-pci,fsdev=%s,mount_tag=%s", tag, tag);
	free(quoted);
}

static void qemu_command(struct words *words, const struct ks_lab_machine *machine)
{
	static const char *const x86_64[] = { "-cpu", "max" };
	/* Addresses of 48 bits; and pointers are authenticated, which takes more time to emulate than all else. */
	static const char *const arm64[] = { "-M", "virt", "-cpu", "max,lpa2=off,pauth-impdef=on" };
	static const char *const fixed[] = {
		"-nodefaults", "-no-user-config", "-no-reboot", "-display",	     "none",
		"-serial",     "stdio",		  "-device",	"virtio-serial-pci", "-chardev"
	};
	bool is_arm64 = machine->kernel->arch == KS_LAB_ARM64;
	char tag[32], *plugin;
	size_t i;

	add_word(words, is_arm64 ? "qemu-system-aarch64" : "qemu-system-x86_64");
	for (i = 0; is_arm64 && i < ARRAY_SIZE(arm64); i++)
		add_word(words, "%s", arm64[i]);
	for (i = 0; !is_arm64 && i < ARRAY_SIZE(x86_64); i++)
		add_word(words, "%s", x86_64[i]);
	for (i = 0; i < ARRAY_SIZE(fixed); i++)
		add_word(words, "%s", fixed[i]);
	add_word(words, "socket,id=lab,fd=%d", CHANNEL_FD);
	add_word(words, "-device");
	add_word(words, "virtserialport,chardev=lab,name=lab");
	/*
	 * One thread for all processors: with one each, QEMU 7.2 now and then executes half of an
	 * instruction that the guest is patching, as it does when a tracepoint is switched on.
	 */
	add_word(words, "-accel");
	add_word(words, "%s", machine->kvm ? "kvm" : "tcg,thread=single");
	/* A socket each: without ACPI a kernel finds no more than one processor in a socket. */
	add_word(words, "-smp");
	add_word(words, "%u,sockets=%u", machine->processors, machine->processors);
	add_word(words, "-m");
	add_word(words, "%llu", (unsigned long long)machine->memory_mb);
	if (machine->plugin) {
		add_word(words, "-plugin");
		plugin = double_commas(machine->plugin);
		words->failed |= !plugin;
		add_word(words, "%s,fd=%d", plugin ? plugin : "", TABLE_FD);
		free(plugin);
	} else {
		add_9p(words, "/", "root", false);
	}
	for (i = 0; !machine->plugin && machine->shares[i]; i++) {
		snprintf(tag, sizeof(tag), "share%zu", i);
		add_9p(words, machine->shares[i], tag, true);
	}
	add_word(words, "-kernel");
	add_word(words, "%s", machine->kernel->image);
	add_word(words, "-initrd");
	add_word(words, "/proc/self/fd/%d", RAMDISK_FD);
	add_word(words, "-append");
	/* The kernel where vmlinux says it is, so that addresses of two runs can be compared. */
	add_word(words, "console=%s panic=-1 nokaslr no_timer_check %s",
		 is_arm64 ? "ttyAMA0" : "ttyS0", machine->parameters);
}

/* === Internals: the guest ================================================================= */

/*
 * The memory of User Mode Linux is a file without a name, which it executes from. On a disk it would be
 * written back again and again; but a small /dev/shm, as containers have it, must not run full under it.
 */
static void choose_memory_place(u64 memory_mb)
{
	struct statvfs vfs;

	if (!statvfs("/dev/shm", &vfs) && !access("/dev/shm", W_OK) && !(vfs.f_flag & ST_NOEXEC) &&
	    (u64)vfs.f_bavail * vfs.f_frsize / (1 << 20) >= memory_mb)
		setenv("TMPDIR", "/dev/shm", 1);
	else
		setenv("TMPDIR", "/tmp", 0);
}

/*
 * User Mode Linux keeps a file of the host open for as long as the guest knows it: a walk over a few
 * thousand files must not end at the limit that is meant for a program of the host.
 */
static void allow_many_files(void)
{
	struct rlimit limit = { MANY_FILES, MANY_FILES };

	if (setrlimit(RLIMIT_NOFILE, &limit) && !getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int duplicate_to(int fd, int wanted)
{
	if (fd == wanted)
		return fcntl(fd, F_SETFD, 0);
	return dup2(fd, wanted);
}

static void __attribute__((noreturn))
become_guest(const struct ks_lab_machine *machine, char **argv, int channel, int console)
{
	struct rlimit no_core = { 0, 0 };
	/* Above all that is to be used, so that no copy overwrites another. */
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high[] = { fcntl(nothing, F_DUPFD_CLOEXEC, 10), fcntl(console, F_DUPFD_CLOEXEC, 10),
		       fcntl(channel, F_DUPFD_CLOEXEC, 10),
		       fcntl(machine->ramdisk, F_DUPFD_CLOEXEC, 10),
		       fcntl(machine->plugin ? machine->table : nothing, F_DUPFD_CLOEXEC, 10) };
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (duplicate_to(high[0], 0) < 0 || duplicate_to(high[1], 1) < 0 ||
	    duplicate_to(high[1], 2) < 0 || duplicate_to(high[2], CHANNEL_FD) < 0 ||
	    duplicate_to(high[3], RAMDISK_FD) < 0 || duplicate_to(high[4], TABLE_FD) < 0)
		_exit(125);
	close_range(TABLE_FD + 1, ~0u, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (machine->kernel->arch == KS_LAB_UM) {
		allow_many_files();
		choose_memory_place(machine->memory_mb);
		setenv("LD_PRELOAD", machine->shim, 1);
	}
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "lab: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(125);
}

/* === Internals: the keeper ================================================================ */

/* Until the guest has ended, or the other end of the leash is closed. */
static void wait_for_an_end(pid_t guest, int leash, int child_signals)
{
	struct pollfd fds[] = { { .fd = leash, .events = POLLIN },
				{ .fd = child_signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	siginfo_t ended;

	for (;;) {
		ended.si_pid = 0;
		if (waitid(P_PID, (id_t)guest, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid)
			return;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents)
			return;
		if (fds[1].revents && read(child_signals, &info, sizeof(info)) < 0)
			return;
	}
}

static void __attribute__((noreturn)) keep(const struct ks_lab_machine *machine, char **argv,
					   int channel, int console, int leash, int told)
{
	sigset_t signals;
	int child_signals;
	pid_t guest;

	/* What a terminal sends to the runner is the runner's to answer. */
	setsid();
	sigfillset(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	child_signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	/* Orphans of the guest come to us, and to nobody else. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	guest = fork();
	if (guest < 0)
		_exit(125);
	if (!guest)
		become_guest(machine, argv, channel, console);
	setpgid(guest, guest);
	/* Who is not told ends the guest by the leash. */
	if (write(told, &guest, sizeof(guest)) < 0)
		kill(guest, SIGKILL);
	close(told);
	close(channel);
	close(console);
	wait_for_an_end(guest, leash, child_signals);
	do {
		kill(-guest, SIGKILL);
	} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
	_exit(0);
}

/* === Public =============================================================================== */

int ks_lab_guest_start(struct ks_lab_guest *guest, const struct ks_lab_machine *machine,
		       struct ks_diag *diag)
{
	enum { CHANNEL, CONSOLE, LEASH, TOLD, PAIRS };
	int ends[PAIRS][2], err = 0, i;
	struct words words = { 0 };
	pid_t keeper = -1, pid;

	for (i = 0; i < PAIRS; i++)
		ends[i][0] = ends[i][1] = -1;
	if (machine->kernel->arch == KS_LAB_UM)
		um_command(&words, machine);
	else
		qemu_command(&words, machine);
	if (words.failed || !ks_vec_push(&words.list)) {
		err = ks_diag_nomem(diag, "starting a guest");
		goto out;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[CHANNEL]) ||
	    pipe2(ends[CONSOLE], O_CLOEXEC) || pipe2(ends[LEASH], O_CLOEXEC) ||
	    pipe2(ends[TOLD], O_CLOEXEC) || (keeper = fork()) < 0) {
		err = ks_diag_set(diag, -errno, "cannot start a guest: %s", strerror(errno));
		goto out;
	}
	if (!keeper) {
		close(ends[CHANNEL][0]);
		close(ends[CONSOLE][0]);
		close(ends[LEASH][1]);
		close(ends[TOLD][0]);
		keep(machine, words.list.items, ends[CHANNEL][1], ends[CONSOLE][1], ends[LEASH][0],
		     ends[TOLD][1]);
	}
	close(ends[TOLD][1]);
	ends[TOLD][1] = -1;
	if (read(ends[TOLD][0], &pid, sizeof(pid)) != sizeof(pid)) {
		err = ks_diag_set(diag, -EIO, "cannot start a guest: its keeper ended");
		waitpid(keeper, NULL, 0);
		goto out;
	}
	fcntl(ends[CHANNEL][0], F_SETFL, O_NONBLOCK);
	fcntl(ends[CONSOLE][0], F_SETFL, O_NONBLOCK);
	*guest = (struct ks_lab_guest){ .channel = ends[CHANNEL][0],
					.console = ends[CONSOLE][0],
					.leash = ends[LEASH][1],
					.keeper = keeper,
					.pid = pid };
	ends[CHANNEL][0] = ends[CONSOLE][0] = ends[LEASH][1] = -1;
out:
	for (i = 0; i < 2 * PAIRS; i++)
		if (ends[i / 2][i % 2] >= 0)
			close(ends[i / 2][i % 2]);
	free_words(&words);
	return err;
}

void ks_lab_guest_end(struct ks_lab_guest *guest)
{
	close(guest->leash);
	close(guest->channel);
	close(guest->console);
	while (waitpid(guest->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	*guest = (struct ks_lab_guest){ .channel = -1, .console = -1, .leash = -1 };
}
