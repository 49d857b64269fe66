// SPDX-License-Identifier: LGPL-2.1-only
/* From a snapshot to the samples of a profile. */
#include "serve/profile-samples.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"

/* === Data ================================================================================= */

static const char arrow[] = " <- ";

/* === Internals: names ===================================================================== */

static u32 intern(struct ks_profile *p, struct ks_intern *in, const char *s, size_t len)
{
	struct ks_strbuf clean;
	u32 id;

	/* Strings of a protocol buffer are UTF-8; those of a kernel may be anything. */
	ks_strbuf_init(&clean);
	ks_escape_tty(&clean, s, len);
	id = ks_intern_add(in, clean.len ? ks_strbuf_str(&clean) : "", clean.len);
	p->failed |= id == KS_NONE || clean.failed;
	ks_strbuf_deinit(&clean);
	return id == KS_NONE ? 0 : id;
}

/* A frame of which nothing but an address is known stays unknown here: addresses are secrets. */
static void add_frame(struct ks_profile *p, const char *s, size_t len)
{
	static const char unknown[] = "unknown";
	const char *plus;
	u32 place, *slot;

	if (!len || (len > 1 && !memcmp(s, "0x", 2))) {
		s = unknown;
		len = strlen(unknown);
	}
	place = intern(p, &p->places, s, len);
	plus = memrchr(s, '+', len);
	while (p->functions.len <= place && !p->failed) {
		slot = ks_vec_push(&p->functions);
		if (!slot)
			p->failed = true;
		else
			*slot = intern(p, &p->strings, s, plus ? (size_t)(plus - s) : len);
	}
	slot = ks_vec_push(&p->frames);
	if (slot)
		*slot = place;
	else
		p->failed = true;
}

static void add_stack(struct ks_profile *p, const char *stack)
{
	const char *part, *end;

	for (part = stack; part; part = end ? end + strlen(arrow) : NULL) {
		end = strstr(part, arrow);
		add_frame(p, part, end ? (size_t)(end - part) : strlen(part));
	}
}

static struct ks_profile_sample *add_sample(struct ks_profile *p, const char *cache, u64 objects,
					    u64 bytes)
{
	struct ks_profile_sample *sample = ks_vec_push(&p->samples);

	if (!sample) {
		p->failed = true;
		return NULL;
	}
	sample->first = (u32)p->frames.len;
	sample->cache = ks_profile_string(p, cache);
	sample->objects = objects;
	sample->bytes = bytes;
	return sample;
}

static void end_sample(struct ks_profile *p, struct ks_profile_sample *sample)
{
	sample->len = (u32)(p->frames.len - sample->first);
}

/* === Internals: what is sampled =========================================================== */

static const char *name_of(const struct ks_live_snapshot *s, const struct ks_live_cell *cell,
			   enum ks_live_by by)
{
	return ks_intern_get(&s->names[by], cell->key[by]).s;
}

/* Stacks of what probes have seen. */
static void add_traced(struct ks_profile *p, const struct ks_live_snapshot *s)
{
	u64 objects = 0, bytes = 0;
	struct ks_profile_sample *sample;
	size_t i;

	for (i = 0; i < s->cells.len && !p->failed; i++) {
		const struct ks_live_cell *cell = &s->cells.items[i];

		if (cell->part != KS_LIVE_TRACED || !cell->objects)
			continue;
		if (p->samples.len >= KS_PROFILE_STACKS_MAX) {
			objects += cell->objects;
			bytes += cell->bytes;
			continue;
		}
		sample = add_sample(p, name_of(s, cell, KS_LIVE_BY_CACHE), cell->objects,
				    cell->bytes);
		if (!sample)
			return;
		add_stack(p, name_of(s, cell, KS_LIVE_BY_STACK));
		end_sample(p, sample);
	}
	if (bytes && (sample = add_sample(p, "", objects, bytes))) {
		add_frame(p, "other", 5);
		end_sample(p, sample);
	}
}

/* All objects by type, within their cache; or by cache alone. */
static void add_counted(struct ks_profile *p, const struct ks_live_snapshot *s)
{
	bool types = s->parts[KS_LIVE_TYPES].present;
	size_t i;

	for (i = 0; i < s->cells.len && !p->failed; i++) {
		const struct ks_live_cell *cell = &s->cells.items[i];
		const char *cache = name_of(s, cell, KS_LIVE_BY_CACHE), *type;
		struct ks_profile_sample *sample;

		if (cell->part != (types ? KS_LIVE_TYPES : KS_LIVE_CACHES) || !cell->objects)
			continue;
		sample = add_sample(p, cache, cell->objects, cell->bytes);
		if (!sample)
			return;
		type = types ? name_of(s, cell, KS_LIVE_BY_TYPE) : "";
		if (*type && strcmp(type, cache) != 0)
			add_frame(p, type, strlen(type));
		add_frame(p, cache, strlen(cache));
		end_sample(p, sample);
	}
}

static void begin(struct ks_profile *p)
{
	memset(p, 0, sizeof(*p));
	if (ks_intern_init(&p->strings) || ks_intern_init(&p->places))
		p->failed = true;
	else
		ks_profile_string(p, "");
}

static int finish(struct ks_profile *p)
{
	if (!p->failed)
		return 0;
	ks_profile_deinit(p);
	return -ENOMEM;
}

/* === Public =============================================================================== */

u32 ks_profile_string(struct ks_profile *p, const char *s)
{
	return intern(p, &p->strings, s, strlen(s));
}

int ks_profile_make(struct ks_profile *p, const struct ks_live_snapshot *s,
		    enum ks_profile_kind kind)
{
	const struct ks_live_part_info *traced = &s->parts[KS_LIVE_TRACED];

	begin(p);
	if (kind == KS_PROFILE_HEAP) {
		p->comment = "all slab objects in use, by type and cache";
		add_counted(p, s);
	} else if (traced->present) {
		p->comment =
			"slab objects that were allocated since the start and are in use, by stack";
		p->duration_ns = s->at_ns - traced->since_ns;
		add_traced(p, s);
	} else {
		p->comment = "empty: level census sees no allocations";
	}
	return finish(p);
}

int ks_profile_make_stacks(struct ks_profile *p, const struct ks_profile_stack *stacks, size_t len,
			   const char *comment)
{
	size_t i;

	begin(p);
	p->comment = comment;
	for (i = 0; i < len && !p->failed; i++) {
		struct ks_profile_sample *sample =
			add_sample(p, "", stacks[i].objects, stacks[i].bytes);

		if (!sample)
			break;
		add_stack(p, stacks[i].stack);
		end_sample(p, sample);
	}
	return finish(p);
}

void ks_profile_deinit(struct ks_profile *p)
{
	ks_intern_deinit(&p->strings);
	ks_intern_deinit(&p->places);
	ks_vec_free(&p->functions);
	ks_vec_free(&p->frames);
	ks_vec_free(&p->samples);
}
