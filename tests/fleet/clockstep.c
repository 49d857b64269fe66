// SPDX-License-Identifier: GPL-2.0-only
/* A clock of the day that is set for one program, by LD_PRELOAD: it stands still at the nanosecond that the file of CLOCKSTEP names. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
	const char *path = getenv("CLOCKSTEP");
	FILE *file = id == CLOCK_REALTIME && path ? fopen(path, "re") : NULL;
	int err = (int)syscall(SYS_clock_gettime, id, now);
	long ns;

	if (file) {
		if (fscanf(file, "%ld", &ns) == 1)
			*now = (struct timespec){ ns / 1000000000, ns % 1000000000 };
		fclose(file);
	}
	return err;
}
