// SPDX-License-Identifier: GPL-2.0-only
/*
 * hold COUNT: has the kernel make COUNT objects of each kind, and keeps them until its standard input ends. It prints
 * lines "KIND NUMBER PID", of which a kind may have several, and one "all 0 0" at the end; fewer than asked for where a
 * limit is in the way.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
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

enum { FEW_QUEUES = 50 }; /* the kernel's own limit is 256 for all users together, but for root */

/* As far as it goes. */
static void raise_limit(int what, rlim_t to)
{
	struct rlimit limit;

	if (getrlimit(what, &limit) || limit.rlim_cur >= to)
		return;
	/* Root alone may go beyond the upper limit. */
	if (limit.rlim_max < to && !setrlimit(what, &(struct rlimit){ to, to }))
		return;
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
	int i, limit;

	/* A namespace of its own has a limit of its own. */
	limit = unshare(CLONE_NEWIPC) ? -1 : open("/proc/sys/fs/mqueue/queues_max", O_WRONLY);
	if ((limit < 0 || write(limit, "100000\n", 7) != 7) && count > FEW_QUEUES)
		count = FEW_QUEUES;
	/* The bytes of all queues of a user are limited, too: a user for each process. */
	if (setuid((uid_t)(1000000 + getpid())) && count > FEW_QUEUES)
		count = FEW_QUEUES;
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "/kmemscope-%d-%d", (int)getpid(), i);
		if (mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr) < 0)
			break;
		mq_unlink(name);
	}
	return i;
}

/* Objects of a kind, by processes that make so many of them at most: a table of more files may be no object. */
struct kind {
	const char *name;
	int (*make)(int count);
	int most;
};

static const struct kind kinds[] = {
	{ "files", make_files, 2000 },	   { "pipes", make_pipes, 1000 },
	{ "sockets", make_sockets, 2000 }, { "epolls", make_epolls, 2000 },
	{ "timers", make_timers, 10000 },  { "queues", make_queues, 2000 },
};

static pid_t start(const struct kind *kind, int count, int ready)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	printf("%s %d %d\n", kind->name, kind->make(count), (int)getpid());
	fflush(stdout);
	_exit(write(ready, "", 1) != 1 || read(0, &byte, 1) < 0);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1000, left, ready[2], started = 0;
	size_t i;
	char byte;

	raise_limit(RLIMIT_NOFILE, (rlim_t)count + 1000);
	raise_limit(RLIMIT_SIGPENDING, (rlim_t)count + 1000);
	raise_limit(RLIMIT_MSGQUEUE, RLIM_INFINITY);
	if (pipe(ready))
		return 1;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (left = count; left > 0; left -= kinds[i].most, started++)
			if (start(&kinds[i], left < kinds[i].most ? left : kinds[i].most,
				  ready[1]) < 0)
				return 1;
	}
	while (started--)
		if (read(ready[0], &byte, 1) != 1)
			return 1;
	printf("all 0 0\n");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
