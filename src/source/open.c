// SPDX-License-Identifier: LGPL-2.1-only
/* Opening a source: look at its first bytes and hand it to the reader of that format. */
#include "source/open.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/ksdb-format.h"
#include "kmap/source.h"
#include "source/fmt-ksdb.h"
#include "trace/formats.h"
#include "trace/relay.h"

/* === Data ================================================================================= */

/* What there is to recognise a format by. */
struct probe {
	bool is_dir;
	const u8 *head; /* of the decompressed content */
	size_t len;
};

/* A format without an open function is one that we know by sight and refuse by name. */
struct format {
	const char *what;
	bool (*probe)(const struct probe *probe);
	int (*open)(struct ks_input *input, const struct ks_source_opts *opts,
		    struct ks_source **ret_source, struct ks_diag *diag);
	int (*open_dir)(const char *path, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag);
};

/* === Internals: how formats are recognised ================================================= */

static bool begins_with(const struct probe *probe, const char *magic, size_t len)
{
	return probe->len >= len && !memcmp(probe->head, magic, len);
}

static bool is_db(const struct probe *probe)
{
	return begins_with(probe, KS_DB_MAGIC, KS_DB_MAGIC_LEN);
}

static bool is_tracedat(const struct probe *probe)
{
	return begins_with(probe, "\x17\x08\x44tracing", 10);
}

static bool is_perfdata(const struct probe *probe)
{
	return begins_with(probe, "PERFILE2", 8) || begins_with(probe, "2ELIFREP", 8);
}

static bool is_map(const struct probe *probe)
{
	return ks_kmap_probe(probe->head, probe->len);
}

static bool is_accesses(const struct probe *probe)
{
	return ks_kmap_probe_accesses(probe->head, probe->len);
}

static bool is_heap(const struct probe *probe)
{
	return begins_with(probe, "KSHS\r\n\x1a\n", 8);
}

static bool is_elf(const struct probe *probe)
{
	return begins_with(probe, "\177ELF", 4);
}

static bool is_relay(const struct probe *probe)
{
	bool swap;

	return probe->len && ks_relay_probe(probe->head, probe->len, &swap);
}

static bool is_dir(const struct probe *probe)
{
	return probe->is_dir;
}

/* Text has no NUL; a few stray bytes of a serial line are allowed. */
static bool is_text(const struct probe *probe)
{
	size_t odd = 0, i;

	for (i = 0; i < probe->len; i++)
		odd += !probe->head[i] || (!isprint(probe->head[i]) && !isspace(probe->head[i]));
	return probe->len && odd * 10 <= probe->len;
}

/* In the order in which they are asked. */
static const struct format formats[] = {
	{ .what = "a kmemtrace capture", .probe = is_dir, .open_dir = ks_relay_dir_open },
	{ .what = "a kmemscope DB", .probe = is_db, .open = ks_ksdb_source_open },
	{ .what = "a trace-cmd trace.dat", .probe = is_tracedat, .open = ks_tracedat_source_open },
	{ .what = "a perf.data file", .probe = is_perfdata, .open = ks_perfdata_source_open },
	{ .what = "an access map", .probe = is_map, .open = ks_kmap_source_open },
	{ .what = "the second file of a CSV pair and has no objects: give the first, the allocations",
	  .probe = is_accesses },
	{ .what = "a snapshot of a heap and no capture; 'kmemscope heap --from FILE' reads it",
	  .probe = is_heap },
	{ .what = "an ELF file and no capture; if it is a kernel, give it with -k",
	  .probe = is_elf },
	{ .what = "a file of a kmemtrace capture", .probe = is_relay, .open = ks_relay_file_open },
	{ .what = "a text log", .probe = is_text, .open = ks_text_source_open },
};

static const struct format *recognise(const struct probe *probe)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].probe(probe))
			return &formats[i];
	return NULL;
}

static int refuse(const struct ks_input *input, const struct format *format,
		  const struct probe *probe, struct ks_diag *diag)
{
	const char *name = ks_input_name(input);

	if (format)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: is %s", name, format->what);
	if (!probe->len)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: the file is empty", name);
	return ks_diag_set(diag, KS_EBADINPUT,
			   "%s: is binary data of no known format (it begins with %02x %02x)", name,
			   probe->head[0], probe->len > 1 ? probe->head[1] : 0);
}

/* Takes over the input. */
static int open_input(struct ks_input *input, const struct ks_source_opts *opts,
		      struct ks_source **ret_source, struct ks_diag *diag)
{
	struct probe probe = { 0 };
	const struct format *format;
	const void *head;
	int err = ks_input_peek(input, &head, &probe.len, diag);

	if (!err) {
		probe.head = head;
		format = recognise(&probe);
		if (format && format->open)
			return format->open(input, opts, ret_source, diag);
		err = refuse(input, format, &probe, diag);
	}
	ks_input_close(input);
	return err;
}

/* === Public =============================================================================== */

int ks_source_open(const char *path, const struct ks_source_opts *opts,
		   struct ks_source **ret_source, struct ks_diag *diag)
{
	struct ks_input *input;
	struct stat st;
	int err;

	if (strcmp(path, "-") && !stat(path, &st) && S_ISDIR(st.st_mode))
		return recognise(&(struct probe){ .is_dir = true })
			->open_dir(path, opts, ret_source, diag);
	err = ks_input_open(path, &input, diag);
	return err ? err : open_input(input, opts, ret_source, diag);
}

int ks_source_open_files(const char *const *paths, size_t len, const struct ks_source_opts *opts,
			 struct ks_source **ret_source, struct ks_diag *diag)
{
	if (len == 1)
		return ks_source_open(paths[0], opts, ret_source, diag);
	return ks_relay_files_open(paths, len, opts, ret_source, diag);
}

int ks_source_open_fd(int fd, const char *name, const struct ks_source_opts *opts,
		      struct ks_source **ret_source, struct ks_diag *diag)
{
	struct ks_input *input;
	int err = ks_input_open_fd(fd, name, &input, diag);

	return err ? err : open_input(input, opts, ret_source, diag);
}
