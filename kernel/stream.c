// SPDX-License-Identifier: GPL-2.0-only
/*
 * memorizer/kmap_stream and kmap_stream_bin: objects that have ended, oldest first. An object that
 * was read is released. Readers share one queue; each object goes to one of them.
 */
#include <linux/poll.h>
#include <linux/uio.h>

#include "compat.h"
#include "access.h"
#include "files.h"
#include "memorizer.h"

/* === Data ================================================================================= */

/*
 * An object stays with its reader until its last byte has been read. If the file is closed
 * before, the whole object goes back to the queue.
 */
struct stream {
	struct mutex lock; /* guards all below */
	struct mz_object *obj;
	const struct mz_access *access; /* of the object, the next to come */
	unsigned int len, pos;		/* of buf */
	bool binary;
	struct mz_clock clock;
	union {
		char text[MZ_LINE_MAX];
		struct memorizer_header header;
		struct memorizer_record record;
		struct memorizer_access access;
	} buf;
};

/* === Internals ============================================================================ */

static void put_header(struct stream *stream)
{
	mz_header_fill(&stream->clock, &stream->buf.header);
	stream->len = sizeof(struct memorizer_header);
}

static void put_object(struct stream *stream)
{
	struct memorizer_record record;

	mz_accesses_sort(stream->obj);
	stream->access = mz_object_accesses(stream->obj);
	mz_record_fill(&mz.names, stream->obj, &record);
	if (stream->binary) {
		record.accesses = mz_accesses_count(stream->obj);
		stream->buf.record = record;
		stream->len = sizeof(record);
	} else {
		stream->len = mz_record_text(&record, &stream->clock, stream->buf.text,
					     sizeof(stream->buf.text));
	}
	stream->pos = 0;
}

static void put_access(struct stream *stream)
{
	struct memorizer_access sum;

	stream->access =
		mz_accesses_next(stream->access, mz_access_text_start(), stream->binary, &sum);
	if (stream->binary) {
		stream->buf.access = sum;
		stream->len = sizeof(sum);
	} else {
		stream->len = mz_access_text(&sum, stream->buf.text, sizeof(stream->buf.text));
	}
	stream->pos = 0;
}

/* Whether there are bytes to read. */
static bool refill(struct stream *stream)
{
	if (stream->pos < stream->len)
		return true;
	if (stream->access) {
		put_access(stream);
		return true;
	}
	if (stream->obj) {
		mz_dead_release(stream->obj);
		stream->obj = NULL;
	}
	stream->obj = mz_dead_pop();
	if (!stream->obj)
		return false;
	put_object(stream);
	return true;
}

/* As much as there is and fits; 0 if there is nothing. */
static ssize_t read_available(struct stream *stream, struct iov_iter *to)
{
	ssize_t done = 0;

	while (iov_iter_count(to) && refill(stream)) {
		size_t left = stream->len - stream->pos;
		size_t copied = copy_to_iter((const u8 *)&stream->buf + stream->pos, left, to);

		stream->pos += copied;
		done += copied;
		if (copied < left && iov_iter_count(to))
			return done ?: -EFAULT;
		if (signal_pending(current))
			break;
	}
	return done;
}

/* === Files ================================================================================ */

static int stream_file_open(struct inode *inode, struct file *file, bool binary)
{
	struct stream *stream;

	stream = kzalloc(sizeof(*stream), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	mutex_init(&stream->lock);
	stream->binary = binary;
	stream->clock = mz_clock_sample();
	if (binary)
		put_header(stream);
	file->private_data = stream;
	return stream_open(inode, file);
}

static int stream_text_open(struct inode *inode, struct file *file)
{
	return stream_file_open(inode, file, false);
}

static int stream_bin_open(struct inode *inode, struct file *file)
{
	return stream_file_open(inode, file, true);
}

static int stream_release(struct inode *inode, struct file *file)
{
	struct stream *stream = file->private_data;

	if (stream->obj && (stream->access || stream->pos < stream->len))
		mz_dead_unpop(stream->obj);
	else if (stream->obj)
		mz_dead_release(stream->obj);
	kfree(stream);
	return 0;
}

static ssize_t stream_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct stream *stream = iocb->ki_filp->private_data;
	bool nonblock = iocb->ki_filp->f_flags & O_NONBLOCK || iocb->ki_flags & IOCB_NOWAIT;
	ssize_t done;

	if (!iov_iter_count(to))
		return 0;
	for (;;) {
		if (mutex_lock_interruptible(&stream->lock))
			return -ERESTARTSYS;
		done = read_available(stream, to);
		mutex_unlock(&stream->lock);
		if (done)
			return done;
		if (nonblock)
			return -EAGAIN;
		if (wait_event_interruptible(mz.dead.wait, mz_dead_ready()))
			return -ERESTARTSYS;
	}
}

static __poll_t stream_poll(struct file *file, struct poll_table_struct *table)
{
	struct stream *stream = file->private_data;

	poll_wait(file, &mz.dead.wait, table);
	if (READ_ONCE(stream->pos) < READ_ONCE(stream->len) || READ_ONCE(stream->access) ||
	    mz_dead_ready())
		return EPOLLIN | EPOLLRDNORM;
	return 0;
}

const struct file_operations mz_stream_text_fops = {
	.owner = THIS_MODULE,
	.open = stream_text_open,
	.read_iter = stream_read_iter,
	.splice_read = copy_splice_read,
	.poll = stream_poll,
	.release = stream_release,
};

const struct file_operations mz_stream_bin_fops = {
	.owner = THIS_MODULE,
	.open = stream_bin_open,
	.read_iter = stream_read_iter,
	.splice_read = copy_splice_read,
	.poll = stream_poll,
	.release = stream_release,
};
