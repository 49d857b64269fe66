/* SPDX-License-Identifier: GPL-2.0-only */
/* cmocka with the headers that it needs, and TAP as its only output format. */
#ifndef KS_TEST_H
#define KS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define KS_RUN(tests)                                             \
	int main(void)                                            \
	{                                                         \
		cmocka_set_message_output(CM_OUTPUT_TAP);         \
		return cmocka_run_group_tests(tests, NULL, NULL); \
	}

/* The path of a new file in the test's scratch directory; freed by the caller. */
static inline char *scratch_path(const char *name)
{
	const char *dir = getenv("TMPDIR");
	char *path;

	assert_true(asprintf(&path, "%s/ks-test-%d-%s", dir ? dir : "/tmp", (int)getpid(), name) >
		    0);
	return path;
}

#endif
