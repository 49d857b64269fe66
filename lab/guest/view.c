// SPDX-License-Identifier: GPL-2.0-only
/* The file system of the lab's guest: the host's, read-only, under a layer that goes with the guest. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

/* === Data ================================================================================= */

#define NEW_ROOT "/new"

/* QEMU's side checks nothing again: files of the host are taken not to change during a run. */
static const char options_9p[] = "trans=virtio,version=9p2000.L,msize=262144,cache=loose";

/* What a system has mounted, in order; below the new root. */
static const struct {
	const char *target, *type, *options;
	bool optional;
} mounts[] = {
	{ "/proc", "proc", NULL, false },
	{ "/sys", "sysfs", NULL, false },
	{ "/sys/kernel/debug", "debugfs", NULL, false },
	{ "/sys/kernel/tracing", "tracefs", NULL, true },
	{ "/dev", "devtmpfs", "mode=0755", false },
	{ "/dev/pts", "devpts", "gid=5,mode=0620,ptmxmode=0666", true },
	{ "/dev/shm", "tmpfs", "mode=1777", true },
};

/* === Internals ============================================================================ */

/* Fills @target with what the host has at @path; QEMU offers it under @tag. */
static void mount_host(const struct orders *orders, const char *path, const char *tag,
		       const char *target, unsigned long flags)
{
	int err;

	if (orders->user_mode)
		err = mount("none", target, "hostfs", flags, path);
	else
		err = mount(tag, target, "9p", flags, options_9p);
	if (err)
		fail(125, "mount", "the host's %s: %s", path, strerror(errno));
}

static void make_overlay(const struct orders *orders)
{
	mkdir("/lower", 0755);
	mkdir("/scratch", 0755);
	mkdir(NEW_ROOT, 0755);
	mount_host(orders, "/", "root", "/lower", MS_RDONLY);
	if (mount("scratch", "/scratch", "tmpfs", 0, "mode=0755,size=75%"))
		fail(125, "mount", "the scratch layer: %s", strerror(errno));
	mkdir("/scratch/upper", 0755);
	mkdir("/scratch/work", 0755);
	if (mount("lab", NEW_ROOT, "overlay", 0,
		  "lowerdir=/lower,upperdir=/scratch/upper,workdir=/scratch/work"))
		fail(125, "mount", "the scratch layer over the host's files: %s", strerror(errno));
}

static void mount_all(const char *root)
{
	char target[64];
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		snprintf(target, sizeof(target), "%s%s", root, mounts[i].target);
		mkdir(target, 0755);
		if (mount("none", target, mounts[i].type, 0, mounts[i].options) &&
		    !mounts[i].optional && errno != EBUSY) /* as /dev of the RAM disk is by now */
			fail(125, "mount", "%s: %s", mounts[i].target, strerror(errno));
	}
}

static void make_mounts(void)
{
	mount_all(NEW_ROOT);
	/* What devtmpfs leaves to others. */
	if (symlink("/proc/self/fd", NEW_ROOT "/dev/fd") ||
	    symlink("/proc/self/fd/0", NEW_ROOT "/dev/stdin") ||
	    symlink("/proc/self/fd/1", NEW_ROOT "/dev/stdout") ||
	    symlink("/proc/self/fd/2", NEW_ROOT "/dev/stderr"))
		fail(125, "mount", "/dev: %s", strerror(errno));
	/* With a devpts of its own, as on any system; where there is none, this does not matter. */
	unlink(NEW_ROOT "/dev/ptmx");
	if (symlink("pts/ptmx", NEW_ROOT "/dev/ptmx"))
		fail(125, "mount", "/dev/ptmx: %s", strerror(errno));
}

static void make_shares(const struct orders *orders)
{
	char target[4096 + sizeof(NEW_ROOT)], tag[32];
	size_t i;

	for (i = 0; orders->shares[i]; i++) {
		snprintf(target, sizeof(target), NEW_ROOT "%s", orders->shares[i]);
		snprintf(tag, sizeof(tag), "share%zu", i);
		mount_host(orders, orders->shares[i], tag, target, 0);
	}
}

static void raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd >= 0) {
		ioctl(fd, SIOCSIFFLAGS, &request);
		close(fd);
	}
}

/* === Public =============================================================================== */

void view_early(void)
{
	mkdir("/dev", 0755);
	mount("none", "/dev", "devtmpfs", 0, NULL);
}

void view_mount(void)
{
	mount_all("");
	umask(022);
	raise_loopback();
	if (sethostname("lab", 3))
		fail(125, "mount", "the host name: %s", strerror(errno));
}

void view_make(const struct orders *orders)
{
	make_overlay(orders);
	make_mounts();
	make_shares(orders);
	/* The RAM disk cannot be unmounted, only covered. */
	if (chdir(NEW_ROOT) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		fail(125, "mount", "the new root: %s", strerror(errno));
	umask(022);
	raise_loopback();
	if (sethostname("lab", 3))
		fail(125, "mount", "the host name: %s", strerror(errno));
}
