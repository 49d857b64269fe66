// SPDX-License-Identifier: LGPL-2.1-only
/* Defining and removing the probes. */
#include "capture/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* === Data ================================================================================= */

#define PREFIX "kmemscope_"

/* Where the caller's address is when a function begins. */
#if defined(__x86_64__)
#define CALLER "$stack0"
#elif defined(__aarch64__)
#define CALLER "%lr"
#elif defined(__s390x__)
#define CALLER "%r14"
#else
#define CALLER "\\0"
#endif

#define LIST(arg) "ptr=+0(" arg "):x64[64]"
/* What it returns is a number or, since 7.2, a bool: of its own type, as nothing is said of a bool's higher bytes. */
#define BULK_ALLOC                                                                                \
	"count=$arg3:u64 " LIST("$arg4") " bytes_req=s->object_size:u32 bytes_alloc=s->size:u32 " \
					 "name=s->name:string made=$retval"

/*
 * Each kernel takes the first of a hook's definitions that it understands. At the end of a function its arguments, and
 * members of what these point to, are known since 6.9: earlier kernels can't say what was allocated in bulk.
 */
static const struct {
	enum ks_raw_hook hook;
	const char *kind, *definition;
} definitions[] = {
	{ KS_HOOK_RCU, "p",
	  "kvfree_call_rcu head=$arg1:x64 arg=$arg2:x64 call_site=" CALLER ":x64" },
	{ KS_HOOK_BULK_FREE, "p",
	  "kmem_cache_free_bulk count=$arg2:u64 call_site=" CALLER ":x64 " LIST("$arg3") },
	{ KS_HOOK_BULK_ALLOC, "r", "kmem_cache_alloc_bulk_noprof " BULK_ALLOC },
	{ KS_HOOK_BULK_ALLOC, "r", "kmem_cache_alloc_bulk " BULK_ALLOC },
};

static const char *const names[KS_HOOKS] = {
	[KS_HOOK_NONE] = "none",
	[KS_HOOK_RCU] = KS_HOOK_RCU_NAME,
	[KS_HOOK_BULK_FREE] = KS_HOOK_BULK_FREE_NAME,
	[KS_HOOK_BULK_ALLOC] = KS_HOOK_BULK_ALLOC_NAME,
};

/* === Internals ============================================================================ */

/* One line into the list of all probes, which keeps the others. */
static int write_line(const char *root, const char *line)
{
	int fd, err = 0;
	char *path;

	if (asprintf(&path, "%s/kprobe_events", root) < 0)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(path);
	return err;
}

static void remove_probe(const char *root, const char *group, const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "-:%s/%s\n", group, name);
	write_line(root, line);
}

/* === Public =============================================================================== */

const char *ks_hook_name(enum ks_raw_hook hook)
{
	return names[hook];
}

void ks_hooks_define(struct ks_hooks *hooks, const struct ks_tracefs *tfs)
{
	char line[512];
	int err = 0;
	size_t i;

	*hooks = (struct ks_hooks){ 0 };
	if (sizeof(long) != 8 || !ks_tracefs_has(tfs, "kprobe_events")) {
		snprintf(hooks->why, sizeof(hooks->why), "the kernel has no kprobe events");
		return;
	}
	snprintf(hooks->group, sizeof(hooks->group), PREFIX "%u_%llu", (u32)getpid(),
		 (unsigned long long)ks_process_start((u32)getpid()));
	for (i = 0; i < ARRAY_SIZE(definitions); i++) {
		enum ks_raw_hook hook = definitions[i].hook;

		if (hooks->defined >> hook & 1)
			continue;
		snprintf(line, sizeof(line), "%s:%s/%s %s\n", definitions[i].kind, hooks->group,
			 names[hook], definitions[i].definition);
		err = write_line(tfs->root, line);
		if (!err)
			hooks->defined |= 1u << hook;
	}
	if (!hooks->defined)
		snprintf(hooks->why, sizeof(hooks->why), "the kernel refuses probes: %s",
			 strerror(-err));
}

int ks_hooks_describe(struct ks_hooks *hooks, const struct ks_tracefs *tfs, struct ks_td_meta *meta)
{
	unsigned int hook;
	char path[160];

	for (hook = KS_HOOK_NONE + 1; hook < KS_HOOKS; hook++) {
		struct ks_strbuf *slot;

		if (!(hooks->defined >> hook & 1))
			continue;
		slot = ks_vec_push(&meta->hook_formats);
		if (!slot)
			return -ENOMEM;
		snprintf(path, sizeof(path), "events/%s/%s/format", hooks->group, names[hook]);
		if (!ks_tracefs_read(tfs, path, slot, NULL))
			continue;
		ks_strbuf_deinit(slot);
		meta->hook_formats.len--;
		remove_probe(tfs->root, hooks->group, names[hook]);
		hooks->defined &= ~(1u << hook);
	}
	return 0;
}

int ks_hooks_enable(const struct ks_hooks *hooks, const struct ks_tracefs *allocs,
		    const struct ks_tracefs *frees, struct ks_diag *diag)
{
	unsigned int hook;
	char path[160];
	int err = 0;

	for (hook = KS_HOOK_NONE + 1; hook < KS_HOOKS && !err; hook++) {
		if (!((hooks->defined & ~hooks->unused) >> hook & 1))
			continue;
		snprintf(path, sizeof(path), "events/%s/%s/enable", hooks->group, names[hook]);
		err = ks_tracefs_write(hook == KS_HOOK_BULK_ALLOC ? allocs : frees, path, "1",
				       diag);
	}
	return err;
}

int ks_hooks_end_allocs(const struct ks_hooks *hooks, const struct ks_tracefs *allocs)
{
	char path[160];

	if (!((hooks->defined & ~hooks->unused) >> KS_HOOK_BULK_ALLOC & 1))
		return 0;
	snprintf(path, sizeof(path), "events/%s/%s/enable", hooks->group,
		 names[KS_HOOK_BULK_ALLOC]);
	return ks_tracefs_write(allocs, path, "0", NULL);
}

u64 ks_hooks_missed(const struct ks_hooks *hooks, const char *events, const char *profile)
{
	u64 sum = 0;

	while (*events && *profile) {
		char group[64], name[64], seen[64];
		unsigned long long missed;
		const char *colon = events + strcspn(events, ":\n");

		if (sscanf(profile, "%63s %*u %llu", seen, &missed) == 2 &&
		    sscanf(colon, ":%63[^/]/%63s", group, name) == 2 && !strcmp(name, seen) &&
		    !strcmp(group, hooks->group))
			sum += missed;
		events += strcspn(events, "\n");
		events += *events == '\n';
		profile += strcspn(profile, "\n");
		profile += *profile == '\n';
	}
	return sum;
}

u64 ks_hooks_count_missed(const struct ks_hooks *hooks, const struct ks_tracefs *tfs)
{
	struct ks_strbuf events, profile;
	u64 missed = 0;

	if (!hooks->defined)
		return 0;
	ks_strbuf_init(&events);
	ks_strbuf_init(&profile);
	if (!ks_tracefs_read(tfs, "kprobe_events", &events, NULL) &&
	    !ks_tracefs_read(tfs, "kprobe_profile", &profile, NULL))
		missed = ks_hooks_missed(hooks, ks_strbuf_str(&events), ks_strbuf_str(&profile));
	ks_strbuf_deinit(&events);
	ks_strbuf_deinit(&profile);
	return missed;
}

void ks_hooks_remove(struct ks_hooks *hooks, const struct ks_tracefs *tfs)
{
	unsigned int hook;
	char path[160];

	for (hook = KS_HOOK_NONE + 1; hook < KS_HOOKS; hook++) {
		if (!(hooks->defined >> hook & 1))
			continue;
		snprintf(path, sizeof(path), "events/%s/%s/enable", hooks->group, names[hook]);
		if (tfs->instance)
			ks_tracefs_write(tfs, path, "0", NULL);
		remove_probe(tfs->root, hooks->group, names[hook]);
	}
	hooks->defined = 0;
}

void ks_hooks_remove_stale(const char *root)
{
	struct ks_strbuf text;
	char *line, *next, *path;

	if (asprintf(&path, "%s/kprobe_events", root) < 0)
		return;
	ks_strbuf_init(&text);
	if (ks_slurp(path, &text))
		text.len = 0;
	for (line = text.len ? text.s : NULL; line && *line; line = next) {
		unsigned long long start;
		char group[64], name[64];
		u32 pid;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		/* "p:kmemscope_123_456/kfree_rcu ...", "r64:kmemscope_..." */
		line += strcspn(line, ":");
		if (sscanf(line, ":%63[^/]/%63s", group, name) == 2 &&
		    sscanf(group, PREFIX "%u_%llu", &pid, &start) == 2 &&
		    ks_process_start(pid) != start)
			remove_probe(root, group, name);
	}
	ks_strbuf_deinit(&text);
	free(path);
}
