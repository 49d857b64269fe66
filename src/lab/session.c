// SPDX-License-Identifier: LGPL-2.1-only
/*
 * One run in the lab. One thread polls everything; whatever cannot be written holds up the channel,
 * and with it the guest, so that nothing is lost and nothing grows.
 */
#include "lab/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "lab/protocol.h"

/* === Data ================================================================================= */

/* What a pipe takes without blocking once it is said to be ready. */
enum { WRITE_CHUNK = 4096 };

/* The console's text that is kept, and how long a guest may take to switch itself off. */
enum { CONSOLE_MAX = 4 << 20, OFF_MS = 5000 };

/* What poll() takes for no limit. */
enum { FOREVER = -1 };

struct run {
	struct ks_lab_session *s;
	u64 start_ms;
	bool ended; /* LAB_EXIT has come */
	bool gone;  /* the channel is closed */
	char stage_error[256];
	/* from the guest: whole frames are taken from its front */
	char in[LAB_FRAME_MAX + sizeof(struct lab_frame)];
	size_t in_len, frame_done; /* done: of the first frame's payload */
	int waiting_fd;		   /* that the first frame cannot be written to; -1 = none */
	/* to the guest */
	struct ks_strbuf to_guest;
	size_t sent;
	u32 window; /* bytes of input that may be sent */
};

/* === Internals: to the guest ============================================================== */

static u64 now_ms(void)
{
	return ks_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

static void send_frame(struct run *run, enum lab_frame_type type, const void *data, size_t len)
{
	struct lab_frame frame = { .type = type, .len = (u32)len };

	ks_strbuf_add(&run->to_guest, &frame, sizeof(frame));
	ks_strbuf_add(&run->to_guest, data, len);
}

static void flush_to_guest(struct run *run)
{
	while (run->sent < run->to_guest.len) {
		ssize_t n = send(run->s->guest->channel, run->to_guest.s + run->sent,
				 run->to_guest.len - run->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) /* that it is gone shows where it is read */
			return;
		run->sent += (size_t)n;
	}
	run->to_guest.len = run->sent = 0;
}

static void send_window(struct run *run)
{
	struct winsize size;
	struct lab_window window;

	if (!run->s->tty || ioctl(run->s->in, TIOCGWINSZ, &size))
		return;
	window = (struct lab_window){ .rows = size.ws_row, .columns = size.ws_col };
	send_frame(run, LAB_WINDOW, &window, sizeof(window));
}

static void read_input(struct run *run)
{
	char buf[LAB_STDIN_WINDOW];
	ssize_t n = read(run->s->in, buf, run->window);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) { /* what cannot be read has ended */
		run->s->in = -1;
		n = 0;
	}
	run->window -= (u32)n;
	send_frame(run, LAB_STDIN, buf, (size_t)n);
}

/* === Internals: from the guest ============================================================ */

static int take_map(struct run *run, const char *data, size_t len, struct ks_diag *diag)
{
	int err = 0;

	if (run->s->map)
		err = ks_outfile_write(run->s->map, data, len, diag);
	if (!err)
		ks_kmap_counter_add(&run->s->counter, data, len);
	return err;
}

/* As much as can be written without waiting. False: the rest of the frame must wait. */
static bool pass_on(struct run *run, enum lab_frame_type type, const char *data, size_t len)
{
	int *fd = type == LAB_STDOUT ? &run->s->out : &run->s->err;

	while (*fd >= 0 && run->frame_done < len) {
		struct pollfd ready = { .fd = *fd, .events = POLLOUT };
		size_t chunk = ks_min(len - run->frame_done, (size_t)WRITE_CHUNK);
		ssize_t n;

		if (poll(&ready, 1, 0) <= 0) {
			run->waiting_fd = *fd;
			return false;
		}
		n = write(*fd, data + run->frame_done, chunk);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0) {
			u32 which = type;

			*fd = -1;
			send_frame(run, LAB_CLOSED, &which, sizeof(which));
			break;
		}
		run->frame_done += (size_t)n;
	}
	return true;
}

static int greet(struct run *run, const char *data, size_t len, struct ks_diag *diag)
{
	u32 version = 0;

	if (len == sizeof(version))
		memcpy(&version, data, len);
	if (version != LAB_PROTOCOL)
		return ks_diag_set(diag, -EPROTO,
				   "the guest's first process is of another version of kmemscope");
	if (run->s->stage != KS_LAB_BOOT)
		return ks_diag_set(diag, -EPROTO, "the guest begins twice");
	run->s->stage = KS_LAB_SETUP;
	send_window(run);
	if (run->s->in < 0)
		send_frame(run, LAB_STDIN, NULL, 0);
	return 0;
}

/* Stopped, it can't change what is looked at, nor lose patience. */
static void call(struct ks_lab_session *s, void (*fn)(struct ks_lab_session *session))
{
	if (!fn)
		return;
	kill(s->guest->pid, SIGSTOP);
	fn(s);
	kill(s->guest->pid, SIGCONT);
}

static int take_frame(struct run *run, const struct lab_frame *frame, const char *data,
		      struct ks_diag *diag)
{
	u32 taken;

	switch (frame->type) {
	case LAB_HELLO:
		return greet(run, data, frame->len, diag);
	case LAB_READY:
		call(run->s, run->s->at_begin);
		send_frame(run, LAB_GO, NULL, 0);
		return 0;
	case LAB_STARTED:
		if (run->s->stage < KS_LAB_COMMAND) /* it never goes back */
			run->s->stage = KS_LAB_COMMAND;
		return 0;
	case LAB_STDOUT:
	case LAB_STDERR:
		return pass_on(run, (enum lab_frame_type)frame->type, data, frame->len) ? 0
											: -EAGAIN;
	case LAB_TAKEN:
		memcpy(&taken, data, sizeof(taken));
		run->window = ks_min(run->window + taken, (u32)LAB_STDIN_WINDOW);
		return 0;
	case LAB_KMAP:
		return take_map(run, data, frame->len, diag);
	case LAB_STATS:
		ks_strbuf_add(&run->s->stats, data, frame->len);
		return 0;
	case LAB_FAILED:
		snprintf(run->stage_error, sizeof(run->stage_error), "%.*s", (int)frame->len, data);
		return 0;
	case LAB_EXIT:
		memcpy(&run->s->status, data, sizeof(run->s->status));
		run->s->stage = KS_LAB_END;
		run->ended = true;
		call(run->s, run->s->at_end);
		send_frame(run, LAB_BYE, NULL, 0);
		return 0;
	default:
		return ks_diag_set(diag, -EPROTO, "the guest says something unknown (%u)",
				   frame->type);
	}
}

static int take_frames(struct run *run, struct ks_diag *diag)
{
	struct lab_frame frame;
	size_t at = 0;
	int err = 0;

	run->waiting_fd = -1;
	while (!err && run->in_len - at >= sizeof(frame)) {
		memcpy(&frame, run->in + at, sizeof(frame));
		if (frame.len > LAB_FRAME_MAX ||
		    ((frame.type == LAB_TAKEN || frame.type == LAB_EXIT) && frame.len != 4)) {
			err = ks_diag_set(diag, -EPROTO, "the guest's frames are damaged");
			break;
		}
		if (run->in_len - at < sizeof(frame) + frame.len)
			break;
		err = take_frame(run, &frame, run->in + at + sizeof(frame), diag);
		if (!err) {
			at += sizeof(frame) + frame.len;
			run->frame_done = 0;
		}
	}
	memmove(run->in, run->in + at, run->in_len - at);
	run->in_len -= at;
	return err == -EAGAIN ? 0 : err;
}

static int read_channel(struct run *run, struct ks_diag *diag)
{
	ssize_t n =
		read(run->s->guest->channel, run->in + run->in_len, sizeof(run->in) - run->in_len);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		run->gone = true;
		return 0;
	}
	run->in_len += (size_t)n;
	return take_frames(run, diag);
}

/* False at its end. The oldest half goes when it is too much. */
static bool read_console(struct ks_lab_session *s)
{
	char buf[4096];
	ssize_t n = read(s->guest->console, buf, sizeof(buf));

	if (n > 0) {
		ks_strbuf_add(&s->console, buf, (size_t)n);
		if (s->console.len > CONSOLE_MAX) {
			memmove(s->console.s, s->console.s + CONSOLE_MAX / 2,
				s->console.len - CONSOLE_MAX / 2);
			s->console.len -= CONSOLE_MAX / 2;
			s->console_lost += CONSOLE_MAX / 2;
		}
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* === Internals: the run =================================================================== */

static int signalled(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->s->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGWINCH) {
		send_window(run);
		return 0;
	}
	run->s->signal = (int)info.ssi_signo;
	return -EINTR;
}

/* How long poll() may wait; 0 if the time is over. */
static int patience(const struct run *run)
{
	u64 elapsed = now_ms() - run->start_ms, limit = run->s->run_ms;

	if (run->s->stage == KS_LAB_BOOT && run->s->boot_ms)
		limit = limit ? ks_min(limit, run->s->boot_ms) : run->s->boot_ms;
	if (!limit)
		return FOREVER;
	return elapsed >= limit ? 0 : (int)ks_min(limit - elapsed + 1, (u64)INT32_MAX);
}

static int step(struct run *run, struct ks_diag *diag)
{
	struct ks_lab_session *s = run->s;
	bool wants_input = s->in >= 0 && s->stage == KS_LAB_COMMAND && run->window &&
			   !run->to_guest.len;
	struct pollfd fds[] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->guest->console, .events = POLLIN },
		{ .fd = s->guest->channel,
		  .events = (short)((run->waiting_fd < 0 ? POLLIN : 0) |
				    (run->to_guest.len ? POLLOUT : 0)) },
		{ .fd = wants_input ? s->in : -1, .events = POLLIN },
		{ .fd = run->waiting_fd, .events = POLLOUT },
	};
	int timeout = patience(run), err = 0;

	if (!timeout)
		return -ETIMEDOUT;
	if (poll(fds, ARRAY_SIZE(fds), timeout) < 0 && errno != EINTR)
		return ks_diag_set(diag, -errno, "cannot wait: %s", strerror(errno));
	if (fds[0].revents)
		err = signalled(run);
	if (!err && fds[1].revents && !read_console(s)) {
		close(s->guest->console);
		s->guest->console = -1;
	}
	if (!err && fds[4].revents)
		err = take_frames(run, diag);
	if (!err && fds[2].revents & (POLLIN | POLLHUP | POLLERR) && run->waiting_fd < 0)
		err = read_channel(run, diag);
	if (!err && fds[3].revents)
		read_input(run);
	flush_to_guest(run);
	return run->to_guest.failed ? ks_diag_nomem(diag, "talking to the guest") : err;
}

/* The guest switches itself off; what its kernel says meanwhile belongs to the log. */
static void watch_it_go(struct ks_lab_session *s)
{
	u64 start = now_ms();

	while (s->guest->console >= 0 && now_ms() - start < OFF_MS) {
		struct pollfd ready = { .fd = s->guest->console, .events = POLLIN };

		if (poll(&ready, 1, OFF_MS) <= 0 || !read_console(s))
			return;
	}
}

/* The line of the console that says best why the guest is gone. */
static const char *last_words(const struct ks_strbuf *console, char *buf, size_t size)
{
	static const char *const telling[] = { "Kernel panic", "lab: ", "qemu-system", NULL };
	const char *line = NULL;
	size_t i;

	for (i = 0; !line && telling[i]; i++)
		line = strstr(ks_strbuf_str(console), telling[i]);
	if (!line)
		return "";
	snprintf(buf, size, ": %.*s", (int)strcspn(line, "\r\n"), line);
	return buf;
}

static int explain(const struct run *run, int err, struct ks_diag *diag)
{
	static const char *const stages[] = {
		[KS_LAB_BOOT] = "boot",
		[KS_LAB_SETUP] = "setup",
		[KS_LAB_COMMAND] = "command",
		[KS_LAB_END] = "end",
	};
	const struct ks_lab_session *s = run->s;
	char words[256];

	if (err == -EINTR)
		return ks_diag_set(diag, err, "interrupted");
	if (err == -ETIMEDOUT && s->stage == KS_LAB_BOOT)
		return ks_diag_set(diag, err, "stage boot: the guest did not come up in %llu s",
				   (unsigned long long)(now_ms() - run->start_ms) / 1000);
	if (err == -ETIMEDOUT)
		return ks_diag_set(diag, err, "stage %s: not done after %llu s", stages[s->stage],
				   (unsigned long long)(now_ms() - run->start_ms) / 1000);
	if (err)
		return err;
	if (run->stage_error[0])
		return ks_diag_set(diag, -EIO, "stage %s", run->stage_error);
	if (!run->ended)
		return ks_diag_set(diag, -EIO, "stage %s: the guest ended%s", stages[s->stage],
				   last_words(&s->console, words, sizeof(words)));
	if (s->stats.failed || s->console.failed)
		return ks_diag_nomem(diag, "running a guest");
	return 0;
}

/* === Public =============================================================================== */

int ks_lab_session_run(struct ks_lab_session *session, struct ks_diag *diag)
{
	struct run *run = calloc(1, sizeof(*run));
	int err = 0;

	ks_strbuf_init(&session->stats);
	ks_strbuf_init(&session->console);
	session->counter = (struct ks_kmap_counter){ .text = session->text };
	if (!run)
		return ks_diag_nomem(diag, "running a guest");
	run->s = session;
	run->start_ms = now_ms();
	run->waiting_fd = -1;
	run->window = LAB_STDIN_WINDOW;
	while (!err && !run->gone && !(run->ended && !run->to_guest.len))
		err = step(run, diag);
	if (err != -EINTR && (run->gone || run->ended))
		watch_it_go(session);
	err = explain(run, err, diag);
	ks_strbuf_deinit(&run->to_guest);
	free(run);
	return err;
}

void ks_lab_session_deinit(struct ks_lab_session *session)
{
	ks_strbuf_deinit(&session->stats);
	ks_strbuf_deinit(&session->console);
}
