// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an instrumented kernel calls at each load and store. The compiler knows these functions by
 * their names; with KASAN they would be KASAN's.
 *
 * Nothing here may sleep, fault, or call a function that is instrumented: objtool takes most of
 * them for safe to call while user memory is accessible.
 */
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/kasan-checks.h>
#include <linux/string.h>

#include "access.h"
#include "callbacks.h"

/* === Loads and stores ===================================================================== */

void __asan_load1_noabort(unsigned long addr)
{
	mz_access(addr, 1, false, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_load1_noabort);

void __asan_store1_noabort(unsigned long addr)
{
	mz_access(addr, 1, true, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_store1_noabort);

void __asan_load2_noabort(unsigned long addr)
{
	mz_access(addr, 2, false, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_load2_noabort);

void __asan_store2_noabort(unsigned long addr)
{
	mz_access(addr, 2, true, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_store2_noabort);

void __asan_load4_noabort(unsigned long addr)
{
	mz_access(addr, 4, false, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_load4_noabort);

void __asan_store4_noabort(unsigned long addr)
{
	mz_access(addr, 4, true, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_store4_noabort);

void __asan_load8_noabort(unsigned long addr)
{
	mz_access(addr, 8, false, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_load8_noabort);

void __asan_store8_noabort(unsigned long addr)
{
	mz_access(addr, 8, true, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_store8_noabort);

void __asan_load16_noabort(unsigned long addr)
{
	mz_access(addr, 16, false, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_load16_noabort);

void __asan_store16_noabort(unsigned long addr)
{
	mz_access(addr, 16, true, _RET_IP_, MZ_COMPILER);
}
EXPORT_SYMBOL(__asan_store16_noabort);

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

/* For the stack of KASAN, which we do not have. */
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

void *__memorizer_memcpy(void *to, const void *from, size_t len)
{
	mz_access((unsigned long)from, len, false, _RET_IP_, MZ_CALLER);
	mz_access((unsigned long)to, len, true, _RET_IP_, MZ_CALLER);
	return memcpy(to, from, len);
}
EXPORT_SYMBOL(__memorizer_memcpy);

void *__memorizer_memmove(void *to, const void *from, size_t len)
{
	mz_access((unsigned long)from, len, false, _RET_IP_, MZ_CALLER);
	mz_access((unsigned long)to, len, true, _RET_IP_, MZ_CALLER);
	return memmove(to, from, len);
}
EXPORT_SYMBOL(__memorizer_memmove);

void *__memorizer_memset(void *to, int value, size_t len)
{
	mz_access((unsigned long)to, len, true, _RET_IP_, MZ_CALLER);
	return memset(to, value, len);
}
EXPORT_SYMBOL(__memorizer_memset);
