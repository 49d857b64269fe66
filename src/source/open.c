// SPDX-License-Identifier: LGPL-2.1-only
/* Opening a capture: look at its first bytes and hand it to the reader of that format. */
#include "source/open.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "db/ksdb-format.h"
#include "source/fmt-ksdb.h"
#include "trace/formats.h"
#include "trace/relay.h"

/* === Data ================================================================================= */

/*
 * Formats in the order in which they are asked. A format without an open function is one that we
 * know by sight and refuse by name.
 */
static const struct {
	const char *what;
	const char *magic;
	size_t magic_len;
	int (*open)(struct ks_input *input, struct ks_trace **ret_trace, struct ks_diag *diag);
} formats[] = {
	{ "a kmemscope DB", KS_DB_MAGIC, KS_DB_MAGIC_LEN, ks_ksdb_trace_open },
	{ "a trace-cmd trace.dat", "\x17\x08\x44tracing", 10, ks_tracedat_trace_open },
	{ "a perf.data file", "PERFILE2", 8, ks_perfdata_trace_open },
	{ "a perf.data file", "2ELIFREP", 8, ks_perfdata_trace_open },
	{ "a binary access map: read it with 'kmemscope kmap report'", "1KZM", 4, NULL },
	{ "a binary access map: read it with 'kmemscope kmap report'", "MZK1", 4, NULL },
	{ "an ELF file and no capture; if it is a kernel, give it with -k",
	  "\x7f"
	  "ELF",
	  4, NULL },
};

/* === Internals ============================================================================ */

/* Text has no NUL; a few stray bytes of a serial line are allowed. */
static bool looks_like_text(const u8 *data, size_t len)
{
	size_t odd = 0, i;

	for (i = 0; i < len; i++)
		odd += !data[i] || (!isprint(data[i]) && !isspace(data[i]));
	return odd * 10 <= len;
}

/* === Public =============================================================================== */

int ks_trace_open(const char *path, struct ks_trace **ret_trace, struct ks_diag *diag)
{
	static const struct ks_trace_opts nothing;

	return ks_trace_open_with(path, &nothing, ret_trace, diag);
}

int ks_trace_open_with(const char *path, const struct ks_trace_opts *opts,
		       struct ks_trace **ret_trace, struct ks_diag *diag)
{
	struct ks_input *input;
	struct stat st;
	const void *head;
	size_t len, i;
	bool swap;
	int err;

	if (strcmp(path, "-") && !stat(path, &st) && S_ISDIR(st.st_mode))
		return ks_relay_dir_open(path, ret_trace, diag);
	err = ks_input_open(path, &input, diag);
	if (err)
		return err;
	err = ks_input_peek(input, &head, &len, diag);
	if (err)
		goto fail;
	if (!len) {
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: the file is empty",
				  ks_input_name(input));
		goto fail;
	}
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		if (len < formats[i].magic_len ||
		    memcmp(head, formats[i].magic, formats[i].magic_len))
			continue;
		if (formats[i].open) {
			err = formats[i].open(input, ret_trace, diag);
			if (!err)
				(*ret_trace)->opts = *opts;
			return err;
		}
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: is %s", ks_input_name(input),
				  formats[i].what);
		goto fail;
	}
	if (ks_relay_probe(head, len, &swap))
		return ks_relay_file_open(input, ret_trace, diag);
	if (!looks_like_text(head, len)) {
		err = ks_diag_set(
			diag, KS_EBADINPUT,
			"%s: is binary data of no known format (it begins with %02x %02x)",
			ks_input_name(input), ((const u8 *)head)[0],
			len > 1 ? ((const u8 *)head)[1] : 0);
		goto fail;
	}
	return ks_text_trace_open(input, opts, ret_trace, diag);
fail:
	ks_input_close(input);
	return err;
}

int ks_trace_open_files(const char *const *paths, size_t len, struct ks_trace **ret_trace,
			struct ks_diag *diag)
{
	if (len == 1)
		return ks_trace_open(paths[0], ret_trace, diag);
	return ks_relay_files_open(paths, len, ret_trace, diag);
}
