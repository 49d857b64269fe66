// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of the lab's guest: makes the view of the host's files, runs the command in it,
 * and carries everything between the command, the memorizer and the runner on the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

/* === Data ================================================================================= */

/*
 * The reader rests after each visit to the stream: in mode 1 its own work is recorded, and woken for
 * each object it would make, and read, mostly its own.
 */
enum { REST_MS = 20 };

/* Our ends of the command's files; -1 = closed. */
static struct {
	int in, out, err; /* with a terminal in == out, and there is no err */
	pid_t pid;
	int status; /* as waitpid() has it */
	bool ended;
} command = { -1, -1, -1, 0, 0, false };

/* Standard input that the command has not taken; never more than the window. */
static char input[LAB_STDIN_WINDOW];
static size_t input_len;
static bool input_ended;

static int child_signals = -1;
static int stream = -1;

/* What the child says when it cannot become the command. */
struct complaint {
	int status, err;
	bool marking;
};

/* === Internals: orders ==================================================================== */

static char *load(const char *path, size_t *ret_len)
{
	size_t len = 0, cap = 1 << 16;
	char *text = malloc(cap + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	while (fd >= 0 && text && (n = read(fd, text + len, cap - len)) > 0) {
		len += (size_t)n;
		if (len == cap) {
			cap *= 2;
			text = realloc(text, cap + 1);
		}
	}
	if (fd >= 0)
		close(fd);
	if (text)
		text[len] = '\0';
	*ret_len = len;
	return text;
}

static bool takes(const char *string, const char *key, const char **ret_value)
{
	size_t len = strlen(key);

	if (strncmp(string, key, len))
		return false;
	*ret_value = string + len;
	return true;
}

static void append(char ***list, size_t *len, const char *value)
{
	*list = realloc(*list, (*len + 2) * sizeof(**list));
	if (!*list)
		abort();
	(*list)[(*len)++] = (char *)value;
	(*list)[*len] = NULL;
}

static struct orders read_orders(void)
{
	struct orders orders = { .kmap = "", .mode = "", .cwd = "/" };
	size_t len, nr_args = 0, nr_env = 0, nr_shares = 0;
	char *text = load(LAB_ORDERS, &len), *at;
	const char *value;

	for (at = text; at && at < text + len; at += strlen(at) + 1) {
		if (takes(at, "arg=", &value))
			append(&orders.argv, &nr_args, value);
		else if (takes(at, "env=", &value))
			append(&orders.envp, &nr_env, value);
		else if (takes(at, "share=", &value))
			append(&orders.shares, &nr_shares, value);
		else if (takes(at, "cwd=", &value))
			orders.cwd = value;
		else if (takes(at, "mode=", &value))
			orders.mode = value;
		else if (takes(at, "kmap=", &value))
			orders.kmap = value;
		else if (takes(at, "window=", &value))
			sscanf(value, "%hux%hu", &orders.window.rows, &orders.window.columns);
		else if (!strcmp(at, "um"))
			orders.user_mode = true;
		else if (!strcmp(at, "access"))
			orders.access = true;
		else if (!strcmp(at, "calls"))
			orders.calls = true;
		else if (!strcmp(at, "boot"))
			orders.boot = true;
		else if (!strcmp(at, "stock"))
			orders.stock = true;
		else if (!strcmp(at, "tty"))
			orders.tty = true;
	}
	if (!nr_env)
		append(&orders.envp, &nr_env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin");
	if (!nr_shares)
		orders.shares = calloc(1, sizeof(*orders.shares));
	return orders;
}

/* === Internals: the command =============================================================== */

static void __attribute__((noreturn))
become_command(const struct orders *orders, const int *files, int complaints)
{
	struct complaint complaint = { .status = 125, .marking = true };
	sigset_t none;
	int i;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	for (i = 0; i < 3; i++)
		dup2(files[i], i);
	if (orders->tty)
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	/* The marks of modes 2 and 3 are on whoever writes the mode, and stay over exec. */
	if (!memorizer_mark(orders)) {
		complaint.marking = false;
		if (chdir(orders->cwd) && chdir("/"))
			_exit(complaint.status);
		environ = orders->envp;
		execvp(orders->argv[0], orders->argv);
		complaint.status = errno == ENOENT ? 127 : 126;
	}
	complaint.err = errno;
	if (write(complaints, &complaint, sizeof(complaint)) < 0)
		_exit(125);
	_exit(complaint.status);
}

static void make_pipe(int *ours, int *theirs, bool to_command)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		fail(125, "start", "cannot make a pipe: %s", strerror(errno));
	*ours = ends[to_command];
	*theirs = ends[!to_command];
	fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static void set_window(const struct lab_window *window)
{
	struct winsize size = { .ws_row = window->rows, .ws_col = window->columns };

	if (command.in >= 0)
		ioctl(command.in, TIOCSWINSZ, &size);
}

static void make_terminal(const struct orders *orders, int files[3])
{
	const char *name;
	int i;

	command.in = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	name = command.in < 0 || grantpt(command.in) || unlockpt(command.in) ? NULL
									     : ptsname(command.in);
	files[0] = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
	if (files[0] < 0)
		fail(125, "start", "cannot make a terminal: %s", strerror(errno));
	for (i = 1; i < 3; i++)
		files[i] = fcntl(files[0], F_DUPFD_CLOEXEC, 3);
	command.out = fcntl(command.in, F_DUPFD_CLOEXEC, 3);
	set_window(&orders->window);
}

static void start_command(const struct orders *orders)
{
	struct complaint complaint;
	int files[3], told[2], i;

	if (orders->tty) {
		make_terminal(orders, files);
	} else {
		make_pipe(&command.in, &files[0], true);
		make_pipe(&command.out, &files[1], false);
		make_pipe(&command.err, &files[2], false);
	}
	if (pipe2(told, O_CLOEXEC))
		fail(125, "start", "cannot make a pipe: %s", strerror(errno));
	command.pid = fork();
	if (command.pid < 0)
		fail(125, "start", "cannot fork: %s", strerror(errno));
	if (!command.pid)
		become_command(orders, files, told[1]);
	for (i = 0; i < 3; i++)
		close(files[i]);
	close(told[1]);
	if (read(told[0], &complaint, sizeof(complaint)) == sizeof(complaint))
		fail(complaint.status, complaint.marking ? "memorizer" : "start", "%s: %s",
		     complaint.marking ? "cannot set the mode" : orders->argv[0],
		     strerror(complaint.err));
	close(told[0]);
	channel_send(LAB_STARTED, NULL, 0);
}

/* === Internals: carrying ================================================================== */

static void close_input(void)
{
	if (command.in >= 0)
		close(command.in);
	command.in = -1;
}

/* Hands on what the command takes; the runner may send as much again. */
static void feed(void)
{
	uint32_t taken = (uint32_t)input_len;
	ssize_t n;

	if (command.in >= 0 && input_len) {
		n = write(command.in, input, input_len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		/* Whoever reads no more gets no more; it is taken all the same. */
		if (n < 0)
			close_input();
		else
			taken = (uint32_t)n;
	}
	if (taken)
		channel_send(LAB_TAKEN, &taken, sizeof(taken));
	memmove(input, input + taken, input_len - taken);
	input_len -= taken;
	if (input_ended && !input_len)
		close_input();
}

/* The command finds out at its next write, as it would on the host. */
static void close_output(uint32_t which)
{
	int *fd = which == LAB_STDOUT ? &command.out : &command.err;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void handle(enum lab_frame_type type, const void *data, size_t len)
{
	uint32_t which;

	if (type == LAB_CLOSED && len == sizeof(which)) {
		memcpy(&which, data, sizeof(which));
		close_output(which);
	} else if (type == LAB_WINDOW && len == sizeof(struct lab_window)) {
		set_window(data);
	} else if (type == LAB_STDIN && !len) {
		input_ended = true;
		feed();
	} else if (type == LAB_STDIN && len <= sizeof(input) - input_len) {
		memcpy(input + input_len, data, len);
		input_len += len;
		feed();
	}
}

/* Sends what the command wrote. False: nothing at present, or it will write no more. */
static bool carry(int *fd, enum lab_frame_type type)
{
	char buf[1 << 14];
	ssize_t n = *fd < 0 ? 0 : read(*fd, buf, sizeof(buf));

	if (n > 0) {
		channel_send(type, buf, (size_t)n);
		return true;
	}
	if (*fd >= 0 && !(n < 0 && (errno == EAGAIN || errno == EINTR))) {
		close(*fd);
		*fd = -1;
	}
	return false;
}

static void reap(int options)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(child_signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, options)) > 0)
		if (pid == command.pid) {
			command.status = status;
			command.ended = true;
		}
}

static void run_command(void)
{
	bool resting = false;

	while (!command.ended) {
		struct pollfd fds[] = {
			{ .fd = child_signals, .events = POLLIN },
			{ .fd = channel_fd(), .events = POLLIN },
			{ .fd = command.out, .events = POLLIN },
			{ .fd = command.err, .events = POLLIN },
			{ .fd = input_len ? command.in : -1, .events = POLLOUT },
			{ .fd = resting ? -1 : stream, .events = POLLIN },
		};

		if (poll(fds, 6, resting ? REST_MS : -1) < 0 && errno != EINTR)
			fail(125, "run", "cannot wait: %s", strerror(errno));
		if (fds[0].revents)
			reap(WNOHANG);
		if (fds[1].revents)
			channel_receive(handle);
		if (fds[2].revents)
			carry(&command.out, LAB_STDOUT);
		if (fds[3].revents)
			carry(&command.err, LAB_STDERR);
		if (fds[4].revents)
			feed();
		resting = !resting && stream >= 0 && !memorizer_send_some(stream);
	}
}

/* The run ends with the command: whatever it left behind ends, too. */
static void end_command(void)
{
	kill(-1, SIGKILL);
	reap(0);
	while (carry(&command.out, LAB_STDOUT))
		;
	while (carry(&command.err, LAB_STDERR))
		;
}

static int exit_status(void)
{
	if (WIFSIGNALED(command.status))
		return 128 + WTERMSIG(command.status);
	return WEXITSTATUS(command.status);
}

/* === Public =============================================================================== */

int main(void)
{
	struct orders orders = read_orders();
	sigset_t signals;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	child_signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	view_early();
	channel_open(&orders);
	if (orders.stock)
		view_mount();
	else
		view_make(&orders);
	stream = memorizer_start(&orders);
	/* Without a command it is the kernel's start that is wanted, and nothing of ours in it. */
	if (orders.argv) {
		if (orders.stock)
			channel_await_go(handle);
		start_command(&orders);
		feed(); /* its input may have ended before it began */
		run_command();
		end_command();
	}
	memorizer_finish(&orders, stream);
	finish(exit_status());
}
