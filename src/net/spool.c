// SPDX-License-Identifier: LGPL-2.1-only
/* A file between a source that cannot be read twice and a receiver that may be away. */
#include "net/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

/* === Data ================================================================================= */

#define PUMP_SIZE  (1u << 20)
#define PUNCH_SIZE (4u << 20) /* space is given back in pieces of this size */

/* The state file. One small pwrite() is one page: it is there whole or not at all. */
struct state {
	char id[KS_SPOOL_ID_LEN];
	u64 len, acked;
};

/* === Internals ============================================================================ */

/* The lock is held, or there is one thread. */
static int write_state(struct ks_spool *spool, u64 len)
{
	struct state state = { .len = len, .acked = spool->acked };

	memcpy(state.id, spool->id, sizeof(state.id));
	return pwrite(spool->state_fd, &state, sizeof(state), 0) == sizeof(state) ? 0 : -errno;
}

static int begin_state(struct ks_spool *spool)
{
	u8 random[KS_SPOOL_ID_LEN / 2];
	size_t i;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	for (i = 0; i < sizeof(random); i++)
		snprintf(spool->id + 2 * i, 3, "%02x", random[i]);
	return write_state(spool, 0);
}

static int load_state(struct ks_spool *spool)
{
	struct state state;
	struct stat st;
	ssize_t n = pread(spool->state_fd, &state, sizeof(state), 0);

	if (n < 0)
		return -errno;
	if (n != sizeof(state))
		return begin_state(spool);
	memcpy(spool->id, state.id, sizeof(state.id));
	spool->len = state.len;
	spool->acked = state.acked;
	if (strspn(spool->id, "0123456789abcdef") != KS_SPOOL_ID_LEN)
		return KS_EBADINPUT;
	if (fstat(spool->fd, &st))
		return -errno;
	if ((u64)st.st_size < spool->len || spool->acked > spool->len)
		return KS_EBADINPUT;
	return ftruncate(spool->fd, (off_t)spool->len) ? -errno : 0;
}

static void end(struct ks_spool *spool, int err, const struct ks_diag *diag)
{
	pthread_mutex_lock(&spool->lock);
	spool->err = err;
	spool->diag = *diag;
	spool->ended = true;
	pthread_cond_broadcast(&spool->changed);
	pthread_mutex_unlock(&spool->lock);
}

static bool is_stopped(struct ks_spool *spool)
{
	return __atomic_load_n(&spool->stop, __ATOMIC_RELAXED);
}

static int append_or_wait(struct ks_spool *spool, const char *data, size_t len,
			  struct ks_diag *diag)
{
	struct timespec second = { .tv_sec = 1 };
	int err;

	while ((err = ks_spool_append(spool, data, len, diag)) == -ENOSPC || err == -EDQUOT) {
		if (is_stopped(spool))
			break;
		nanosleep(&second, NULL);
	}
	return err;
}

/* A read that may take for ever; a signal makes it look whether it is still wanted. */
static ssize_t read_source(struct ks_spool *spool, int fd, char *buf, size_t len)
{
	ssize_t n;

	do
		n = is_stopped(spool) ? 0 : read(fd, buf, len);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Continues a regular file; its head may say how long its records are. */
static int seek_source(struct ks_spool *spool, int fd, const struct ks_framing *framing,
		       struct ks_diag *diag)
{
	char head[KS_FRAMING_HEAD];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size || !spool->len)
		return 0;
	n = pread(fd, head, sizeof(head), 0);
	if (n > 0)
		framing->whole(framing->ctx, head, (size_t)n, false);
	if ((u64)st.st_size < spool->len || lseek(fd, (off_t)spool->len, SEEK_SET) < 0)
		return ks_diag_set(diag, -EINVAL,
				   "the source is shorter than what was read of it before; is it "
				   "another one? Then give another --spool");
	return 0;
}

/* Whether the source was read before by another process, and can't be read again. */
static bool goes_on(const struct ks_spool *spool, int fd)
{
	struct stat st;

	return spool->len && !fstat(fd, &st) && !S_ISREG(st.st_mode);
}

/* Leaves out bytes at the front of the buffer. Returns how many. */
static size_t resync(struct ks_spool *spool, const struct ks_framing *framing, size_t have,
		     bool last, bool *ret_synced)
{
	size_t skip = framing->resync(framing->ctx, spool->buf, have, last || have == PUMP_SIZE,
				      ret_synced);

	memmove(spool->buf, spool->buf + skip, have - skip);
	pthread_mutex_lock(&spool->lock);
	spool->skipped += skip;
	pthread_mutex_unlock(&spool->lock);
	return skip;
}

/* === Public =============================================================================== */

int ks_spool_open(struct ks_spool *spool, const char *path, struct ks_diag *diag)
{
	int err;

	*spool = (struct ks_spool){ .fd = -1, .state_fd = -1 };
	pthread_mutex_init(&spool->lock, NULL);
	pthread_cond_init(&spool->changed, NULL);
	spool->path = strdup(path);
	spool->buf = malloc(PUMP_SIZE);
	if (!spool->path || !spool->buf || asprintf(&spool->state_path, "%s.state", path) < 0) {
		spool->state_path = NULL;
		ks_spool_close(spool, false);
		return ks_diag_nomem(diag, "opening a spool");
	}
	spool->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	spool->state_fd = open(spool->state_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (spool->fd < 0 || spool->state_fd < 0)
		err = -errno;
	else if (flock(spool->state_fd, LOCK_EX | LOCK_NB))
		err = -EBUSY;
	else
		err = load_state(spool);
	if (err) {
		ks_spool_close(spool, false);
		return ks_diag_set(diag, err, "%s: cannot use as spool: %s", path,
				   err == KS_EBADINPUT ? "its .state does not belong to it"
				   : err == -EBUSY     ? "another process does"
						       : strerror(-err));
	}
	return 0;
}

void ks_spool_close(struct ks_spool *spool, bool remove)
{
	if (remove) {
		unlink(spool->path);
		unlink(spool->state_path);
	}
	if (spool->fd >= 0)
		close(spool->fd);
	if (spool->state_fd >= 0)
		close(spool->state_fd);
	free(spool->buf);
	free(spool->path);
	free(spool->state_path);
	pthread_mutex_destroy(&spool->lock);
	pthread_cond_destroy(&spool->changed);
}

int ks_spool_append(struct ks_spool *spool, const void *data, size_t len, struct ks_diag *diag)
{
	int err = ks_pwrite_all(spool->fd, data, len, spool->len);

	pthread_mutex_lock(&spool->lock);
	if (!err)
		err = write_state(spool, spool->len + len);
	if (!err) {
		spool->len += len;
		pthread_cond_broadcast(&spool->changed);
	}
	pthread_mutex_unlock(&spool->lock);
	if (err)
		return ks_diag_set(diag, err, "%s: cannot write: %s", spool->path, strerror(-err));
	return 0;
}

void ks_spool_pump(struct ks_spool *spool, int source_fd, const struct ks_framing *framing)
{
	struct ks_diag diag = { 0 };
	bool synced = !framing->resync || !goes_on(spool, source_fd);
	size_t have = 0, whole;
	ssize_t n = 1;
	int err;

	err = seek_source(spool, source_fd, framing, &diag);
	while (!err && n > 0) {
		n = read_source(spool, source_fd, spool->buf + have, PUMP_SIZE - have);
		if (n < 0)
			err = ks_diag_set(&diag, -errno, "cannot read the source: %s",
					  strerror(errno));
		have += n > 0 ? (size_t)n : 0;
		if (!synced)
			have -= resync(spool, framing, have, n <= 0, &synced);
		if (!synced)
			continue;
		/* At the end, and when one object fills the buffer, what there is goes on. */
		whole = n <= 0 && !is_stopped(spool)
				? have
				: framing->whole(framing->ctx, spool->buf, have, have == PUMP_SIZE);
		if (!whole && have == PUMP_SIZE) {
			framing->pass(framing->ctx, spool->buf, have);
			whole = have;
		}
		if (whole && !err)
			err = append_or_wait(spool, spool->buf, whole, &diag);
		memmove(spool->buf, spool->buf + whole, have - whole);
		have -= whole;
	}
	end(spool, err, &diag);
}

u64 ks_spool_wait(struct ks_spool *spool, u64 offset, bool *ret_ended)
{
	struct timespec until;
	u64 there;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&spool->lock);
	if (spool->len <= offset && !spool->ended)
		pthread_cond_timedwait(&spool->changed, &spool->lock, &until);
	there = spool->len > offset ? spool->len - offset : 0;
	*ret_ended = spool->ended;
	pthread_mutex_unlock(&spool->lock);
	return there;
}

int ks_spool_ack(struct ks_spool *spool, u64 acked, struct ks_diag *diag)
{
	u64 from = spool->acked / PUNCH_SIZE * PUNCH_SIZE, to = acked / PUNCH_SIZE * PUNCH_SIZE;
	int err;

	pthread_mutex_lock(&spool->lock);
	spool->acked = acked;
	err = write_state(spool, spool->len);
	pthread_mutex_unlock(&spool->lock);
	if (err)
		return ks_diag_set(diag, err, "%s: cannot write: %s", spool->state_path,
				   strerror(-err));
	/* Where the file system cannot, the file just stays as large. */
	if (to > from)
		(void)!fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
				 (off_t)(to - from));
	return 0;
}
