// SPDX-License-Identifier: LGPL-2.1-only
/* systemd's protocol of notifications: one datagram with words. */
#include "serve/notify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"

/* === Public =============================================================================== */

void ks_notify(const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@') /* a name that is in no directory */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A word that is lost is said again, or systemd acts as if it had not been said. */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

u64 ks_notify_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	u64 value, of;

	if (!usec || ks_parse_u64(usec, &value) || value > UINT64_MAX / 1000)
		return 0;
	if (pid && (ks_parse_u64(pid, &of) || of != (u64)getpid()))
		return 0;
	return value * 1000;
}
