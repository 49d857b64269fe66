/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine whose kernel was made by hand, of which a test makes a dump or a guest. */
#ifndef TESTS_HEAP_MACHINE_H
#define TESTS_HEAP_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/types.h"
#include "heap/memory.h"

/* Physical memory: two stretches, the second of which is mapped by one page of 1 GiB. */
enum {
	LOW = 6 << 20,
	HIGH = 4 << 20,
	ROOT = 0x1000,	 /* the top table; others follow it */
	NOTE = 0x40000,	 /* a page that the note is also in, for dumps that lack it */
	TYPES = 0x80000, /* the pages of the types, the last first */
	IMAGE = 2 << 20,
};
#define HIGH_AT 0x40000000ull

/* The kernel as it sees itself; it was moved by MOVED. */
#define IMAGE_MAP 0xffffffff80000000ull
#define TEXT	  0xffffffff81000000ull
#define MOVED	  ((long long)IMAGE - 0x1000000)
#define TYPES_MAP 0xffffffffa0000000ull
#define HUGE_MAP  0xffff888040000000ull

/* In the image. */
enum {
	SYMBOLS_AT = 0x10000,
	RESOURCES_AT = 0x20000,
	NAMES_AT = 0x21000,
	MODULE_AT = 0x30000,
	MARK_AT = 0x1ffff8, /* the last word of the page of 2 MiB */
};

enum {
	PRESENT = 1,
	LARGE = 0x80,
};

struct machine {
	u8 *low, *high;
	int levels;
	u64 high_at; /* HIGH_AT, unless changed */
	u64 next_table, encrypted;
	u64 types_len;
	u16 machine;
	bool no_note, no_types, no_ram;
	char note[1024];
	char path[64];
	struct ks_memory *memory;
};

/* Without contents yet; fields may be changed. */
struct machine *new_machine(int levels);
void fill(struct machine *d);
void free_machine(struct machine *d);

void put64(struct machine *d, u64 physical, u64 word);

/* Maps a page of 4 KiB (level 0), of 2 MiB (1) or of 1 GiB (2). */
void map(struct machine *d, u64 addr, u64 physical, int level);

/* Puts the table that maps pages of 4 KiB around @addr into the second stretch. */
void move_table(struct machine *d, u64 addr);

/* The next of the children of iomem_resource; @next: whether another follows. */
void add_resource(struct machine *d, u32 nr, u64 start, u64 end, const char *name, bool next);

/* Reads what each level of the page tables maps. */
void check_reading(const struct machine *d, struct ks_memory *m);

#endif
