// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The recorder's threads: one reader a CPU, pinned to it, which splices whole pages out of the ring
 * into a pipe and from there into chunks; a few workers, which compress chunks and append them to the
 * file under write_lock.
 */
#include "capture/recorder-state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/zframe.h"

/* === Data ================================================================================= */

enum {
	POOL_BYTES = 64 << 20, /* that may wait for a slow disk */
	POLL_MS = 50,
	STALE_MS = 1000, /* a chunk that is not full goes out after this time */
	READER_NICE = -10,
	LEVEL = 1, /* of zstd: 3 is slower and no smaller on ring pages */
};

/* === Internals: readers =================================================================== */

static void fail(struct ks_recorder *rec, int err, const struct ks_diag *diag)
{
	pthread_mutex_lock(&rec->write_lock);
	if (!rec->err) {
		rec->err = err;
		rec->diag = *diag;
	}
	pthread_cond_broadcast(&rec->wrote);
	pthread_mutex_unlock(&rec->write_lock);
}

static void send_chunk(struct ks_rec_reader *r)
{
	struct ks_chunk *chunk = r->chunk;

	if (!chunk || !chunk->len)
		return;
	chunk->cpu = r->id;
	chunk->seq = r->seq++;
	r->chunk = NULL;
	ks_chunks_queue(&r->rec->chunks, chunk);
}

/* Room for at least a page. */
static struct ks_chunk *open_chunk(struct ks_rec_reader *r)
{
	u32 page = r->rec->meta.ring_page_size;

	if (r->chunk && r->chunk->len + page > r->rec->chunks.size)
		send_chunk(r);
	if (!r->chunk) {
		r->chunk = ks_chunks_get(&r->rec->chunks);
		r->chunk_age_ms = 0;
	}
	return r->chunk;
}

/* Empties the pipe, which holds whole pages, into chunks. */
static bool drain_pipe(struct ks_rec_reader *r, size_t len)
{
	while (len) {
		struct ks_chunk *chunk = open_chunk(r);
		size_t room;
		ssize_t n;

		if (!chunk)
			return false;
		room = r->rec->chunks.size - chunk->len;
		room -= room % r->rec->meta.ring_page_size;
		n = read(r->pipe[0], chunk->data + chunk->len, ks_min(room, len));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		chunk->len += (u32)n;
		len -= (size_t)n;
	}
	return true;
}

/* Whether that is why there is nothing to read. A CPU that is offline has no ring until it comes online. */
static bool is_empty(void)
{
	return errno == ENODEV || errno == EAGAIN;
}

/* Moves all full pages. False: it cannot go on. */
static bool move_pages(struct ks_rec_reader *r, bool *ret_moved)
{
	*ret_moved = false;
	for (;;) {
		ssize_t n = splice(r->fd, NULL, r->pipe[1], NULL, KS_CHUNK_SIZE,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 || is_empty();
		if (!drain_pipe(r, (size_t)n))
			return false;
		*ret_moved = true;
	}
}

/* What is left in pages that are not full: splice leaves these alone, read does not. */
static bool move_rest(struct ks_rec_reader *r)
{
	u32 page = r->rec->meta.ring_page_size;

	for (;;) {
		struct ks_chunk *chunk = open_chunk(r);
		ssize_t n;

		if (!chunk)
			return false;
		n = read(r->fd, chunk->data + chunk->len, page);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 || is_empty();
		memset(chunk->data + chunk->len + n, 0, page - (size_t)n);
		chunk->len += page;
	}
}

static void pin(u32 cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size = CPU_ALLOC_SIZE(cpu + 1);

	if (!set)
		return;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	sched_setaffinity(0, size, set); /* an offline CPU's ring can be read from anywhere */
	CPU_FREE(set);
}

static void *reader_main(void *arg)
{
	struct ks_rec_reader *r = arg;
	struct ks_recorder *rec = r->rec;
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	struct ks_diag diag = { 0 };
	bool ok = true, moved, wait = false;

	pin(r->cpu);
	setpriority(PRIO_PROCESS, 0, READER_NICE);
	atomic_store(&r->tid, (pid_t)syscall(SYS_gettid));
	while (ok && !atomic_load(&rec->stop)) {
		int ready = poll(&pfd, wait ? 0 : 1, POLL_MS);

		ok = move_pages(r, &moved);
		/* The ring of an offline CPU is always ready, and always empty. */
		wait = ready > 0 && !moved;
		if (ready <= 0)
			r->chunk_age_ms += POLL_MS;
		if (r->chunk_age_ms >= STALE_MS) {
			send_chunk(r);
			r->chunk_age_ms = 0;
		}
	}
	if (ok)
		ok = move_pages(r, &moved) && move_rest(r);
	if (!ok) {
		ks_diag_set(&diag, -EIO, "cannot read the ring of CPU %u: %s", r->cpu,
			    strerror(errno));
		fail(rec, -EIO, &diag);
	}
	send_chunk(r);
	if (r->chunk)
		ks_chunks_put(&rec->chunks, r->chunk);
	return NULL;
}

/* === Internals: workers =================================================================== */

/*
 * The chunks of a CPU go into the file in their order, which is what lets it be finished in place.
 * Another worker has those before: it took them out of the queue before this one.
 */
static void wait_for_turn(struct ks_recorder *rec, const struct ks_rec_reader *r,
			  const struct ks_chunk *chunk)
{
	while (!rec->err && r->written != chunk->seq)
		pthread_cond_wait(&rec->wrote, &rec->write_lock);
}

static void write_chunk(struct ks_recorder *rec, struct ks_zframer *framer, struct ks_chunk *chunk,
			u8 *buf, size_t cap)
{
	size_t len = framer && buf ? ks_zframer_make(framer, buf, cap, chunk->data, chunk->len) : 0;
	struct ks_rec_reader *r = rec->readers;

	while (r->id != chunk->cpu)
		r++;
	pthread_mutex_lock(&rec->write_lock);
	wait_for_turn(rec, r, chunk);
	if (!len) {
		if (!rec->err)
			rec->err = ks_diag_set(&rec->diag, -ENOMEM, "cannot compress");
	} else if (!rec->err && rec->writer) {
		rec->err = ks_td_writer_block(rec->writer, chunk->cpu, chunk->seq, buf, (u32)len,
					      chunk->len, &rec->diag);
		if (rec->max_size && ks_td_writer_size(rec->writer) >= rec->max_size)
			rec->full = true;
	}
	r->unwritten += rec->err != 0;
	r->written++;
	pthread_cond_broadcast(&rec->wrote);
	pthread_mutex_unlock(&rec->write_lock);
}

static void *worker_main(void *arg)
{
	struct ks_rec_worker *worker = arg;
	struct ks_recorder *rec = worker->rec;
	size_t cap = ks_zframe_bound(rec->chunks.size);
	struct ks_zframer *framer = ks_zframer_new(LEVEL);
	u8 *buf = malloc(cap);
	struct ks_diag diag = { 0 };
	struct ks_chunk *chunk;

	atomic_store(&worker->tid, (pid_t)syscall(SYS_gettid));
	if (!framer || !buf)
		fail(rec, ks_diag_nomem(&diag, "recording"), &diag);
	while ((chunk = ks_chunks_take(&rec->chunks))) {
		write_chunk(rec, framer, chunk, buf, cap);
		ks_chunks_put(&rec->chunks, chunk);
	}
	ks_zframer_free(framer);
	free(buf);
	return NULL;
}

/* === Internals: opening the rings ========================================================= */

static int open_reader(struct ks_recorder *rec, const struct ks_tracefs *tfs, u32 cpu,
		       struct ks_diag *diag)
{
	struct ks_rec_reader *r = &rec->readers[rec->readers_len];
	char *path;

	*r = (struct ks_rec_reader){ .rec = rec, .tfs = tfs, .cpu = cpu, .pipe = { -1, -1 } };
	r->id = tfs == &rec->frees ? cpu | KS_TD_FREES : cpu;
	if (asprintf(&path, "%s/per_cpu/cpu%u/trace_pipe_raw", tfs->instance, cpu) < 0)
		return ks_diag_nomem(diag, "recording");
	r->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->fd < 0) {
		int err = ks_diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));

		free(path);
		return err;
	}
	free(path);
	rec->readers_len++;
	if (pipe2(r->pipe, O_CLOEXEC | O_NONBLOCK))
		return ks_diag_set(diag, -errno, "cannot make a pipe: %s", strerror(errno));
	fcntl(r->pipe[1], F_SETPIPE_SZ, KS_CHUNK_SIZE);
	return 0;
}

static int compare_u32(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* === Public =============================================================================== */

int ks_rec_open_readers(struct ks_recorder *rec, struct ks_diag *diag)
{
	KS_VEC(u32) cpus = { 0 };
	struct dirent *entry;
	char *path;
	DIR *dir;
	size_t i;
	int err = 0;

	if (asprintf(&path, "%s/per_cpu", rec->tfs.instance) < 0)
		return ks_diag_nomem(diag, "recording");
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		unsigned int cpu;
		u32 *slot;

		if (sscanf(entry->d_name, "cpu%u", &cpu) != 1)
			continue;
		slot = ks_vec_push(&cpus);
		if (!slot) {
			err = ks_diag_nomem(diag, "recording");
			break;
		}
		*slot = cpu;
	}
	if (!err && (!dir || !cpus.len))
		err = ks_diag_set(diag, -ENODEV, "%s: has no CPUs", path);
	if (dir)
		closedir(dir);
	free(path);
	if (cpus.len)
		qsort(cpus.items, cpus.len, sizeof(u32), compare_u32);
	rec->readers = calloc(2 * cpus.len + 1, sizeof(*rec->readers));
	if (!rec->readers)
		err = ks_diag_nomem(diag, "recording");
	for (i = 0; i < cpus.len && !err; i++)
		err = open_reader(rec, &rec->tfs, cpus.items[i], diag);
	rec->meta.cpus = rec->readers_len;
	for (i = 0; rec->frees.instance && i < cpus.len && !err; i++)
		err = open_reader(rec, &rec->frees, cpus.items[i], diag);
	ks_vec_free(&cpus);
	return err;
}

int ks_rec_start_threads(struct ks_recorder *rec, struct ks_diag *diag)
{
	u32 size = ks_max((u32)KS_CHUNK_SIZE, rec->meta.ring_page_size), i;
	u32 want = ks_min((u32)KS_REC_MAX_WORKERS, rec->readers_len / 4 + 1);

	ks_chunks_init(&rec->chunks, size, POOL_BYTES / size + 2 * rec->readers_len);
	rec->chunks_ready = true;
	for (i = 0; i < want; i++) {
		rec->workers[i].rec = rec;
		if (pthread_create(&rec->workers[i].thread, NULL, worker_main, &rec->workers[i]))
			break;
		rec->workers_len++;
	}
	for (i = 0; i < rec->readers_len; i++) {
		if (pthread_create(&rec->readers[i].thread, NULL, reader_main, &rec->readers[i]))
			break;
		rec->readers[i].running = true;
	}
	if (!rec->workers_len || i < rec->readers_len)
		return ks_diag_set(diag, -EAGAIN, "cannot start enough threads");
	return 0;
}

/*
 * The file names our own threads, and readers leave their objects out. A filter in the kernel could
 * do it too, but it would hide half of an object's life: what a thread allocates is often freed in an
 * interrupt, and the other way round.
 */
int ks_rec_name_self(struct ks_recorder *rec)
{
	u32 count = rec->readers_len + rec->workers_len + 1, i, *tid;

	for (i = 0; i < count; i++) {
		_Atomic pid_t *from = i < rec->readers_len
					      ? &rec->readers[i].tid
					      : &rec->workers[i - rec->readers_len].tid;

		tid = ks_vec_push(&rec->meta.self.items);
		if (!tid)
			return -ENOMEM;
		if (i + 1 == count) {
			*tid = (u32)syscall(SYS_gettid);
			break;
		}
		while (!atomic_load(from))
			usleep(100);
		*tid = (u32)atomic_load(from);
	}
	return 0;
}

void ks_rec_join_threads(struct ks_recorder *rec)
{
	u32 i;

	atomic_store(&rec->stop, true);
	for (i = 0; i < rec->readers_len; i++)
		if (rec->readers[i].running)
			pthread_join(rec->readers[i].thread, NULL);
	if (rec->chunks_ready)
		ks_chunks_close(&rec->chunks);
	for (i = 0; i < rec->workers_len; i++)
		pthread_join(rec->workers[i].thread, NULL);
}

void ks_rec_close_readers(struct ks_recorder *rec)
{
	u32 i;

	for (i = 0; i < rec->readers_len; i++) {
		close(rec->readers[i].fd);
		if (rec->readers[i].pipe[0] >= 0) {
			close(rec->readers[i].pipe[0]);
			close(rec->readers[i].pipe[1]);
		}
	}
	free(rec->readers);
}
