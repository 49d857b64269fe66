/* SPDX-License-Identifier: GPL-2.0-only */
/* Replacements for the kernel services that the portable files use, for tests in user space. */
#ifndef MEMORIZER_PORT_USER_H
#define MEMORIZER_PORT_USER_H

#include <errno.h>
#include <linux/types.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned int gfp_t;

#define PAGE_SIZE			4096UL
#define ____cacheline_aligned_in_smp	__attribute__((aligned(64)))
#define __aligned(n)			__attribute__((aligned(n)))
#define BUILD_BUG_ON(cond)		_Static_assert(!(cond), #cond)
#define BIT_ULL(n)			(1ULL << (n))
#define ARRAY_SIZE(a)			(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)		(((n) + (d)-1) / (d))
#define likely(x)			__builtin_expect(!!(x), 1)
#define unlikely(x)			__builtin_expect(!!(x), 0)
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define BITS_PER_LONG			64
#define cond_resched()			((void)0)

#define READ_ONCE(x)			(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)		(*(volatile __typeof__(x) *)&(x) = (v))
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_rmb()			__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()			__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_store_release(p, v)		__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define try_cmpxchg(p, old, new) \
	__atomic_compare_exchange_n(p, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

typedef struct {
	long value;
} atomic_long_t;

#define atomic_long_read(a)	     __atomic_load_n(&(a)->value, __ATOMIC_RELAXED)
#define atomic_long_set(a, v)	     __atomic_store_n(&(a)->value, v, __ATOMIC_RELAXED)
#define atomic_long_dec(a)	     ((void)__atomic_sub_fetch(&(a)->value, 1, __ATOMIC_RELAXED))
#define atomic_long_inc_return(a)    __atomic_add_fetch(&(a)->value, 1, __ATOMIC_SEQ_CST)
#define atomic_long_add_return(n, a) __atomic_add_fetch(&(a)->value, n, __ATOMIC_SEQ_CST)
#define atomic_long_sub_return(n, a) __atomic_sub_fetch(&(a)->value, n, __ATOMIC_SEQ_CST)

typedef struct {
	char taken;
	unsigned long nr_taken; /* how often it was taken, so that tests can see long holders */
} raw_spinlock_t;

#define raw_spin_lock_init(l) ((void)(*(l) = (raw_spinlock_t){ 0 }))

static inline void user_spin_lock(raw_spinlock_t *l)
{
	while (__atomic_test_and_set(&l->taken, __ATOMIC_ACQUIRE))
		sched_yield();
	l->nr_taken++;
}

/* As CONFIG_MEMORIZER_ACCESS in the kernel. */
#ifdef MZ_ACCESS
#define MZ_HAS_ACCESS 1
#else
#define MZ_HAS_ACCESS 0
#endif

#define mz_lock(l, flags)   ((void)((flags) = 0), user_spin_lock(l))
#define mz_unlock(l, flags) ((void)(flags), __atomic_clear(&(l)->taken, __ATOMIC_RELEASE))

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline void list_add(struct list_head *node, struct list_head *head)
{
	node->next = head->next;
	node->prev = head;
	head->next->prev = node;
	head->next = node;
}

static inline void list_del(struct list_head *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

#define list_first_entry(head, type, member) container_of((head)->next, type, member)

/* Pages, with a switch for the tests to make them run out. */
extern bool user_pages_exhausted;

static inline unsigned long __get_free_page(gfp_t gfp)
{
	(void)gfp;
	return user_pages_exhausted ? 0 : (unsigned long)aligned_alloc(PAGE_SIZE, PAGE_SIZE);
}

static inline void free_page(unsigned long addr)
{
	free((void *)addr);
}

static inline void *vzalloc(size_t size)
{
	size_t whole = (size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
	void *p = aligned_alloc(PAGE_SIZE, whole);

	return p ? memset(p, 0, whole) : NULL;
}

#define vfree(p) free(p)
__attribute__((format(printf, 3, 4))) static inline int scnprintf(char *buf, size_t size,
								  const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(buf, size, format, args);
	va_end(args);
	return len < (int)size ? len : (int)size - 1;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

#endif /* MEMORIZER_PORT_USER_H */
