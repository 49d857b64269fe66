// SPDX-License-Identifier: GPL-2.0-only
/* The lab's guest and the memorizer: what is recorded, and where it goes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

/* === Data ================================================================================= */

#define DIRECTORY "/sys/kernel/debug/memorizer/"

static char buf[LAB_FRAME_MAX - sizeof(struct lab_frame)];

/* === Internals ============================================================================ */

static int open_file(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), DIRECTORY "%s", name);
	return open(path, flags | O_CLOEXEC);
}

static void must_write(const char *name, const char *text)
{
	if (memorizer_write(name, text))
		fail(125, "memorizer", "%s%s: cannot write '%s': %s", DIRECTORY, name, text,
		     strerror(errno));
}

static void send_file(const char *name, enum lab_frame_type type)
{
	int fd = open_file(name, O_RDONLY);
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		channel_send(type, buf, (size_t)n);
	if (n < 0)
		fail(125, "memorizer", "%s%s: cannot read: %s", DIRECTORY, name, strerror(errno));
	close(fd);
}

/* Frees that wait for a grace period: those of the command should end before the map does. */
static void let_rcu_settle(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* === Public =============================================================================== */

int memorizer_write(const char *name, const char *text)
{
	int fd = open_file(name, O_WRONLY), err;

	if (fd < 0)
		return -1;
	err = write(fd, text, strlen(text)) < 0 ? errno : 0;
	close(fd);
	errno = err;
	return err ? -1 : 0;
}

int memorizer_start(const struct orders *orders)
{
	int fd;

	if (!*orders->kmap)
		return -1;
	if (!orders->boot)
		must_write("clear_dead_objects", "1");
	fd = open_file(orders->kmap, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		fail(125, "memorizer", "%s%s: %s", DIRECTORY, orders->kmap, strerror(errno));
	if (orders->access && !orders->boot)
		must_write("memorizer_log_access", "1");
	if (orders->calls && !orders->boot)
		must_write("log_calls_enabled", "1");
	return fd;
}

int memorizer_mark(const struct orders *orders)
{
	return *orders->mode ? memorizer_write("memorizer_enabled", orders->mode) : 0;
}

bool memorizer_send_some(int stream)
{
	ssize_t n = read(stream, buf, sizeof(buf));

	if (n > 0)
		channel_send(LAB_KMAP, buf, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		fail(125, "memorizer", "the stream broke off: %s", strerror(errno));
	return n > 0;
}

void memorizer_finish(const struct orders *orders, int stream)
{
	if (stream < 0)
		return;
	let_rcu_settle();
	must_write("memorizer_enabled", "0");
	if (orders->access)
		must_write("memorizer_log_access", "0");
	if (orders->calls)
		must_write("log_calls_enabled", "0");
	while (memorizer_send_some(stream))
		;
	must_write("print_live_obj", "Y");
	send_file(strcmp(orders->kmap, "kmap_stream") ? "kmap_bin" : "kmap", LAB_KMAP);
	send_file("show_stats", LAB_STATS);
}
