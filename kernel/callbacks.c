// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions that an instrumented kernel calls at each load and store. Their names are fixed
 * in the compiler; in a kernel with KASAN they belong to KASAN.
 *
 * Nothing here may sleep, fault, or call a function that is instrumented: objtool assumes that
 * most of them can be called while user memory is accessible.
 */
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/kasan-checks.h>
#include <linux/string.h>

#include "access.h"
#include "callbacks.h"

/* === Loads and stores ===================================================================== */

/* A load or store whose width is part of the name. */
#define DEFINE_CALLBACK(what, bytes, write)                           \
	void __asan_##what##_noabort(unsigned long addr)              \
	{                                                             \
		mz_access(addr, bytes, write, _RET_IP_, MZ_COMPILER); \
	}                                                             \
	EXPORT_SYMBOL(__asan_##what##_noabort)

DEFINE_CALLBACK(load1, 1, false);
DEFINE_CALLBACK(load2, 2, false);
DEFINE_CALLBACK(load4, 4, false);
DEFINE_CALLBACK(load8, 8, false);
DEFINE_CALLBACK(load16, 16, false);

DEFINE_CALLBACK(store1, 1, true);
DEFINE_CALLBACK(store2, 2, true);
DEFINE_CALLBACK(store4, 4, true);
DEFINE_CALLBACK(store8, 8, true);
DEFINE_CALLBACK(store16, 16, true);

void __asan_loadN_noabort(unsigned long addr, size_t size)
{
	mz_access(addr, size, false, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_loadN_noabort);

void __asan_storeN_noabort(unsigned long addr, size_t size)
{
	mz_access(addr, size, true, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_storeN_noabort);

/* KASAN cleans its shadow of the stack here; there is no shadow. */
void __asan_handle_no_return(void)
{
}
EXPORT_SYMBOL(__asan_handle_no_return);

/* === Atomics and copies from and to user space ============================================ */

bool __kasan_check_read(const volatile void *p, unsigned int size)
{
	mz_access((unsigned long)p, size, false, _RET_IP_, MZ_KERNEL);
	return true;
}
EXPORT_SYMBOL(__kasan_check_read);

bool __kasan_check_write(const volatile void *p, unsigned int size)
{
	mz_access((unsigned long)p, size, true, _RET_IP_, MZ_KERNEL);
	return true;
}
EXPORT_SYMBOL(__kasan_check_write);

/* === Memory functions: see intercept.h ==================================================== */

static __always_inline void count_copy(void *to, const void *from, size_t len, unsigned long ip)
{
	mz_access((unsigned long)from, len, false, ip, MZ_CALLER);
	mz_access((unsigned long)to, len, true, ip, MZ_CALLER);
}

void *__memorizer_memcpy(void *to, const void *from, size_t len)
{
	count_copy(to, from, len, _RET_IP_);
	return memcpy(to, from, len);
}
EXPORT_SYMBOL(__memorizer_memcpy);

void *__memorizer_memmove(void *to, const void *from, size_t len)
{
	count_copy(to, from, len, _RET_IP_);
	return memmove(to, from, len);
}
EXPORT_SYMBOL(__memorizer_memmove);

void *__memorizer_memset(void *to, int value, size_t len)
{
	mz_access((unsigned long)to, len, true, _RET_IP_, MZ_CALLER);
	return memset(to, value, len);
}
EXPORT_SYMBOL(__memorizer_memset);
