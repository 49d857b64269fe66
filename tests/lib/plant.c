// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that leaks: plant KIND RATE SECONDS makes so many kernel objects a second and keeps them, then says
 * "planted" and waits for the end of its standard input. KIND is eventfd, timerfd, epoll, socket, msgq or file;
 * with a "-" in front the objects are closed again at the end of the SECONDS.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int listened_to; /* by what epolls have */

static int make_epoll(void)
{
	struct epoll_event interest = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	if (fd >= 0)
		epoll_ctl(fd, EPOLL_CTL_ADD, listened_to, &interest);
	return fd;
}

static int make(const char *kind)
{
	if (!strcmp(kind, "eventfd"))
		return eventfd(0, 0);
	if (!strcmp(kind, "timerfd"))
		return timerfd_create(CLOCK_MONOTONIC, 0);
	if (!strcmp(kind, "epoll"))
		return make_epoll();
	if (!strcmp(kind, "socket"))
		return socket(AF_UNIX, SOCK_STREAM, 0);
	if (!strcmp(kind, "msgq"))
		return msgget(IPC_PRIVATE, 0600);
	if (!strcmp(kind, "file"))
		return open("/dev/null", O_RDONLY);
	errno = EINVAL;
	return -1;
}

static void end(const char *kind, int object)
{
	if (!strcmp(kind, "msgq"))
		msgctl(object, IPC_RMID, NULL);
	else
		close(object);
}

int main(int argc, char **argv)
{
	bool closes = argc == 4 && argv[1][0] == '-';
	const char *kind = argc == 4 ? argv[1] + closes : "";
	long rate = argc == 4 ? atol(argv[2]) : 0, seconds = argc == 4 ? atol(argv[3]) : 0, i;
	struct rlimit many = { 1 << 20, 1 << 20 };
	struct timespec next;
	int *objects;
	char byte;

	if (rate < 1 || seconds < 1) {
		fprintf(stderr, "usage: plant KIND RATE SECONDS\n");
		return 2;
	}
	setrlimit(RLIMIT_NOFILE, &many);
	listened_to = eventfd(0, 0);
	objects = calloc((size_t)(rate * seconds), sizeof(*objects));
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (i = 0; objects && i < rate * seconds; i++) {
		objects[i] = make(kind);
		if (objects[i] < 0) {
			perror(kind);
			return 1;
		}
		next.tv_nsec += 1000000000 / rate;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	for (i = 0; closes && i < rate * seconds; i++)
		end(kind, objects[i]);
	puts("planted");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	for (i = 0; !closes && i < rate * seconds; i++)
		end(kind, objects[i]);
	free(objects);
	return 0;
}
