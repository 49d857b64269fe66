// SPDX-License-Identifier: GPL-2.0-only
/* Tables of entries that are only ever added: open addressing, readers without a lock. */
#include "table.h"

/* === Internals ============================================================================ */

/* Keys are multiples of 8 bytes with their padding zeroed. Never 0: that marks a free slot. */
static u32 hash_bytes(const void *key, u32 size)
{
	const u64 *words = key;
	u64 h = size;
	u32 i;

	for (i = 0; i < size / sizeof(u64); i++)
		h = (h ^ h >> 29 ^ words[i]) * 0x9e3779b97f4a7c15ULL;
	return (u32)(h >> 32) | 1;
}

/* memcmp() for the few words of a key, without a call. */
static bool same_key(const void *a, const void *b, u32 size)
{
	const u64 *x = a, *y = b;
	u32 i;

	for (i = 0; i < size / sizeof(u64); i++) {
		if (x[i] != y[i])
			return false;
	}
	return true;
}

/* The slot of the key, or the free one where it belongs; -1 in a table without either. */
static s64 probe(const struct mz_table *table, const void *key, u32 hash, bool *ret_found)
{
	u32 i, slot = hash >> 1;

	*ret_found = false;
	for (i = 0; i < table->capacity; i++, slot++) {
		u32 stored;

		slot &= table->capacity - 1;
		/* Pairs with smp_store_release() in mz_table_add(). */
		stored = smp_load_acquire(&table->hashes[slot]);
		if (!stored)
			return slot;
		if (stored == hash &&
		    same_key(mz_table_entry(table, slot + 1), key, table->key_size)) {
			*ret_found = true;
			return slot;
		}
	}
	return -1;
}

/* === Public =============================================================================== */

/**
 * mz_table_init() - an empty table
 * @table: the table
 * @capacity: slots, a power of two; a quarter of them stays free to keep probing short
 * @key_size: bytes of the key in front of each entry, a multiple of 8
 * @entry_size: bytes of an entry, its key included
 */
int mz_table_init(struct mz_table *table, u32 capacity, u32 key_size, u32 entry_size)
{
	*table = (struct mz_table){
		.capacity = capacity,
		.key_size = key_size,
		.entry_size = entry_size,
	};
	raw_spin_lock_init(&table->lock);
	table->hashes = vzalloc(capacity * sizeof(*table->hashes));
	table->entries = vzalloc((size_t)(capacity + 1) * entry_size);
	if (!table->hashes || !table->entries) {
		mz_table_deinit(table);
		return -ENOMEM;
	}
	return 0;
}

void mz_table_deinit(struct mz_table *table)
{
	vfree(table->hashes);
	vfree(table->entries);
	table->hashes = NULL;
	table->entries = NULL;
}

/* The number of the entry with a key, if there is one. */
bool mz_table_find(struct mz_table *table, const void *key, u32 *ret_id)
{
	bool found;
	s64 slot = probe(table, key, hash_bytes(key, table->key_size), &found);

	if (found)
		*ret_id = slot + 1;
	return found;
}

/**
 * mz_table_add() - the number of an entry, added if there is none with its key
 * @table: the table
 * @entry: the entry
 * @ret_id: its number; MZ_ID_NONE if there was no room
 *
 * Return: false if there was no room.
 */
bool mz_table_add(struct mz_table *table, const void *entry, u32 *ret_id)
{
	u32 hash = hash_bytes(entry, table->key_size);
	unsigned long flags;
	bool found;
	s64 slot = probe(table, entry, hash, &found);

	if (found) {
		*ret_id = slot + 1;
		return true;
	}
	*ret_id = MZ_ID_NONE;
	if (READ_ONCE(table->nr) >= table->capacity / 4 * 3)
		return false;

	mz_lock(&table->lock, flags);
	slot = probe(table, entry, hash, &found);
	if (slot >= 0 && !found && table->nr < table->capacity / 4 * 3) {
		memcpy(table->entries + (size_t)(slot + 1) * table->entry_size, entry,
		       table->entry_size);
		WRITE_ONCE(table->nr, table->nr + 1);
		/* Pairs with smp_load_acquire() in probe(): who sees the hash sees the entry. */
		smp_store_release(&table->hashes[slot], hash);
		found = true;
	}
	mz_unlock(&table->lock, flags);
	if (found)
		*ret_id = slot + 1;
	return found;
}
