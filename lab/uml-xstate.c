// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into User Mode Linux up to 6.12: it hands the host's ptrace() a buffer of fixed size for
 * the extended registers, which a host with AMX refuses as too short. Pads it with zeroes.
 */
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

static size_t xstate_size(void)
{
	unsigned int a, b = 0, c, d;

	__cpuid_count(0xd, 0, a, b, c, d);
	return b;
}

long ptrace(enum __ptrace_request request, ...)
{
	long (*next)(enum __ptrace_request, ...) =
		(long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
	void *addr, *data;
	pid_t pid;
	va_list args;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);

	if (request == PTRACE_SETREGSET && (unsigned long)addr == NT_X86_XSTATE) {
		const struct iovec *iov = data;
		size_t size = xstate_size();

		if (iov->iov_len < size) {
			struct iovec padded = { .iov_base = calloc(1, size), .iov_len = size };
			long ret;

			memcpy(padded.iov_base, iov->iov_base, iov->iov_len);
			ret = next(request, pid, addr, &padded);
			free(padded.iov_base);
			return ret;
		}
	}
	return next(request, pid, addr, data);
}
