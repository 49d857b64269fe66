// SPDX-License-Identifier: LGPL-2.1-only
/* The names of a census. */
#include "kmap/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

static const char *const unit_names[KS_KMAP_UNITS] = { "site",	 "function", "file",	   "dir",
						       "topdir", "module",   "compartment" };

/* Code that no table has a file for. */
static const char unknown[] = "[unknown]";

/* Code that a cut does not list. */
static const char no_compartment[] = "[no compartment]";

/* === Internals ============================================================================ */

static u32 add(struct ks_kmap_places *places, const char *s, size_t len)
{
	return ks_intern_add(&places->labels, s, len);
}

static u32 add_str(struct ks_kmap_places *places, const char *s)
{
	return add(places, s, strlen(s));
}

/* A label for all units: an object that no code allocated. */
static void label_all(struct ks_kmap_places *places, const char *name, u32 *labels)
{
	size_t i;

	for (i = 0; i < KS_KMAP_UNITS; i++)
		labels[i] = add_str(places, name);
}

static void label_function(struct ks_kmap_places *places, const struct ks_sym_place *place, u64 ip,
			   u32 *labels)
{
	char text[320];

	if (!place->func[0]) {
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)ip);
		labels[KS_KMAP_SITE] = labels[KS_KMAP_FUNCTION] = add_str(places, text);
		places->unnamed++;
		return;
	}
	snprintf(text, sizeof(text), "%s+0x%llx", place->func, (unsigned long long)place->offset);
	labels[KS_KMAP_SITE] = add_str(places, text);
	labels[KS_KMAP_FUNCTION] = add_str(places, place->owner);
}

/* A module's name stands for the file that nothing tells. */
static void label_path(struct ks_kmap_places *places, const struct ks_sym_place *place, u32 *labels)
{
	const char *path = place->path, *slash;
	char text[80];

	if (place->module[0])
		snprintf(text, sizeof(text), "[%s]", place->module);
	else
		snprintf(text, sizeof(text), "%s", place->func[0] ? "vmlinux" : unknown);
	labels[KS_KMAP_MODULE] = add_str(places, text);
	labels[KS_KMAP_COMPARTMENT] = add_str(places, no_compartment);
	if (!path) {
		u32 label = add_str(places, place->module[0] ? text : unknown);

		labels[KS_KMAP_FILE] = labels[KS_KMAP_DIR] = labels[KS_KMAP_TOPDIR] = label;
		return;
	}
	labels[KS_KMAP_FILE] = add_str(places, path);
	slash = strrchr(path, '/');
	labels[KS_KMAP_DIR] = slash ? add(places, path, (size_t)(slash - path))
				    : add_str(places, ".");
	slash = strchr(path, '/');
	labels[KS_KMAP_TOPDIR] = slash ? add(places, path, (size_t)(slash - path))
				       : add_str(places, ".");
}

static int label(struct ks_kmap_places *places, struct ks_resolver *resolver,
		 const struct ks_sym_query *query, u32 *labels, struct ks_diag *diag)
{
	struct ks_sym_place place = { .func = "", .owner = "", .module = "" };
	int err = resolver ? ks_resolver_lookup(resolver, query, &place, diag) : 0;

	if (err)
		return err;
	label_function(places, &place, query->addr, labels);
	label_path(places, &place, labels);
	return 0;
}

static int label_code(struct ks_kmap_places *places, struct ks_resolver *resolver, u64 ip,
		      u32 *labels, struct ks_diag *diag)
{
	struct ks_sym_query query = { .func = "", .module = "", .addr = ip };

	return label(places, resolver, &query, labels, diag);
}

/* Globals, stacks, memory from before the allocators: objects that no instruction allocated. */
static void label_no_code(struct ks_kmap_places *places, const struct ks_kmap_census *census,
			  const struct ks_kmap_site *site, u32 *labels)
{
	const char *type = ks_intern_get(&census->types, site->type).s;
	char text[160];

	if (site->ip == KS_KMAP_IP_UNUSED)
		type = "never handed out";
	else if (!type[0])
		type = site->ip ? ks_kmap_type_name((u32)site->ip) : "no site";
	snprintf(text, sizeof(text), "[%s]", type ? type : "no site");
	label_all(places, text, labels);
}

/*
 * A variable has its own name, and stands for its function; its file has no directories. Without symbols it is
 * one of all that have the type.
 */
static void label_variable(struct ks_kmap_places *places, const struct ks_kmap_census *census,
			   struct ks_resolver *resolver, const struct ks_kmap_site *site,
			   u32 *labels)
{
	const char *name, *file;

	label_no_code(places, census, site, labels);
	if (!resolver || !ks_resolver_variable(resolver, site->ip, &name, &file))
		return;
	labels[KS_KMAP_SITE] = labels[KS_KMAP_FUNCTION] = add_str(places, name);
	if (file[0])
		labels[KS_KMAP_FILE] = add_str(places, file);
}

static int label_everything(struct ks_kmap_places *places, const struct ks_kmap_census *census,
			    struct ks_resolver *resolver, struct ks_diag *diag)
{
	size_t i;
	int err;

	for (i = 0; i < census->codes.keys.len; i++) {
		u64 ip = census->codes.keys.items[i];

		if (!ks_kmap_is_code(ip)) {
			label_all(places, "[no code]", places->codes[i]);
			continue;
		}
		err = label_code(places, resolver, ip, places->codes[i], diag);
		if (err)
			return err;
	}
	for (i = 0; i < census->sites.len; i++) {
		const struct ks_kmap_site *site = &census->sites.items[i];

		if (ks_kmap_is_variable(site->type))
			label_variable(places, census, resolver, site, places->sites[i]);
		else if (ks_kmap_is_code(site->ip))
			memcpy(places->sites[i],
			       places->codes[ks_map64_find(&census->codes, site->ip)],
			       sizeof(places->sites[i]));
		else
			label_no_code(places, census, site, places->sites[i]);
	}
	return 0;
}

/* === Internals: cuts ====================================================================== */

static int add_member(struct ks_kmap_places *places, const char *name, u32 domain)
{
	u32 number = ks_intern_add(&places->members, name, strlen(name)), *slot;

	if (number == KS_NONE)
		return -ENOMEM;
	if (number < places->domains.len) /* the first domain that names it has it */
		return 0;
	slot = ks_vec_push(&places->domains);
	if (!slot)
		return -ENOMEM;
	*slot = domain;
	return 0;
}

static int add_members(struct ks_kmap_places *places, const struct ks_cpm *cpm,
		       const struct ks_cpm_domain *domain)
{
	u32 name = add_str(places, ks_cpm_name(cpm, domain->name));
	size_t i;

	if (name == KS_NONE)
		return -ENOMEM;
	for (i = 0; i < domain->members.len; i++)
		if (add_member(places, ks_cpm_name(cpm, domain->members.items[i].name), name))
			return -ENOMEM;
	return 0;
}

/* The domain of what is called "FILE|NAME" or just NAME; KS_NONE = no domain lists it. */
static u32 domain_of(const struct ks_kmap_places *places, u32 file, u32 name)
{
	const char *short_name = ks_kmap_label(places, name);
	char text[640];
	u32 number;

	snprintf(text, sizeof(text), "%s|%s", ks_kmap_label(places, file), short_name);
	number = ks_intern_find(&places->members, text, strlen(text));
	if (number == KS_NONE)
		number = ks_intern_find(&places->members, short_name, strlen(short_name));
	return number == KS_NONE ? KS_NONE : places->domains.items[number];
}

/* Labels come by the thousand: that one could not be made is looked for once, at the end. */
static bool has_gap(u32 (*labels)[KS_KMAP_UNITS], size_t len)
{
	size_t i, unit;

	for (i = 0; i < len; i++)
		for (unit = 0; unit < KS_KMAP_UNITS; unit++)
			if (labels[i][unit] == KS_NONE)
				return true;
	return false;
}

/* === Public =============================================================================== */

const char *ks_kmap_unit_name(enum ks_kmap_unit unit)
{
	return unit_names[unit];
}

int ks_kmap_unit_parse(const char *name, enum ks_kmap_unit *ret_unit)
{
	size_t i;

	for (i = 0; i < KS_KMAP_UNITS; i++)
		if (!strcmp(name, unit_names[i])) {
			*ret_unit = (enum ks_kmap_unit)i;
			return 0;
		}
	return -EINVAL;
}

int ks_kmap_places_new(const struct ks_kmap_census *census, struct ks_resolver *resolver,
		       struct ks_kmap_places **ret_places, struct ks_diag *diag)
{
	struct ks_kmap_places *places = calloc(1, sizeof(*places));
	int err;

	if (places) {
		places->codes = calloc(census->codes.keys.len + 1, sizeof(*places->codes));
		places->sites = calloc(census->sites.len + 1, sizeof(*places->sites));
	}
	if (!places || !places->codes || !places->sites || ks_intern_init(&places->labels) ||
	    ks_intern_init(&places->members)) {
		ks_kmap_places_free(places);
		return ks_diag_nomem(diag, "naming the code of an access map");
	}
	err = label_everything(places, census, resolver, diag);
	if (!err && (has_gap(places->codes, census->codes.keys.len) ||
		     has_gap(places->sites, census->sites.len)))
		err = ks_diag_nomem(diag, "naming the code of an access map");
	if (err)
		ks_kmap_places_free(places);
	else
		*ret_places = places;
	return err;
}

void ks_kmap_places_free(struct ks_kmap_places *places)
{
	if (!places)
		return;
	ks_intern_deinit(&places->labels);
	ks_intern_deinit(&places->members);
	ks_vec_free(&places->domains);
	free(places->codes);
	free(places->sites);
	free(places);
}

bool ks_kmap_labels_match(const struct ks_kmap_places *places, const u32 *labels, const char *name)
{
	u32 label = ks_intern_find(&places->labels, name, strlen(name));
	size_t i;

	for (i = 0; label != KS_NONE && i < KS_KMAP_UNITS; i++)
		if (labels[i] == label)
			return true;
	return false;
}

bool ks_kmap_knows_files(const struct ks_kmap_census *census, const struct ks_kmap_places *places)
{
	size_t i;

	for (i = 0; i < census->sites.len; i++)
		if (strcmp(ks_kmap_label(places, places->sites[i][KS_KMAP_FILE]), unknown))
			return true;
	return false;
}

int ks_kmap_places_label(struct ks_kmap_places *places, struct ks_resolver *resolver,
			 const char *function, u64 size, u32 *ret_labels, struct ks_diag *diag)
{
	struct ks_sym_query query = { .func = function, .module = "", .extent = size };
	u32 labels[KS_KMAP_UNITS];
	int err = label(places, resolver, &query, labels, diag);

	if (!err && has_gap(&labels, 1))
		err = ks_diag_nomem(diag, "naming the code of a kernel");
	if (!err)
		memcpy(ret_labels, labels, sizeof(labels));
	return err;
}

u32 ks_kmap_places_domain(struct ks_kmap_places *places, const u32 *labels)
{
	u32 domain = domain_of(places, labels[KS_KMAP_FILE], labels[KS_KMAP_FUNCTION]);

	return domain == KS_NONE ? add_str(places, no_compartment) : domain;
}

int ks_kmap_places_cut(struct ks_kmap_places *places, const struct ks_kmap_census *census,
		       const struct ks_cpm *cpm, u64 *ret_unlisted)
{
	u32 none = add_str(places, no_compartment);
	u64 unlisted = 0;
	size_t i;

	if (none == KS_NONE)
		return -ENOMEM;
	for (i = 0; i < cpm->subjects.len; i++)
		if (add_members(places, cpm, &cpm->subjects.items[i]))
			return -ENOMEM;
	for (i = 0; i < cpm->objects.len; i++)
		if (add_members(places, cpm, &cpm->objects.items[i]))
			return -ENOMEM;
	for (i = 0; i < census->codes.keys.len; i++) {
		u32 *labels = places->codes[i];

		if (!ks_kmap_is_code(census->codes.keys.items[i]))
			continue;
		labels[KS_KMAP_COMPARTMENT] = ks_kmap_places_domain(places, labels);
		unlisted += labels[KS_KMAP_COMPARTMENT] == none;
	}
	for (i = 0; i < census->sites.len; i++) {
		u32 *labels = places->sites[i];
		u32 own = domain_of(places, labels[KS_KMAP_FILE], labels[KS_KMAP_SITE]);

		if (own != KS_NONE)
			labels[KS_KMAP_COMPARTMENT] = own;
		else if (ks_kmap_is_code(census->sites.items[i].ip) &&
			 !ks_kmap_is_variable(census->sites.items[i].type))
			labels[KS_KMAP_COMPARTMENT] = ks_kmap_places_domain(places, labels);
	}
	places->has_cut = true;
	*ret_unlisted = unlisted;
	return 0;
}

bool ks_kmap_can_cut(const struct ks_kmap_census *census, const struct ks_kmap_places *places,
		     enum ks_kmap_unit unit)
{
	u64 code = 0, named = 0;
	size_t i;

	if (unit == KS_KMAP_COMPARTMENT)
		return places->has_cut;

	for (i = 0; i < census->codes.keys.len; i++) {
		if (!ks_kmap_is_code(census->codes.keys.items[i]))
			continue;
		code++;
		named += strcmp(ks_kmap_label(places, places->codes[i][unit]), unknown) != 0;
	}
	if (unit == KS_KMAP_FUNCTION)
		named = code - ks_min(code, places->unnamed);
	return 2 * named >= code;
}
