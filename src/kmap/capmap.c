// SPDX-License-Identifier: LGPL-2.1-only
/* What uSCOPE's reader of CAPMAPs accepts. */
#include "kmap/capmap.h"

#include <stdio.h>
#include <string.h>

/* === Data ================================================================================= */

#define PAGE_BYTES 4096u

/* Types that it does not know, and what comes next. */
static const struct {
	const char *name, *becomes;
} replaced[] = {
	{ "KMEM_CACHE_BULK", "KMEM_CACHE" },
	{ "ALLOC_PAGES_EXACT", "ALLOC_PAGES" },
	{ "ALLOC_PAGES_GETFREEPAGES", "ALLOC_PAGES" },
	{ "ALLOC_PAGES_FOLIO", "ALLOC_PAGES" },
	{ "STACK_FRAME", "STACK" },
	{ "STACK_ARGS", "STACK" },
	{ "SLAB_PAGES", "ALLOC_PAGES" },
	{ "PERCPU", "MEMBLOCK" },
	{ "MODULE", "UFO_NONE" },
	{ "PAGE_TABLE", "UFO_NONE" },
};

/* Objects of these are known by the code that allocates them. */
static const char *const of_heap[] = { "GEN_HEAP",	"KMALLOC", "KMALLOC_ND", "KMEM_CACHE",
				       "KMEM_CACHE_ND", "VMALLOC", "ALLOC_PAGES" };

/* === Internals ============================================================================ */

static struct ks_slice slice_of(const char *s)
{
	return (struct ks_slice){ s, strlen(s) };
}

static bool is_called(struct ks_slice name, const char *s)
{
	return name.len == strlen(s) && !memcmp(name.s, s, name.len);
}

/* Where the map has no types: pages lie on page boundaries. */
static const char *guess(const struct ks_kmap_object *object)
{
	const char *type = object->alloc_ip < KS_KMAP_IP_TYPES_END
				   ? ks_kmap_type_name((u32)object->alloc_ip)
				   : NULL;

	if (object->alloc_ip && type)
		return type;
	return object->size && !((object->addr | object->size) % PAGE_BYTES) ? "ALLOC_PAGES"
									     : "KMALLOC";
}

static void set_type(const struct ks_kmap_object *object, struct ks_capmap_object *to)
{
	size_t i;

	to->type = object->type_name;
	if (!to->type.len) {
		to->type = slice_of(guess(object));
		to->guessed = true;
	}
	for (i = 0; i < ARRAY_SIZE(replaced); i++)
		if (is_called(to->type, replaced[i].name)) {
			to->type = slice_of(replaced[i].becomes);
			to->changed = true;
			return;
		}
	if (ks_kmap_type_parse(to->type.s, to->type.len) < KS_KMAP_TYPES)
		return;
	/* A type that came later than this list. */
	to->type = slice_of(ks_kmap_is_code(object->alloc_ip) ? "KMALLOC" : "UFO_NONE");
	to->changed = true;
}

static bool is_of_heap(struct ks_slice type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(of_heap); i++)
		if (is_called(type, of_heap[i]))
			return true;
	return false;
}

static void put_code(char *to, size_t size, u64 ip, u64 slide)
{
	snprintf(to, size, "%016llx", (unsigned long long)(ip - slide));
}

/* === Public =============================================================================== */

void ks_capmap_object(const struct ks_kmap_object *object, u64 slide,
		      struct ks_capmap_object *ret_object)
{
	struct ks_capmap_object to = { .left_out = false };

	set_type(object, &to);
	if (ks_kmap_is_code(object->alloc_ip))
		put_code(to.alloc_ip, sizeof(to.alloc_ip), object->alloc_ip, slide);
	else
		snprintf(to.alloc_ip, sizeof(to.alloc_ip), "%-16llx",
			 (unsigned long long)object->alloc_ip);
	if (is_of_heap(to.type) && !ks_kmap_is_code(object->alloc_ip)) {
		snprintf(to.alloc_ip, sizeof(to.alloc_ip), "%-16s", "(null)");
		to.left_out = true;
	}
	if (ks_kmap_is_implied(object))
		put_code(to.free_ip, sizeof(to.free_ip), KS_KMAP_IP_IMPLIED, 0);
	else if (ks_kmap_is_code(object->free_ip))
		put_code(to.free_ip, sizeof(to.free_ip), object->free_ip, slide);
	else
		snprintf(to.free_ip, sizeof(to.free_ip), "%-16s", "(null)");
	*ret_object = to;
}
