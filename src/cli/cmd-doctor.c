// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope doctor: what can be captured on this machine, what is missing, and what helps. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/escape.h"
#include "capture/hooks.h"
#include "cli/commands.h"
#include "cli/heap-source.h"
#include "cli/output.h"
#include "heap/guests.h"
#include "live/live.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope doctor [OPTION...]\n"
	"\n"
	"Shows what can be captured on this machine, what is missing, and the command that\n"
	"fixes it. Removes tracing instances that killed recorders left behind. Exits with 0\n"
	"if 'kmemscope record' will work, and with 1 if not.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope doctor\n";

enum { GUESTS_TRIED = 2 };

enum state { FINE, NOTE, MISSING };

struct finding {
	enum state state;
	const char *what;
	char text[256];
	const char *fix; /* a command, or NULL */
};

struct doctor {
	KS_VEC(struct finding) findings;
	struct ks_tracefs tfs;
	bool has_tracefs;
	bool nomem; /* a finding is missing */
};

enum { WHAT, STATE, TEXT, FIX, MISSES, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[WHAT] = { "what", NULL, KS_CELL_TEXT }, [STATE] = { "state", NULL, KS_CELL_TEXT },
	[TEXT] = { "text", NULL, KS_CELL_TEXT }, [FIX] = { "fix", NULL, KS_CELL_TEXT },
	[MISSES] = { NULL, NULL, KS_CELL_BOOL }, /* for people, who get it in capitals */
};

/* === Internals ============================================================================ */

static void add(struct doctor *d, enum state state, const char *what, const char *fix,
		const char *fmt, ...) ks_printf(5, 6);

static void add(struct doctor *d, enum state state, const char *what, const char *fix,
		const char *fmt, ...)
{
	struct finding *finding = ks_vec_push(&d->findings);
	va_list ap;

	if (!finding) {
		d->nomem = true;
		return;
	}
	finding->state = state;
	finding->what = what;
	finding->fix = fix;
	va_start(ap, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, ap);
	va_end(ap);
}

static u64 read_number(const char *path, u64 unset)
{
	struct ks_strbuf sb;
	u64 v = unset;

	ks_strbuf_init(&sb);
	if (!ks_slurp(path, &sb) && sb.len)
		v = strtoull(sb.s, NULL, 10);
	ks_strbuf_deinit(&sb);
	return v;
}

static void check_user(struct doctor *d)
{
	if (!geteuid())
		add(d, FINE, "user", NULL, "root");
	else
		add(d, MISSING, "user", "sudo kmemscope record",
		    "recording needs root; reading does not");
}

/* As in most containers. */
static bool is_read_only(const char *dir)
{
	struct statvfs fs;

	return !statvfs(dir, &fs) && fs.f_flag & ST_RDONLY;
}

static void check_tracefs(struct doctor *d)
{
	int err = ks_tracefs_open(&d->tfs, NULL);
	u32 stale = 0;

	d->has_tracefs = !err;
	d->nomem |= err == -ENOMEM;
	if (err) {
		add(d, MISSING, "tracefs", "mount -t tracefs nodev /sys/kernel/tracing",
		    "not mounted");
		return;
	}
	if (!ks_tracefs_has(&d->tfs, "events")) {
		add(d, geteuid() ? NOTE : MISSING, "tracefs", NULL, "%s: %s", d->tfs.root,
		    geteuid() ? "closed to this user"
			      : "has no events: CONFIG_EVENT_TRACING is off");
		return;
	}
	if (is_read_only(d->tfs.root))
		add(d, MISSING, "tracefs", "mount -o remount,rw /sys/kernel/tracing",
		    "%s: mounted read-only", d->tfs.root);
	else
		add(d, FINE, "tracefs", NULL, "%s", d->tfs.root);
	if (!ks_tracefs_has(&d->tfs, "instances"))
		add(d, MISSING, "instances", NULL, "the kernel has no private tracing instances");
	if (!ks_tracefs_remove_stale(d->tfs.root, &stale) && stale)
		add(d, NOTE, "instances", NULL, "removed %u left behind by killed recorders",
		    stale);
	ks_hooks_remove_stale(d->tfs.root);
}

/* Defined and removed again; none is switched on. */
static void check_hooks(struct doctor *d)
{
	struct ks_hooks hooks;
	unsigned int count;

	if (!d->has_tracefs)
		return;
	ks_hooks_define(&hooks, &d->tfs);
	count = (unsigned int)__builtin_popcount(hooks.defined);
	if (!count)
		add(d, NOTE, "probes", NULL, "kfree_rcu and bulk frees are not seen: %s",
		    hooks.why);
	else
		add(d, FINE, "probes", NULL, "%u of %u, on kfree_rcu and the bulk functions", count,
		    KS_HOOKS - 1);
	ks_hooks_remove(&hooks, &d->tfs);
}

static void check_events(struct doctor *d)
{
	static const char *const slab[] = { "kmalloc", "kfree", "kmem_cache_alloc",
					    "kmem_cache_free" };
	static const char *const pages[] = { "mm_page_alloc", "mm_page_free" };
	char path[96];
	size_t i, n = 0;

	if (!d->has_tracefs || !ks_tracefs_has(&d->tfs, "events"))
		return;
	for (i = 0; i < ARRAY_SIZE(slab); i++) {
		snprintf(path, sizeof(path), "events/kmem/%s", slab[i]);
		n += ks_tracefs_has(&d->tfs, path);
	}
	add(d, n == ARRAY_SIZE(slab) ? FINE : MISSING, "slab events", NULL, "%zu of %zu", n,
	    ARRAY_SIZE(slab));
	for (i = n = 0; i < ARRAY_SIZE(pages); i++) {
		snprintf(path, sizeof(path), "events/kmem/%s", pages[i]);
		n += ks_tracefs_has(&d->tfs, path);
	}
	add(d, n == ARRAY_SIZE(pages) ? FINE : NOTE, "page events", NULL, "%zu of %zu", n,
	    ARRAY_SIZE(pages));
}

static void check_lockdown(struct doctor *d)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	if (!ks_slurp("/sys/kernel/security/lockdown", &sb) &&
	    strstr(ks_strbuf_str(&sb), "[confidentiality]"))
		add(d, MISSING, "lockdown", NULL,
		    "the kernel is locked down for confidentiality: no tracing until a reboot");
	else
		add(d, FINE, "lockdown", NULL, "tracing is not locked");
	ks_strbuf_deinit(&sb);
}

/* Without addresses a capture has no function names. */
static void check_symbols(struct doctor *d)
{
	char line[256] = "";
	FILE *file = fopen("/proc/kallsyms", "re");
	bool shown = false;
	int i;

	for (i = 0; file && i < 2000 && !shown && fgets(line, sizeof(line), file); i++)
		shown = strtoull(line, NULL, 16);
	if (file)
		fclose(file);
	if (shown)
		add(d, FINE, "symbols", NULL, "/proc/kallsyms shows addresses");
	else if (!file)
		add(d, NOTE, "symbols", NULL, "no /proc/kallsyms: give reports a vmlinux with -k");
	else
		add(d, NOTE, "symbols", "sysctl kernel.kptr_restrict=0",
		    "/proc/kallsyms hides addresses%s", geteuid() ? " from this user" : "");
}

static void check_memory(struct doctor *d)
{
	u64 cpus = (u64)ks_max(1, sysconf(_SC_NPROCESSORS_CONF));
	u64 free_kb = (u64)sysconf(_SC_AVPHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / 1024;
	u64 need_kb = 8192 * cpus;

	add(d, need_kb < free_kb / 2 ? FINE : NOTE, "memory",
	    need_kb < free_kb / 2 ? NULL : "kmemscope record --buffer-size 1024",
	    "ring buffers need %llu MB of %llu MB free", (unsigned long long)need_kb / 1024,
	    (unsigned long long)free_kb / 1024);
}

static void check_others(struct doctor *d)
{
	static const char module[] = "/sys/kernel/debug/kmemtrace";
	u64 overruns = read_number("/sys/kernel/debug/kmemtrace/total_overruns", UINT64_MAX);

	if (!access(module, F_OK))
		add(d, FINE, "module", NULL, "kmemtrace relay files exist, %s overruns",
		    overruns == UINT64_MAX ? "unknown"
		    : overruns		   ? "some"
					   : "no");
	else
		add(d, NOTE, "module", NULL, "no memorizer module: kmemtraced will use tracefs");
	if (!access("/sys/kernel/btf/vmlinux", F_OK))
		add(d, FINE, "BTF", NULL, "the kernel describes its types");
	else
		add(d, NOTE, "BTF", NULL, "the kernel does not describe its types");
}

/* A way to read the kernel's memory, tried to the point where a census would begin. True: it works. */
static bool try_heap(struct doctor *d, unsigned int memory, const char *what, const char *with)
{
	const struct ks_heap_source source = { .memory = memory };
	struct ks_kernel *kernel;
	struct ks_diag diag;
	int err = ks_heap_source_kernel(&source, &kernel, &diag);

	d->nomem |= err == -ENOMEM;
	if (err) {
		add(d, NOTE, what, NULL, "%s", diag.text);
		return false;
	}
	ks_kernel_free(kernel);
	add(d, FINE, what, NULL, "kmemscope heap can read memory by %s", with);
	return true;
}

static void check_heap(struct doctor *d)
{
	bool bpf = try_heap(d, KS_HEAP_BPF, "heap bpf", "BPF");
	bool kcore = try_heap(d, KS_HEAP_KCORE, "heap kcore", "/proc/kcore");

	if (bpf || kcore)
		add(d, FINE, "heap", NULL, "kmemscope heap takes %s", bpf ? "BPF" : "/proc/kcore");
	else
		add(d, NOTE, "heap", NULL, "kmemscope heap will not work");
	if (ks_memory_reads_dumps())
		add(d, FINE, "heap dumps", NULL, "kmemscope heap --vmcore reads dumps");
	else
		add(d, NOTE, "heap dumps", NULL,
		    "built without libkdumpfile: kmemscope heap --vmcore can't read dumps");
}

/* The guests that run here; only the first of many are tried. */
static void check_guests(struct doctor *d)
{
	struct ks_diag diag, why = { 0 };
	struct ks_kernel *kernel;
	size_t i, tried, fine = 0;
	ks_pids pids = { 0 };

	d->nomem |= !!ks_find_guests(&pids);
	tried = ks_min(pids.len, (size_t)GUESTS_TRIED);
	for (i = 0; i < tried; i++) {
		const struct ks_heap_source source = { .guest = (u64)pids.items[i] };
		int err = ks_heap_source_kernel(&source, &kernel, &diag);

		d->nomem |= err == -ENOMEM;
		if (!err) {
			ks_kernel_free(kernel);
			fine++;
		} else if (!why.text[0]) {
			why = diag;
		}
	}
	if (!pids.len)
		add(d, FINE, "heap guests", NULL,
		    "kmemscope heap --guest reads guests of QEMU and User Mode Linux; none runs here");
	else
		add(d, fine == tried ? FINE : NOTE, "heap guests", NULL,
		    "kmemscope heap --guest can read %zu of %zu guests that %s%s%s", fine, tried,
		    tried < pids.len ? "were tried" : "run here", why.text[0] ? "; " : "",
		    why.text);
	ks_vec_free(&pids);
}

/* A level of top and watch, tried for one look; what it can't see here is part of the answer. */
static void check_level(struct doctor *d, enum ks_live_level level, const char *what)
{
	const struct ks_live_opts opts = { .level = level };
	struct ks_live_snapshot *s;
	struct ks_live *live;
	struct ks_diag diag;
	int err = ks_live_open(&opts, &live, &diag);

	if (!err) {
		err = ks_live_poll(live, &s, &diag);
		if (!err) {
			size_t last = s->unseen.len;

			add(d, last ? NOTE : FINE, what, NULL, "level %s works%s%s",
			    ks_live_level_name(level), last ? "; not seen here: " : "",
			    last ? s->unseen.items[last - 1] : "");
			ks_live_snapshot_put(s);
		}
		ks_live_close(live);
	}
	d->nomem |= err == -ENOMEM;
	if (err)
		add(d, NOTE, what, NULL, "level %s does not work: %s", ks_live_level_name(level),
		    diag.text);
}

static void check_levels(struct doctor *d)
{
	check_level(d, KS_LIVE_CENSUS, "live 0");
	check_level(d, KS_LIVE_GROWTH, "live 1");
	check_level(d, KS_LIVE_SAMPLED, "live 2");
	check_level(d, KS_LIVE_EXACT, "live 3");
}

/* A finding for people: its state, what it is of and, below, what helps. */
static void say_finding(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	const char *fix = ks_table_cell(table, row, FIX)->text;
	const char *text = ks_table_cell(table, row, TEXT)->text;

	ks_strbuf_printf(out, "%-8s %-12s ",
			 ks_table_cell(table, row, MISSES)->u64
				 ? "MISSING"
				 : ks_table_cell(table, row, STATE)->text,
			 ks_table_cell(table, row, WHAT)->text);
	ks_escape_tty(out, text, strlen(text));
	ks_strbuf_puts(out, "\n");
	if (*fix)
		ks_strbuf_printf(out, "%21s $ %s\n", "", fix);
}

static struct ks_doc *doc_of(const struct doctor *d, bool ready)
{
	static const char *const words[] = { "ok", "note", "missing" };
	struct ks_doc *doc = ks_doc_new("kmemscope-doctor-1");
	struct ks_table *table;
	struct utsname uts;
	size_t i;

	if (!doc)
		return NULL;
	if (!uname(&uts))
		ks_doc_say(doc, "Linux %s %s\n", uts.release, uts.machine);
	ks_doc_bool(doc, "ready", ready);
	table = ks_doc_table(doc, "findings", columns, COLUMNS);
	if (table)
		table->say = say_finding;
	for (i = 0; table && i < d->findings.len; i++) {
		const struct finding *finding = &d->findings.items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, WHAT, finding->what);
		ks_row_text(row, STATE, words[finding->state]);
		ks_row_text(row, TEXT, finding->text);
		ks_row_text(row, FIX, finding->fix ? finding->fix : "");
		ks_row_bool(row, MISSES, finding->state == MISSING);
	}
	ks_doc_say(doc, "kmemscope record %s\n", ready ? "will work" : "will not work");
	return doc;
}

/* === Public =============================================================================== */

int ks_cmd_doctor(int argc, char **argv)
{
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_JSON | KS_WITH_COMMON,
	};
	const struct ks_option own[] = {
		{ 0, "json", NULL, "print JSON, for programs", .flag = &cli.output.json },
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &cli.output.strict },
		{ 0 },
	};
	struct doctor d = { 0 };
	bool ready = true;
	int code = ks_cli_parse(&cli, own, argc, argv);
	size_t i;

	if (code >= 0)
		return code;
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    argv[optind]);
	check_user(&d);
	check_tracefs(&d);
	check_events(&d);
	check_hooks(&d);
	check_lockdown(&d);
	check_symbols(&d);
	check_memory(&d);
	check_others(&d);
	check_heap(&d);
	check_guests(&d);
	check_levels(&d);
	for (i = 0; i < d.findings.len; i++)
		ready &= d.findings.items[i].state != MISSING;
	code = ks_cli_print_doc(&cli, d.nomem ? NULL : doc_of(&d, ready));
	ks_vec_free(&d.findings);
	if (d.has_tracefs)
		ks_tracefs_close(&d.tfs);
	return code ? code : ready ? KS_EXIT_OK : KS_EXIT_FAILED;
}
