// SPDX-License-Identifier: LGPL-2.1-only
/* The names of allocation types, and what they say. */
#include "kmap/object.h"

#include <string.h>

/* === Data ================================================================================= */

#define NAME(name)                     \
	{                              \
		name, sizeof(name) - 1 \
	}

static const struct ks_slice names[KS_KMAP_TYPES] = {
	NAME("STACK"),
	NAME("STACK_FRAME"),
	NAME("STACK_ARGS"),
	NAME("STACK_PAGE"),
	NAME("GEN_HEAP"),
	NAME("UFO_HEAP"),
	NAME("GLOBAL"),
	NAME("KMALLOC"),
	NAME("KMALLOC_ND"),
	NAME("KMEM_CACHE"),
	NAME("KMEM_CACHE_ND"),
	NAME("KMEM_CACHE_BULK"),
	NAME("VMALLOC"),
	NAME("ALLOC_PAGES"),
	NAME("ALLOC_PAGES_EXACT"),
	NAME("ALLOC_PAGES_GETFREEPAGES"),
	NAME("ALLOC_PAGES_FOLIO"),
	NAME("INDUCED_ALLOC"),
	NAME("BOOTMEM"),
	NAME("MEMBLOCK"),
	NAME("UFO_MEMBLOCK"),
	NAME("MEMORIZER"),
	NAME("USER"),
	NAME("BUG"),
	NAME("UFO_GLOBAL"),
	NAME("UFO_NONE"),
	NAME("NONE"),
	NAME("SLAB_PAGES"),
	NAME("PERCPU"),
	NAME("MODULE"),
	NAME("PAGE_TABLE"),
};

/* Bits of GFP masks that all kernels since 2.6.23 have. */
#define GFP_HIGHMEM 0x2u
#define GFP_MOVABLE 0x8u

#define PAGE_BYTES  4096u

/* === Public =============================================================================== */

const char *ks_kmap_type_name(u32 type)
{
	return type < KS_KMAP_TYPES ? names[type].s : NULL;
}

struct ks_slice ks_kmap_type_slice(u32 type)
{
	return names[type];
}

u32 ks_kmap_type_parse(const char *name, size_t len)
{
	u32 type;

	for (type = 0; type < KS_KMAP_TYPES; type++)
		if (names[type].len == len && !memcmp(names[type].s, name, len))
			break;
	return type;
}

bool ks_kmap_may_be_users(const struct ks_kmap_object *object)
{
	if (object->type == KS_KMAP_TYPES && !object->type_name.len)
		return object->size && !((object->addr | object->size) % PAGE_BYTES);
	if (object->type != KS_KMAP_ALLOC_PAGES && object->type != KS_KMAP_ALLOC_PAGES_FOLIO)
		return false;
	if (object->fields || !object->gfp)
		return true;
	return (object->gfp & (GFP_HIGHMEM | GFP_MOVABLE)) == (GFP_HIGHMEM | GFP_MOVABLE);
}
