// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as the frames that a guest sends to the lab's session. */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_lab_guest guest = { .console = -1 };
	struct ks_lab_session session = { .guest = &guest, .text = true, .in = -1, .signals = -1 };
	struct ks_diag diag = { 0 };
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
		return 0;
	/* What does not fit is not said. */
	if (write(ends[1], data, size) >= 0) {
		shutdown(ends[1], SHUT_WR);
		guest.channel = ends[0];
		session.out = session.err = open("/dev/null", O_WRONLY);
		err = ks_lab_session_run(&session, &diag);
		FUZZ_ASSERT(err ? diag.err == err : session.stage == KS_LAB_END);
		FUZZ_ASSERT(session.counter.last_begin <= session.counter.bytes);
		ks_lab_session_deinit(&session);
	}
	close(session.err);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
