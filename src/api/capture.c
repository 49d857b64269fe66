// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Captures: what is at a path, behind a descriptor, or made by callbacks, until an analysis opens
 * it.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "report/check.h"
#include "source/open.h"

/* === Data ================================================================================= */

enum { BATCH = 256 }; /* events that callbacks are asked for at a time */

struct ks_capture {
	char *name; /* the path, or what messages call the descriptor */
	int fd;	    /* -1 = none, or it was taken */
	struct ks_capture_callbacks callbacks;
	void *ctx;
	bool by_path, taken;
};

/* A source over callbacks. */
struct made {
	struct ks_capture_callbacks callbacks;
	void *ctx;
	struct ks_names *names;
	char *name;
	struct ks_event events[BATCH];
};

/* === Internals ============================================================================ */

static int made_start(void *ctx, struct ks_names *names, struct ks_source_info *info,
		      struct ks_diag *diag)
{
	struct made *made = ctx;

	made->names = names;
	info->page_shift = KS_PAGE_SHIFT;
	return 0;
}

static int made_next(void *ctx, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct made *made = ctx;
	size_t len = 0;
	int more = 1, err = 0;

	while (len < BATCH && !err) {
		struct ks_event_data data = { .size = sizeof(data) };

		more = made->callbacks.next(made->ctx, &data, diag);
		if (more <= 0)
			break;
		data.size = sizeof(data);
		err = ks_api_event(&data, made->names, &made->events[len], diag);
		len += !err;
	}
	if (more < 0)
		return diag && diag->err == more
			       ? more
			       : ks_diag_set(diag, more, "%s: %s", made->name, strerror(-more));
	*ret_batch = (struct ks_batch){ made->events, len };
	return err;
}

static void made_close(void *ctx)
{
	struct made *made = ctx;

	if (made->callbacks.close)
		made->callbacks.close(made->ctx);
	free(made->name);
	free(made);
}

/* Takes over the callbacks and the name of the capture. */
static int open_made(struct ks_capture *capture, const struct ks_source_opts *opts,
		     struct ks_source **ret_source, struct ks_diag *diag)
{
	struct ks_source_callbacks callbacks = {
		.gives = KS_GIVES_CAPTURE,
		.clock = KS_CLOCK_SECONDS,
		.start = made_start,
		.next = made_next,
		.close = made_close,
	};
	struct made *made = calloc(1, sizeof(*made));

	if (!made)
		return ks_diag_nomem(diag, "opening a source");
	made->callbacks = capture->callbacks;
	made->ctx = capture->ctx;
	made->name = capture->name;
	callbacks.format = made->name;
	capture->name = NULL;
	capture->taken = true;
	return ks_source_open_callbacks(&callbacks, made, opts, ret_source, diag);
}

static int new_capture(const char *name, struct ks_capture **ret_capture, struct ks_diag *diag)
{
	struct ks_capture *capture = calloc(1, sizeof(*capture));

	if (capture)
		capture->name = strdup(name);
	if (!capture || !capture->name) {
		free(capture);
		return ks_diag_nomem(diag, "opening a capture");
	}
	capture->fd = -1;
	*ret_capture = capture;
	return 0;
}

/* === Interface ============================================================================ */

int ks_api_capture_source(struct ks_capture *capture, const struct ks_source_opts *opts,
			  struct ks_source **ret_source, struct ks_diag *diag)
{
	int fd = capture->fd;

	if (capture->by_path)
		return ks_source_open(capture->name, opts, ret_source, diag);
	if (capture->taken)
		return ks_diag_set(diag, -EALREADY,
				   "a capture that is no file can be read once only");
	if (capture->callbacks.next)
		return open_made(capture, opts, ret_source, diag);
	capture->taken = true;
	capture->fd = -1;
	return ks_source_open_fd(fd, capture->name, opts, ret_source, diag);
}

int ks_api_empty_source(const struct ks_source_opts *opts, struct ks_source **ret_source,
			struct ks_diag *diag)
{
	static const struct ks_source_callbacks callbacks = {
		.format = "events of the caller",
		.gives = KS_GIVES_CAPTURE,
		.clock = KS_CLOCK_SECONDS,
	};
	int err = ks_source_open_callbacks(&callbacks, NULL, opts, ret_source, diag);

	if (!err)
		(*ret_source)->info.page_shift = KS_PAGE_SHIFT;
	return err;
}

/* === Public =============================================================================== */

int ks_capture_open(const char *path, struct ks_capture **ret_capture, struct ks_diag *diag)
{
	struct ks_capture *capture = NULL;
	struct stat st;
	int err;

	if (strcmp(path, "-") && stat(path, &st))
		return ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	err = new_capture(path, &capture, diag);
	if (err)
		return err;
	capture->by_path = true;
	*ret_capture = capture;
	return 0;
}

int ks_capture_open_fd(int fd, const char *name, struct ks_capture **ret_capture,
		       struct ks_diag *diag)
{
	struct ks_capture *capture = NULL;
	int err = fd < 0 ? ks_diag_set(diag, -EBADF, "%s: is not open", name)
			 : new_capture(name, &capture, diag);

	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	capture->fd = fd;
	*ret_capture = capture;
	return 0;
}

int ks_capture_open_callbacks(const struct ks_capture_callbacks *callbacks, void *ctx,
			      struct ks_capture **ret_capture, struct ks_diag *diag)
{
	struct ks_capture_callbacks own;
	struct ks_capture *capture = NULL;
	int err = ks_api_options(callbacks, &own, sizeof(own), diag);

	if (!err && !own.next)
		err = ks_diag_set(diag, -EINVAL, "callbacks without one for the next event");
	if (!err)
		err = new_capture(own.name ? own.name : "events of the caller", &capture, diag);
	if (err) {
		if (own.close)
			own.close(ctx);
		return err;
	}
	capture->callbacks = own;
	capture->ctx = ctx;
	*ret_capture = capture;
	return 0;
}

void ks_capture_close(struct ks_capture *capture)
{
	if (!capture)
		return;
	if (!capture->taken && capture->callbacks.close)
		capture->callbacks.close(capture->ctx);
	if (capture->fd >= 0)
		close(capture->fd);
	free(capture->name);
	free(capture);
}

int ks_capture_check(const char *path, struct ks_document **ret_document, struct ks_diag *diag)
{
	struct ks_table *files;
	struct ks_check check;
	struct ks_doc *doc;
	int err = ks_check_file(path, &check, diag);

	if (err)
		return err;
	doc = ks_doc_of_checks(&files);
	if (doc)
		ks_doc_add_check(doc, files, path, &check, false);
	ks_check_deinit(&check);
	return ks_api_document(doc, ret_document, diag);
}
