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
#include <linux/memory.h>
#include <linux/string.h>

#include "access.h"
#include "callbacks.h"
#include "compat.h"
#include "quick.h"

#if MZ_HAS_CODE_SWITCH
#include <asm/text-patching.h>
#endif

/* === Loads and stores whose width is part of the name ===================================== */

static __always_inline void count_access(unsigned long addr, size_t size, bool write,
					 unsigned long ip)
{
	if (!MZ_HAS_CODE_SWITCH && likely(!READ_ONCE(mz_access_on)))
		return;
	if (likely(mz_count_quickly(addr, size, write, ip)))
		return;
	mz_access(addr, size, write, ip, MZ_COMPILER);
}

#if MZ_HAS_CODE_SWITCH

/*
 * While nothing is counted, what the compiler calls is the one instruction "ret". To count, it
 * becomes a jump, which takes five bytes. It leads to a function of a name that objtool knows, as
 * it may be called where user memory is accessible. Nobody else uses these names in a kernel
 * without KASAN.
 */
#define DEFINE_CALLBACK(what, bytes, write)                                  \
	void __asan_report_##what##_noabort(unsigned long addr)              \
	{                                                                    \
		count_access(addr, bytes, write, _RET_IP_);                  \
	}                                                                    \
	asm(".pushsection .text\n"                                           \
	    ".balign 8\n"                                                    \
	    ".globl __asan_" #what "_noabort\n"                              \
	    ".type __asan_" #what "_noabort, @function\n"                    \
	    "__asan_" #what "_noabort:\n"                                    \
	    "	ret\n"                                                         \
	    "	int3; int3; int3; int3\n"                                      \
	    ".size __asan_" #what "_noabort, . - __asan_" #what "_noabort\n" \
	    ".popsection");                                                  \
	EXPORT_SYMBOL(__asan_##what##_noabort)

#else

#define DEFINE_CALLBACK(what, bytes, write)                 \
	void __asan_##what##_noabort(unsigned long addr)    \
	{                                                   \
		count_access(addr, bytes, write, _RET_IP_); \
	}                                                   \
	EXPORT_SYMBOL(__asan_##what##_noabort)

#endif

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

#if MZ_HAS_CODE_SWITCH

static const struct {
	void (*callback)(unsigned long addr);
	void (*count)(unsigned long addr);
} codes[] = {
	{ __asan_load1_noabort, __asan_report_load1_noabort },
	{ __asan_load2_noabort, __asan_report_load2_noabort },
	{ __asan_load4_noabort, __asan_report_load4_noabort },
	{ __asan_load8_noabort, __asan_report_load8_noabort },
	{ __asan_load16_noabort, __asan_report_load16_noabort },
	{ __asan_store1_noabort, __asan_report_store1_noabort },
	{ __asan_store2_noabort, __asan_report_store2_noabort },
	{ __asan_store4_noabort, __asan_report_store4_noabort },
	{ __asan_store8_noabort, __asan_report_store8_noabort },
	{ __asan_store16_noabort, __asan_report_store16_noabort },
};

static void change_code(void *at, const void *code)
{
	if (system_state == SYSTEM_BOOTING)
		text_poke_early(at, code, JMP32_INSN_SIZE);
	else
		text_poke_bp(at, code, JMP32_INSN_SIZE, NULL);
}

/* Process context: the callbacks begin or end to look at mz_access_on. */
void mz_callbacks_switch(bool on)
{
	static const u8 ret[] = { RET_INSN_OPCODE, INT3_INSN_OPCODE, INT3_INSN_OPCODE,
				  INT3_INSN_OPCODE, INT3_INSN_OPCODE };
	size_t i;

	mutex_lock(&text_mutex);
	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		void *at = codes[i].callback;

		change_code(at, on ? text_gen_insn(JMP32_INSN_OPCODE, at, codes[i].count) : ret);
	}
	mutex_unlock(&text_mutex);
}

#endif

/* === Other loads and stores =============================================================== */

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
