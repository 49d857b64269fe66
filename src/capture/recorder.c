// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The recorder. Threads: the caller's, which controls; one reader a CPU, pinned to it, which
 * splices whole pages out of the ring into a pipe and from there into chunks; a few workers, which
 * compress chunks and append them to the file under write_lock.
 */
#include "capture/recorder.h"

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
#include <zstd.h>

#include "capture/chunks.h"
#include "capture/machine.h"

/* === Data ================================================================================= */

enum {
	MAX_WORKERS = 4,
	POOL_BYTES = 64 << 20, /* that may wait for a slow disk */
	POLL_MS = 50,
	STALE_MS = 1000, /* a chunk that is not full goes out after this time */
	READER_NICE = -10,
	LEVEL = 1, /* of zstd: 3 is slower and no smaller on ring pages */
};

static const struct {
	const char *name;
	bool page;
} known_events[] = {
	{ "kmalloc", false },
	{ "kmalloc_node", false },
	{ "kmem_cache_alloc", false },
	{ "kmem_cache_alloc_node", false },
	{ "kfree", false },
	{ "kmem_cache_free", false },
	{ "mm_page_alloc", true },
	{ "mm_page_free", true },
	{ "mm_page_free_direct", true },
	{ "mm_pagevec_free", true },
};

struct reader {
	struct ks_recorder *rec;
	pthread_t thread;
	bool running;
	u32 cpu;
	_Atomic pid_t tid;
	int fd, pipe[2];
	u32 seq;
	u32 written, unwritten; /* chunks that are through, and those left out; write_lock */
	struct ks_chunk *chunk;
	u32 chunk_age_ms;
};

struct worker {
	struct ks_recorder *rec;
	pthread_t thread;
	_Atomic pid_t tid;
};

struct ks_recorder {
	struct ks_tracefs tfs;
	struct ks_td_meta meta;
	struct ks_cmdlines cmdlines;
	const char *events[ARRAY_SIZE(known_events)];
	size_t events_len;
	u64 max_size;

	struct reader *readers;
	u32 readers_len;
	struct worker workers[MAX_WORKERS];
	u32 workers_len;
	struct ks_chunks chunks;
	bool chunks_ready;
	_Atomic bool stop; /* readers: drain and end */

	pthread_mutex_t write_lock; /* guards these */
	pthread_cond_t wrote;	    /* a chunk, or something failed */
	struct ks_td_writer *writer;
	int err; /* of the first failure */
	struct ks_diag diag;
	bool full;
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

static void send_chunk(struct reader *r)
{
	struct ks_chunk *chunk = r->chunk;

	if (!chunk || !chunk->len)
		return;
	chunk->cpu = r->cpu;
	chunk->seq = r->seq++;
	r->chunk = NULL;
	ks_chunks_queue(&r->rec->chunks, chunk);
}

/* Room for at least a page. */
static struct ks_chunk *open_chunk(struct reader *r)
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
static bool drain_pipe(struct reader *r, size_t len)
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

/* Moves all full pages. False: it cannot go on. */
static bool move_pages(struct reader *r)
{
	for (;;) {
		ssize_t n = splice(r->fd, NULL, r->pipe[1], NULL, KS_CHUNK_SIZE,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 || errno == EAGAIN;
		if (!drain_pipe(r, (size_t)n))
			return false;
	}
}

/* What is left in pages that are not full: splice leaves these alone, read does not. */
static bool move_rest(struct reader *r)
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
			return n == 0 || errno == EAGAIN;
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
	struct reader *r = arg;
	struct ks_recorder *rec = r->rec;
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	struct ks_diag diag = { 0 };
	bool ok = true;

	pin(r->cpu);
	setpriority(PRIO_PROCESS, 0, READER_NICE);
	atomic_store(&r->tid, (pid_t)syscall(SYS_gettid));
	while (ok && !atomic_load(&rec->stop)) {
		int ready = poll(&pfd, 1, POLL_MS);

		ok = move_pages(r);
		if (ready <= 0)
			r->chunk_age_ms += POLL_MS;
		if (r->chunk_age_ms >= STALE_MS) {
			send_chunk(r);
			r->chunk_age_ms = 0;
		}
	}
	if (ok)
		ok = move_pages(r) && move_rest(r);
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
static void wait_for_turn(struct ks_recorder *rec, const struct reader *r,
			  const struct ks_chunk *chunk)
{
	while (!rec->err && r->written != chunk->seq)
		pthread_cond_wait(&rec->wrote, &rec->write_lock);
}

static void write_chunk(struct ks_recorder *rec, ZSTD_CCtx *zstd, struct ks_chunk *chunk, u8 *buf,
			size_t cap)
{
	size_t len = zstd && buf ? ZSTD_compress2(zstd, buf, cap, chunk->data, chunk->len) : 0;
	struct reader *r = rec->readers;

	while (r->cpu != chunk->cpu)
		r++;
	pthread_mutex_lock(&rec->write_lock);
	wait_for_turn(rec, r, chunk);
	if (ZSTD_isError(len)) {
		if (!rec->err)
			rec->err = ks_diag_set(&rec->diag, -EIO, "cannot compress: %s",
					       ZSTD_getErrorName(len));
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
	struct worker *worker = arg;
	struct ks_recorder *rec = worker->rec;
	size_t cap = ZSTD_compressBound(rec->chunks.size);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	u8 *buf = malloc(cap);
	struct ks_diag diag = { 0 };
	struct ks_chunk *chunk;

	atomic_store(&worker->tid, (pid_t)syscall(SYS_gettid));
	if (!zstd || !buf)
		fail(rec, ks_diag_nomem(&diag, "recording"), &diag);
	if (zstd) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
		/* So that a block that a crash left half-written is found out. */
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	}
	while ((chunk = ks_chunks_take(&rec->chunks))) {
		write_chunk(rec, zstd, chunk, buf, cap);
		ks_chunks_put(&rec->chunks, chunk);
	}
	ZSTD_freeCCtx(zstd);
	free(buf);
	return NULL;
}

/* === Internals: setting up ================================================================ */

static int choose_events(struct ks_recorder *rec, const struct ks_record_opts *opts,
			 struct ks_diag *diag)
{
	char path[96];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known_events); i++) {
		if (!(known_events[i].page ? opts->pages : opts->slab))
			continue;
		snprintf(path, sizeof(path), "events/kmem/%s/enable", known_events[i].name);
		if (ks_tracefs_has(&rec->tfs, path))
			rec->events[rec->events_len++] = known_events[i].name;
	}
	if (rec->events_len)
		return 0;
	if (geteuid())
		return ks_diag_set(diag, -EACCES, "%s: cannot be read; recording needs root",
				   rec->tfs.root);
	return ks_diag_set(diag, -ENODEV,
			   "%s/events/kmem: has none of the events: the kernel needs CONFIG_FTRACE "
			   "and CONFIG_EVENT_TRACING",
			   rec->tfs.root);
}

static int configure(struct ks_recorder *rec, const struct ks_record_opts *opts,
		     struct ks_diag *diag)
{
	char kb[32];
	int err;

	err = ks_tracefs_write(&rec->tfs, "trace_clock", opts->clock, diag);
	if (err)
		return err;
	snprintf(kb, sizeof(kb), "%llu",
		 (unsigned long long)(opts->buffer_kb ? opts->buffer_kb : KS_RECORD_BUFFER_KB));
	err = ks_tracefs_write(&rec->tfs, "buffer_size_kb", kb, diag);
	if (err == -ENOMEM)
		return ks_diag_set(diag, err,
				   "no memory for ring buffers of %s kB a CPU; choose less with "
				   "--buffer-size",
				   kb);
	/* Readers are woken when a quarter is full: that leaves time, and few wake-ups. */
	if (!err && ks_tracefs_has(&rec->tfs, "@buffer_percent"))
		err = ks_tracefs_write(&rec->tfs, "buffer_percent", "25", diag);
	if (!err && opts->stack)
		err = ks_tracefs_write(&rec->tfs, "options/stacktrace", "1", diag);
	if (!err && opts->only_pids)
		err = ks_tracefs_write(&rec->tfs, "options/event-fork", "1", diag);
	snprintf(rec->meta.clock, sizeof(rec->meta.clock), "%s", opts->clock);
	return err;
}

/* The ring's page may be larger than the machine's. */
static u32 ring_page_size(const struct ks_tracefs *tfs)
{
	struct ks_strbuf sb;
	u64 kb = 0;

	ks_strbuf_init(&sb);
	if (!ks_tracefs_read(tfs, "@buffer_subbuf_size_kb", &sb, NULL))
		kb = strtoull(ks_strbuf_str(&sb), NULL, 10);
	ks_strbuf_deinit(&sb);
	return kb ? (u32)kb * 1024 : (u32)sysconf(_SC_PAGESIZE);
}

static int open_reader(struct ks_recorder *rec, u32 cpu, struct ks_diag *diag)
{
	struct reader *r = &rec->readers[rec->readers_len];
	char *path;

	*r = (struct reader){ .rec = rec, .cpu = cpu, .pipe = { -1, -1 } };
	if (asprintf(&path, "%s/per_cpu/cpu%u/trace_pipe_raw", rec->tfs.instance, cpu) < 0)
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

static int open_readers(struct ks_recorder *rec, struct ks_diag *diag)
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
		if (slot)
			*slot = cpu;
	}
	if (!dir || !cpus.len)
		err = ks_diag_set(diag, -ENODEV, "%s: has no CPUs", path);
	if (dir)
		closedir(dir);
	free(path);
	if (cpus.len)
		qsort(cpus.items, cpus.len, sizeof(u32), compare_u32);
	rec->readers = calloc(cpus.len + 1, sizeof(*rec->readers));
	if (!rec->readers)
		err = ks_diag_nomem(diag, "recording");
	for (i = 0; i < cpus.len && !err; i++)
		err = open_reader(rec, cpus.items[i], diag);
	rec->meta.cpus = rec->readers_len;
	ks_vec_free(&cpus);
	return err;
}

static int start_threads(struct ks_recorder *rec, struct ks_diag *diag)
{
	u32 size = ks_max((u32)KS_CHUNK_SIZE, rec->meta.ring_page_size), i;
	u32 want = ks_min((u32)MAX_WORKERS, rec->readers_len / 4 + 1);

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

/* === Internals: leaving ourselves out ===================================================== */

/*
 * The file names our own threads, and readers leave their objects out. A filter in the kernel could
 * do it too, but it would hide half of an object's life: what a thread allocates is often freed in an
 * interrupt, and the other way round.
 */
static int name_self(struct ks_recorder *rec)
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

/* === Internals: ending ==================================================================== */

static void join_threads(struct ks_recorder *rec)
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

static void free_recorder(struct ks_recorder *rec)
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
	if (rec->chunks_ready)
		ks_chunks_deinit(&rec->chunks);
	ks_tracefs_close(&rec->tfs);
	ks_cmdlines_deinit(&rec->cmdlines);
	ks_td_meta_deinit(&rec->meta);
	pthread_cond_destroy(&rec->wrote);
	pthread_mutex_destroy(&rec->write_lock);
	free(rec);
}

static void collect_stats(struct ks_recorder *rec, bool keep_text, struct ks_record_stats *ret)
{
	u32 i;

	*ret = (struct ks_record_stats){ 0 };
	for (i = 0; i < rec->readers_len; i++) {
		struct ks_strbuf *text = keep_text ? ks_vec_push(&rec->meta.cpu_stats) : NULL;
		struct ks_cpu_stats stats;

		if (ks_machine_cpu_stats(&rec->tfs, rec->readers[i].cpu, &stats, text))
			continue;
		ret->events += stats.entries + stats.read;
		ret->lost += stats.overrun + stats.commit_overrun + stats.dropped;
		if (text && rec->readers[i].unwritten)
			ks_strbuf_printf(text, KS_TD_UNWRITTEN "%u\n", rec->readers[i].unwritten);
	}
	pthread_mutex_lock(&rec->write_lock);
	ret->file_size = rec->writer ? ks_td_writer_size(rec->writer) : 0;
	ret->full = rec->full;
	ret->failed = rec->err;
	pthread_mutex_unlock(&rec->write_lock);
}

/* === Public =============================================================================== */

int ks_recorder_new(const struct ks_record_opts *opts, struct ks_recorder **ret_recorder,
		    struct ks_diag *diag)
{
	struct ks_recorder *rec = calloc(1, sizeof(*rec));
	u32 stale;
	int err;

	if (!rec || ks_cmdlines_init(&rec->cmdlines)) {
		free(rec);
		return ks_diag_nomem(diag, "recording");
	}
	pthread_mutex_init(&rec->write_lock, NULL);
	pthread_cond_init(&rec->wrote, NULL);
	ks_td_meta_init(&rec->meta);
	rec->max_size = opts->max_size;
	err = ks_tracefs_open(&rec->tfs, diag);
	if (!err)
		err = choose_events(rec, opts, diag);
	if (!err) {
		ks_tracefs_remove_stale(rec->tfs.root, &stale);
		err = ks_tracefs_make_instance(&rec->tfs, diag);
	}
	if (!err)
		err = configure(rec, opts, diag);
	if (!err)
		err = ks_machine_describe(&rec->tfs, rec->events, rec->events_len, &rec->meta,
					  diag);
	if (!err) {
		rec->meta.ring_page_size = ring_page_size(&rec->tfs);
		err = open_readers(rec, diag);
	}
	if (!err)
		err = start_threads(rec, diag);
	if (!err && !opts->only_pids && name_self(rec))
		err = ks_diag_nomem(diag, "recording");
	if (!err) {
		pthread_mutex_lock(&rec->write_lock); /* the workers run already */
		err = ks_td_writer_open(opts->path, &rec->meta, &rec->writer, diag);
		pthread_mutex_unlock(&rec->write_lock);
	}
	if (err) {
		ks_recorder_abort(rec);
		return err;
	}
	*ret_recorder = rec;
	return 0;
}

int ks_recorder_follow(struct ks_recorder *rec, u32 pid, struct ks_diag *diag)
{
	char path[64], *file;
	struct dirent *entry;
	DIR *dir;
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	if (!dir)
		return ks_diag_set(diag, -ESRCH, "there is no process %u", pid);
	if (asprintf(&file, "%s/set_event_pid", rec->tfs.instance) < 0) {
		closedir(dir);
		return ks_diag_nomem(diag, "following a process");
	}
	/* Opened without O_TRUNC, the file adds to its list. */
	fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
	while (fd >= 0 && !err && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (write(fd, entry->d_name, strlen(entry->d_name)) < 0)
			err = -errno;
	}
	if (fd < 0 || err)
		err = ks_diag_set(diag, err ? err : -errno, "%s: cannot write: %s", file,
				  strerror(err ? -err : errno));
	if (fd >= 0)
		close(fd);
	free(file);
	closedir(dir);
	return err;
}

int ks_recorder_start(struct ks_recorder *rec, struct ks_diag *diag)
{
	char path[96];
	size_t i;
	int err = 0;

	for (i = 0; i < rec->events_len && !err; i++) {
		snprintf(path, sizeof(path), "events/kmem/%s/enable", rec->events[i]);
		err = ks_tracefs_write(&rec->tfs, path, "1", diag);
	}
	return err ? err : ks_tracefs_write(&rec->tfs, "tracing_on", "1", diag);
}

void ks_recorder_poll(struct ks_recorder *rec, struct ks_record_stats *ret_stats)
{
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	collect_stats(rec, false, ret_stats);
}

int ks_recorder_stop(struct ks_recorder *rec, struct ks_record_stats *ret_stats,
		     struct ks_diag *diag)
{
	struct ks_td_writer *writer;
	u64 size;
	int err;

	ks_tracefs_write(&rec->tfs, "tracing_on", "0", NULL);
	ks_cmdlines_collect(&rec->cmdlines, &rec->tfs);
	join_threads(rec);
	collect_stats(rec, true, ret_stats);
	ks_cmdlines_print(&rec->cmdlines, &rec->meta.cmdlines);
	writer = rec->writer;
	rec->writer = NULL;
	size = ks_td_writer_size(writer);
	err = rec->err;
	if (err) { /* what there is can still be finished, if there is room for it */
		if (diag)
			*diag = rec->diag;
		ret_stats->finished = !ks_td_writer_finish(writer, &rec->meta, NULL);
	} else {
		err = ks_td_writer_finish(writer, &rec->meta, diag);
	}
	ret_stats->file_size = size;
	free_recorder(rec);
	return err;
}

void ks_recorder_abort(struct ks_recorder *rec)
{
	join_threads(rec);
	if (rec->writer)
		ks_td_writer_abort(rec->writer);
	free_recorder(rec);
}
