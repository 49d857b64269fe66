// SPDX-License-Identifier: LGPL-2.1-only
/* The private instance. */
#include "capture/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* === Data ================================================================================= */

#define PREFIX "kmemscope-"

/* === Internals ============================================================================ */

/* The first tracefs in the list of mounts. */
static int find_mount(char **ret_root)
{
	char line[4096], dir[1024], type[64];
	FILE *file = fopen("/proc/self/mounts", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %1023s %63s", dir, type) == 2 && !strcmp(type, "tracefs");
	if (file)
		fclose(file);
	if (!found && access("/sys/kernel/debug/tracing/events", F_OK))
		return -ENODEV;
	*ret_root = strdup(found ? dir : "/sys/kernel/debug/tracing"); /* kernels before tracefs */
	return *ret_root ? 0 : -ENOMEM;
}

/* Where a path begins: "@" in front of it means the instance. */
static const char *base_of(const struct ks_tracefs *tfs, const char **path)
{
	if (**path != '@')
		return tfs->root;
	++*path;
	return tfs->instance ? tfs->instance : tfs->root;
}

static char *path_of(const struct ks_tracefs *tfs, const char *path)
{
	const char *base = base_of(tfs, &path);
	char *full;

	return asprintf(&full, "%s/%s", base, path) < 0 ? NULL : full;
}

static int explain(int err, const char *path, const char *verb, struct ks_diag *diag)
{
	if ((err == -EACCES || err == -EPERM) && geteuid())
		return ks_diag_set(diag, err, "%s: cannot %s: %s; recording needs root", path, verb,
				   strerror(-err));
	if (err == -EPERM)
		return ks_diag_set(diag, err,
				   "%s: cannot %s: %s; the kernel may be locked down (see "
				   "/sys/kernel/security/lockdown)",
				   path, verb, strerror(-err));
	return ks_diag_set(diag, err, "%s: cannot %s: %s", path, verb, strerror(-err));
}

/*
 * True where nobody uses the instance: its lock is free, and the process that its name tells of
 * is gone (it may not have come to take the lock yet).
 */
static bool is_stale(const char *path, const char *name)
{
	unsigned int pid = 0;
	unsigned long long start = 0;
	int fd;
	bool free_lock;

	if (sscanf(name, PREFIX "%u-%llu", &pid, &start) != 2)
		return false;
	if (ks_process_start(pid) == start)
		return false;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	free_lock = !flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return free_lock;
}

/* === Public =============================================================================== */

int ks_slurp(const char *path, struct ks_strbuf *ret_text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	char buf[16384];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf, sizeof(buf)))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			break;
		}
		ks_strbuf_add(ret_text, buf, (size_t)n);
	}
	close(fd);
	return err ? err : ret_text->failed ? -ENOMEM : 0;
}

/* Without an allocation: a start that is not known looks like a process that is gone. */
u64 ks_process_start(u32 pid)
{
	unsigned long long start = 0;
	char path[64], text[1024];
	ssize_t n = -1;
	const char *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The 22nd field; the second, the name, may hold blanks and parentheses. */
	p = strrchr(text, ')');
	if (!p || sscanf(p,
			 ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			 "%*d %*d %llu",
			 &start) != 1)
		return 0;
	return start;
}

int ks_tracefs_open(struct ks_tracefs *tfs, struct ks_diag *diag)
{
	int err;

	*tfs = (struct ks_tracefs){ .dir_fd = -1, .free_fd = -1 };
	err = find_mount(&tfs->root);
	if (err == -ENODEV)
		return ks_diag_set(diag, err,
				   "tracefs is not mounted; as root: mount -t tracefs nodev "
				   "/sys/kernel/tracing");
	return err ? ks_diag_set(diag, err, "out of memory") : 0;
}

void ks_tracefs_close(struct ks_tracefs *tfs)
{
	if (tfs->instance) {
		ks_tracefs_write(tfs, "tracing_on", "0", NULL);
		if (tfs->free_fd >= 0)
			close(tfs->free_fd);
		if (tfs->dir_fd >= 0)
			close(tfs->dir_fd);
		rmdir(tfs->instance);
	}
	free(tfs->instance);
	free(tfs->root);
	*tfs = (struct ks_tracefs){ .dir_fd = -1, .free_fd = -1 };
}

int ks_tracefs_make_instance(struct ks_tracefs *tfs, const char *suffix, struct ks_diag *diag)
{
	char *path, *free_buffer;
	u32 pid = (u32)getpid();

	if (asprintf(&path, "%s/instances/" PREFIX "%u-%llu%s", tfs->root, pid,
		     (unsigned long long)ks_process_start(pid), suffix) < 0)
		return ks_diag_nomem(diag, "making an instance");
	if (mkdir(path, 0700)) {
		int err = explain(-errno, path, "make it", diag);

		free(path);
		return err;
	}
	tfs->instance = path;
	tfs->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tfs->dir_fd < 0 || flock(tfs->dir_fd, LOCK_EX | LOCK_NB))
		return explain(-errno, path, "lock", diag);
	ks_tracefs_write(tfs, "options/disable_on_free", "1", NULL);
	free_buffer = path_of(tfs, "@free_buffer");
	if (free_buffer)
		tfs->free_fd = open(free_buffer, O_WRONLY | O_CLOEXEC);
	free(free_buffer);
	return ks_tracefs_write(tfs, "tracing_on", "0", diag);
}

int ks_tracefs_remove_stale(const char *root, u32 *ret_removed)
{
	struct dirent *entry;
	char *dir_path, *path;
	DIR *dir;

	*ret_removed = 0;
	if (asprintf(&dir_path, "%s/instances", root) < 0)
		return -ENOMEM;
	dir = opendir(dir_path);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) ||
		    asprintf(&path, "%s/%s", dir_path, entry->d_name) < 0)
			continue;
		if (is_stale(path, entry->d_name) && !rmdir(path))
			++*ret_removed;
		free(path);
	}
	if (dir)
		closedir(dir);
	free(dir_path);
	return dir ? 0 : -errno;
}

int ks_tracefs_read(const struct ks_tracefs *tfs, const char *path, struct ks_strbuf *ret_text,
		    struct ks_diag *diag)
{
	char *full = path_of(tfs, path);
	int err = full ? ks_slurp(full, ret_text) : -ENOMEM;

	if (err)
		explain(err, full ? full : path, "read", diag);
	free(full);
	return err;
}

int ks_tracefs_write(const struct ks_tracefs *tfs, const char *path, const char *text,
		     struct ks_diag *diag)
{
	size_t len = strlen(text);
	int fd, err = 0;
	char *full;

	if (asprintf(&full, "%s/%s", tfs->instance, path) < 0)
		return ks_diag_nomem(diag, "writing to tracefs");
	fd = open(full, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		err = errno ? -errno : -EIO;
	if (fd >= 0)
		close(fd);
	if (err)
		explain(err, full, "write", diag);
	free(full);
	return err;
}

/* Without an allocation: one that failed would look like a file that is not there. */
bool ks_tracefs_has(const struct ks_tracefs *tfs, const char *path)
{
	const char *base = base_of(tfs, &path);
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s/%s", base, path) < (int)sizeof(full) &&
	       !access(full, F_OK);
}
