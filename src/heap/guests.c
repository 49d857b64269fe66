// SPDX-License-Identifier: LGPL-2.1-only
/* Guests by /proc: the names and parents of processes. */
#include "heap/guests.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

/* === Internals ============================================================================ */

static bool read_text(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : ks_pread_full(fd, text, size - 1, 0);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_program(pid_t pid, char *target, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, target, size - 1);
	target[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static pid_t parent_of(pid_t pid)
{
	char text[512], *line;

	if (!read_text(pid, "status", text, sizeof(text)))
		return 0;
	line = strstr(text, "\nPPid:");
	return line ? (pid_t)strtol(line + 6, NULL, 10) : 0;
}

static bool is_uml(pid_t pid)
{
	char comm[32], program[512], parent[512];
	const char *name;

	if (!read_text(pid, "comm", comm, sizeof(comm)) || strcmp(comm, "linux\n") ||
	    !read_program(pid, program, sizeof(program)))
		return false;
	name = strrchr(program, '/');
	return name && !strcmp(name, "/linux") &&
	       !(read_program(parent_of(pid), parent, sizeof(parent)) && !strcmp(program, parent));
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* === Public =============================================================================== */

enum ks_qemu ks_qemu_of(pid_t pid)
{
	char text[64];

	/* The name of a process, cut off at 15 characters. */
	if (!read_text(pid, "comm", text, sizeof(text)))
		return KS_QEMU_NONE;
	if (!strncmp(text, "qemu-system-x86", 15))
		return KS_QEMU_X86_64;
	return strncmp(text, "qemu-system-aar", 15) ? KS_QEMU_NONE : KS_QEMU_ARM64;
}

int ks_find_guests(ks_pids *pids)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	while (!err && dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), *added;

		if (pid <= 0 || (!ks_qemu_of(pid) && !is_uml(pid)))
			continue;
		added = ks_vec_push(pids);
		if (added)
			*added = pid;
		else
			err = -ENOMEM;
	}
	if (dir)
		closedir(dir);
	if (pids->len)
		qsort(pids->items, pids->len, sizeof(*pids->items), by_number);
	return err;
}
