// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel module's ranges of addresses: added, removed, looked up by an address inside, and
 * compared with an array that is searched from its start.
 */
#include "steps.h"

#include "../../kernel/spans.h"

bool user_pages_exhausted;

/* === The model ============================================================================ */

enum { CAPACITY_MAX = 24 };

struct model {
	struct mz_span spans[CAPACITY_MAX];
	u32 nr, capacity;
};

static void model_drop(struct model *model, u32 at)
{
	model->spans[at] = model->spans[--model->nr];
}

/* A new range ends the ranges that it overlaps: their end was not seen. */
static bool model_add(struct model *model, unsigned long start, unsigned long end)
{
	u32 i = 0;

	while (i < model->nr) {
		if (model->spans[i].start < end && start < model->spans[i].end)
			model_drop(model, i);
		else
			i++;
	}
	if (model->nr == model->capacity)
		return false;
	model->spans[model->nr++] = (struct mz_span){ start, end };
	return true;
}

static bool model_remove(struct model *model, unsigned long start)
{
	u32 i;

	for (i = 0; i < model->nr; i++) {
		if (model->spans[i].start == start) {
			model_drop(model, i);
			return true;
		}
	}
	return false;
}

static const struct mz_span *model_find(const struct model *model, unsigned long addr)
{
	u32 i;

	for (i = 0; i < model->nr; i++) {
		if (addr >= model->spans[i].start && addr < model->spans[i].end)
			return &model->spans[i];
	}
	return NULL;
}

/* === The comparison ======================================================================= */

static void check_find(const struct mz_spans *spans, const struct model *model, unsigned long addr)
{
	const struct mz_span *expected = model_find(model, addr);
	struct mz_span span;

	FUZZ_ASSERT(mz_spans_find(spans, addr, &span) == !!expected);
	if (expected)
		FUZZ_ASSERT(span.start == expected->start && span.end == expected->end);
}

/* Both copies, as readers see the one or the other, and all edges. */
static void check_all(const struct mz_spans *spans, const struct model *model)
{
	u32 i;

	FUZZ_ASSERT(spans->nr[0] == model->nr && spans->nr[1] == model->nr);
	FUZZ_ASSERT(!memcmp(spans->copies[0], spans->copies[1], model->nr * sizeof(*model->spans)));
	for (i = 0; i < model->nr; i++) {
		check_find(spans, model, model->spans[i].start);
		check_find(spans, model, model->spans[i].start - 1);
		check_find(spans, model, model->spans[i].end);
		check_find(spans, model, model->spans[i].end - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct steps steps = { data, data + size };
	struct mz_spans spans;
	struct model model = { .capacity = 1 + step_u8(&steps) % CAPACITY_MAX };

	FUZZ_ASSERT(!mz_spans_init(&spans, model.capacity));
	while (steps_left(&steps)) {
		u8 step = step_u8(&steps);
		unsigned long addr = step_u16(&steps);

		switch (step % 8) {
		case 0:
			mz_spans_clear(&spans);
			model.nr = 0;
			break;
		case 1:
		case 2:
		case 3: {
			unsigned long end = addr + 1 + (step >> 3) * 32;

			FUZZ_ASSERT(mz_spans_add(&spans, addr, end) ==
				    model_add(&model, addr, end));
			break;
		}
		case 4:
		case 5:
			FUZZ_ASSERT(mz_spans_remove(&spans, addr) == model_remove(&model, addr));
			break;
		default:
			check_find(&spans, &model, addr);
			break;
		}
		check_all(&spans, &model);
	}
	mz_spans_deinit(&spans);
	return 0;
}
