// SPDX-License-Identifier: LGPL-2.1-only
/* What a snapshot is of, in values for programs and in words. */
#include "heap/snapshot-doc.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "heap/witness.h"

/* === Data ================================================================================= */

static const struct {
	const char *name, *text;
} qualities[KS_HEAP_QUALITIES] = {
	[KS_HEAP_TORN_SLABS] = { "torn_slabs",
				 "slabs changed whenever they were read and are in no row" },
	[KS_HEAP_REREAD_SLABS] = { "reread_slabs",
				   "slabs changed while they were read and were read again" },
	[KS_HEAP_TORN_LISTS] = { "torn_lists", "lists of free objects changed whenever they were "
					       "read: their objects count as used" },
	[KS_HEAP_STRAY_OBJECTS] = { "stray_objects",
				    "free objects on lists were in no slab of their cache" },
	[KS_HEAP_VANISHED_OBJECTS] = { "vanished_objects", "free objects on lists were more than "
							   "their slabs counted as used" },
	[KS_HEAP_INVALID_CACHES] = { "invalid_caches", "caches that slabs named made no sense" },
	[KS_HEAP_TORN_PAGES] = { "torn_pages", "struct pages contradicted their neighbours" },
	[KS_HEAP_UNREADABLE_CHARGES] = { "unreadable_charges", "slabs' charges could not be read" },
	[KS_HEAP_UNREADABLE_PAGES] = { "unreadable_pages", "pages could not be read" },
	[KS_HEAP_TORN_FREE_LISTS] = { "torn_free_lists",
				      "slabs had a free list that could not be followed: all "
				      "their objects count as used" },
	[KS_HEAP_ODD_MODULES] = { "odd_modules",
				  "modules have types that make no sense: they were left out" },
};

/* === Internals ============================================================================ */

static void put_values(struct ks_doc *doc, const struct ks_snapshot *s)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < s->count; i++)
		bytes += s->caches.items[s->cache[i]].size;
	ks_doc_text(doc, "kernel", s->release);
	ks_doc_text(doc, "machine", s->machine);
	ks_doc_text(doc, "host", s->host);
	ks_doc_text(doc, "boot", s->boot);
	ks_doc_u64(doc, "taken_ns", s->taken_ns);
	ks_doc_u64(doc, "uptime_ns", s->uptime_ns);
	ks_doc_u64(doc, "duration_ns", s->duration_ns);
	ks_doc_text(doc, "memory_by", s->memory_by);
	ks_doc_u64(doc, "objects", s->count);
	ks_doc_u64(doc, "object_bytes", bytes);
	ks_doc_u64(doc, "caches", s->caches.len);
	ks_doc_u64(doc, "types", s->types.len);
	ks_doc_bool(doc, "graph", s->ref_first);
	ks_doc_u64(doc, "references", s->refs.len);
	ks_doc_u64(doc, "roots", s->roots.len);
	ks_doc_u64(doc, "root_references", s->root_refs.len);
}

static void say(struct ks_doc *doc, const char *before, const char *text, const char *behind)
{
	ks_doc_say(doc, "%s", before);
	ks_doc_say_escaped(doc, text);
	ks_doc_say(doc, "%s", behind);
}

static void say_kernel(struct ks_doc *doc, const struct ks_snapshot *s)
{
	if (!*s->release)
		return;
	say(doc, "  kernel      ", s->release, "");
	say(doc, " (", s->machine, ")");
	say(doc, ", host ", s->host, "");
	say(doc, ", boot ", s->boot, "\n");
}

/* === Public =============================================================================== */

void ks_heap_time_text(u64 ns, char text[40])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) || !strftime(text, 40, "%Y-%m-%d %H:%M:%S UTC", &parts))
		snprintf(text, 40, "%" PRIu64 " ns after 1970", ns);
}

void ks_doc_add_heap_quality(struct ks_doc *doc, const struct ks_snapshot *s)
{
	u64 estimated = 0;
	size_t i;

	for (i = 0; i < s->caches.len; i++)
		estimated += s->caches.items[i].slabinfo != UINT64_MAX &&
			     s->caches.items[i].census.partial > KS_SLABINFO_COUNTS;
	ks_doc_open(doc, "quality");
	for (i = 0; i < KS_HEAP_QUALITIES; i++)
		ks_doc_note(doc, qualities[i].name, s->quality[i], qualities[i].text, false);
	ks_doc_note(
		doc, "slabinfo_estimates", estimated,
		"caches have so many partial slabs that /proc/slabinfo only estimates their objects",
		false);
	ks_doc_close(doc);
}

struct ks_doc *ks_doc_of_snapshot(const struct ks_snapshot *s, const char *path, u64 bytes)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-heap-snapshot-1");
	char taken[40];

	if (!doc)
		return NULL;
	ks_doc_text(doc, "file", path);
	ks_doc_text(doc, "format", "heap snapshot");
	ks_doc_u64(doc, "bytes", bytes);
	put_values(doc, s);
	ks_heap_time_text(s->taken_ns, taken);
	say(doc, "", path, "");
	ks_doc_say(doc, ": a snapshot of a heap, %" PRIu64 " bytes\n", bytes);
	say_kernel(doc, s);
	ks_doc_say(doc, "  taken       %s, within %.3f s", taken, (double)s->duration_ns / 1e9);
	if (s->uptime_ns)
		ks_doc_say(doc, ", %.0f s after the boot", (double)s->uptime_ns / 1e9);
	ks_doc_say(doc, "\n  objects     %" PRIu32 " of %zu caches and %zu types\n", s->count,
		   s->caches.len, s->types.len);
	if (s->ref_first)
		ks_doc_say(doc, "  references  %zu, and %zu of %zu roots\n", s->refs.len,
			   s->root_refs.len, s->roots.len);
	else
		ks_doc_say(doc, "  references  none: it was taken without the graph\n");
	ks_doc_add_heap_quality(doc, s);
	return doc;
}

void ks_doc_add_snapshot(struct ks_doc *doc, const char *name, const struct ks_snapshot *s)
{
	ks_doc_open(doc, name);
	put_values(doc, s);
	ks_doc_close(doc);
}
