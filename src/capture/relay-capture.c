// SPDX-License-Identifier: LGPL-2.1-only
/* kmemtrace captures: one pinned reader a relay file, or a conversion. */
#include "capture/relay-capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/vec.h"
#include "capture/tracefs.h"
#include "source/open.h"
#include "trace/relay.h"

/* === Data ================================================================================= */

enum { COPY_SIZE = 256 * 1024, POLL_MS = 100, FLUSH_SIZE = 64 * 1024 };

struct copier {
	struct ks_relay_capture *capture;
	pthread_t thread;
	bool running;
	u32 cpu;
	int in;
	struct ks_outfile out;
	u64 bytes;
	int err;
	struct ks_diag diag;
};

struct ks_relay_capture {
	char *relay_dir;
	struct copier *copiers;
	size_t len;
	_Atomic bool stop;
};

/* === Internals: copying =================================================================== */

static int set_enabled(const char *relay_dir, const char *value)
{
	char *path;
	int fd, err = 0;

	if (asprintf(&path, "%s/enabled", relay_dir) < 0)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, 1) != 1)
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(path);
	return err;
}

/* The reader must sit on the CPU whose file it reads, and must poll before each read. */
static void *copier_main(void *arg)
{
	struct copier *c = arg;
	struct pollfd pfd = { .fd = c->in, .events = POLLIN };
	char *buf = malloc(COPY_SIZE);
	cpu_set_t set;

	CPU_ZERO(&set);
	if (c->cpu < CPU_SETSIZE) {
		CPU_SET(c->cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	if (!buf)
		c->err = ks_diag_nomem(&c->diag, "recording");
	while (!c->err) {
		bool last = atomic_load(&c->capture->stop);
		ssize_t n;

		poll(&pfd, 1, last ? 0 : POLL_MS);
		n = read(c->in, buf, COPY_SIZE);
		if (n > 0) {
			c->err = ks_outfile_write(&c->out, buf, (size_t)n, &c->diag);
			c->bytes += (u64)n;
		} else if (last) {
			break;
		}
	}
	free(buf);
	return NULL;
}

static int open_copier(struct ks_relay_capture *capture, const char *out_dir, u32 cpu,
		       struct ks_diag *diag)
{
	struct copier *c = &capture->copiers[capture->len];
	char *in, *out = NULL;
	int err = 0;

	*c = (struct copier){ .capture = capture, .cpu = cpu, .in = -1, .out = { .fd = -1 } };
	if (asprintf(&in, "%s/cpu%u", capture->relay_dir, cpu) < 0)
		return ks_diag_nomem(diag, "recording");
	if (asprintf(&out, "%s/cpu%u.out", out_dir, cpu) < 0)
		err = ks_diag_nomem(diag, "recording");
	if (!err) {
		c->in = open(in, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (c->in < 0)
			err = ks_diag_set(diag, -errno, "%s: cannot open: %s", in, strerror(errno));
	}
	if (!err)
		err = ks_outfile_open(&c->out, out, diag);
	if (!err)
		capture->len++;
	else if (c->in >= 0)
		close(c->in);
	free(in);
	free(out);
	return err;
}

static void free_capture(struct ks_relay_capture *capture, bool keep, struct ks_diag *diag,
			 int *err)
{
	size_t i;

	for (i = 0; i < capture->len; i++) {
		struct copier *c = &capture->copiers[i];

		close(c->in);
		if (keep && !c->err) {
			int commit = ks_outfile_commit(&c->out, diag);

			if (!*err)
				*err = commit;
		} else {
			ks_outfile_abort(&c->out);
		}
	}
	free(capture->copiers);
	free(capture->relay_dir);
	free(capture);
}

/* === Internals: converting ================================================================ */

struct sink {
	struct ks_outfile file;
	struct ks_strbuf buf;
};

static int flush_sink(struct sink *sink, size_t limit, struct ks_diag *diag)
{
	int err = 0;

	if (sink->buf.failed)
		return ks_diag_nomem(diag, "converting a capture");
	if (sink->buf.len && sink->buf.len >= limit) {
		err = ks_outfile_write(&sink->file, sink->buf.s, sink->buf.len, diag);
		sink->buf.len = 0;
	}
	return err;
}

static void encode(const struct ks_names *names, const struct ks_event *ev, u32 seq,
		   struct ks_strbuf *sb)
{
	struct ks_relay_record record = {
		.event = ks_kind_is_alloc(ev->kind) ? KS_RELAY_ALLOC : KS_RELAY_FREE,
		.type = ks_kind_is_page(ev->kind)			 ? KS_RELAY_PAGES
			: ev->kind == KS_KMALLOC || ev->kind == KS_KFREE ? KS_RELAY_KMALLOC
									 : KS_RELAY_CACHE,
		.seq = seq,
		.site = ks_sites_get(&names->sites, ev->site)->addr,
		.ptr = ev->ptr,
		.req = ev->bytes_req,
		.alloc = ev->bytes_alloc,
		.gfp = ev->gfp < names->gfp_masks.len ? (u32)names->gfp_masks.items[ev->gfp] : 0,
		.node = ev->node,
	};

	ks_relay_encode(&record, sb);
}

static int convert_events(struct ks_source *source, struct sink *sinks, u32 cpus, u64 *events,
			  u64 *lost, struct ks_diag *diag)
{
	struct ks_batch batch;
	u32 seq = 1;
	size_t i;
	int err;

	while (!(err = ks_source_next(source, &batch, diag)) && batch.count)
		for (i = 0; i < batch.count && !err; i++) {
			const struct ks_event *ev = &batch.events[i];
			struct sink *sink = &sinks[ev->cpu < cpus ? ev->cpu : 0];

			if (ev->kind == KS_LOST) {
				*lost += ev->lost.count;
				seq += (u32)ks_max(ev->lost.count, (u64)1);
				continue;
			}
			encode(&source->names, ev, seq++, &sink->buf);
			++*events;
			err = flush_sink(sink, FLUSH_SIZE, diag);
		}
	return err;
}

/* === Public =============================================================================== */

bool ks_relay_available(const char *relay_dir)
{
	char cpu0[4096], enabled[4096];

	/* The files of the processors may be there only once it was enabled. */
	snprintf(cpu0, sizeof(cpu0), "%s/cpu0", relay_dir);
	snprintf(enabled, sizeof(enabled), "%s/enabled", relay_dir);
	return !access(cpu0, R_OK) || !access(enabled, W_OK);
}

int ks_relay_capture_start(const char *relay_dir, const char *out_dir,
			   struct ks_relay_capture **ret_capture, struct ks_diag *diag)
{
	struct ks_relay_capture *capture = calloc(1, sizeof(*capture));
	long cpus = ks_max(1, sysconf(_SC_NPROCESSORS_CONF)), i;
	int err = 0;

	if (!capture)
		return ks_diag_nomem(diag, "recording");
	capture->relay_dir = strdup(relay_dir);
	capture->copiers = calloc((size_t)cpus, sizeof(*capture->copiers));
	if (!capture->relay_dir || !capture->copiers)
		err = ks_diag_nomem(diag, "recording");
	/* First, as it makes the files; a kernel without the switch is always on. */
	if (!err)
		set_enabled(relay_dir, "1");
	for (i = 0; i < cpus && !err; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/cpu%ld", relay_dir, i);
		if (!access(path, F_OK))
			err = open_copier(capture, out_dir, (u32)i, diag);
	}
	for (i = 0; i < (long)capture->len && !err; i++) {
		struct copier *c = &capture->copiers[i];

		c->running = !pthread_create(&c->thread, NULL, copier_main, c);
		if (!c->running)
			err = ks_diag_set(diag, -EAGAIN, "cannot start a thread");
	}
	if (!err) {
		*ret_capture = capture;
		return 0;
	}
	atomic_store(&capture->stop, true);
	for (i = 0; i < (long)capture->len; i++)
		if (capture->copiers[i].running)
			pthread_join(capture->copiers[i].thread, NULL);
	free_capture(capture, false, NULL, &err);
	return err;
}

int ks_relay_capture_stop(struct ks_relay_capture *capture, u64 *ret_bytes, u64 *ret_overruns,
			  struct ks_diag *diag)
{
	struct ks_strbuf text;
	char *path;
	size_t i;
	int err = 0;

	*ret_bytes = 0;
	*ret_overruns = 0;
	set_enabled(capture->relay_dir, "0");
	atomic_store(&capture->stop, true);
	for (i = 0; i < capture->len; i++) {
		struct copier *c = &capture->copiers[i];

		pthread_join(c->thread, NULL);
		*ret_bytes += c->bytes;
		if (c->err && !err) {
			err = c->err;
			if (diag)
				*diag = c->diag;
		}
	}
	ks_strbuf_init(&text);
	if (asprintf(&path, "%s/total_overruns", capture->relay_dir) >= 0) {
		if (!ks_slurp(path, &text))
			*ret_overruns = strtoull(ks_strbuf_str(&text), NULL, 10);
		free(path);
	}
	ks_strbuf_deinit(&text);
	free_capture(capture, true, diag, &err);
	return err;
}

int ks_relay_convert(const char *path, const char *out_dir, u32 cpus, u64 *ret_events,
		     u64 *ret_lost, struct ks_diag *diag)
{
	struct sink *sinks = calloc(cpus, sizeof(*sinks));
	struct ks_source *source = NULL;
	u32 opened = 0, i;
	char *name;
	int err;

	*ret_events = 0;
	*ret_lost = 0;
	err = sinks ? ks_source_open(path, NULL, &source, diag)
		    : ks_diag_nomem(diag, "converting a capture");
	for (; opened < cpus && !err; opened++) {
		if (asprintf(&name, "%s/cpu%u.out", out_dir, opened) < 0) {
			err = ks_diag_nomem(diag, "converting a capture");
			break;
		}
		err = ks_outfile_open(&sinks[opened].file, name, diag);
		free(name);
		if (err)
			break;
	}
	if (!err)
		err = convert_events(source, sinks, cpus, ret_events, ret_lost, diag);
	for (i = 0; i < opened; i++) {
		if (!err)
			err = flush_sink(&sinks[i], 0, diag);
		if (!err)
			err = ks_outfile_commit(&sinks[i].file, diag);
		else
			ks_outfile_abort(&sinks[i].file);
		ks_strbuf_deinit(&sinks[i].buf);
	}
	ks_source_close(source);
	free(sinks);
	return err;
}

int ks_relay_save_symbols(const char *out_dir, struct ks_diag *diag)
{
	struct ks_outfile out;
	struct ks_strbuf text;
	char *path;
	int err;

	ks_strbuf_init(&text);
	err = ks_slurp("/proc/kallsyms", &text);
	if (err)
		ks_diag_set(diag, err, "/proc/kallsyms: cannot read: %s", strerror(-err));
	if (!err && asprintf(&path, "%s/kallsyms", out_dir) < 0)
		err = ks_diag_nomem(diag, "copying symbols");
	if (!err) {
		err = ks_outfile_open(&out, path, diag);
		free(path);
	}
	if (!err) {
		err = ks_outfile_write(&out, text.s, text.len, diag);
		if (err)
			ks_outfile_abort(&out);
		else
			err = ks_outfile_commit(&out, diag);
	}
	ks_strbuf_deinit(&text);
	return err;
}
