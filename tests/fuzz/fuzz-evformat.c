// SPDX-License-Identifier: GPL-2.0-only
/* Fuzz target: event format files, whose flag tables are C expressions. */
#include "fuzz.h"

#include "trace/evformat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_evformat fmt;
	struct ks_strbuf sb;

	if (ks_evformat_parse(&fmt, (const char *)data, size))
		return 0;
	ks_strbuf_init(&sb);
	ks_evformat_print_flags(&fmt, 0xdeadbeefcafe, &sb);
	ks_strbuf_deinit(&sb);
	ks_evformat_deinit(&fmt);
	return 0;
}
