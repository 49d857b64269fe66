/* SPDX-License-Identifier: GPL-2.0-only */
/* The files in debugfs. */
#ifndef MEMORIZER_FILES_H
#define MEMORIZER_FILES_H

#include <linux/fs.h>

#include "record.h"

/* A file that holds a flag (flag.c). This is the data of the file. */
struct mz_flag {
	const bool *value;
	int (*set)(bool value);
	const char *texts[2]; /* what is read when it is not set, and when it is */
};

extern const struct file_operations mz_flag_fops;
extern const struct file_operations mz_kmap_fops, mz_kmap_bin_fops;
extern const struct file_operations mz_allocations_fops, mz_accesses_fops;
extern const struct file_operations mz_stream_text_fops;
extern const struct file_operations mz_stream_bin_fops;

/* Pages that the copies of open kmap files hold. */
unsigned long mz_snapshot_pages(void);
bool mz_snapshot_set_aside(long pages);
void mz_snapshot_put_back(long pages);

/* The function whose address in the output tells where the kernel image lies. */
#define MZ_ANCHOR_NAME "kfree"
u64 mz_anchor(void);
void mz_header_fill(const struct mz_clock *clock, struct memorizer_header *ret_header);

#ifdef CONFIG_MEMORIZER_ACCESS
void mz_globals_publish(struct dentry *directory);
#else
static inline void mz_globals_publish(struct dentry *directory)
{
}
#endif

void mz_control_init(void);
void mz_control_exit(void);

#endif /* MEMORIZER_FILES_H */
