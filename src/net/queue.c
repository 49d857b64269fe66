// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Messages in a directory: NUMBER.msg each, numbered in order. A message is written under another name, synced and
 * renamed. What is dropped is noted in the file "dropped", with the last number, before it is removed: if the program
 * dies in between, the next one removes it without counting it again.
 */
#include "net/queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/vec.h"

/* === Data ================================================================================= */

enum { NAME_LEN = 40 };

struct message {
	u64 number, bytes;
};

struct ks_queue {
	char *dir;
	int dir_fd, lock_fd;
	u64 max_bytes;
	bool drop_oldest;
	pthread_mutex_t lock;		 /* guards the rest */
	KS_VEC(struct message) messages; /* the oldest first */
	u64 bytes, last, dropped, dropped_last, set_aside;
};

/* === Internals ============================================================================ */

static int fail(const struct ks_queue *queue, const char *what, int err, struct ks_diag *diag)
{
	return ks_diag_set(diag, err, "%s: %s: %s", queue->dir, what, strerror(-err));
}

static void name_of(u64 number, const char *ending, char name[NAME_LEN])
{
	snprintf(name, NAME_LEN, "%020" PRIu64 "%s", number, ending);
}

/* Whole or not at all, and there after a crash. */
static int write_file(struct ks_queue *queue, const char *name, const void *data, size_t len)
{
	static const char tmp[] = "new";
	int fd = openat(queue->dir_fd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			0600);
	int err = fd < 0 ? -errno : ks_write_all(fd, data, len);

	if (!err && fsync(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (!err && renameat(queue->dir_fd, tmp, queue->dir_fd, name))
		err = -errno;
	if (!err && fsync(queue->dir_fd))
		err = -errno;
	if (err && fd >= 0)
		unlinkat(queue->dir_fd, tmp, 0);
	return err;
}

static int note_dropped(struct ks_queue *queue)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 "\n", queue->dropped,
			   queue->dropped_last);

	return write_file(queue, "dropped", text, (size_t)len);
}

static void read_dropped(struct ks_queue *queue)
{
	char text[64] = { 0 };
	int fd = openat(queue->dir_fd, "dropped", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (ks_pread_full(fd, text, sizeof(text) - 1, 0) > 0 &&
	    sscanf(text, "%" SCNu64 " %" SCNu64, &queue->dropped, &queue->dropped_last) != 2)
		queue->dropped = queue->dropped_last = 0;
	close(fd);
}

static int compare_messages(const void *left, const void *right)
{
	const struct message *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

static int add_found(struct ks_queue *queue, const char *name)
{
	struct message *message;
	struct stat st;
	u64 number;
	char *end;

	number = strtoull(name, &end, 10);
	if (end == name)
		return 0;
	queue->last = ks_max(queue->last, number);
	if (strcmp(end, ".msg") || fstatat(queue->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	if (number <= queue->dropped_last) {
		unlinkat(queue->dir_fd, name, 0);
		return 0;
	}
	message = ks_vec_push(&queue->messages);
	if (!message)
		return -ENOMEM;
	*message = (struct message){ number, (u64)st.st_size };
	queue->bytes += message->bytes;
	return 0;
}

static int find_messages(struct ks_queue *queue)
{
	int fd = openat(queue->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		err = add_found(queue, entry->d_name);
	closedir(dir);
	queue->last = ks_max(queue->last, queue->dropped_last);
	if (!err && queue->messages.len)
		qsort(queue->messages.items, queue->messages.len, sizeof(*queue->messages.items),
		      compare_messages);
	return err;
}

static size_t index_of(const struct ks_queue *queue, u64 number)
{
	size_t low = 0, high = queue->messages.len;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (queue->messages.items[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void forget(struct ks_queue *queue, size_t i)
{
	queue->bytes -= queue->messages.items[i].bytes;
	queue->messages.len--;
	memmove(&queue->messages.items[i], &queue->messages.items[i + 1],
		(queue->messages.len - i) * sizeof(*queue->messages.items));
}

static int make_room(struct ks_queue *queue, u64 bytes)
{
	char name[NAME_LEN];
	int err;

	while (queue->messages.len && queue->bytes + bytes > queue->max_bytes) {
		if (!queue->drop_oldest)
			return -ENOSPC;
		queue->dropped++;
		queue->dropped_last = queue->messages.items[0].number;
		err = note_dropped(queue);
		name_of(queue->dropped_last, ".msg", name);
		if (err == -ENOSPC && !unlinkat(queue->dir_fd, name, 0))
			err = note_dropped(
				queue); /* there is room now; if not, the count is in memory */
		else
			unlinkat(queue->dir_fd, name, 0);
		forget(queue, 0);
	}
	return 0;
}

/* A full disk is a bound like the other one. */
static int put(struct ks_queue *queue, const void *data, size_t len)
{
	char name[NAME_LEN];
	struct message *message;
	u64 max = queue->max_bytes;
	int err;

	if (ks_vec_reserve(&queue->messages, queue->messages.len + 1))
		return -ENOMEM;
	err = make_room(queue, len);
	if (err)
		return err;
	name_of(queue->last + 1, ".msg", name);
	for (;;) {
		err = write_file(queue, name, data, len);
		if (err != -ENOSPC || !queue->drop_oldest || !queue->messages.len)
			break;
		queue->max_bytes = queue->bytes + len - 1; /* one must go */
		make_room(queue, len);
		queue->max_bytes = max;
	}
	if (err)
		return err;
	message = ks_vec_push(&queue->messages);
	*message = (struct message){ ++queue->last, len };
	queue->bytes += len;
	return 0;
}

static int lock_dir(struct ks_queue *queue)
{
	queue->lock_fd =
		openat(queue->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (queue->lock_fd < 0)
		return -errno;
	if (!flock(queue->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* === Public =============================================================================== */

int ks_queue_open(const struct ks_queue_opts *opts, struct ks_queue **ret_queue,
		  struct ks_diag *diag)
{
	struct ks_queue *queue = calloc(1, sizeof(*queue));
	int err = 0;

	if (!queue)
		return ks_diag_nomem(diag, "opening a spool");
	queue->dir_fd = queue->lock_fd = -1;
	queue->max_bytes = opts->max_bytes;
	queue->drop_oldest = opts->drop_oldest;
	pthread_mutex_init(&queue->lock, NULL);
	queue->dir = strdup(opts->dir);
	if (!queue->dir) {
		ks_queue_close(queue);
		return ks_diag_nomem(diag, "opening a spool");
	}
	if (mkdir(queue->dir, 0700) && errno != EEXIST)
		err = -errno;
	if (!err) {
		queue->dir_fd = open(queue->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = queue->dir_fd < 0 ? -errno : lock_dir(queue);
	}
	if (!err) {
		unlinkat(queue->dir_fd, "new", 0);
		read_dropped(queue);
		err = find_messages(queue);
	}
	if (err) {
		err = err == -EBUSY ? ks_diag_set(diag, err, "%s: another process has this spool",
						  queue->dir)
		      : err == -ENOMEM ? ks_diag_nomem(diag, "opening a spool")
				       : fail(queue, "cannot open the spool", err, diag);
		ks_queue_close(queue);
		return err;
	}
	*ret_queue = queue;
	return 0;
}

void ks_queue_close(struct ks_queue *queue)
{
	if (!queue)
		return;
	if (queue->dir_fd >= 0)
		close(queue->dir_fd);
	if (queue->lock_fd >= 0)
		close(queue->lock_fd);
	pthread_mutex_destroy(&queue->lock);
	ks_vec_free(&queue->messages);
	free(queue->dir);
	free(queue);
}

int ks_queue_put(struct ks_queue *queue, const void *data, size_t len, struct ks_diag *diag)
{
	int err;

	if (len > queue->max_bytes)
		return ks_diag_set(diag, -EFBIG,
				   "%s: a message of %zu bytes is larger than the spool",
				   queue->dir, len);
	pthread_mutex_lock(&queue->lock);
	err = put(queue, data, len);
	pthread_mutex_unlock(&queue->lock);
	if (err == -ENOMEM)
		return ks_diag_nomem(diag, "keeping a message");
	return err ? fail(queue, "cannot keep a message", err, diag) : 0;
}

bool ks_queue_next(struct ks_queue *queue, u64 after, u64 *ret_number, u64 *ret_bytes)
{
	bool there;
	size_t i;

	pthread_mutex_lock(&queue->lock);
	i = index_of(queue, after + 1);
	there = i < queue->messages.len;
	if (there) {
		*ret_number = queue->messages.items[i].number;
		*ret_bytes = queue->messages.items[i].bytes;
	}
	pthread_mutex_unlock(&queue->lock);
	return there;
}

int ks_queue_read(struct ks_queue *queue, u64 number, struct ks_strbuf *out, struct ks_diag *diag)
{
	char name[NAME_LEN], buf[16384];
	u64 at = 0;
	ssize_t got;
	int fd;

	name_of(number, ".msg", name);
	fd = openat(queue->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fail(queue, "cannot read a message", -errno, diag);
	while ((got = ks_pread_full(fd, buf, sizeof(buf), at)) > 0) {
		ks_strbuf_add(out, buf, (size_t)got);
		at += (u64)got;
	}
	close(fd);
	if (got < 0)
		return fail(queue, "cannot read a message", (int)got, diag);
	return out->failed ? ks_diag_nomem(diag, "reading a message") : 0;
}

int ks_queue_done(struct ks_queue *queue, u64 number, struct ks_diag *diag)
{
	char name[NAME_LEN];
	int err = 0;
	size_t i;

	name_of(number, ".msg", name);
	pthread_mutex_lock(&queue->lock);
	i = index_of(queue, number);
	if (i < queue->messages.len && queue->messages.items[i].number == number) {
		if (unlinkat(queue->dir_fd, name, 0) && errno != ENOENT)
			err = -errno;
		else
			forget(queue, i);
	}
	pthread_mutex_unlock(&queue->lock);
	return err ? fail(queue, "cannot remove a message", err, diag) : 0;
}

int ks_queue_set_aside(struct ks_queue *queue, u64 number, struct ks_diag *diag)
{
	char name[NAME_LEN], aside[NAME_LEN];
	int err = 0;
	size_t i;

	name_of(number, ".msg", name);
	name_of(number, ".refused", aside);
	pthread_mutex_lock(&queue->lock);
	i = index_of(queue, number);
	if (i < queue->messages.len && queue->messages.items[i].number == number) {
		if (renameat(queue->dir_fd, name, queue->dir_fd, aside))
			err = -errno;
		else
			forget(queue, i);
		queue->set_aside += !err;
	}
	pthread_mutex_unlock(&queue->lock);
	return err ? fail(queue, "cannot set a message aside", err, diag) : 0;
}

void ks_queue_state(struct ks_queue *queue, struct ks_queue_state *ret_state)
{
	pthread_mutex_lock(&queue->lock);
	*ret_state = (struct ks_queue_state){ queue->messages.len, queue->bytes, queue->dropped,
					      queue->set_aside };
	pthread_mutex_unlock(&queue->lock);
}
