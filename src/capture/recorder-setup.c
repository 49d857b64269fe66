// SPDX-License-Identifier: LGPL-2.1-only
/* Setting up the recorder's tracing instance: events, clock, size of the ring, processes. */
#include "capture/recorder-state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* === Data ================================================================================= */

static const struct {
	const char *name;
	bool page, is_free;
} known_events[] = {
	{ "kmalloc", false, false },
	{ "kmalloc_node", false, false },
	{ "kmem_cache_alloc", false, false },
	{ "kmem_cache_alloc_node", false, false },
	{ "kfree", false, true },
	{ "kmem_cache_free", false, true },
	{ "mm_page_alloc", true, false },
	{ "mm_page_free", true, true },
	{ "mm_page_free_direct", true, true },
	{ "mm_pagevec_free", true, true },
};
_Static_assert(ARRAY_SIZE(known_events) == KS_REC_MAX_EVENTS, "room for every event");

/* === Internals ============================================================================ */

/* The ring's page may be larger than the machine's. */
static u32 ring_page_size(const struct ks_tracefs *tfs)
{
	struct ks_strbuf sb;
	u64 kb = 0;

	ks_strbuf_init(&sb);
	if (!ks_tracefs_read(tfs, "@buffer_subbuf_size_kb", &sb, NULL))
		kb = strtoull(ks_strbuf_str(&sb), NULL, 10);
	ks_strbuf_deinit(&sb);
	return kb ? (u32)kb * 1024 : (u32)sysconf(_SC_PAGESIZE);
}

static int configure(const struct ks_tracefs *tfs, const struct ks_record_opts *opts,
		     struct ks_diag *diag)
{
	char kb[32];
	int err;

	err = ks_tracefs_write(tfs, "trace_clock", opts->clock, diag);
	if (err)
		return err;
	snprintf(kb, sizeof(kb), "%llu",
		 (unsigned long long)(opts->buffer_kb ? opts->buffer_kb : KS_RECORD_BUFFER_KB));
	err = ks_tracefs_write(tfs, "buffer_size_kb", kb, diag);
	if (err == -ENOMEM)
		return ks_diag_set(diag, err,
				   "no memory for ring buffers of %s kB a CPU; choose less with "
				   "--buffer-size",
				   kb);
	/* Readers are woken when a quarter is full: that leaves time, and few wake-ups. */
	if (!err && ks_tracefs_has(tfs, "@buffer_percent"))
		err = ks_tracefs_write(tfs, "buffer_percent", "25", diag);
	if (!err && opts->stack)
		err = ks_tracefs_write(tfs, "options/stacktrace", "1", diag);
	return err;
}

static enum ks_filter_event filter_event_of(const char *name)
{
	return !strncmp(name, "kmalloc", 7)		? KS_FILTER_KMALLOC
	       : !strncmp(name, "kmem_cache_alloc", 16) ? KS_FILTER_CACHE
							: KS_FILTER_PAGE;
}

/* Gives an event of allocations its filter. *ret_passes: whether any event can pass. */
static int filter_event(struct ks_recorder *rec, const char *name, enum ks_filter_event event,
			bool *ret_passes, struct ks_diag *diag)
{
	struct ks_strbuf sb;
	char path[160];
	int err = 0;

	ks_strbuf_init(&sb);
	*ret_passes = ks_kernel_filter_print(&rec->filter, event, rec->meta.page_size, &sb);
	snprintf(path, sizeof(path), "events/%s/filter", name);
	if (sb.failed)
		err = ks_diag_nomem(diag, "recording");
	else if (*ret_passes && sb.len)
		err = ks_tracefs_write(&rec->tfs, path, ks_strbuf_str(&sb), NULL);
	if (err && !sb.failed)
		ks_diag_set(diag, err, "the kernel refuses the filter '%s' of %s: %s",
			    ks_strbuf_str(&sb), name, strerror(-err));
	ks_strbuf_deinit(&sb);
	return err;
}

/* The probe on bulk allocations. One that nothing can pass is switched off. */
static int filter_bulk(struct ks_recorder *rec, struct ks_diag *diag)
{
	const u32 bit = 1u << KS_HOOK_BULK_ALLOC;
	bool passes;
	char name[128];
	int err;

	if (!(rec->hooks.defined & bit))
		return 0;
	snprintf(name, sizeof(name), "%s/%s", rec->hooks.group, ks_hook_name(KS_HOOK_BULK_ALLOC));
	err = filter_event(rec, name, KS_FILTER_BULK, &passes, diag);
	rec->hooks.unused = passes ? 0 : bit;
	return err;
}

/* === Public =============================================================================== */

int ks_rec_choose_events(struct ks_recorder *rec, const struct ks_record_opts *opts,
			 struct ks_diag *diag)
{
	char path[96];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known_events); i++) {
		if (!(known_events[i].page ? opts->pages : opts->slab))
			continue;
		snprintf(path, sizeof(path), "events/kmem/%s/enable", known_events[i].name);
		if (!ks_tracefs_has(&rec->tfs, path))
			continue;
		rec->is_free[rec->events_len] = known_events[i].is_free;
		rec->events[rec->events_len++] = known_events[i].name;
	}
	if (rec->events_len)
		return 0;
	if (geteuid())
		return ks_diag_set(diag, -EACCES, "%s: cannot be read; recording needs root",
				   rec->tfs.root);
	return ks_diag_set(diag, -ENODEV,
			   "%s/events/kmem: has none of the events: the kernel needs CONFIG_FTRACE "
			   "and CONFIG_EVENT_TRACING",
			   rec->tfs.root);
}

int ks_rec_configure(struct ks_recorder *rec, const struct ks_record_opts *opts,
		     struct ks_diag *diag)
{
	int err = configure(&rec->tfs, opts, diag);

	if (!err && rec->frees.instance)
		err = configure(&rec->frees, opts, diag);
	if (!err && opts->only_pids)
		err = ks_tracefs_write(&rec->tfs, "options/event-fork", "1", diag);
	snprintf(rec->meta.clock, sizeof(rec->meta.clock), "%s", opts->clock);
	rec->meta.ring_page_size = ring_page_size(&rec->tfs);
	return err;
}

int ks_rec_set_filter(struct ks_recorder *rec, const struct ks_record_opts *opts,
		      struct ks_diag *diag)
{
	struct ks_strbuf words;
	bool events_name = false;
	size_t i;
	int err;

	for (i = 0; i < rec->events_len; i++)
		if (!strncmp(rec->events[i], "kmem_cache_alloc", 16))
			events_name |= strstr(ks_strbuf_str(&rec->meta.kmem_formats.items[i]),
					      " name;") != NULL;
	err = ks_kernel_filter_init(&rec->filter, &opts->filter, ks_strbuf_str(&rec->meta.kallsyms),
				    events_name, "/sys/kernel/slab", "/proc/slabinfo", diag);
	if (err)
		return err;
	ks_strbuf_init(&words);
	ks_record_filter_print(&opts->filter, &words);
	snprintf(rec->meta.about.only, sizeof(rec->meta.about.only), "%s", ks_strbuf_str(&words));
	ks_strbuf_deinit(&words);
	return 0;
}

int ks_rec_enable(struct ks_recorder *rec, struct ks_diag *diag)
{
	bool two = rec->frees.instance;
	char path[96];
	int err = 0;
	size_t i;

	for (i = 0; i < rec->events_len && !err; i++) {
		bool passes = true;

		snprintf(path, sizeof(path), "kmem/%s", rec->events[i]);
		if (!rec->is_free[i])
			err = filter_event(rec, path, filter_event_of(rec->events[i]), &passes,
					   diag);
		snprintf(path, sizeof(path), "events/kmem/%s/enable", rec->events[i]);
		if (!err && passes)
			err = ks_tracefs_write(two && rec->is_free[i] ? &rec->frees : &rec->tfs,
					       path, "1", diag);
	}
	if (!err)
		err = filter_bulk(rec, diag);
	if (!err)
		err = ks_hooks_enable(&rec->hooks, &rec->tfs, two ? &rec->frees : &rec->tfs, diag);
	/* Frees first: of what is allocated from now on, none is missed. */
	if (!err && two)
		err = ks_tracefs_write(&rec->frees, "tracing_on", "1", diag);
	return err ? err : ks_tracefs_write(&rec->tfs, "tracing_on", "1", diag);
}

u64 ks_rec_end_allocs(struct ks_recorder *rec)
{
	u64 since = ks_machine_now(&rec->tfs);
	char path[96];
	int err = since ? 0 : -EOPNOTSUPP;
	size_t i;

	for (i = 0; i < rec->events_len && !err; i++) {
		if (rec->is_free[i])
			continue;
		snprintf(path, sizeof(path), "events/kmem/%s/enable", rec->events[i]);
		err = ks_tracefs_write(&rec->tfs, path, "0", NULL);
	}
	if (!err)
		err = ks_hooks_end_allocs(&rec->hooks, &rec->tfs);
	return err ? 0 : since;
}

int ks_recorder_follow(struct ks_recorder *rec, u32 pid, struct ks_diag *diag)
{
	char path[64], *file;
	struct dirent *entry;
	DIR *dir;
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	if (!dir)
		return ks_diag_set(diag, -ESRCH, "there is no process %u", pid);
	if (asprintf(&file, "%s/set_event_pid", rec->tfs.instance) < 0) {
		closedir(dir);
		return ks_diag_nomem(diag, "following a process");
	}
	/* Opened without O_TRUNC, the file adds to its list. */
	fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
	while (fd >= 0 && !err && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (write(fd, entry->d_name, strlen(entry->d_name)) < 0)
			err = -errno;
	}
	if (fd < 0 || err)
		err = ks_diag_set(diag, err ? err : -errno, "%s: cannot write: %s", file,
				  strerror(err ? -err : errno));
	if (fd >= 0)
		close(fd);
	free(file);
	closedir(dir);
	return err;
}
