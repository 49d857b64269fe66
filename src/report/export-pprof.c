// SPDX-License-Identifier: LGPL-2.1-only
/*
 * pprof's profile.proto. A sample is a call site, with the stack that led to it and the cache of its objects; a
 * location is one of its frames.
 */
#include "report/export.h"

#include <string.h>
#include <zlib.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/map64.h"
#include "base/protobuf.h"
#include "report/frames.h"

/* === Data ================================================================================= */

/* Numbers of fields, by message. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION };
enum { PROFILE_FUNCTION = 5, PROFILE_STRING, PROFILE_DURATION = 10, PROFILE_COMMENT = 13 };
enum { PROFILE_DEFAULT_TYPE = 14 };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

/* The heap's convention, which the tools know by name. */
static const struct {
	const char *type, *unit;
	enum ks_measure measure;
} types[] = {
	{ "alloc_objects", "count", KS_MEASURE_ALLOCS },
	{ "alloc_space", "bytes", KS_MEASURE_TOTAL },
	{ "inuse_objects", "count", KS_MEASURE_OBJECTS },
	{ "inuse_space", "bytes", KS_MEASURE_LIVE },
};

struct pprof {
	struct ks_strbuf samples, locations, functions; /* messages, each with its tag */
	struct ks_intern strings;
	struct ks_intern modules; /* mappings: "kernel" and modules */
	struct ks_intern sites;	  /* as the trace spells them: one may have many samples */
	struct ks_map64 known;	  /* functions: name and file */
	struct ks_map64 places;	  /* locations: function, and number of the site */
	bool failed;
};

/* === Internals: tables ==================================================================== */

/* Strings of a protocol buffer are UTF-8; those of a trace may be anything. */
static u64 string_id(struct pprof *p, const char *s, size_t len)
{
	struct ks_strbuf clean;
	u32 id;

	ks_strbuf_init(&clean);
	ks_escape_tty(&clean, s, len);
	id = ks_intern_add(&p->strings, ks_strbuf_str(&clean), clean.len);
	p->failed |= id == KS_NONE || clean.failed;
	ks_strbuf_deinit(&clean);
	return id;
}

static u64 text_id(struct pprof *p, const char *s)
{
	return string_id(p, s, strlen(s));
}

/* The number of a key, from 1 on; *ret_new when it was not known. */
static u64 number_of(struct pprof *p, struct ks_map64 *map, u64 key, bool *ret_new)
{
	size_t known = map->keys.len;
	u32 number = ks_map64_add(map, key);

	p->failed |= number == KS_NONE;
	*ret_new = number == known;
	return (u64)number + 1;
}

static u64 function_id(struct pprof *p, const struct ks_frame *frame, const char *path)
{
	u64 name = string_id(p, frame->s, frame->len), file = text_id(p, path), id;
	struct ks_strbuf message;
	bool is_new;

	id = number_of(p, &p->known, name << 32 | file, &is_new);
	if (!is_new)
		return id;
	ks_strbuf_init(&message);
	ks_protobuf_number(&message, FUNCTION_ID, id);
	ks_protobuf_number(&message, FUNCTION_NAME, name);
	ks_protobuf_number(&message, FUNCTION_SYSTEM_NAME, name);
	ks_protobuf_number(&message, FUNCTION_FILE, file);
	ks_protobuf_message(&p->functions, PROFILE_FUNCTION, &message);
	return id;
}

/* @site is 0 for the frames that sites share. */
static u64 location_id(struct pprof *p, const struct ks_group *group, const struct ks_frame *frame,
		       bool in_file, u64 site)
{
	u64 function = function_id(p, frame, in_file ? group->path : ""), mapping, id;
	const char *module = *group->module ? group->module : "[kernel.kallsyms]";
	struct ks_strbuf message, line;
	bool is_new;

	mapping = ks_intern_add(&p->modules, module, strlen(module));
	id = number_of(p, &p->places, function << 32 | site, &is_new);
	if (!is_new)
		return id;
	p->failed |= mapping == KS_NONE;
	ks_strbuf_init(&message);
	ks_strbuf_init(&line);
	ks_protobuf_number(&message, LOCATION_ID, id);
	if (site) {
		ks_protobuf_number(&message, LOCATION_MAPPING, mapping + 1);
		ks_protobuf_number(&message, LOCATION_ADDRESS, group->addr);
	}
	ks_protobuf_number(&line, LINE_FUNCTION, function);
	ks_protobuf_message(&message, LOCATION_LINE, &line);
	ks_protobuf_message(&p->locations, PROFILE_LOCATION, &message);
	return id;
}

/* === Internals: the profile =============================================================== */

/* The site itself is no frame here: it is the function's location, told apart by its address. */
static void add_sample(struct pprof *p, const struct ks_group *group)
{
	struct ks_frames frames = ks_frames_of(group);
	size_t leaf = frames.len - (*group->func ? 2 : 1), i;
	u64 site = (u64)ks_intern_add(&p->sites, group->text, strlen(group->text)) + 1;
	struct ks_strbuf message, packed;

	p->failed |= site > UINT32_MAX;
	ks_strbuf_init(&message);
	ks_strbuf_init(&packed);
	for (i = leaf + 1; i-- > 0;) /* leaf first */
		ks_pack_varint(&packed, location_id(p, group, &frames.items[i], i == leaf,
						    i == leaf ? site : 0));
	ks_protobuf_message(&message, SAMPLE_LOCATIONS, &packed);
	ks_strbuf_init(&packed);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		ks_pack_varint(&packed, ks_measure_of(&group->stat, types[i].measure));
	ks_protobuf_message(&message, SAMPLE_VALUES, &packed);
	ks_strbuf_init(&packed);
	ks_protobuf_number(&packed, LABEL_KEY, text_id(p, "cache"));
	ks_protobuf_number(&packed, LABEL_TEXT, text_id(p, group->cache));
	ks_protobuf_message(&message, SAMPLE_LABEL, &packed);
	ks_protobuf_message(&p->samples, PROFILE_SAMPLE, &message);
}

static void put_types(struct pprof *p, struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct ks_strbuf message;

		ks_strbuf_init(&message);
		ks_protobuf_number(&message, VALUE_TYPE, text_id(p, types[i].type));
		ks_protobuf_number(&message, VALUE_UNIT, text_id(p, types[i].unit));
		ks_protobuf_message(out, PROFILE_SAMPLE_TYPE, &message);
	}
}

static void put_mappings(struct pprof *p, struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < p->modules.strs.len; i++) {
		struct ks_str name = ks_intern_get(&p->modules, (u32)i);
		struct ks_strbuf message;

		ks_strbuf_init(&message);
		ks_protobuf_number(&message, MAPPING_ID, i + 1);
		ks_protobuf_number(&message, MAPPING_FILE, string_id(p, name.s, name.len));
		ks_protobuf_number(&message, MAPPING_HAS_FUNCTIONS, 1);
		ks_protobuf_message(out, PROFILE_MAPPING, &message);
	}
}

/* The capture's quality travels with the data: "go tool pprof -comments" prints it. */
static void put_comment(struct pprof *p, const struct ks_model *model, struct ks_strbuf *out)
{
	const char *line, *end;
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_render_quality(model, true, &text);
	for (line = ks_strbuf_str(&text); *line; line = end + 1) {
		end = strchr(line, '\n');
		ks_protobuf_number(out, PROFILE_COMMENT, string_id(p, line, (size_t)(end - line)));
	}
	ks_strbuf_deinit(&text);
}

static void put_profile(struct pprof *p, const struct ks_model *model, const struct ks_rows *rows,
			struct ks_strbuf *out)
{
	size_t i;

	text_id(p, ""); /* must be the first */
	for (i = 0; i < rows->len; i++)
		add_sample(p, rows->items[i]);
	put_types(p, out);
	ks_strbuf_add(out, ks_strbuf_str(&p->samples), p->samples.len);
	put_mappings(p, out);
	ks_strbuf_add(out, ks_strbuf_str(&p->locations), p->locations.len);
	ks_strbuf_add(out, ks_strbuf_str(&p->functions), p->functions.len);
	put_comment(p, model, out);
	ks_protobuf_number(out, PROFILE_DEFAULT_TYPE, text_id(p, "inuse_space"));
	if (model->clock == KS_CLOCK_SECONDS)
		ks_protobuf_number(out, PROFILE_DURATION, model->last_ts - model->first_ts);
	for (i = 0; i < p->strings.strs.len; i++)
		ks_protobuf_bytes(out, PROFILE_STRING, p->strings.strs.items[i].s,
				  p->strings.strs.items[i].len);
	out->failed |= p->failed | p->samples.failed | p->locations.failed | p->functions.failed;
}

/* === Public =============================================================================== */

void ks_export_gzip(struct ks_strbuf *out, const struct ks_strbuf *plain)
{
	enum { GZIP_WINDOW = 15 + 16 };
	z_stream z = { .next_in = (void *)plain->s, .avail_in = (uInt)plain->len };
	u8 bytes[16384];
	int status;

	if (plain->failed || plain->len > UINT32_MAX ||
	    deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		out->failed = true;
		return;
	}
	do {
		z.next_out = bytes;
		z.avail_out = sizeof(bytes);
		status = deflate(&z, Z_FINISH);
		ks_strbuf_add(out, bytes, sizeof(bytes) - z.avail_out);
	} while (status == Z_OK);
	out->failed |= status != Z_STREAM_END;
	deflateEnd(&z);
}

void ks_export_pprof(const struct ks_model *model, const struct ks_rows *rows,
		     struct ks_strbuf *out)
{
	struct pprof p = { .failed = false };
	struct ks_strbuf plain;

	ks_strbuf_init(&plain);
	if (ks_intern_init(&p.strings) || ks_intern_init(&p.modules) || ks_intern_init(&p.sites) ||
	    ks_map64_init(&p.known) || ks_map64_init(&p.places))
		out->failed = true;
	else
		put_profile(&p, model, rows, &plain);
	if (!out->failed)
		ks_export_gzip(out, &plain);
	ks_strbuf_deinit(&plain);
	ks_strbuf_deinit(&p.samples);
	ks_strbuf_deinit(&p.locations);
	ks_strbuf_deinit(&p.functions);
	ks_intern_deinit(&p.strings);
	ks_intern_deinit(&p.modules);
	ks_intern_deinit(&p.sites);
	ks_map64_deinit(&p.known);
	ks_map64_deinit(&p.places);
}
