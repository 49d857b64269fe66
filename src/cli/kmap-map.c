// SPDX-License-Identifier: GPL-2.0-only
/* Opening and reading access maps for commands. */
#include <stdio.h>

#include "cli/kmap.h"
#include "cli/progress.h"
#include "cli/run.h"

/* === Internals ============================================================================ */

static int read_census(struct ks_kmap_args *args, const char *path, unsigned int flags,
		       struct ks_kmap_census **ret_census)
{
	struct ks_kmap_reading reading;
	struct ks_kmap_reader *reader;
	struct ks_diag diag = { 0 };
	int err, code = ks_kmap_open(args, path, &reader);

	if (code)
		return code;
	reading.reader = reader;
	ks_cli_progress_start(&reading.progress, "reading");
	if (args->file.slab_pages)
		flags |= KS_KMAP_WITH_SLAB_PAGES;
	err = ks_kmap_census_read(reader, flags, ks_kmap_show_progress, &reading, ret_census,
				  &diag);
	ks_cli_progress_end(&reading.progress);
	ks_kmap_reader_free(reader);
	return err ? ks_cli_fail(&args->cli, err, &diag) : 0;
}

/* A map may say where one function was, and so how far KASLR moved the kernel. */
static void set_anchor(const struct ks_kmap_args *args, struct ks_resolver *resolver,
		       const struct ks_kmap_info *info)
{
	if (!resolver || !info->anchor_name[0] ||
	    !ks_resolver_set_anchor(resolver, info->anchor_name, info->anchor))
		return;
	fprintf(stderr,
		"%s: %s is not the recorded kernel: it has %s at another address; names may be wrong\n",
		args->cli.command, args->cli.capture->kernel, info->anchor_name);
}

/* Puts code and sites into the compartments of a file. */
static int cut(struct ks_kmap_args *args, struct ks_kmap_map *map)
{
	struct ks_diag diag = { 0 };
	struct ks_cpm *cpm;
	u64 unlisted = 0;
	int err = ks_cpm_read(args->view.cut, &cpm, &diag);

	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	err = ks_kmap_places_cut(map->places, map->census, cpm, &unlisted);
	ks_cpm_free(cpm);
	if (err)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	if (unlisted)
		fprintf(stderr,
			"%s: %s lists no compartment for %llu of %llu instructions of the map\n",
			args->cli.command, args->view.cut, (unsigned long long)unlisted,
			(unsigned long long)map->census->codes.keys.len);
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_open(struct ks_kmap_args *args, const char *path, struct ks_kmap_reader **ret_reader)
{
	struct ks_diag diag = { 0 };
	int err = ks_kmap_reader_open(path, args->file.accesses, (unsigned int)args->file.fields,
				      ret_reader, &diag);

	return err ? ks_cli_fail(&args->cli, err, &diag) : 0;
}

int ks_kmap_show_progress(void *ctx)
{
	struct ks_kmap_reading *reading = ctx;
	u64 done, total;

	ks_kmap_reader_progress(reading->reader, &done, &total);
	return ks_cli_progress(&reading->progress, done, total);
}

int ks_kmap_name_places(struct ks_kmap_args *args, const struct ks_kmap_census *census,
			struct ks_resolver *resolver, struct ks_kmap_places **ret_places)
{
	struct ks_diag diag = { 0 };
	int err;

	set_anchor(args, resolver, &census->info);
	err = ks_kmap_places_new(census, resolver, ret_places, &diag);
	return err ? ks_cli_fail(&args->cli, err, &diag) : 0;
}

int ks_kmap_map_read(struct ks_kmap_args *args, const char *path, unsigned int flags,
		     struct ks_kmap_map *ret_map)
{
	int code;

	*ret_map = (struct ks_kmap_map){ 0 };
	code = ks_cli_resolver(&args->cli, &ret_map->resolver);
	if (!code)
		code = read_census(args, path, flags, &ret_map->census);
	if (!code)
		code = ks_kmap_name_places(args, ret_map->census, ret_map->resolver,
					   &ret_map->places);
	if (!code && args->view.cut)
		code = cut(args, ret_map);
	if (code)
		ks_kmap_map_free(ret_map);
	return code;
}

void ks_kmap_map_free(struct ks_kmap_map *map)
{
	ks_kmap_places_free(map->places);
	ks_kmap_census_free(map->census);
	ks_resolver_free(map->resolver);
	*map = (struct ks_kmap_map){ 0 };
}
