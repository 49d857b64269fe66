// SPDX-License-Identifier: GPL-2.0-only
/*
 * A workload that does little but make the kernel allocate: load THREADS ITERATIONS DIRECTORY [SLICE]. Each iteration opens
 * a proc file, fills a pipe and a socket pair, maps and touches four pages, and makes and removes a file: about a hundred
 * kmem events. Prints its own CPU time in seconds. With SLICE, it prints the CPU time of an iteration in nanoseconds instead:
 * time is taken for so many iterations at once, and of these slices it is the one that a tenth is faster than. What other
 * programs do to caches, and interrupts, make slices slower but never faster.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long iterations, slice;
static const char *directory;
static double *slices; /* of the first thread */

static void touch_pages(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	if (p == MAP_FAILED)
		abort();
	for (i = 0; i < 4; i++)
		p[i * 4096] = 1;
	munmap(p, 4 * 4096);
}

static void exchange(int from, int to)
{
	char byte = 0;

	if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
		abort();
	close(from);
	close(to);
}

static void make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1)
		abort();
	close(fd);
	unlink(path);
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void *work(void *arg)
{
	char path[4096];
	struct stat st;
	int fds[2];
	long i;

	snprintf(path, sizeof(path), "%s/load-%ld", directory, (long)arg);
	for (i = 0; i < iterations; i++) {
		if (slices && !arg && i % slice == 0)
			slices[i / slice] = cpu_ns();
		close(open("/proc/self/stat", O_RDONLY));
		if (pipe(fds))
			abort();
		exchange(fds[0], fds[1]);
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
			abort();
		exchange(fds[0], fds[1]);
		touch_pages();
		make_file(path);
		stat("/etc/passwd", &st);
		stat("/usr/bin/env", &st);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc == 4 || argc == 5 ? atol(argv[1]) : 0, count, i;
	pthread_t ids[64];
	struct rusage usage;

	if (threads < 1 || threads > 64)
		return 2;
	iterations = atol(argv[2]);
	directory = argv[3];
	slice = argc == 5 ? atol(argv[4]) : 0;
	count = slice > 0 ? (iterations - 1) / slice : 0;
	if (count > 0) {
		slices = calloc((size_t)count + 1, sizeof(*slices));
		if (!slices)
			return 1;
	}
	for (i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, (void *)i))
			return 1;
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	if (slices) {
		for (i = 0; i < count; i++)
			slices[i] = slices[i + 1] - slices[i];
		qsort(slices, (size_t)count, sizeof(*slices), compare);
		printf("%.1f\n", slices[count / 10] / (double)slice);
		free(slices);
		return 0;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%.4f\n", (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
				 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6);
	return 0;
}
