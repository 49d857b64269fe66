// SPDX-License-Identifier: LGPL-2.1-only
/* Reading the traced machine's formats, symbols, task names and statistics. */
#include "capture/machine.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/num.h"

/* === Internals ============================================================================ */

static int add_ftrace_formats(const struct ks_tracefs *tfs, struct ks_td_meta *meta)
{
	char *dir, *path;
	struct dirent **entries;
	int n, i, err = 0;

	if (asprintf(&dir, "%s/events/ftrace", tfs->root) < 0)
		return -ENOMEM;
	n = scandir(dir, &entries, NULL, alphasort);
	for (i = 0; i < n; i++) {
		struct ks_strbuf text;

		ks_strbuf_init(&text);
		if (entries[i]->d_name[0] != '.' && !err &&
		    asprintf(&path, "%s/%s/format", dir, entries[i]->d_name) >= 0) {
			struct ks_strbuf *slot = NULL;

			if (!ks_slurp(path, &text))
				slot = ks_vec_push(&meta->ftrace_formats);
			if (slot)
				*slot = text;
			else
				ks_strbuf_deinit(&text);
			free(path);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	free(dir);
	return err;
}

/* With kptr_restrict the addresses are all zero: then there are no symbols. */
static void add_kallsyms(struct ks_td_meta *meta)
{
	const char *p;

	if (ks_slurp("/proc/kallsyms", &meta->kallsyms))
		meta->kallsyms.len = 0;
	for (p = ks_strbuf_str(&meta->kallsyms); *p == '0'; p++)
		;
	if (*p != ' ')
		return;
	/* The first symbol may be at 0 of its own right (per-CPU data): look at the others too. */
	while ((p = strchr(p, '\n')) && *++p) {
		p += strspn(p, "0");
		if (*p != ' ')
			return;
	}
	meta->kallsyms.len = 0;
}

/* The node of each CPU. Without NUMA there are no files, and the table stays empty. */
static int add_nodes(struct ks_td_meta *meta)
{
	char path[96];
	u32 node;

	for (node = 0; node < 1024; node++) {
		struct ks_strbuf text;
		const char *list;
		u32 first, last;
		int err = 0;

		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
		ks_strbuf_init(&text);
		if (ks_slurp(path, &text)) {
			ks_strbuf_deinit(&text);
			continue;
		}
		for (list = ks_strbuf_str(&text); !err && ks_next_range(&list, &first, &last);) {
			while (meta->nodes.items.len <= last && !err)
				err = ks_vec_push(&meta->nodes.items) ? 0 : -ENOMEM;
			for (; first <= last && !err; first++)
				meta->nodes.items.items[first] = node;
		}
		ks_strbuf_deinit(&text);
		if (err)
			return err;
	}
	return 0;
}

static int parse_cmdline(struct ks_cmdlines *cmd, const char *line, size_t len)
{
	const char *space = memchr(line, ' ', len);
	u32 at, comm, *fresh;

	if (!space || space == line || (size_t)(space - line) > 10)
		return 0;
	comm = ks_intern_add(&cmd->comms, space + 1, len - (size_t)(space - line) - 1);
	if (comm == KS_NONE || ks_vec_reserve(&cmd->comm_of, cmd->comm_of.len + 1))
		return -ENOMEM;
	at = ks_map64_add(&cmd->pids, strtoull(line, NULL, 10));
	if (at == KS_NONE)
		return -ENOMEM;
	if (at == cmd->comm_of.len)
		cmd->comm_of.items[cmd->comm_of.len++] = KS_NONE;
	if (cmd->comm_of.items[at] == comm)
		return 0;
	fresh = ks_vec_push(&cmd->fresh);
	if (!fresh)
		return -ENOMEM;
	*fresh = at;
	cmd->comm_of.items[at] = comm;
	return 0;
}

static void print_one(const struct ks_cmdlines *cmd, u32 at, struct ks_strbuf *sb)
{
	if (cmd->comm_of.items[at] != KS_NONE)
		ks_strbuf_printf(sb, "%llu %s\n", (unsigned long long)cmd->pids.keys.items[at],
				 ks_intern_get(&cmd->comms, cmd->comm_of.items[at]).s);
}

/* === Public =============================================================================== */

int ks_cmdlines_init(struct ks_cmdlines *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	if (ks_map64_init(&cmd->pids))
		return -ENOMEM;
	if (!ks_intern_init(&cmd->comms))
		return 0;
	ks_map64_deinit(&cmd->pids);
	return -ENOMEM;
}

void ks_cmdlines_deinit(struct ks_cmdlines *cmd)
{
	ks_map64_deinit(&cmd->pids);
	ks_intern_deinit(&cmd->comms);
	ks_vec_free(&cmd->comm_of);
	ks_vec_free(&cmd->fresh);
}

int ks_cmdlines_collect(struct ks_cmdlines *cmd, const struct ks_tracefs *tfs)
{
	struct ks_strbuf text;
	const char *p;
	int err;

	ks_strbuf_init(&text);
	err = ks_tracefs_read(tfs, "saved_cmdlines", &text, NULL);
	for (p = ks_strbuf_str(&text); !err && *p;) {
		size_t len = strcspn(p, "\n");

		err = parse_cmdline(cmd, p, len);
		p += len + (p[len] == '\n');
	}
	ks_strbuf_deinit(&text);
	return err;
}

void ks_cmdlines_print(const struct ks_cmdlines *cmd, struct ks_strbuf *sb)
{
	size_t i;

	for (i = 0; i < cmd->comm_of.len; i++)
		print_one(cmd, (u32)i, sb);
}

void ks_cmdlines_take_fresh(struct ks_cmdlines *cmd, struct ks_strbuf *sb)
{
	size_t i;

	for (i = 0; i < cmd->fresh.len; i++)
		print_one(cmd, cmd->fresh.items[i], sb);
	cmd->fresh.len = 0;
}

int ks_machine_describe(const struct ks_tracefs *tfs, const char *const *events, size_t events_len,
			struct ks_td_meta *meta, struct ks_diag *diag)
{
	struct utsname uts;
	size_t i;
	int err;

	err = ks_tracefs_read(tfs, "events/header_page", &meta->header_page, diag);
	if (!err)
		err = ks_tracefs_read(tfs, "events/header_event", &meta->header_event, diag);
	if (!err && add_ftrace_formats(tfs, meta))
		err = ks_diag_nomem(diag, "reading event formats");
	for (i = 0; i < events_len && !err; i++) {
		struct ks_strbuf *slot = ks_vec_push(&meta->kmem_formats);
		char path[128];

		if (!slot)
			return ks_diag_nomem(diag, "reading event formats");
		snprintf(path, sizeof(path), "events/kmem/%s/format", events[i]);
		err = ks_tracefs_read(tfs, path, slot, diag);
	}
	if (err)
		return err;
	add_kallsyms(meta);
	if (add_nodes(meta))
		return ks_diag_nomem(diag, "reading the list of nodes");
	if (ks_tracefs_read(tfs, "printk_formats", &meta->printk, NULL))
		meta->printk.len = 0;
	if (!uname(&uts))
		snprintf(meta->uname, sizeof(meta->uname), "%.60s %.60s %.60s %.60s", uts.sysname,
			 uts.nodename, uts.release, uts.machine);
	meta->page_size = (u32)sysconf(_SC_PAGESIZE);
	return 0;
}

u64 ks_machine_now(const struct ks_tracefs *tfs)
{
	unsigned long long whole, micros;
	struct ks_strbuf text;
	const char *p;
	u64 now = 0;

	ks_strbuf_init(&text);
	if (!ks_tracefs_read(tfs, "@per_cpu/cpu0/stats", &text, NULL) &&
	    (p = strstr(ks_strbuf_str(&text), "now ts: "))) {
		/* A clock that does not count nanoseconds is printed as it is. */
		int fields = sscanf(p, "now ts: %llu.%6llu", &whole, &micros);

		if (fields == 2)
			now = whole * 1000000000ull + micros * 1000;
		else if (fields == 1)
			now = whole;
	}
	ks_strbuf_deinit(&text);
	return now;
}

int ks_machine_meminfo(u64 *memory)
{
	static const char *const names[KS_CENSUS_MEMORIES] = {
		[KS_CENSUS_SLAB] = "Slab:",
		[KS_CENSUS_RECLAIMABLE] = "SReclaimable:",
		[KS_CENSUS_UNRECLAIMABLE] = "SUnreclaim:",
		[KS_CENSUS_MEM_TOTAL] = "MemTotal:",
		[KS_CENSUS_MEM_AVAILABLE] = "MemAvailable:",
	};
	struct ks_strbuf text;
	const char *p;
	size_t i;
	int err;

	ks_strbuf_init(&text);
	err = ks_slurp("/proc/meminfo", &text);
	for (p = ks_strbuf_str(&text); !err && *p;) {
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (!strncmp(p, names[i], strlen(names[i])))
				memory[i] = strtoull(p + strlen(names[i]), NULL, 10) * 1024;
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	ks_strbuf_deinit(&text);
	return err;
}

int ks_machine_cpu_stats(const struct ks_tracefs *tfs, u32 cpu, struct ks_cpu_stats *ret,
			 struct ks_strbuf *text)
{
	static const char *const names[] = { "entries: %llu", "read events: %llu", "overrun: %llu",
					     "commit overrun: %llu", "dropped events: %llu" };
	u64 *values[] = { &ret->entries, &ret->read, &ret->overrun, &ret->commit_overrun,
			  &ret->dropped };
	struct ks_strbuf sb;
	unsigned long long v;
	char path[64];
	const char *p;
	size_t i;
	int err;

	*ret = (struct ks_cpu_stats){ 0 };
	snprintf(path, sizeof(path), "@per_cpu/cpu%u/stats", cpu);
	ks_strbuf_init(&sb);
	err = ks_tracefs_read(tfs, path, &sb, NULL);
	for (p = ks_strbuf_str(&sb); !err && *p;) {
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (sscanf(p, names[i], &v) == 1)
				*values[i] = v;
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	if (text && !err)
		ks_strbuf_printf(text, "CPU: %u\n%s", cpu, ks_strbuf_str(&sb));
	ks_strbuf_deinit(&sb);
	return err;
}
