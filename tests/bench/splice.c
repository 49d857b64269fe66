// SPDX-License-Identifier: GPL-2.0-only
/*
 * The minimum that a recorder can do, for comparison: splice INSTANCE FILE moves whole pages of every
 * CPU of a tracing instance into FILE.N, with one pinned process per CPU, until SIGINT.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static int copy_cpu(const char *instance, const char *file, int cpu)
{
	char path[4096];
	cpu_set_t set;
	int in, out, fds[2];
	ssize_t n;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	setpriority(PRIO_PROCESS, 0, -10);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", instance, cpu);
	in = open(path, O_RDONLY | O_NONBLOCK);
	snprintf(path, sizeof(path), "%s.%d", file, cpu);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (in < 0 || out < 0 || pipe(fds))
		return 1;
	fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
	for (;;) {
		struct pollfd pfd = { .fd = in, .events = POLLIN };

		n = splice(in, NULL, fds[1], NULL, 1 << 20, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n > 0)
			splice(fds[0], NULL, out, NULL, (size_t)n, SPLICE_F_MOVE);
		else if (stop)
			return 0;
		else
			poll(&pfd, 1, 50);
	}
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), i;
	struct sigaction action = { .sa_handler = on_signal };

	if (argc != 3)
		return 2;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	for (i = 1; i < cpus; i++)
		if (!fork())
			return copy_cpu(argv[1], argv[2], (int)i);
	copy_cpu(argv[1], argv[2], 0);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}
