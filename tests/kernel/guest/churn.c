// SPDX-License-Identifier: GPL-2.0-only
/*
 * churn COUNT: opens COUNT of everything and closes it again: files, pipes, sockets, epolls with an item each, timers,
 * event and signal descriptors, mappings, children. Nothing of it is left when it ends.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 100, WAVE = 500 };

static int open_file(void)
{
	return open("/tmp/churn", O_RDWR | O_CREAT, 0600);
}

static int open_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int open_event(void)
{
	return eventfd(0, 0);
}

static int open_timer(void)
{
	return timerfd_create(CLOCK_MONOTONIC, 0);
}

static int open_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return signalfd(-1, &set, 0);
}

static int open_pipe(void)
{
	int ends[2];

	if (pipe(ends))
		return -1;
	close(ends[1]);
	return ends[0];
}

static int event;

static int open_poll(void)
{
	struct epoll_event how = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	return fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, event, &how) ? -1 : fd;
}

/* In waves, so that there are many at a time. */
static void open_and_close(const char *name, int (*open_one)(void), int count)
{
	int fds[WAVE], i, n;

	for (; count > 0; count -= n) {
		for (n = 0; n < WAVE && n < count; n++) {
			fds[n] = open_one();
			if (fds[n] < 0) {
				perror(name);
				exit(1);
			}
		}
		for (i = 0; i < n; i++)
			close(fds[i]);
	}
}

static void map_and_unmap(int count)
{
	char *at[64];
	int i;

	while (count > 0) {
		for (i = 0; i < 64; i++)
			at[i] = mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (i = 0; i < 64; i++)
			munmap(at[i], 4096);
		count -= 64;
	}
}

static void fork_children(void)
{
	int i;

	for (i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 5000;
	struct rlimit limit = { 4096, 4096 };

	setrlimit(RLIMIT_NOFILE, &limit);
	event = open_event();
	open_and_close("files", open_file, count);
	open_and_close("pipes", open_pipe, count);
	open_and_close("sockets", open_socket, count);
	open_and_close("events", open_event, count);
	open_and_close("timers", open_timer, count);
	open_and_close("signals", open_signal, count);
	open_and_close("polls", open_poll, count);
	map_and_unmap(count);
	fork_children();
	unlink("/tmp/churn");
	return 0;
}
