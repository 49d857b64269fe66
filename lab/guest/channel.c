// SPDX-License-Identifier: GPL-2.0-only
/* The channel from the lab's guest to its runner, and the end of the guest. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

#include "guest.h"

/* === Data ================================================================================= */

/* A console of User Mode Linux; a port of QEMU's serial bus, which shows up some time after boot. */
static const char device_um[] = "/dev/tty1";
static const char device_qemu[] = "/dev/vport0p1";
enum { DEVICE_PATIENCE_MS = 10000, BYE_PATIENCE_MS = 30000 };

static int fd = -1;
static bool user_mode;
static bool said_bye, said_go;
static void (*passed_to)(enum lab_frame_type type, const void *data, size_t len);

static char in[LAB_FRAME_MAX];
static size_t in_len;

/* === Internals ============================================================================ */

static void __attribute__((noreturn)) switch_off(void)
{
	sync();
	/* QEMU without ACPI cannot be switched off; it was told to end at a reboot. */
	reboot(user_mode ? RB_POWER_OFF : RB_AUTOBOOT);
	for (;;)
		pause();
}

/* Nobody listens any more: the guest has no purpose. */
static void __attribute__((noreturn)) hung_up(void)
{
	fprintf(stderr, "lab: the runner is gone: %s\n", strerror(errno));
	switch_off();
}

static void write_all(const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd ready = { .fd = fd, .events = POLLOUT };

			poll(&ready, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			hung_up();
		p += n;
		len -= (size_t)n;
	}
}

static void wait_for_bye(enum lab_frame_type type, const void *data, size_t len)
{
	(void)data;
	(void)len;
	said_bye |= type == LAB_BYE;
}

static void note_or_pass(enum lab_frame_type type, const void *data, size_t len)
{
	if (type == LAB_GO)
		said_go = true;
	else
		passed_to(type, data, len);
}

/* === Public =============================================================================== */

void channel_open(const struct orders *orders)
{
	const char *device = orders->user_mode ? device_um : device_qemu;
	uint32_t version = LAB_PROTOCOL;
	struct termios raw;
	int waited;

	user_mode = orders->user_mode;
	for (waited = 0; fd < 0 && waited < DEVICE_PATIENCE_MS; waited += 10) {
		fd = open(device, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			usleep(10000);
	}
	if (fd < 0) {
		fprintf(stderr, "lab: %s: %s\n", device, strerror(errno));
		switch_off();
	}
	if (!tcgetattr(fd, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(fd, TCSANOW, &raw);
	}
	channel_send(LAB_HELLO, &version, sizeof(version));
}

int channel_fd(void)
{
	return fd;
}

void channel_send(enum lab_frame_type type, const void *data, size_t len)
{
	struct lab_frame frame = { .type = type, .len = (uint32_t)len };

	write_all(&frame, sizeof(frame));
	write_all(data, len);
}

void channel_receive(void (*handle)(enum lab_frame_type type, const void *data, size_t len))
{
	struct lab_frame frame;
	size_t at = 0;
	ssize_t n = read(fd, in + in_len, sizeof(in) - in_len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		hung_up();
	in_len += (size_t)n;
	while (in_len - at >= sizeof(frame)) {
		memcpy(&frame, in + at, sizeof(frame));
		if (frame.len > sizeof(in) - sizeof(frame)) {
			errno = EPROTO;
			hung_up();
		}
		if (in_len - at < sizeof(frame) + frame.len)
			break;
		handle((enum lab_frame_type)frame.type, in + at + sizeof(frame), frame.len);
		at += sizeof(frame) + frame.len;
	}
	memmove(in, in + at, in_len - at);
	in_len -= at;
}

void channel_await_go(void (*handle)(enum lab_frame_type type, const void *data, size_t len))
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	passed_to = handle;
	channel_send(LAB_READY, NULL, 0);
	while (!said_go) {
		poll(&ready, 1, -1);
		channel_receive(note_or_pass);
	}
}

void fail(int status, const char *stage, const char *fmt, ...)
{
	char text[1024];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s: ", stage);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
	channel_send(LAB_FAILED, text, strlen(text));
	finish(status);
}

void finish(int status)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int32_t code = status;

	channel_send(LAB_EXIT, &code, sizeof(code));
	while (!said_bye && poll(&ready, 1, BYE_PATIENCE_MS) > 0)
		channel_receive(wait_for_bye);
	switch_off();
}
