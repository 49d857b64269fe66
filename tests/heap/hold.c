// SPDX-License-Identifier: GPL-2.0-only
/*
 * hold COUNT: has the kernel make COUNT objects of each kind, and keeps them until its standard input ends. When those of
 * a kind are there, it prints a line "KIND NUMBER PID"; fewer than asked for where a limit is in the way.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { QUEUES = 50 }; /* the kernel's own limit is 256 for all users together */

/* As far as it goes. */
static void raise_limit(int what, rlim_t to)
{
	struct rlimit limit;

	if (getrlimit(what, &limit))
		return;
	if (limit.rlim_cur < to)
		limit.rlim_cur = limit.rlim_max < to ? limit.rlim_max : to;
	setrlimit(what, &limit);
}

static int make_files(int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			break;
	return i;
}

static int make_pipes(int count)
{
	int i, ends[2];

	for (i = 0; i < count; i++)
		if (pipe(ends))
			break;
	return i;
}

static int make_sockets(int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (socket(AF_UNIX, SOCK_STREAM, 0) < 0)
			break;
	return i;
}

static int make_epolls(int count)
{
	struct epoll_event event = { .events = EPOLLIN };
	int i, fd, watched = socket(AF_UNIX, SOCK_STREAM, 0);

	for (i = 0; i < count; i++) {
		fd = epoll_create1(0);
		if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, watched, &event))
			break;
	}
	return i;
}

static int make_timers(int count)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t timer;
	int i;

	for (i = 0; i < count; i++)
		if (timer_create(CLOCK_MONOTONIC, &event, &timer))
			break;
	return i;
}

static int make_queues(int count)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[64];
	int i;

	for (i = 0; i < count && i < QUEUES; i++) {
		snprintf(name, sizeof(name), "/kmemscope-%d-%d", (int)getpid(), i);
		if (mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr) < 0)
			break;
		mq_unlink(name);
	}
	return i;
}

/* A process for each kind, as the number of open files of one is limited. */
static pid_t start(const char *kind, int (*make)(int count), int count)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	printf("%s %d %d\n", kind, make(count), (int)getpid());
	fflush(stdout);
	_exit(read(0, &byte, 1) < 0);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1000;
	const struct {
		const char *kind;
		int (*make)(int count);
		int count;
	} kinds[] = {
		{ "files", make_files, count },	    { "pipes", make_pipes, count / 2 },
		{ "pipes", make_pipes, count / 2 }, { "sockets", make_sockets, count },
		{ "epolls", make_epolls, count },   { "timers", make_timers, count },
		{ "queues", make_queues, QUEUES },
	};
	size_t i;

	raise_limit(RLIMIT_NOFILE, (rlim_t)count + 1000);
	raise_limit(RLIMIT_SIGPENDING, (rlim_t)count + 1000);
	raise_limit(RLIMIT_MSGQUEUE, RLIM_INFINITY);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (start(kinds[i].kind, kinds[i].make, kinds[i].count) < 0)
			return 1;
	while (wait(NULL) > 0)
		;
	return 0;
}
