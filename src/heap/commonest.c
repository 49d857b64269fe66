// SPDX-License-Identifier: LGPL-2.1-only
/* Looks at the first words of a few objects of each cache, and counts which of them point where. */
#include "heap/commonest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map64.h"

/* === Data ================================================================================= */

enum {
	SAMPLE = 64, /* objects of a cache that are looked at */
	WORDS = 64,  /* and words of each */
};

struct sample {
	u32 objects[SAMPLE];
	u32 count;
	u32 all, seen; /* objects of no known type; those that were passed */
};

struct ks_commonest {
	struct ks_kernel *kernel;
	const struct ks_snapshot *snapshot;
	struct sample *samples; /* by cache */
};

/* What was found in the objects of one cache. */
struct finding {
	struct ks_map64 kinds; /* a place and what is at its other end: a number */
	KS_VEC(u32) counts;    /* objects, by that number */
	u32 text, zeros;
	bool failed;
};

/* In place of a type: a cache, or the object itself. */
#define NO_TYPE (1u << 31)
#define ITSELF	(NO_TYPE - 1)

/* === Internals ============================================================================ */

static void choose(struct ks_commonest *c)
{
	const struct ks_snapshot *s = c->snapshot;
	struct sample *sample;
	u32 i;

	for (i = 0; i < s->count; i++)
		c->samples[s->cache[i]].all += s->known_by[i] == KS_KNOWN_NOT;
	/* From all over memory, not the oldest alone. */
	for (i = 0; i < s->count; i++) {
		if (s->known_by[i] != KS_KNOWN_NOT)
			continue;
		sample = &c->samples[s->cache[i]];
		if (sample->count < SAMPLE &&
		    (u64)sample->seen * SAMPLE >= (u64)sample->count * sample->all)
			sample->objects[sample->count++] = i;
		sample->seen++;
	}
}

static void see_pointer(const struct ks_snapshot *s, struct finding *f, u32 object, u32 at, u32 to)
{
	u32 what = to == object ? ITSELF : s->type[to] ? s->type[to] : NO_TYPE | s->cache[to];
	u32 number = ks_map64_add(&f->kinds, (u64)at << 32 | what), *count = NULL;

	if (number == f->counts.len) {
		count = ks_vec_push(&f->counts);
		if (count)
			*count = 1;
	} else if (number != KS_NONE) {
		count = &f->counts.items[number];
		++*count;
	}
	if (!count)
		f->failed = true;
}

static bool is_text(const u8 *data)
{
	u32 len = 0;

	while (len < 8 && data[len] >= ' ' && data[len] <= '~')
		len++;
	return len >= 4 && (len == 8 || !data[len]);
}

static void see_words(const struct ks_commonest *c, struct finding *f, u32 object, const u64 *words,
		      u32 count)
{
	bool zeros = true;
	u32 i, to;

	for (i = 0; i < count; i++) {
		zeros = zeros && !words[i];
		to = ks_snapshot_find(c->snapshot, words[i]);
		if (to != KS_NONE)
			see_pointer(c->snapshot, f, object, i, to);
	}
	f->zeros += zeros;
	f->text += count && is_text((const u8 *)words);
}

static void look_at(const struct ks_commonest *c, struct finding *f, u32 object)
{
	const struct ks_snapshot *s = c->snapshot;
	u32 count = ks_min(s->caches.items[s->cache[object]].object_size / 8, (u32)WORDS), i;
	u64 words[WORDS];

	if (c->kernel) {
		if (!ks_memory_get(c->kernel->memory, s->addr[object], words, count * 8))
			see_words(c, f, object, words, count);
		return;
	}
	for (i = s->ref_first[object]; i < s->ref_first[object + 1]; i++)
		if (s->refs.items[i].at < WORDS)
			see_pointer(s, f, object, s->refs.items[i].at, s->refs.items[i].to);
}

static void say_pointer(const struct ks_commonest *c, const struct finding *f, u32 number,
			struct ks_strbuf *out)
{
	const struct ks_snapshot *s = c->snapshot;
	u64 key = f->kinds.keys.items[number];
	u32 what = (u32)key;

	ks_strbuf_printf(out, "+0x%x -> %s", (u32)(key >> 32) * 8,
			 what == ITSELF	  ? "itself"
			 : what & NO_TYPE ? s->caches.items[what & ~NO_TYPE].name
					  : s->types.items[what].name);
}

static void say(const struct ks_commonest *c, const struct finding *f, u32 of,
		struct ks_strbuf *out)
{
	u32 most = ks_max(f->text, f->zeros), best = KS_NONE, i;

	/* Of as many, the first place. */
	for (i = 0; i < f->counts.len; i++)
		if (f->counts.items[i] >= most &&
		    (best == KS_NONE || f->counts.items[i] > most ||
		     f->kinds.keys.items[i] < f->kinds.keys.items[best])) {
			best = i;
			most = f->counts.items[i];
		}
	if (!most || (most == 1 && of > 1))
		return;
	if (best != KS_NONE)
		say_pointer(c, f, best, out);
	else
		ks_strbuf_puts(out, f->text == most ? "text" : "zeros");
	ks_strbuf_printf(out, " in %u of %u", most, of);
}

/* === Public =============================================================================== */

int ks_commonest_new(struct ks_kernel *kernel, const struct ks_snapshot *snapshot,
		     struct ks_commonest **ret_commonest)
{
	struct ks_commonest *c = calloc(1, sizeof(*c));

	if (c)
		c->samples = calloc(snapshot->caches.len + 1, sizeof(*c->samples));
	if (!c || !c->samples) {
		free(c);
		return -ENOMEM;
	}
	c->kernel = kernel;
	c->snapshot = snapshot;
	choose(c);
	*ret_commonest = c;
	return 0;
}

void ks_commonest_free(struct ks_commonest *c)
{
	if (c)
		free(c->samples);
	free(c);
}

int ks_commonest_say(struct ks_commonest *c, u16 cache, struct ks_strbuf *out)
{
	const struct sample *sample = &c->samples[cache];
	struct finding f = { 0 };
	u32 i;

	if (ks_map64_init(&f.kinds))
		return -ENOMEM;
	for (i = 0; i < sample->count; i++)
		look_at(c, &f, sample->objects[i]);
	if (!f.failed)
		say(c, &f, sample->count, out);
	ks_map64_deinit(&f.kinds);
	ks_vec_free(&f.counts);
	return f.failed ? -ENOMEM : 0;
}
