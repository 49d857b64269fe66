// SPDX-License-Identifier: LGPL-2.1-only
/* The functions of a kernel as subjects of privilege. */
#include "kmap/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

static struct ks_kmap_function *find_or_add(struct ks_kmap_functions *functions, const u32 *labels)
{
	u64 key = (u64)labels[KS_KMAP_FUNCTION] << 32 | labels[KS_KMAP_FILE];
	u32 number = ks_map64_add(&functions->index, key);
	struct ks_kmap_function *function;

	if (number == KS_NONE)
		return NULL;
	if (number < functions->items.len)
		return &functions->items.items[number];
	function = ks_vec_push(&functions->items);
	if (function)
		memcpy(function->labels, labels, sizeof(function->labels));
	return function;
}

/* Which operations each instruction was seen to do, as bits. */
static void note_operations(const struct ks_kmap_census *census, u8 *done)
{
	size_t i;

	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];

		done[edge->code] |= (u8)(!!edge->reads << KS_CPM_READ);
		done[edge->code] |= (u8)(!!edge->writes << KS_CPM_WRITE);
	}
	/* A function that came back has an instruction that returns. */
	for (i = 0; i < census->calls.len; i++) {
		const struct ks_kmap_calls *calls = &census->calls.items[i];

		done[calls->from] |= (u8)(!!calls->count << KS_CPM_CALL);
		done[calls->to] |= (u8)(!!calls->returns << KS_CPM_RETURN);
	}
}

static int add_seen(struct ks_kmap_functions *functions, const struct ks_kmap_census *census,
		    const struct ks_kmap_places *places)
{
	u8 *done = calloc(census->codes.keys.len + 1, sizeof(*done));
	size_t i, op;

	if (!done)
		return -ENOMEM;
	note_operations(census, done);
	for (i = 0; i < census->codes.keys.len; i++) {
		struct ks_kmap_function *function;

		functions->of_code[i] = KS_NONE;
		if (!ks_kmap_is_code(census->codes.keys.items[i]))
			continue;
		function = find_or_add(functions, places->codes[i]);
		if (!function) {
			free(done);
			return -ENOMEM;
		}
		functions->of_code[i] = (u32)(function - functions->items.items);
		for (op = 0; op < KS_CPM_OPS; op++)
			function->counts[op] += done[i] >> op & 1;
	}
	free(done);
	return 0;
}

/* A function may have several parts (.cold) and namesakes in one file: they are one subject. */
static int add_image(struct ks_kmap_functions *functions, struct ks_kmap_places *places,
		     const struct ks_code *code, struct ks_resolver *resolver, struct ks_diag *diag)
{
	static const u8 op_of[KS_CPM_OPS] = { [KS_CPM_READ] = KS_CODE_READ,
					      [KS_CPM_WRITE] = KS_CODE_WRITE,
					      [KS_CPM_CALL] = KS_CODE_CALL,
					      [KS_CPM_RETURN] = KS_CODE_RETURN };
	size_t i, op;
	int err;

	for (i = 0; i < code->functions.len; i++) {
		const struct ks_code_function *from = &code->functions.items[i];
		struct ks_kmap_function *to;
		u32 labels[KS_KMAP_UNITS];

		err = ks_kmap_places_label(places, resolver,
					   ks_intern_get(&code->table->names, from->name).s,
					   from->size, labels, diag);
		if (err)
			return err;
		if (places->members.strs.len)
			labels[KS_KMAP_COMPARTMENT] = ks_kmap_places_domain(places, labels);
		to = labels[KS_KMAP_COMPARTMENT] == KS_NONE ? NULL : find_or_add(functions, labels);
		if (!to)
			return ks_diag_nomem(diag, "reading the functions of a kernel");
		if (!to->in_image)
			memset(to->counts, 0, sizeof(to->counts));
		to->in_image = true;
		to->size += (double)from->size;
		for (op = 0; op < KS_CPM_OPS; op++)
			to->counts[op] += from->counts[op_of[op]];
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_functions_new(const struct ks_kmap_census *census, struct ks_kmap_places *places,
			  const struct ks_code *code, struct ks_resolver *resolver,
			  struct ks_kmap_functions **ret_functions, struct ks_diag *diag)
{
	struct ks_kmap_functions *functions = calloc(1, sizeof(*functions));
	int err = 0;

	if (functions)
		functions->of_code =
			calloc(census->codes.keys.len + 1, sizeof(*functions->of_code));
	if (!functions || !functions->of_code || ks_map64_init(&functions->index) ||
	    add_seen(functions, census, places))
		err = ks_diag_nomem(diag, "adding up functions");
	if (!err && code) {
		functions->has_sizes = true;
		err = add_image(functions, places, code, resolver, diag);
	}
	if (err)
		ks_kmap_functions_free(functions);
	else
		*ret_functions = functions;
	return err;
}

void ks_kmap_functions_free(struct ks_kmap_functions *functions)
{
	if (!functions)
		return;
	ks_vec_free(&functions->items);
	ks_map64_deinit(&functions->index);
	free(functions->of_code);
	free(functions);
}
