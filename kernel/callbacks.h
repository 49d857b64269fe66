/* SPDX-License-Identifier: GPL-2.0-only */
/* Prototypes of functions that only the compiler calls. */
#ifndef MEMORIZER_CALLBACKS_H
#define MEMORIZER_CALLBACKS_H

#include <linux/types.h>

void __asan_load1_noabort(unsigned long addr);
void __asan_store1_noabort(unsigned long addr);
void __asan_load2_noabort(unsigned long addr);
void __asan_store2_noabort(unsigned long addr);
void __asan_load4_noabort(unsigned long addr);
void __asan_store4_noabort(unsigned long addr);
void __asan_load8_noabort(unsigned long addr);
void __asan_store8_noabort(unsigned long addr);
void __asan_load16_noabort(unsigned long addr);
void __asan_store16_noabort(unsigned long addr);
void __asan_loadN_noabort(unsigned long addr, size_t size);
void __asan_storeN_noabort(unsigned long addr, size_t size);
void __asan_handle_no_return(void);

void *__memorizer_memcpy(void *to, const void *from, size_t len);
void *__memorizer_memmove(void *to, const void *from, size_t len);
void *__memorizer_memset(void *to, int value, size_t len);

#endif /* MEMORIZER_CALLBACKS_H */
