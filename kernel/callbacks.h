/* SPDX-License-Identifier: GPL-2.0-only */
/* What the compiler calls, and the switch for it. */
#ifndef MEMORIZER_CALLBACKS_H
#define MEMORIZER_CALLBACKS_H

#include <linux/types.h>

/*
 * Whether the callbacks are code that is changed. Where a "ret" must not be as it is, they read a
 * variable.
 */
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML) && !defined(CONFIG_X86_KERNEL_IBT) && \
	!defined(CONFIG_MITIGATION_RETHUNK) && !defined(CONFIG_RETHUNK)
#define MZ_HAS_CODE_SWITCH 1
void mz_callbacks_switch(bool on);
#else
#define MZ_HAS_CODE_SWITCH 0
static inline void mz_callbacks_switch(bool on)
{
}
#endif

void __asan_load1_noabort(unsigned long addr);
void __asan_load2_noabort(unsigned long addr);
void __asan_load4_noabort(unsigned long addr);
void __asan_load8_noabort(unsigned long addr);
void __asan_load16_noabort(unsigned long addr);
void __asan_store1_noabort(unsigned long addr);
void __asan_store2_noabort(unsigned long addr);
void __asan_store4_noabort(unsigned long addr);
void __asan_store8_noabort(unsigned long addr);
void __asan_store16_noabort(unsigned long addr);
void __asan_loadN_noabort(unsigned long addr, size_t size);
void __asan_storeN_noabort(unsigned long addr, size_t size);
void __asan_handle_no_return(void);

/* While MZ_HAS_CODE_SWITCH, where the above lead to. */
void __asan_report_load1_noabort(unsigned long addr);
void __asan_report_load2_noabort(unsigned long addr);
void __asan_report_load4_noabort(unsigned long addr);
void __asan_report_load8_noabort(unsigned long addr);
void __asan_report_load16_noabort(unsigned long addr);
void __asan_report_store1_noabort(unsigned long addr);
void __asan_report_store2_noabort(unsigned long addr);
void __asan_report_store4_noabort(unsigned long addr);
void __asan_report_store8_noabort(unsigned long addr);
void __asan_report_store16_noabort(unsigned long addr);

void *__memorizer_memcpy(void *to, const void *from, size_t len);
void *__memorizer_memmove(void *to, const void *from, size_t len);
void *__memorizer_memset(void *to, int value, size_t len);

#endif /* MEMORIZER_CALLBACKS_H */
