// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a text log of generated kmem events and the expected results, which it knows because it
 * makes the objects: what was allocated where, what was freed, and what ended without an event. It
 * shares no code with the analyser.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum order { ORDER_RANDOM, ORDER_NEWEST, ORDER_OLDEST };

struct object {
	uint64_t addr;
	uint32_t site;
	uint32_t req, alloc;
	bool cache;
};

struct site {
	uint64_t allocs, frees, total, live, live_req;
};

static struct {
	uint64_t events, seed, allocs_first;
	uint32_t sites, live_target;
	int era;
	enum order order;
	bool clean; /* nothing unusual: no NULL frees, failures, losses, unseen frees */
	const char *answers, *sites_file;
} opt = { .events = 100000, .seed = 1, .sites = 300, .live_target = 5000, .era = 3 };

static struct object *live;
static size_t live_len, live_cap, live_first;
static uint64_t *holes; /* free addresses */
static size_t holes_len, holes_cap;
static uint64_t next_addr = 0xffff888100000000ull;
static struct site *sites;
static uint64_t now_us = 100000000, rng;

static struct {
	uint64_t events, allocs, frees, live_bytes, live_req, null_frees, failed, before, implied,
		lost;
	uint64_t lost_windows, total_bytes;
} sum;

static const uint32_t classes[] = { 8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192 };

/* === Internals ============================================================================ */

static uint64_t rand64(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)((rand64() >> 32) * n >> 32);
}

static void *grow(void *p, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return p;
	*cap = need * 2 + 1024;
	p = realloc(p, *cap * size);
	if (!p) {
		fputs("kmemgen: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/* The task and the time, in the format of the kernel version. */
static void header(const char *event)
{
	static const char *const comms[] = { "bash", "kworker/0:1", "ls", "a b-c (d)", "<idle>" };
	static uint32_t task;
	unsigned long long s = now_us / 1000000, us = now_us % 1000000;

	now_us += below(3);
	if (!below(20)) /* lines come in runs of one task, as on a real machine */
		task = below(5);
	if (opt.era == 0)
		printf("%16s-%-5u [%03u] %5llu.%06llu: %s: ", comms[task], task * 977, task & 1, s,
		       us, event);
	else
		printf("%16s-%-7u [%03u] %s %5llu.%06llu: %s: ", comms[task], task * 977, task & 1,
		       opt.era >= 2 ? "....." : "....", s, us, event);
	sum.events++;
}

static void site_text(uint32_t site)
{
	if (opt.era == 0)
		printf("call_site=%llx", 0xffffffff81000000ull + site * 0x40ull + 0x10);
	else if (site % 7 == 6)
		printf("call_site=mod_fn_%u+0x%x/0x200 [mod%u]", site, 0x10 + site % 5, site % 3);
	else
		printf("call_site=fn_%u+0x%x/0x200", site, 0x10 + site % 5);
}

static void emit_alloc(const struct object *obj)
{
	header(obj->cache ? "kmem_cache_alloc" : "kmalloc");
	site_text(obj->site);
	printf(" ptr=%016llx", (unsigned long long)obj->addr);
	if (opt.era == 3 && obj->cache)
		printf(" name=cache_%u", obj->alloc);
	printf(" bytes_req=%u bytes_alloc=%u gfp_flags=GFP_KERNEL", obj->req, obj->alloc);
	if (opt.era >= 2)
		printf(" node=-1 accounted=false");
	putchar('\n');
}

static void emit_free(uint64_t addr, bool cache, uint32_t class)
{
	header(cache ? "kmem_cache_free" : "kfree");
	printf(opt.era ? "call_site=free_fn+0x20/0x40" : "call_site=ffffffff81f00020");
	if (addr)
		printf(" ptr=%016llx", (unsigned long long)addr);
	else
		printf(opt.era ? " ptr=0000000000000000" : " ptr=          (null)");
	if (opt.era >= 1 && cache)
		printf(" name=cache_%u", class);
	putchar('\n');
}

static void alloc_one(void)
{
	struct object obj;
	uint32_t class;

	memset(&obj, 0, sizeof(obj));
	obj.site = below(opt.sites);
	obj.cache = obj.site & 1;
	class = classes[(obj.site + (obj.cache ? 0 : below(3))) % 13];
	obj.alloc = class;
	obj.req = obj.cache ? class : class - below(class / 4);
	if (holes_len && (opt.clean || below(4))) {
		obj.addr = holes[--holes_len];
	} else {
		obj.addr = next_addr;
		next_addr += 8192;
	}
	emit_alloc(&obj);
	live = grow(live, &live_cap, live_len + 1, sizeof(*live));
	live[live_len++] = obj;
	sites[obj.site].allocs++;
	sites[obj.site].total += obj.alloc;
	sites[obj.site].live += obj.alloc;
	sites[obj.site].live_req += obj.req;
	sum.allocs++;
	sum.total_bytes += obj.alloc;
	sum.live_bytes += obj.alloc;
	sum.live_req += obj.req;
}

static void forget(const struct object *obj)
{
	sites[obj->site].live -= obj->alloc;
	sites[obj->site].live_req -= obj->req;
	sum.live_bytes -= obj->alloc;
	sum.live_req -= obj->req;
	holes = grow(holes, &holes_cap, holes_len + 1, sizeof(*holes));
	holes[holes_len++] = obj->addr;
}

static struct object take_live(void)
{
	size_t at = opt.order == ORDER_NEWEST ? live_len - 1
		    : opt.order == ORDER_OLDEST
			    ? live_first++
			    : live_first + below((uint32_t)(live_len - live_first));
	struct object obj = live[at];

	if (opt.order != ORDER_OLDEST)
		live[at] = live[--live_len];
	return obj;
}

static void free_one(void)
{
	struct object obj = take_live();

	emit_free(obj.addr, obj.cache, obj.alloc);
	sites[obj.site].frees++;
	sum.frees++;
	forget(&obj);
}

/*
 * Ends an object without an event. It becomes visible when the next allocation gets the same
 * address.
 */
static void end_unseen(void)
{
	struct object obj = take_live();

	forget(&obj);
	sum.implied++;
	emit_alloc(&(struct object){ holes[--holes_len], obj.site, obj.req, obj.alloc, obj.cache });
	live = grow(live, &live_cap, live_len + 1, sizeof(*live));
	live[live_len++] = obj;
	sites[obj.site].allocs++;
	sites[obj.site].total += obj.alloc;
	sites[obj.site].live += obj.alloc;
	sites[obj.site].live_req += obj.req;
	sum.allocs++;
	sum.total_bytes += obj.alloc;
	sum.live_bytes += obj.alloc;
	sum.live_req += obj.req;
}

/* The unusual cases of a real log. */
static bool something_unusual(void)
{
	static uint64_t before_addr = 0xffff888000001000ull;
	uint32_t dice = below(1000);

	if (opt.clean || dice >= 100)
		return false;
	if (dice < 60) {
		emit_free(0, false, 0);
		sum.null_frees++;
	} else if (dice < 80) {
		emit_free(before_addr, false, 0);
		before_addr += 64;
		sum.before++;
	} else if (dice < 95 && live_len > live_first) {
		end_unseen();
	} else if (dice < 99) {
		struct object obj = { .site = below(opt.sites), .req = 100, .alloc = 128 };

		obj.cache = obj.site & 1;
		emit_alloc(&obj);
		sum.failed++;
	} else {
		uint32_t n = 1 + below(1000);

		printf("CPU:%u [LOST %u EVENTS]\n", below(2), n);
		sum.lost += n;
		sum.lost_windows++;
	}
	return true;
}

static void generate(void)
{
	uint64_t i;

	for (i = 0; i < opt.events; i++) {
		if (i < opt.allocs_first) {
			alloc_one();
			continue;
		}
		if (something_unusual())
			continue;
		if (opt.allocs_first ? live_len > live_first
				     : live_len > live_first &&
					       below(2 * opt.live_target) < live_len - live_first)
			free_one();
		else
			alloc_one();
	}
}

static void write_answers(void)
{
	FILE *f = fopen(opt.answers, "w");

	if (!f) {
		perror(opt.answers);
		exit(1);
	}
#define ANSWER(name, value) fprintf(f, name " %llu\n", (unsigned long long)(value))
	ANSWER("events", sum.events);
	ANSWER("allocs", sum.allocs);
	ANSWER("frees", sum.frees);
	ANSWER("total_bytes", sum.total_bytes);
	ANSWER("live_bytes", sum.live_bytes);
	ANSWER("live_requested", sum.live_req);
	ANSWER("null_frees", sum.null_frees);
	ANSWER("failed_allocs", sum.failed);
	ANSWER("frees_before", sum.before);
	ANSWER("implied_frees", sum.implied);
	ANSWER("lost_events", sum.lost);
	ANSWER("lost_windows", sum.lost_windows);
	if (fclose(f))
		exit(1);
}

/* label total waste net allocs frees, sorted by label: the expected rows of the account. */
static void write_sites(void)
{
	FILE *f = fopen(opt.sites_file, "w");
	uint32_t i;

	if (!f) {
		perror(opt.sites_file);
		exit(1);
	}
	for (i = 0; i < opt.sites; i++) {
		const struct site *s = &sites[i];

		if (!s->allocs)
			continue;
		fprintf(f, "%llu %llu %llu %llu/%llu ", (unsigned long long)s->total,
			(unsigned long long)(s->live - s->live_req), (unsigned long long)s->live,
			(unsigned long long)s->allocs, (unsigned long long)s->frees);
		if (opt.era == 0)
			fprintf(f, "0x%llx\n", 0xffffffff81000000ull + i * 0x40ull + 0x10);
		else if (i % 7 == 6)
			fprintf(f, "mod_fn_%u+0x%x [mod%u]\n", i, 0x10 + i % 5, i % 3);
		else
			fprintf(f, "fn_%u+0x%x\n", i, 0x10 + i % 5);
	}
	if (fclose(f))
		exit(1);
}

/* === Public =============================================================================== */

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "events", required_argument, NULL, 'n' },
		{ "sites", required_argument, NULL, 's' },
		{ "live", required_argument, NULL, 'l' },
		{ "era", required_argument, NULL, 'e' },
		{ "seed", required_argument, NULL, 'r' },
		{ "allocs-first", required_argument, NULL, 'f' },
		{ "order", required_argument, NULL, 'o' },
		{ "clean", no_argument, NULL, 'c' },
		{ "answers", required_argument, NULL, 'a' },
		{ "site-answers", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	static char buffer[1 << 20];
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			opt.events = strtoull(optarg, NULL, 10);
			break;
		case 's':
			opt.sites = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'l':
			opt.live_target = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'e':
			opt.era = atoi(optarg);
			break;
		case 'r':
			opt.seed = strtoull(optarg, NULL, 10);
			break;
		case 'f':
			opt.allocs_first = strtoull(optarg, NULL, 10);
			opt.clean = true;
			break;
		case 'o':
			opt.order = !strcmp(optarg, "newest")	? ORDER_NEWEST
				    : !strcmp(optarg, "oldest") ? ORDER_OLDEST
								: ORDER_RANDOM;
			break;
		case 'c':
			opt.clean = true;
			break;
		case 'a':
			opt.answers = optarg;
			break;
		case 't':
			opt.sites_file = optarg;
			break;
		default:
			return 2;
		}
	}
	rng = opt.seed * 0x9e3779b97f4a7c15ull + 1;
	sites = calloc(opt.sites, sizeof(*sites));
	if (!sites)
		return 1;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	puts("# tracer: nop\n#");
	generate();
	if (fflush(stdout))
		return 1;
	if (opt.answers)
		write_answers();
	if (opt.sites_file)
		write_sites();
	return 0;
}
