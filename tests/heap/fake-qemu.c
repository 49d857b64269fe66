// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that has memory as QEMU has that of its guest: fake-qemu FD SIZE BELOW. The file FD is the guest's memory, BELOW
 * bytes of the process's own end where it begins, and a page that can't be read follows it. Waits until its input ends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ALIGNED (2ull << 20)

int main(int argc, char **argv)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	const size_t page = 4096;
	unsigned long long size, below;
	char *room, *ram, byte;

	if (argc != 4)
		return 2;
	size = strtoull(argv[2], NULL, 0);
	below = strtoull(argv[3], NULL, 0);
	room = mmap(NULL, (size_t)(size + below + 2 * ALIGNED), PROT_NONE, flags, -1, 0);
	if (room == MAP_FAILED)
		return 1;
	ram = room + page + below;
	ram += -(uintptr_t)ram & (ALIGNED - 1);
	if (below && mmap(ram - below, (size_t)below, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1,
			  0) == MAP_FAILED)
		return 1;
	if (mmap(ram, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, atoi(argv[1]),
		 0) == MAP_FAILED)
		return 1;
	prctl(PR_SET_NAME, "qemu-system-x86_64");
	if (write(1, "!", 1) != 1)
		return 1;
	return read(0, &byte, 1) != 0;
}
