/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of values that many objects share: call sites and comms. An entry is stored once and then
 * referred to by its number. Entries are never removed, so reading takes no lock.
 */
#ifndef MEMORIZER_TABLE_H
#define MEMORIZER_TABLE_H

#include "port.h"

/* The number of the entry of all zeros; also given out when a table is full. */
#define MZ_ID_NONE 0

struct mz_table {
	raw_spinlock_t lock; /* for adding */
	u32 nr;
	u32 capacity; /* a power of two */
	u32 key_size; /* of an entry, the bytes in front that are looked for */
	u32 entry_size;
	u32 *hashes; /* 0: the slot is free. Written after the entry, with release semantics */
	u8 *entries; /* slot i is number i + 1; number 0 is in front of them */
};

int mz_table_init(struct mz_table *table, u32 capacity, u32 key_size, u32 entry_size);
void mz_table_deinit(struct mz_table *table);
bool mz_table_find(struct mz_table *table, const void *key, u32 *ret_id);
bool mz_table_add(struct mz_table *table, const void *entry, u32 *ret_id);

/* Bytes of memory that a table takes, however full it is. */
static inline size_t mz_table_bytes(const struct mz_table *table)
{
	return (size_t)table->capacity * sizeof(*table->hashes) +
	       (size_t)(table->capacity + 1) * table->entry_size;
}

static inline const void *mz_table_entry(const struct mz_table *table, u32 id)
{
	return table->entries + (size_t)id * table->entry_size;
}

#endif /* MEMORIZER_TABLE_H */
