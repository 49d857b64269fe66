// SPDX-License-Identifier: LGPL-2.1-only
/* From names to expressions of the kernel's event filters. */
#include "capture/kernel-filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "capture/tracefs.h"

/* === Data ================================================================================= */

enum { MAX_ORDER = 32, MAX_SITES = 64 };

/* === Internals: caches ==================================================================== */

/* "kmalloc-64", "kmalloc-cg-1k", "dma-kmalloc-192", "kmalloc-rnd-03-96": the size of its objects, or 0. */
static u64 kmalloc_size(const char *name)
{
	const char *size = strrchr(name, '-');
	u64 bytes;

	if (strncmp(name, "kmalloc-", 8) && strncmp(name, "dma-kmalloc-", 12))
		return 0;
	return size && !ks_parse_size(size + 1, &bytes) ? bytes : 0;
}

/* What /sys/kernel/slab/NAME is a link to: caches that were merged have the same. */
static bool read_link(const char *slab_dir, const char *name, char *ret, size_t cap)
{
	char *path;
	ssize_t n = -1;

	if (strchr(name, '/') || asprintf(&path, "%s/%s", slab_dir, name) < 0)
		return false;
	n = readlink(path, ret, cap - 1);
	free(path);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

/* One line of /proc/slabinfo. */
struct line {
	char name[128];
	u64 size;
};

static bool next_line(const char **text, struct line *ret)
{
	unsigned long long size;

	while (**text) {
		const char *line = *text, *end = strchr(line, '\n');

		*text = end ? end + 1 : line + strlen(line);
		if (sscanf(line, "%127s %*u %*u %llu", ret->name, &size) == 2) {
			ret->size = size;
			return true;
		}
	}
	return false;
}

/* The line of a cache, or of the one that it was merged into. */
static bool find_cache(const char *text, const char *slab_dir, const char *name, struct line *ret)
{
	char wanted[128], link[128];
	const char *p = text;

	while (next_line(&p, ret))
		if (!strcmp(ret->name, name))
			return true;
	if (!read_link(slab_dir, name, wanted, sizeof(wanted)))
		return false;
	for (p = text; next_line(&p, ret);)
		if (read_link(slab_dir, ret->name, link, sizeof(link)) && !strcmp(link, wanted))
			return true;
	return false;
}

/* Names of other caches of that size, whose allocations can't be told apart. */
static void note_others(struct ks_kernel_filter *filter, const char *text, u64 size)
{
	struct line line;
	u32 count = 0;

	ks_strbuf_printf(&filter->note,
			 "the events of this kernel name no cache: all caches of %" PRIu64
			 " bytes are recorded",
			 size);
	while (next_line(&text, &line))
		if (line.size == size && !kmalloc_size(line.name) &&
		    strcmp(line.name, filter->cache))
			ks_strbuf_printf(&filter->note, "%s%s", count++ ? ", " : ", with ",
					 line.name);
}

static int find_name(struct ks_kernel_filter *filter, bool events_name, const char *slab_dir,
		     const char *slabinfo, struct ks_diag *diag)
{
	const char *name = filter->asked.cache;
	struct ks_strbuf text;
	struct line line;
	bool known, found;

	filter->kmalloc_size = kmalloc_size(name);
	if (filter->kmalloc_size) {
		ks_strbuf_printf(&filter->note,
				 "events of kmalloc name no cache: kmalloc of %" PRIu64
				 " bytes is recorded, of every kind (cg, rcl, dma)",
				 filter->kmalloc_size);
		return 0;
	}
	ks_strbuf_init(&text);
	known = !ks_slurp(slabinfo, &text) && text.len;
	found = known && find_cache(ks_strbuf_str(&text), slab_dir, name, &line);
	snprintf(filter->cache, sizeof(filter->cache), "%.127s", found ? line.name : name);
	if (!events_name && found) {
		filter->cache_size = line.size;
		note_others(filter, ks_strbuf_str(&text), line.size);
	} else if (found && strcmp(line.name, name)) {
		ks_strbuf_printf(&filter->note, "%s is merged into %s: that is recorded", name,
				 line.name);
	}
	ks_strbuf_deinit(&text);
	if (known && !found)
		return ks_diag_set(
			diag, -EINVAL,
			"--cache %s: the kernel has no such cache; kmemscope heap lists them",
			name);
	if (!events_name && !found)
		return ks_diag_set(
			diag, -EINVAL,
			"--cache %s: the events of this kernel name no cache, and without "
			"/proc/slabinfo its size is not known; use --size",
			name);
	return 0;
}

/* === Internals: sites ===================================================================== */

/* One line of kallsyms: "ffffffff81000000 T name [module]". */
static bool next_symbol(const char **text, u64 *ret_addr, const char **ret_name, size_t *ret_len)
{
	while (**text) {
		const char *line = *text, *end = strchr(line, '\n');
		char *p;

		*text = end ? end + 1 : line + strlen(line);
		*ret_addr = strtoull(line, &p, 16);
		if (p == line || p[0] != ' ' || !p[1] || p[2] != ' ' || !strchr("tTwW", p[1]))
			continue;
		*ret_name = p + 3;
		*ret_len = strcspn(*ret_name, " \t\n");
		return true;
	}
	return false;
}

static int add_range(struct ks_kernel_filter *filter, u64 from, u64 to)
{
	struct ks_site_range *range = ks_vec_push(&filter->sites);

	if (!range)
		return -ENOMEM;
	*range = (struct ks_site_range){ from, to };
	return 0;
}

/* A function ends where the next symbol begins. */
static void find_ends(struct ks_kernel_filter *filter, const char *kallsyms)
{
	const char *name;
	size_t len, i;
	u64 addr;

	while (next_symbol(&kallsyms, &addr, &name, &len))
		for (i = 0; i < filter->sites.len; i++) {
			struct ks_site_range *range = &filter->sites.items[i];

			if (addr > range->from && addr < range->to)
				range->to = addr;
		}
}

/* "function", "function+0x1c", "0xffffffff81234567". There may be several functions of a name. */
static int find_sites(struct ks_kernel_filter *filter, const char *kallsyms, struct ks_diag *diag)
{
	const char *site = filter->asked.site, *plus = strchr(site, '+'), *p = kallsyms, *name;
	size_t len, wanted = plus ? (size_t)(plus - site) : strlen(site), i;
	char *end = NULL;
	u64 addr, offset;
	int err = 0;

	if (!strncmp(site, "0x", 2)) {
		addr = strtoull(site, &end, 16);
		if (*end || !addr)
			return ks_diag_set(diag, -EINVAL, "--site %s: is no address", site);
		return add_range(filter, addr, addr + 1) ? ks_diag_nomem(diag, "recording") : 0;
	}
	offset = plus ? strtoull(plus + 1, &end, 16) : 0;
	if (plus && (end == plus + 1 || *end))
		return ks_diag_set(diag, -EINVAL, "--site %s: give function+0xoffset", site);
	if (!*kallsyms)
		return ks_diag_set(diag, -EINVAL,
				   "--site %s: /proc/kallsyms shows no addresses to root (see "
				   "kernel.kptr_restrict); give an address, 0x...",
				   site);
	while (next_symbol(&p, &addr, &name, &len) && !err && filter->sites.len < MAX_SITES)
		if (len == wanted && !strncmp(name, site, len))
			err = add_range(filter, addr, UINT64_MAX);
	if (err)
		return ks_diag_nomem(diag, "recording");
	if (!filter->sites.len)
		return ks_diag_set(
			diag, -EINVAL,
			"--site %s: the kernel has no such function; it may be inlined: name "
			"the one that reports show",
			site);
	find_ends(filter, kallsyms);
	for (i = 0; plus && i < filter->sites.len; i++) {
		struct ks_site_range *range = &filter->sites.items[i];

		range->from += offset;
		range->to = range->from + 1;
	}
	return 0;
}

/* === Internals: expressions =============================================================== */

static void put_and(struct ks_strbuf *sb)
{
	if (sb->len)
		ks_strbuf_puts(sb, " && ");
}

static void put_sites(const struct ks_kernel_filter *filter, struct ks_strbuf *sb)
{
	size_t i;

	put_and(sb);
	ks_strbuf_puts(sb, "(");
	for (i = 0; i < filter->sites.len; i++) {
		const struct ks_site_range *range = &filter->sites.items[i];

		if (range->to == range->from + 1)
			ks_strbuf_printf(sb, "%scall_site == 0x%" PRIx64, i ? " || " : "",
					 range->from);
		else
			ks_strbuf_printf(
				sb, "%s(call_site >= 0x%" PRIx64 " && call_site < 0x%" PRIx64 ")",
				i ? " || " : "", range->from, range->to);
	}
	ks_strbuf_puts(sb, ")");
}

static void put_size(const struct ks_record_filter *asked, struct ks_strbuf *sb)
{
	put_and(sb);
	if (asked->size_min == asked->size_max) {
		ks_strbuf_printf(sb, "bytes_alloc == %" PRIu64, asked->size_min);
		return;
	}
	ks_strbuf_printf(sb, "bytes_alloc >= %" PRIu64, asked->size_min);
	if (asked->size_max != UINT64_MAX)
		ks_strbuf_printf(sb, " && bytes_alloc <= %" PRIu64, asked->size_max);
}

/* Pages come in powers of two, and the event has the power. False: none of them fits. */
static bool put_orders(const struct ks_record_filter *asked, u32 page_size, struct ks_strbuf *sb)
{
	int first = -1, last = -1, order;

	for (order = 0; order < MAX_ORDER; order++) {
		u64 bytes = (u64)page_size << order;

		if (bytes < asked->size_min || bytes > asked->size_max)
			continue;
		first = first < 0 ? order : first;
		last = order;
	}
	if (first < 0)
		return false;
	put_and(sb);
	ks_strbuf_printf(sb, "order >= %d && order <= %d", first, last);
	return true;
}

/* Text in quotes; names with a quote in them were refused. */
static void put_text(const char *field, const char *text, struct ks_strbuf *sb)
{
	put_and(sb);
	ks_strbuf_printf(sb, "%s == \"%s\"", field, text);
}

static int check_text(const char *option, const char *text, struct ks_diag *diag)
{
	if (!text || (*text && !strpbrk(text, "\"\n") && strlen(text) < 128))
		return 0;
	return ks_diag_set(diag, -EINVAL, "--%s '%s': no name in the kernel is like that", option,
			   text);
}

/* === Public =============================================================================== */

int ks_kernel_filter_init(struct ks_kernel_filter *filter, const struct ks_record_filter *asked,
			  const char *kallsyms, bool events_name, const char *slab_dir,
			  const char *slabinfo, struct ks_diag *diag)
{
	int err;

	memset(filter, 0, sizeof(*filter));
	filter->asked = *asked;
	err = check_text("cache", asked->cache, diag);
	if (!err)
		err = check_text("comm", asked->comm, diag);
	if (!err && asked->cache)
		err = find_name(filter, events_name, slab_dir, slabinfo, diag);
	if (!err && asked->site)
		err = find_sites(filter, kallsyms, diag);
	return err;
}

void ks_kernel_filter_deinit(struct ks_kernel_filter *filter)
{
	ks_strbuf_deinit(&filter->note);
	ks_vec_free(&filter->sites);
}

bool ks_kernel_filter_print(const struct ks_kernel_filter *filter, enum ks_filter_event event,
			    u32 page_size, struct ks_strbuf *sb)
{
	const struct ks_record_filter *asked = &filter->asked;

	if (event == KS_FILTER_PAGE && (asked->cache || asked->site))
		return false;
	if (event == KS_FILTER_BULK && asked->site)
		return false; /* its probe is at the end of the function, where the caller is not known */
	if (asked->cache && (event == KS_FILTER_KMALLOC) != (filter->kmalloc_size != 0))
		return false;
	if (filter->kmalloc_size)
		ks_strbuf_printf(sb, "bytes_alloc == %" PRIu64, filter->kmalloc_size);
	else if (filter->cache_size && event != KS_FILTER_BULK)
		ks_strbuf_printf(sb, "bytes_alloc == %" PRIu64, filter->cache_size);
	else if (asked->cache)
		put_text("name", filter->cache, sb);
	if (asked->site)
		put_sites(filter, sb);
	if (asked->by_size && event == KS_FILTER_PAGE) {
		if (!put_orders(asked, page_size, sb))
			return false;
	} else if (asked->by_size) {
		put_size(asked, sb);
	}
	if (asked->comm)
		put_text("comm", asked->comm, sb);
	return true;
}

void ks_record_filter_print(const struct ks_record_filter *filter, struct ks_strbuf *sb)
{
	const char *const words[][2] = { { "cache", filter->cache },
					 { "site", filter->site },
					 { "comm", filter->comm } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i][1])
			ks_strbuf_printf(sb, "%s--%s %s", sb->len ? " " : "", words[i][0],
					 words[i][1]);
	if (!filter->by_size)
		return;
	ks_strbuf_printf(sb, "%s--size ", sb->len ? " " : "");
	if (filter->size_min == filter->size_max)
		ks_strbuf_printf(sb, "%" PRIu64, filter->size_min);
	else if (filter->size_max == UINT64_MAX)
		ks_strbuf_printf(sb, ">=%" PRIu64, filter->size_min);
	else
		ks_strbuf_printf(sb, "%" PRIu64 "-%" PRIu64, filter->size_min, filter->size_max);
}
