// SPDX-License-Identifier: LGPL-2.1-only
/* The names of a census. */
#include "kmap/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

static const char *const unit_names[KS_KMAP_UNITS] = { "site", "function", "file",
						       "dir",  "topdir",   "module" };

/* Code that no table has a file for. */
static const char unknown[] = "[unknown]";

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

static int label_code(struct ks_kmap_places *places, struct ks_resolver *resolver, u64 ip,
		      u32 *labels, struct ks_diag *diag)
{
	struct ks_sym_query query = { .func = "", .module = "", .addr = ip };
	struct ks_sym_place place = { .func = "", .owner = "", .module = "" };
	int err = resolver ? ks_resolver_lookup(resolver, &query, &place, diag) : 0;

	if (err)
		return err;
	label_function(places, &place, ip, labels);
	label_path(places, &place, labels);
	return 0;
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

		if (ks_kmap_is_code(site->ip))
			memcpy(places->sites[i],
			       places->codes[ks_map64_find(&census->codes, site->ip)],
			       sizeof(places->sites[i]));
		else
			label_no_code(places, census, site, places->sites[i]);
	}
	return 0;
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
	if (!places || !places->codes || !places->sites || ks_intern_init(&places->labels)) {
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
