/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting of loads and stores; without CONFIG_MEMORIZER_ACCESS there is none. */
#ifndef MEMORIZER_ACCESS_H
#define MEMORIZER_ACCESS_H

#include <linux/compiler.h>
#include <linux/seq_file.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#ifdef CONFIG_MEMORIZER_ACCESS

/* Whether anyone wants accesses counted at all. */
extern bool mz_access_on;

/* Who tells of an access. */
enum mz_teller {
	MZ_COMPILER, /* at a load or store */
	MZ_CALLER,   /* of a memory function */
	MZ_KERNEL,   /* of an atomic operation, or a copy from or to user space */
};

void mz_access_count(unsigned long addr, size_t size, bool write, unsigned long ip,
		     enum mz_teller teller);

static __always_inline void mz_access(unsigned long addr, size_t size, bool write, unsigned long ip,
				      enum mz_teller teller)
{
	unsigned long flags;

	if (likely(!READ_ONCE(mz_access_on)))
		return;
	/* User memory may be accessible, which it must not be in functions that are called. */
	if (teller == MZ_CALLER) {
		mz_access_count(addr, size, write, ip, teller);
	} else {
		flags = user_access_save();
		mz_access_count(addr, size, write, ip, teller);
		user_access_restore(flags);
	}
}

/* What became of the memory of an object, of pages, of a vmalloc area; from core.c. */
void mz_access_object_changed(unsigned long addr);
void mz_access_pages_changed(unsigned long addr, size_t bytes, bool tracked);
void mz_access_area_changed(unsigned long addr, size_t bytes, bool tracked);
void mz_access_all_changed(void);
void mz_access_forget_areas(void);

void mz_access_early(void);
int mz_access_init(void);
void mz_access_update(void);
void mz_access_stop(void);
void mz_access_settle(void);
void mz_access_show(struct seq_file *m);
unsigned long mz_access_text_start(void);

#else

static inline void mz_access_object_changed(unsigned long addr)
{
}

static inline void mz_access_pages_changed(unsigned long addr, size_t bytes, bool tracked)
{
}

static inline void mz_access_area_changed(unsigned long addr, size_t bytes, bool tracked)
{
}

static inline void mz_access_all_changed(void)
{
}

static inline void mz_access_forget_areas(void)
{
}

static inline void mz_access_early(void)
{
}

static inline int mz_access_init(void)
{
	return 0;
}

static inline void mz_access_update(void)
{
}

static inline void mz_access_stop(void)
{
}

static inline void mz_access_settle(void)
{
}

static inline void mz_access_show(struct seq_file *m)
{
	seq_puts(m, "accesses: not counted by this build\n");
}

static inline unsigned long mz_access_text_start(void)
{
	return 0;
}

#endif /* CONFIG_MEMORIZER_ACCESS */

#endif /* MEMORIZER_ACCESS_H */
