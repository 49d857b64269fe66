// SPDX-License-Identifier: LGPL-2.1-only
/* The second step of a watch: looks at what each site has in the chosen caches, and finds what grows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "live/watch-steps.h"

/* === Data ================================================================================= */

enum {
	ROWS_MOST = 4096, /* series of one round */
	OBJECTS_FEW = 3,  /* a process that has fewer at a site gets no row */
	GROWN_FEW = 12,	  /* objects: less is no growth, however steady */
};

/* Threads of the kernel have this flag in /proc/PID/stat. */
#define KERNEL_THREAD 0x00200000

enum ks_ended { NOT_KNOWN, RUNS, ENDED, OF_KERNEL };

/* Share of spans that are above the one before. */
static const double steady = 0.7, very_steady = 0.9;

/*
 * What is allocated here goes with an inode, or with the slabs that inodes and dentries are in: the kernel takes it back
 * together with these, though its cache does not say so. And nodes of a tree go with what the tree is an index of: that grows,
 * too, and is named.
 */
static const char *const attached[] = {
	"security_inode_alloc", "inode_alloc_security", "lsm_inode_alloc", "alloc_slab_obj_exts",
	"memcg_alloc_slab", "jbd2_alloc_inode", "ext4_inode_attach_jinode", "xas_alloc",
	"radix_tree_node_alloc", "mas_", "mt_", "alloc_buffer_head", "memcg_list_lru_alloc",
	"locks_get_lock_context",
	/* Of files of tmpfs, which are there until somebody removes them. */
	"shmem_alloc_inode", "simple_xattr_alloc",
	/* TCP keeps these for a minute after a connection. */
	"__inet_hash_connect", "inet_bind_bucket_create", "inet_bind2_bucket_create",
	"inet_twsk_alloc",
	"alloc_vmap_area", /* given back together, when there are many; a leak shows in vm_struct */
};

/* What is allocated here is a process's map of its own memory: as long as it lives, that grows with what it does. */
static const char *const maps[] = { "vm_area_alloc", "vm_area_dup", "anon_vma_",
				    "__anon_vma_prepare" };

/* === Internals ============================================================================ */

static struct ks_watch_row *find_row(struct ks_watch_state *w, u64 key, bool make)
{
	struct ks_watch_row **slot, *row;
	size_t i;

	for (i = 0; i < w->rows.len; i++)
		if (w->rows.items[i]->key == key)
			return w->rows.items[i];
	if (!make || w->rows.len >= ROWS_MOST)
		return NULL;
	row = calloc(1, sizeof(*row));
	slot = row ? ks_vec_push(&w->rows) : NULL;
	if (!slot) {
		free(row);
		return NULL;
	}
	row->key = key;
	*slot = row;
	return row;
}

/* Nothing is said of this program itself and its recorder, nor of what many processes share a row of. */
static bool is_left_out(const struct ks_watch_state *w, const char *process)
{
	const char *at = process ? strrchr(process, '[') : NULL;
	unsigned long pid = at ? strtoul(at + 1, NULL, 10) : 0;

	return at && (pid == w->own_pid || (pid && pid == w->recorder_pid) ||
		      !strncmp(process, "(others)[", 9));
}

static bool is_of_kernel(unsigned long pid)
{
	char path[64], line[512], *at;
	unsigned int flags = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%lu/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	at = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	/* State, parent, group, session, terminal and its group come first. */
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		flags = 0;
	fclose(file);
	return flags & KERNEL_THREAD;
}

/*
 * Whether a process has ended, or is a thread of the kernel: both have no program. Interrupts that come while a process runs
 * are taken for the process.
 */
static enum ks_ended find_ended(struct ks_watch_state *w, const struct ks_live_snapshot *s,
				u32 number)
{
	const char *at = strrchr(ks_intern_get(&s->names[KS_LIVE_BY_PROCESS], number).s, '[');
	char path[64], program[8];
	u8 *known = number < w->ended.len ? &w->ended.items[number] : NULL;
	unsigned long pid;

	if (!at || !known)
		return ENDED;
	if (*known != NOT_KNOWN)
		return *known;
	pid = strtoul(at + 1, NULL, 10);
	snprintf(path, sizeof(path), "/proc/%lu/exe", pid);
	*known = readlink(path, program, sizeof(program)) >= 0 ? RUNS
		 : is_of_kernel(pid)			       ? OF_KERNEL
							       : ENDED;
	return *known;
}

static const char *name_of(const struct ks_live_snapshot *s, const struct ks_live_cell *cell,
			   enum ks_live_by by)
{
	return cell->key[by] == KS_NONE ? NULL : ks_intern_get(&s->names[by], cell->key[by]).s;
}

static void add_to(struct ks_watch_state *w, const struct ks_live_snapshot *s,
		   const struct ks_live_cell *cell, bool by_process)
{
	const char *cache = name_of(s, cell, KS_LIVE_BY_CACHE);
	const char *site = name_of(s, cell, KS_LIVE_BY_SITE);
	const char *process = name_of(s, cell, KS_LIVE_BY_PROCESS);
	struct ks_watch_row *row;
	enum ks_ended ended;
	u64 key;

	if (!cache || !site || is_left_out(w, process))
		return;
	ended = find_ended(w, s, cell->key[KS_LIVE_BY_PROCESS]);
	if (!by_process && ended == RUNS)
		return;
	if (!by_process)
		process = NULL;
	key = ks_hash_bytes(cache, strlen(cache), 1);
	key = ks_hash_bytes(site, strlen(site), key);
	if (process)
		key = ks_hash_bytes(process, strlen(process), key);
	row = find_row(w, key, !process || cell->objects >= OBJECTS_FEW);
	if (!row)
		return;
	if (!row->seen)
		row->objects = row->bytes = 0;
	row->seen = true;
	row->cache = cache;
	row->site = site;
	row->process = process;
	row->no_program = ended != RUNS;
	row->of_kernel = ended == OF_KERNEL;
	row->objects += cell->objects;
	row->bytes += cell->bytes;
	row->example = cell->example;
}

static bool begins_with_one(const char *site, const char *const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strncmp(site, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool is_attached(const struct ks_watch_row *row)
{
	bool lives = row->process && !row->no_program;

	return begins_with_one(row->site, attached, ARRAY_SIZE(attached)) ||
	       (lives && begins_with_one(row->site, maps, ARRAY_SIZE(maps)));
}

/* How to judge a row: of how few bytes it may be. */
static struct ks_judging judging(const struct ks_watch_opts *opts, const struct ks_watch_row *row)
{
	const double few = (double)(GROWN_FEW * row->bytes) / (double)row->objects;

	return (struct ks_judging){
		.shortest_ns = opts->look_ns * 3 / 4,
		.smallest = opts->any_steady ? ks_min(few, (double)opts->smallest)
					     : (double)opts->smallest,
		.confidence = opts->confidence,
	};
}

/*
 * Many rows are judged, so that some of them look as if they grew. What all processes do together swings with the load. And
 * few bytes are believed only if they come as a clock ticks, and from one process.
 */
static bool is_clear(const struct ks_watch_opts *opts, const struct ks_watch_row *row,
		     const struct ks_judgement *j)
{
	if (j->finding != KS_FINDS_GROWS || j->steadiness < steady)
		return false;
	if (j->growth < (double)opts->smallest)
		return row->process && j->steadiness >= very_steady && j->p <= 1e-5 &&
		       j->low >= j->slope / 2;
	return row->process || (j->p <= 1e-4 && j->low >= j->slope / 2);
}

/*
 * Of kmalloc()'s kinds of one size all come when one is looked at, and one of these the kernel can take back. Where caches
 * that it can take back are not asked for, nothing is said of that one either.
 */
static int is_left_alone(const struct ks_watch_opts *opts, const struct ks_live_snapshot *s,
			 const char *cache, bool *ret_is)
{
	const struct ks_live_within in = { .name = { [KS_LIVE_BY_CACHE] = cache } };
	struct ks_live_rows rows;

	*ret_is = false;
	if (opts->keep_caches)
		return 0;
	if (ks_live_rows(s, KS_LIVE_BY_CACHE, &in, &rows))
		return -ENOMEM;
	*ret_is = rows.items.len && rows.items.items[0].reclaimable;
	ks_live_rows_free(&rows);
	return 0;
}

/* How many objects a cache has; 0 if there is no such cache. */
static int objects_in(const struct ks_live_snapshot *s, const char *cache, u64 *ret_objects)
{
	const struct ks_live_within in = { .name = { [KS_LIVE_BY_CACHE] = cache } };
	struct ks_live_rows rows;

	if (ks_live_rows(s, KS_LIVE_BY_CACHE, &in, &rows))
		return -ENOMEM;
	*ret_objects = rows.items.len ? rows.items.items[0].objects : 0;
	ks_live_rows_free(&rows);
	return 0;
}

/*
 * What lives longer than a look seems to grow, even if as much of it ends that was there before. So what nobody owns has to
 * be in the number of all objects of its cache, too, or at least half of it.
 */
static int is_turnover(const struct ks_watch_state *w, const struct ks_live_snapshot *s,
		       const struct ks_watch_row *row, bool *ret_is)
{
	u64 before = KS_NOT_COUNTED, now;
	size_t i;
	int err;

	*ret_is = false;
	if (row->process || !w->counted || !s->parts[KS_LIVE_CACHES].exact)
		return 0;
	for (i = 0; i < w->heard.len; i++)
		if (!strcmp(w->heard.items[i]->name, row->cache))
			before = w->heard.items[i]->objects_before;
	if (before == KS_NOT_COUNTED)
		return 0;
	err = objects_in(s, row->cache, &now);
	*ret_is = !err && now < before + row->objects / 2;
	return err;
}

/* Of a site, one process comes before all of them, where it makes most of the growth. */
static double rank(const struct ks_growing *g)
{
	return g->judgement.slope * (g->row->process ? 1.5 : 1);
}

static int by_rank(const void *a, const void *b)
{
	const struct ks_growing *x = a, *y = b;
	double rx = rank(x), ry = rank(y);

	if (rx != ry)
		return rx > ry ? -1 : 1;
	return x->row->key < y->row->key ? -1 : 1;
}

/* === Public =============================================================================== */

void ks_watch_forget_rows(struct ks_watch_state *w)
{
	size_t i;

	for (i = 0; i < w->rows.len; i++)
		free(w->rows.items[i]);
	w->rows.len = 0;
}

int ks_watch_look(struct ks_watch_state *w, const struct ks_live_snapshot *s)
{
	size_t i, kept = 0, processes = s->names[KS_LIVE_BY_PROCESS].strs.len;

	if (ks_vec_reserve(&w->ended, processes))
		return -ENOMEM;
	w->ended.len = processes;
	if (processes)
		memset(w->ended.items, NOT_KNOWN, processes);

	for (i = 0; i < w->rows.len; i++)
		w->rows.items[i]->seen = false;
	for (i = 0; i < s->cells.len; i++) {
		if (s->cells.items[i].part != KS_LIVE_TRACED || !s->cells.items[i].objects)
			continue;
		add_to(w, s, &s->cells.items[i], false);
		add_to(w, s, &s->cells.items[i], true);
	}
	for (i = 0; i < w->rows.len; i++) {
		struct ks_watch_row *row = w->rows.items[i];

		if (!row->seen) {
			free(row);
			continue;
		}
		ks_series_add(&row->series, s->parts[KS_LIVE_TRACED].at_ns, (double)row->bytes);
		w->rows.items[kept++] = row;
	}
	w->rows.len = kept;
	return 0;
}

int ks_watch_count_first(struct ks_watch_state *w, const struct ks_live_snapshot *s)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < w->heard.len; i++)
		err = objects_in(s, w->heard.items[i]->name, &w->heard.items[i]->objects_before);
	return err;
}

int ks_watch_find_growing(struct ks_watch *watch, const struct ks_live_snapshot *s,
			  struct ks_growings *growings)
{
	struct ks_watch_state *w = watch->state;
	size_t i;

	for (i = 0; i < w->rows.len; i++) {
		struct ks_watch_row *row = w->rows.items[i];
		const struct ks_judging how = judging(&watch->opts, row);
		struct ks_judgement judgement;
		struct ks_growing *g;
		bool turnover, alone;

		if (is_attached(row))
			continue;
		ks_judge(&row->series, &how, &judgement);
		if (!is_clear(&watch->opts, row, &judgement))
			continue;
		if (is_turnover(w, s, row, &turnover))
			return -ENOMEM;
		if (turnover)
			continue;
		if (is_left_alone(&watch->opts, s, row->cache, &alone))
			return -ENOMEM;
		if (alone)
			continue;
		g = ks_vec_push(&growings->items);
		if (!g)
			return -ENOMEM;
		*g = (struct ks_growing){ row, judgement };
	}
	if (growings->items.len)
		qsort(growings->items.items, growings->items.len, sizeof(*growings->items.items),
		      by_rank);
	return 0;
}
