// SPDX-License-Identifier: LGPL-2.1-only
/* Access maps: read and added up once, and asked. */
#include <string.h>

#include "api/api.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

struct ks_map {
	struct ks_resolver *resolver;
	struct ks_kmap_census *census;
	struct ks_kmap_places *places;
};

/* What has no unit of code: a report may be by these, too. */
enum { BY_CACHE = KS_KMAP_COMPARTMENT, BY_TYPE, BYS };

/* === Internals: questions ================================================================= */

static const char *by_name(unsigned int by)
{
	return by == BY_CACHE  ? "cache"
	       : by == BY_TYPE ? "type"
			       : ks_kmap_unit_name((enum ks_kmap_unit)by);
}

static const char *order_name(unsigned int order)
{
	return ks_kmap_order_name((enum ks_kmap_order)order);
}

static int take_unit(const struct ks_map_question *question, enum ks_kmap_unit unless,
		     enum ks_kmap_unit *ret_unit, struct ks_diag *diag)
{
	unsigned int by = unless;
	int err = question->by ? ks_api_choice("by", question->by, by_name, BY_CACHE, &by, diag)
			       : 0;

	if (!err)
		*ret_unit = (enum ks_kmap_unit)by;
	return err;
}

static int report(const struct ks_map *map, const struct ks_map_question *question,
		  struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_kmap_report_opts opts = { .top = question->top };
	unsigned int by = KS_KMAP_SITE, order = KS_KMAP_ORDER_BYTES;
	int err = ks_api_choice("by", question->by, by_name, BYS, &by, diag);

	if (!err)
		err = ks_api_choice("order", question->order, order_name, KS_KMAP_ORDERS, &order,
				    diag);
	if (err)
		return err;
	opts.by = by == BY_CACHE  ? KS_KMAP_BY_CACHE
		  : by == BY_TYPE ? KS_KMAP_BY_TYPE
				  : KS_KMAP_BY_UNIT;
	if (opts.by == KS_KMAP_BY_UNIT)
		opts.unit = (enum ks_kmap_unit)by;
	opts.order = (enum ks_kmap_order)order;
	*ret_doc = ks_kmap_view_report(map->census, map->places, &opts);
	return 0;
}

/* One row of the matrix: who touched the objects of a site, or whose objects code touched. */
static int one_row(const struct ks_map *map, const struct ks_map_question *question, bool is_site,
		   struct ks_doc **ret_doc, struct ks_diag *diag)
{
	enum ks_kmap_unit unit = KS_KMAP_SITE;
	struct ks_doc *doc;
	bool found = true;
	int err = take_unit(question, is_site ? KS_KMAP_FUNCTION : KS_KMAP_SITE, &unit, diag);

	if (!err && !question->what)
		err = ks_diag_set(diag, -EINVAL, "say of what: a site or a function");
	if (err)
		return err;
	doc = (is_site ? ks_kmap_view_accesses : ks_kmap_view_touches)(
		map->census, map->places, question->what, unit, question->top, &found);
	if (!found) {
		ks_doc_free(doc);
		return ks_diag_set(diag, -ENOENT, "the map has no %s '%s'",
				   is_site ? "objects of" : "accesses by", question->what);
	}
	*ret_doc = doc;
	return 0;
}

static int accesses(const struct ks_map *map, const struct ks_map_question *question,
		    struct ks_doc **ret_doc, struct ks_diag *diag)
{
	return one_row(map, question, true, ret_doc, diag);
}

static int touches(const struct ks_map *map, const struct ks_map_question *question,
		   struct ks_doc **ret_doc, struct ks_diag *diag)
{
	return one_row(map, question, false, ret_doc, diag);
}

static int matrix(const struct ks_map *map, const struct ks_map_question *question,
		  struct ks_doc **ret_doc, struct ks_diag *diag)
{
	enum ks_kmap_unit unit = KS_KMAP_FUNCTION;
	struct ks_kmap_matrix cells;
	int err = take_unit(question, KS_KMAP_FUNCTION, &unit, diag);

	if (err)
		return err;
	if (ks_kmap_matrix_init(&cells, map->census, map->places, unit))
		return ks_diag_nomem(diag, "adding up a map");
	*ret_doc = ks_kmap_view_matrix(map->census, &cells, question->top);
	ks_kmap_matrix_deinit(&cells);
	return 0;
}

static int lives(const struct ks_map *map, const struct ks_map_question *question,
		 struct ks_doc **ret_doc, struct ks_diag *diag)
{
	enum ks_kmap_unit unit = KS_KMAP_SITE;
	int err = take_unit(question, KS_KMAP_SITE, &unit, diag);

	if (!err)
		*ret_doc = ks_kmap_view_lives(map->census, map->places, unit, question->top);
	return err;
}

static int sharing(const struct ks_map *map, const struct ks_map_question *question,
		   struct ks_doc **ret_doc, struct ks_diag *diag)
{
	enum ks_kmap_unit unit = KS_KMAP_SITE;
	int err = take_unit(question, KS_KMAP_SITE, &unit, diag);

	if (!err)
		*ret_doc = ks_kmap_view_sharing(map->census, map->places, unit, question->top);
	return err;
}

static const struct {
	const char *name;
	int (*answer)(const struct ks_map *map, const struct ks_map_question *question,
		      struct ks_doc **ret_doc, struct ks_diag *diag);
} questions[] = {
	{ "report", report }, { "accesses", accesses }, { "touches", touches },
	{ "matrix", matrix }, { "lives", lives },	{ "sharing", sharing },
};

/* === Internals: reading =================================================================== */

static int read_map(struct ks_map *map, const char *path, const struct ks_map_options *options,
		    struct ks_diag *diag)
{
	unsigned int flags = KS_KMAP_WITH_SPREAD;
	struct ks_kmap_reader *reader;
	int err = ks_kmap_reader_open(path, options->accesses, 0, &reader, diag);

	if (err)
		return err;
	if (options->flags & KS_MAP_SLAB_PAGES)
		flags |= KS_KMAP_WITH_SLAB_PAGES;
	err = ks_kmap_census_read(reader, flags, NULL, NULL, &map->census, diag);
	ks_kmap_reader_free(reader);
	return err;
}

/* A map may say where one function was, and so how far the kernel was moved. */
static int name_code(struct ks_map *map, const struct ks_map_options *options, struct ks_diag *diag)
{
	const struct ks_kmap_info *info = &map->census->info;
	int err = 0;

	if (!options->kernel && options->kallsyms)
		return ks_diag_set(diag, -EINVAL, "kallsyms needs the kernel beside it");
	if (options->kernel)
		err = ks_resolver_new(options->kernel, &map->resolver, diag);
	if (!err && options->kallsyms)
		err = ks_resolver_add_kallsyms(map->resolver, options->kallsyms, diag);
	if (!err && map->resolver && info->anchor_name[0] &&
	    ks_resolver_set_anchor(map->resolver, info->anchor_name, info->anchor))
		err = ks_diag_set(diag, -EXDEV,
				  "%s: is not the kernel of the map: it has %s at "
				  "another address",
				  options->kernel, info->anchor_name);
	return err ? err : ks_kmap_places_new(map->census, map->resolver, &map->places, diag);
}

/* === Public =============================================================================== */

int ks_map_open(const char *path, const struct ks_map_options *options, struct ks_map **ret_map,
		struct ks_diag *diag)
{
	struct ks_map_options own;
	struct ks_map *map;
	int err = ks_api_options(options, &own, sizeof(own), diag);

	if (err)
		return err;
	map = calloc(1, sizeof(*map));
	if (!map)
		return ks_diag_nomem(diag, "opening a map");
	err = read_map(map, path, &own, diag);
	if (!err)
		err = name_code(map, &own, diag);
	if (err)
		ks_map_close(map);
	else
		*ret_map = map;
	return err;
}

void ks_map_close(struct ks_map *map)
{
	if (!map)
		return;
	ks_kmap_places_free(map->places);
	ks_kmap_census_free(map->census);
	ks_resolver_free(map->resolver);
	free(map);
}

int ks_map_answer(const struct ks_map *map, const char *name,
		  const struct ks_map_question *question, struct ks_document **ret_document,
		  struct ks_diag *diag)
{
	struct ks_map_question own;
	struct ks_doc *doc = NULL;
	size_t i;
	int err = ks_api_options(question, &own, sizeof(own), diag);

	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(questions); i++)
		if (!strcmp(name, questions[i].name))
			break;
	if (i == ARRAY_SIZE(questions))
		return ks_diag_set(diag, -ENOENT, "there is no question '%s' to a map", name);
	err = questions[i].answer(map, &own, &doc, diag);
	return err ? err : ks_api_document(doc, ret_document, diag);
}

int ks_map_compare(const struct ks_map *before, const struct ks_map *after,
		   const struct ks_map_question *question, struct ks_document **ret_document,
		   struct ks_diag *diag)
{
	const struct ks_kmap_census *censuses[] = { before->census, after->census };
	const struct ks_kmap_places *places[] = { before->places, after->places };
	enum ks_kmap_unit unit = KS_KMAP_FUNCTION;
	struct ks_map_question own;
	int err = ks_api_options(question, &own, sizeof(own), diag);

	if (!err)
		err = take_unit(&own, KS_KMAP_FUNCTION, &unit, diag);
	return err ? err
		   : ks_api_document(ks_kmap_view_diff(censuses, places, unit, own.top),
				     ret_document, diag);
}
