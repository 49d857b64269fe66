// SPDX-License-Identifier: LGPL-2.1-only
/* A note points to the tag of a call of the allocator, which says the file, the line and the function that it is in. */
#include "heap/alloc-tags.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heap/notes.h"

/* === Data ================================================================================= */

enum {
	FILE_LEN = 128,
	NAME_LEN = 96,
	TEXT_LEN = FILE_LEN + 2 * NAME_LEN + 16,
};

struct naming {
	struct ks_kernel *kernel;
	const struct ks_slots *slots;
	struct ks_typing *typing;
	struct ks_map64 tags; /* addresses of tags */
	KS_VEC(u32) types;    /* by their numbers */
	bool failed;
};

/* === Internals ============================================================================ */

/* "fs/pipe.c:792 alloc_pipe_info()", with the module behind it. False: nothing that makes sense. */
static bool text_of(struct ks_kernel *k, u64 tag, char *text, size_t size)
{
	const struct ks_layout *l = &k->layout;
	char file[FILE_LEN], function[NAME_LEN], module[NAME_LEN] = "";
	u64 at;
	u32 line;

	if (ks_memory_get(k->memory, tag + l->tag_line, &line, sizeof(line)) ||
	    ks_memory_word(k->memory, tag + l->tag_file, &at) ||
	    ks_memory_string(k->memory, at, file, sizeof(file)) ||
	    ks_memory_word(k->memory, tag + l->tag_function, &at) ||
	    ks_memory_string(k->memory, at, function, sizeof(function)) || !*file || !*function)
		return false;
	if (!ks_memory_word(k->memory, tag + l->tag_module, &at) && at)
		ks_memory_string(k->memory, at, module, sizeof(module));
	snprintf(text, size, *module ? "%s:%u %s() [%s]" : "%s:%u %s()", file, line, function,
		 module);
	return true;
}

/* The type of what a tag's call allocates; 0 = it says nothing. */
static u32 type_of(struct naming *n, u64 tag)
{
	u32 number = ks_map64_add(&n->tags, tag), *slot;
	char text[TEXT_LEN + 3] = "of ";

	if (number == KS_NONE) {
		n->failed = true;
		return 0;
	}
	if (number < n->types.len)
		return n->types.items[number];
	slot = ks_vec_push(&n->types);
	if (!slot) {
		n->failed = true;
		return 0;
	}
	*slot = 0;
	if (text_of(n->kernel, tag, text + 3, sizeof(text) - 3)) {
		*slot = ks_types_name(n->typing->types, text, strlen(text));
		n->failed |= !*slot;
	}
	return *slot;
}

static void take_note(void *arg, u32 slot, const u8 *note)
{
	struct naming *n = arg;
	u64 tag = ks_u64_at(note, n->kernel->layout.ext_tag) & ~KS_NOTE_FLAGS;
	u32 type;

	if (!tag || !ks_slot_used(n->slots, slot) || n->typing->of[slot])
		return;
	type = type_of(n, tag);
	if (!type)
		return;
	n->typing->of[slot] = type;
	n->typing->known_by[slot] = KS_KNOWN_TAG;
}

/* The tag of one object; 0 = none. */
static u64 tag_of(struct ks_kernel *k, u64 object)
{
	const struct ks_layout *l = &k->layout;
	u8 page[KS_STRUCT_PAGE_MAX];
	struct ks_slab slab;
	u64 first, cache, tag;
	u32 size;

	if (ks_kernel_slab_of(k, object, page, &first))
		return 0;
	ks_slab_parse(l, page, &slab, &cache);
	if (!(slab.exts & ~KS_NOTE_FLAGS) ||
	    ks_memory_get(k->memory, cache + l->cache_stride, &size, sizeof(size)) || !size ||
	    (object - first) / size >= slab.objects ||
	    ks_memory_word(k->memory,
			   (slab.exts & ~KS_NOTE_FLAGS) +
				   (object - first) / size * ks_max((u32)slab.stride, l->ext_size) +
				   l->ext_tag,
			   &tag))
		return 0;
	return tag & ~KS_NOTE_FLAGS;
}

/* === Public =============================================================================== */

int ks_alloc_tags_type(struct ks_kernel *k, const struct ks_census *c, const struct ks_slots *slots,
		       struct ks_typing *typing, struct ks_diag *diag)
{
	struct naming n = { .kernel = k, .slots = slots, .typing = typing };
	int err;

	if (k->layout.ext_tag == KS_NONE)
		return 0;
	err = ks_map64_init(&n.tags);
	if (!err)
		err = ks_notes_walk(k, c, slots, take_note, &n, diag);
	ks_map64_deinit(&n.tags);
	ks_vec_free(&n.types);
	return err ? err : n.failed ? -ENOMEM : 0;
}

int ks_heap_sites_add_tags(struct ks_heap_sites *sites, struct ks_kernel *k,
			   const struct ks_candidates_list *list)
{
	char text[TEXT_LEN];
	size_t i;
	u64 tag;
	int err = 0;

	for (i = 0; k->layout.ext_tag != KS_NONE && !err && i < list->items.len; i++) {
		tag = tag_of(k, list->items.items[i].addr);
		if (tag && text_of(k, tag, text, sizeof(text)))
			err = ks_heap_sites_add(sites, list->items.items[i].addr, text);
	}
	return err;
}
