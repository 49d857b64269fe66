// SPDX-License-Identifier: LGPL-2.1-only
/* The two formats of profiles, by the numbers of their fields. Both have one location for each frame that differs. */
#include "serve/profile.h"

#include <string.h>

#include "base/protobuf.h"
#include "report/export.h"
#include "serve/profile-samples.h"

/* === Data ================================================================================= */

/* pprof's profile.proto. */
enum { P_SAMPLE_TYPE = 1, P_SAMPLE, P_LOCATION = 4, P_FUNCTION, P_STRING, P_TIME = 9 };
enum { P_DURATION = 10, P_COMMENT = 13, P_DEFAULT_TYPE };
enum { P_VALUE_TYPE = 1, P_VALUE_UNIT };
enum { P_SAMPLE_LOCATIONS = 1, P_SAMPLE_VALUES, P_SAMPLE_LABEL };
enum { P_LABEL_KEY = 1, P_LABEL_TEXT };
enum { P_LOCATION_ID = 1, P_LOCATION_LINE = 4, P_LINE_FUNCTION = 1 };
enum { P_FUNCTION_ID = 1, P_FUNCTION_NAME, P_FUNCTION_SYSTEM_NAME };

/* OpenTelemetry's, package v1development, version 1.11. */
enum { O_RESOURCES = 1, O_DICTIONARY };
enum { O_RESOURCE = 1, O_SCOPES };
enum { O_ATTRIBUTES = 1 };
enum { O_SCOPE = 1, O_PROFILES };
enum { O_SCOPE_NAME = 1, O_SCOPE_VERSION };
enum { O_SAMPLE_TYPE = 1, O_SAMPLES, O_TIME, O_DURATION };
enum { O_TYPE_NAME = 1, O_TYPE_UNIT };
enum { O_SAMPLE_STACK = 1, O_SAMPLE_ATTRIBUTES, O_SAMPLE_VALUES = 4 };
enum { O_MAPPING_TABLE = 1, O_LOCATION_TABLE, O_FUNCTION_TABLE, O_LINK_TABLE, O_STRING_TABLE };
enum { O_ATTRIBUTE_TABLE = 6, O_STACK_TABLE };
enum { O_LOCATION_LINES = 3, O_LINE_FUNCTION = 1, O_FUNCTION_NAME = 1, O_STACK_LOCATIONS = 1 };
enum { O_KEY = 1, O_VALUE, O_STRING_VALUE = 1 };

/* === Internals: pprof ===================================================================== */

static void pprof_type(struct ks_profile *p, const char *type, const char *unit,
		       struct ks_strbuf *out)
{
	struct ks_strbuf message = { 0 };

	ks_protobuf_number(&message, P_VALUE_TYPE, ks_profile_string(p, type));
	ks_protobuf_number(&message, P_VALUE_UNIT, ks_profile_string(p, unit));
	ks_protobuf_message(out, P_SAMPLE_TYPE, &message);
}

static void pprof_sample(struct ks_profile *p, const struct ks_profile_sample *sample,
			 struct ks_strbuf *out)
{
	struct ks_strbuf message = { 0 }, packed = { 0 };
	u32 i;

	for (i = 0; i < sample->len; i++)
		ks_pack_varint(&packed, (u64)p->frames.items[sample->first + i] + 1);
	ks_protobuf_message(&message, P_SAMPLE_LOCATIONS, &packed);
	ks_pack_varint(&packed, sample->objects);
	ks_pack_varint(&packed, sample->bytes);
	ks_protobuf_message(&message, P_SAMPLE_VALUES, &packed);
	ks_protobuf_number(&packed, P_LABEL_KEY, ks_profile_string(p, "cache"));
	ks_protobuf_number(&packed, P_LABEL_TEXT, sample->cache);
	ks_protobuf_message(&message, P_SAMPLE_LABEL, &packed);
	ks_protobuf_message(out, P_SAMPLE, &message);
}

/* A location for each place; the function of a place has the number of its name. */
static void pprof_places(struct ks_profile *p, struct ks_strbuf *out)
{
	struct ks_strbuf message = { 0 }, line = { 0 };
	size_t i;

	for (i = 0; i < p->places.strs.len; i++) {
		ks_protobuf_number(&message, P_LOCATION_ID, i + 1);
		ks_protobuf_number(&line, P_LINE_FUNCTION, p->functions.items[i]);
		ks_protobuf_message(&message, P_LOCATION_LINE, &line);
		ks_protobuf_message(out, P_LOCATION, &message);
	}
}

static void pprof_functions(struct ks_profile *p, struct ks_strbuf *out)
{
	struct ks_strbuf message = { 0 };
	u8 *known = calloc(p->strings.strs.len + 1, 1);
	size_t i;

	if (!known) {
		p->failed = true;
		return;
	}
	for (i = 0; i < p->functions.len; i++) {
		u32 name = p->functions.items[i];

		if (known[name])
			continue;
		known[name] = 1;
		ks_protobuf_number(&message, P_FUNCTION_ID, name);
		ks_protobuf_number(&message, P_FUNCTION_NAME, name);
		ks_protobuf_number(&message, P_FUNCTION_SYSTEM_NAME, name);
		ks_protobuf_message(out, P_FUNCTION, &message);
	}
	free(known);
}

static void put_pprof(struct ks_profile *p, u64 wall_ns, struct ks_strbuf *to)
{
	struct ks_strbuf plain = { 0 }, *out = &plain;
	size_t i;

	pprof_type(p, "inuse_objects", "count", out);
	pprof_type(p, "inuse_space", "bytes", out);
	for (i = 0; i < p->samples.len; i++)
		pprof_sample(p, &p->samples.items[i], out);
	pprof_places(p, out);
	pprof_functions(p, out);
	ks_protobuf_number(out, P_TIME, wall_ns);
	ks_protobuf_number(out, P_DURATION, p->duration_ns);
	ks_protobuf_number(out, P_COMMENT, ks_profile_string(p, p->comment));
	ks_protobuf_number(out, P_DEFAULT_TYPE, ks_profile_string(p, "inuse_space"));
	for (i = 0; i < p->strings.strs.len; i++)
		ks_protobuf_bytes(out, P_STRING, p->strings.strs.items[i].s,
				  p->strings.strs.items[i].len);
	out->failed |= p->failed;
	ks_export_gzip(to, &plain);
	ks_strbuf_deinit(&plain);
}

/* === Internals: OpenTelemetry ============================================================= */

static void otlp_resource(struct ks_strbuf *out)
{
	struct ks_strbuf resource = { 0 }, pair = { 0 }, value = { 0 };

	ks_protobuf_text(&value, O_STRING_VALUE, "linux-kernel");
	ks_protobuf_text(&pair, O_KEY, "service.name");
	ks_protobuf_message(&pair, O_VALUE, &value);
	ks_protobuf_message(&resource, O_ATTRIBUTES, &pair);
	ks_protobuf_message(out, O_RESOURCE, &resource);
}

/* One profile has one type of value, so objects and bytes are two. */
static void otlp_profile(struct ks_profile *p, const struct ks_live_snapshot *snapshot,
			 bool objects, struct ks_strbuf *scope)
{
	struct ks_strbuf profile = { 0 }, message = { 0 }, packed = { 0 };
	size_t i;

	ks_protobuf_number(&message, O_TYPE_NAME,
			   ks_profile_string(p, objects ? "inuse_objects" : "inuse_space"));
	ks_protobuf_number(&message, O_TYPE_UNIT,
			   ks_profile_string(p, objects ? "count" : "bytes"));
	ks_protobuf_message(&profile, O_SAMPLE_TYPE, &message);
	for (i = 0; i < p->samples.len; i++) {
		const struct ks_profile_sample *sample = &p->samples.items[i];

		/* Stack 0 and attribute 0 are nothing. An attribute has the number of its string. */
		ks_protobuf_number(&message, O_SAMPLE_STACK, i + 1);
		ks_pack_varint(&packed, sample->cache);
		ks_protobuf_message(&message, O_SAMPLE_ATTRIBUTES, &packed);
		ks_pack_varint(&packed, objects ? sample->objects : sample->bytes);
		ks_protobuf_message(&message, O_SAMPLE_VALUES, &packed);
		ks_protobuf_message(&profile, O_SAMPLES, &message);
	}
	ks_protobuf_fixed64(&profile, O_TIME, snapshot->wall_ns);
	ks_protobuf_number(&profile, O_DURATION, p->duration_ns);
	ks_protobuf_message(scope, O_PROFILES, &profile);
}

static void otlp_empty(struct ks_strbuf *out, u32 field)
{
	ks_protobuf_bytes(out, field, "", 0);
}

static void otlp_places(struct ks_profile *p, struct ks_strbuf *out)
{
	struct ks_strbuf message = { 0 }, line = { 0 };
	size_t i;

	otlp_empty(out, O_MAPPING_TABLE);
	otlp_empty(out, O_LOCATION_TABLE);
	for (i = 0; i < p->places.strs.len; i++) {
		ks_protobuf_number(&line, O_LINE_FUNCTION, p->functions.items[i]);
		ks_protobuf_message(&message, O_LOCATION_LINES, &line);
		ks_protobuf_message(out, O_LOCATION_TABLE, &message);
	}
	/* Every string is a function, too: both have the same numbers, and most strings are. */
	for (i = 0; i < p->strings.strs.len; i++) {
		ks_protobuf_number(&message, O_FUNCTION_NAME, i);
		ks_protobuf_message(out, O_FUNCTION_TABLE, &message);
	}
	otlp_empty(out, O_LINK_TABLE);
}

static void otlp_stacks(struct ks_profile *p, struct ks_strbuf *out)
{
	struct ks_strbuf message = { 0 }, packed = { 0 };
	size_t i;
	u32 j;

	otlp_empty(out, O_STACK_TABLE);
	for (i = 0; i < p->samples.len; i++) {
		const struct ks_profile_sample *sample = &p->samples.items[i];

		for (j = 0; j < sample->len; j++)
			ks_pack_varint(&packed, (u64)p->frames.items[sample->first + j] + 1);
		ks_protobuf_message(&message, O_STACK_LOCATIONS, &packed);
		ks_protobuf_message(out, O_STACK_TABLE, &message);
	}
}

/* The attribute "cache" with each string as its value; those that no sample names do no harm. */
static void otlp_attributes(struct ks_profile *p, u32 key, struct ks_strbuf *out)
{
	struct ks_strbuf pair = { 0 }, value = { 0 };
	size_t i;

	otlp_empty(out, O_ATTRIBUTE_TABLE);
	for (i = 1; i < p->strings.strs.len; i++) {
		ks_protobuf_number(&pair, O_KEY, key);
		ks_protobuf_bytes(&value, O_STRING_VALUE, p->strings.strs.items[i].s,
				  p->strings.strs.items[i].len);
		ks_protobuf_message(&pair, O_VALUE, &value);
		ks_protobuf_message(out, O_ATTRIBUTE_TABLE, &pair);
	}
}

static void put_otlp(struct ks_profile *p, const struct ks_live_snapshot *snapshot,
		     struct ks_strbuf *out)
{
	struct ks_strbuf resource = { 0 }, scope = { 0 }, message = { 0 }, dictionary = { 0 };
	u32 key = ks_profile_string(p, "cache");
	size_t i;

	otlp_resource(&resource);
	ks_protobuf_text(&message, O_SCOPE_NAME, "kmemscope");
	ks_protobuf_text(&message, O_SCOPE_VERSION, KS_VERSION);
	ks_protobuf_message(&scope, O_SCOPE, &message);
	otlp_profile(p, snapshot, false, &scope);
	otlp_profile(p, snapshot, true, &scope);
	ks_protobuf_message(&resource, O_SCOPES, &scope);
	ks_protobuf_message(out, O_RESOURCES, &resource);
	otlp_places(p, &dictionary);
	for (i = 0; i < p->strings.strs.len; i++)
		ks_protobuf_bytes(&dictionary, O_STRING_TABLE, p->strings.strs.items[i].s,
				  p->strings.strs.items[i].len);
	otlp_attributes(p, key, &dictionary);
	otlp_stacks(p, &dictionary);
	ks_protobuf_message(out, O_DICTIONARY, &dictionary);
	out->failed |= p->failed;
}

/* === Public =============================================================================== */

void ks_profile_pprof(const struct ks_live_snapshot *snapshot, enum ks_profile_kind kind,
		      struct ks_strbuf *out)
{
	struct ks_profile profile;

	if (ks_profile_make(&profile, snapshot, kind)) {
		out->failed = true;
		return;
	}
	put_pprof(&profile, snapshot->wall_ns, out);
	ks_profile_deinit(&profile);
}

void ks_profile_pprof_stacks(const struct ks_profile_stack *stacks, size_t len, u64 wall_ns,
			     const char *comment, struct ks_strbuf *out)
{
	struct ks_profile profile;

	if (ks_profile_make_stacks(&profile, stacks, len, comment)) {
		out->failed = true;
		return;
	}
	put_pprof(&profile, wall_ns, out);
	ks_profile_deinit(&profile);
}

void ks_profile_otlp(const struct ks_live_snapshot *snapshot, enum ks_profile_kind kind,
		     struct ks_strbuf *out)
{
	struct ks_profile profile;

	if (ks_profile_make(&profile, snapshot, kind)) {
		out->failed = true;
		return;
	}
	put_otlp(&profile, snapshot, out);
	ks_profile_deinit(&profile);
}
