/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included at the start of every instrumented file: its calls of the memory functions, those that
 * the compiler generates included, go to the memorizer. Other files call the functions
 * themselves.
 */
#ifndef MEMORIZER_INTERCEPT_H
#define MEMORIZER_INTERCEPT_H

void *memcpy(void *to, const void *from, __SIZE_TYPE__ len) __asm__("__memorizer_memcpy");
void *memmove(void *to, const void *from, __SIZE_TYPE__ len) __asm__("__memorizer_memmove");
void *memset(void *to, int value, __SIZE_TYPE__ len) __asm__("__memorizer_memset");

#endif /* MEMORIZER_INTERCEPT_H */
