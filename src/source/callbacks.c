// SPDX-License-Identifier: LGPL-2.1-only
/* A source that its caller makes, by callbacks. */
#include "source/open.h"

#include <stdlib.h>

/* === Data ================================================================================= */

struct own_source {
	struct ks_source base;
	struct ks_source_callbacks callbacks;
	void *ctx;
};

/* === Internals ============================================================================ */

static int own_next(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct own_source *own = ks_container_of(source, struct own_source, base);

	*ret_batch = (struct ks_batch){ NULL, 0 };
	return own->callbacks.next ? own->callbacks.next(own->ctx, ret_batch, diag) : 0;
}

static int own_sums(struct ks_source *source, ks_sum_fn *fn, void *fn_ctx, struct ks_diag *diag)
{
	struct own_source *own = ks_container_of(source, struct own_source, base);

	return own->callbacks.sums ? own->callbacks.sums(own->ctx, fn, fn_ctx, diag) : 0;
}

static void own_close(struct ks_source *source)
{
	struct own_source *own = ks_container_of(source, struct own_source, base);

	if (own->callbacks.close)
		own->callbacks.close(own->ctx);
	ks_source_free(source);
}

static const struct ks_source_ops own_ops = {
	.next = own_next,
	.sums = own_sums,
	.close = own_close,
};

/* === Public =============================================================================== */

int ks_source_open_callbacks(const struct ks_source_callbacks *callbacks, void *ctx,
			     const struct ks_source_opts *opts, struct ks_source **ret_source,
			     struct ks_diag *diag)
{
	struct own_source *own = ks_source_new(sizeof(*own), &own_ops, callbacks->format, opts);
	int err = 0;

	if (!own) {
		if (callbacks->close)
			callbacks->close(ctx);
		return ks_diag_nomem(diag, "opening a source");
	}
	own->callbacks = *callbacks;
	own->ctx = ctx;
	ks_source_set_clock(&own->base, callbacks->clock);
	own->base.gives = callbacks->gives;
	if (callbacks->start)
		err = callbacks->start(ctx, &own->base.names, &own->base.info, diag);
	if (err) {
		own_close(&own->base);
		return err;
	}
	*ret_source = &own->base;
	return 0;
}
