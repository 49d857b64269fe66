/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting of loads and stores. Without CONFIG_MEMORIZER_ACCESS these functions are empty. */
#ifndef MEMORIZER_ACCESS_H
#define MEMORIZER_ACCESS_H

#include <linux/compiler.h>
#include <linux/seq_file.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <asm/sections.h>

#ifdef CONFIG_MEMORIZER_ACCESS

/* Whether accesses are to be counted at all. */
extern bool mz_access_on;
extern bool mz_access_ready;

/* Where the report of an access comes from. */
enum mz_reporter {
	MZ_COMPILER, /* the call at a load or store */
	MZ_CALLER,   /* a memory function */
	MZ_KERNEL,   /* the check of an atomic operation, or of a copy from or to user space */
};

void mz_access_count(unsigned long addr, size_t size, bool write, unsigned long ip,
		     enum mz_reporter reporter);

static __always_inline void mz_access(unsigned long addr, size_t size, bool write, unsigned long ip,
				      enum mz_reporter reporter)
{
	unsigned long flags;

	if (likely(!READ_ONCE(mz_access_on)))
		return;
	/* User memory may be accessible here, and must not be in the functions that are called. */
	if (reporter == MZ_CALLER) {
		mz_access_count(addr, size, write, ip, reporter);
	} else {
		flags = user_access_save();
		mz_access_count(addr, size, write, ip, reporter);
		user_access_restore(flags);
	}
}

/* Called by core.c when an object starts or ends in this memory. */
void mz_access_object_changed(unsigned long addr);
void mz_access_pages_changed(unsigned long addr, size_t bytes, bool tracked);
void mz_access_area_changed(unsigned long addr, size_t bytes, bool tracked);
void mz_access_all_changed(void);
void mz_access_forget_areas(void);
void mz_access_slab_object(unsigned long addr);
void mz_access_name_cache(unsigned long addr, char *name, size_t size);

void mz_access_early(void);
void mz_access_enter(int level);
int mz_access_init(void);
void mz_access_update(void);
void mz_access_stop(void);
void mz_access_refill(void);
void mz_access_settle(void);
void mz_access_forget_tasks(void);
void mz_access_show(struct seq_file *m);
u64 mz_access_nr_early(void);

static inline unsigned long mz_access_text_start(void)
{
	return (unsigned long)_stext;
}

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

static inline void mz_access_slab_object(unsigned long addr)
{
}

static inline void mz_access_name_cache(unsigned long addr, char *name, size_t size)
{
}

static inline void mz_access_early(void)
{
}

static inline void mz_access_enter(int level)
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

static inline void mz_access_forget_tasks(void)
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
