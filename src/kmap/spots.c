// SPDX-License-Identifier: LGPL-2.1-only
/* Accesses added up by site and offset. */
#include "kmap/spots.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

/* === Data ================================================================================= */

/* Offsets are known up to here; no more bytes of an object are marked as touched. */
#define OFFSET_MAX 0x7fffu

/* === Internals ============================================================================ */

static struct ks_kmap_spot *find_spot(struct ks_kmap_spots *spots, u32 site, u32 offset, u32 length,
				      bool varies)
{
	u32 place = ks_map64_add(&spots->offset_index,
				 (u64)site << 17 | (u64)varies << 16 | ks_min(offset, 0xffffu));
	struct ks_kmap_spot *spot;
	u32 number;

	if (place == KS_NONE)
		return NULL;
	number = ks_map64_add(&spots->spot_index, (u64)place << 32 | length);
	if (number == KS_NONE)
		return NULL;
	if (number < spots->spots.len)
		return &spots->spots.items[number];
	spot = ks_vec_push(&spots->spots);
	if (spot)
		*spot = (struct ks_kmap_spot){
			.site = site, .offset = offset, .length = length, .varies = varies
		};
	return spot;
}

static struct ks_kmap_use *find_use(struct ks_kmap_spots *spots, u32 spot, u32 code,
				    const struct ks_kmap_access *access)
{
	u32 author = ks_map64_add(&spots->author_index,
				  (u64)code << 32 | (u32)access->cpu << 8 | access->context);
	struct ks_kmap_use *use;
	u32 number;

	if (author == KS_NONE)
		return NULL;
	number = ks_map64_add(&spots->use_index, (u64)spot << 32 | author);
	if (number == KS_NONE)
		return NULL;
	if (number < spots->uses.len)
		return &spots->uses.items[number];
	use = ks_vec_push(&spots->uses);
	if (use)
		*use = (struct ks_kmap_use){
			.spot = spot, .code = code, .cpu = access->cpu, .context = access->context
		};
	return use;
}

static void touch(struct ks_kmap_spots *spots, const struct ks_kmap_object *object, u32 offset,
		  u64 length)
{
	u64 limit = ks_min(ks_kmap_extent(object), (u64)OFFSET_MAX),
	    end = ks_min(offset + length, limit), i;

	for (i = offset; i < end; i++)
		spots->touched[i / 8] |= (u8)(1u << i % 8);
}

/* One direction of an access. */
static int add_direction(struct ks_kmap_spots *spots, u32 site, u32 code,
			 const struct ks_kmap_object *object, const struct ks_kmap_access *access,
			 bool is_write)
{
	u64 count = is_write ? access->writes : access->reads;
	u64 bytes = is_write ? access->bytes_written : access->bytes_read;
	bool varies = access->spot & KS_KMAP_OFFSET_VARIES;
	bool one_length = !(access->spot & KS_KMAP_LENGTH_VARIES) && bytes % count == 0 &&
			  bytes / count <= UINT32_MAX && !varies;
	struct ks_kmap_spot *spot = find_spot(spots, site, access->offset,
					      one_length ? (u32)(bytes / count) : 0, varies);
	struct ks_kmap_use *use =
		spot ? find_use(spots, (u32)(spot - spots->spots.items), code, access) : NULL;

	if (!use)
		return -ENOMEM;
	if (spot->object != spots->nr_objects) {
		spot->object = spots->nr_objects;
		spot->object_writes = 0;
		spot->objects++;
	}
	if (is_write) {
		spot->writes = ks_add_sat(spot->writes, count);
		spot->bytes_written = ks_add_sat(spot->bytes_written, bytes);
		spot->object_writes = ks_add_sat(spot->object_writes, count);
		spot->writes_most = ks_max(spot->writes_most, spot->object_writes);
		use->writes = ks_add_sat(use->writes, count);
	} else {
		spot->reads = ks_add_sat(spot->reads, count);
		spot->bytes_read = ks_add_sat(spot->bytes_read, bytes);
		use->reads = ks_add_sat(use->reads, count);
	}
	if (!varies)
		touch(spots, object, access->offset, bytes / count);
	return 0;
}

static struct ks_kmap_extent *extent_of(struct ks_kmap_spots *spots, u32 site)
{
	while (spots->extents.len <= site)
		if (!ks_vec_push(&spots->extents))
			return NULL;
	return &spots->extents.items[site];
}

/* What of the object was touched. */
static void add_extent(struct ks_kmap_spots *spots, struct ks_kmap_extent *extent,
		       const struct ks_kmap_object *object)
{
	u64 size = ks_min(ks_kmap_extent(object), (u64)OFFSET_MAX), i;
	u64 last = UINT64_MAX;

	extent->least = extent->objects ? ks_min(extent->least, object->size) : object->size;
	extent->most = ks_max(extent->most, object->size);
	extent->objects++;
	extent->aligned += object->addr % KS_KMAP_LINE == 0;
	for (i = 0; i < size; i++) {
		u64 line = (object->addr % KS_KMAP_LINE + i) / KS_KMAP_LINE;

		if (!(spots->touched[i / 8] >> i % 8 & 1))
			continue;
		extent->bytes++;
		extent->lines += line != last;
		last = line;
	}
}

/* === Public =============================================================================== */

int ks_kmap_spots_init(struct ks_kmap_spots *spots)
{
	*spots = (struct ks_kmap_spots){ 0 };
	spots->touched_size = OFFSET_MAX / 8 + 1;
	spots->touched = malloc(spots->touched_size);
	if (!spots->touched || ks_map64_init(&spots->offset_index) ||
	    ks_map64_init(&spots->spot_index) || ks_map64_init(&spots->author_index) ||
	    ks_map64_init(&spots->use_index)) {
		ks_kmap_spots_deinit(spots);
		return -ENOMEM;
	}
	return 0;
}

void ks_kmap_spots_deinit(struct ks_kmap_spots *spots)
{
	ks_vec_free(&spots->spots);
	ks_vec_free(&spots->uses);
	ks_vec_free(&spots->extents);
	ks_map64_deinit(&spots->offset_index);
	ks_map64_deinit(&spots->spot_index);
	ks_map64_deinit(&spots->author_index);
	ks_map64_deinit(&spots->use_index);
	free(spots->touched);
	spots->touched = NULL;
}

int ks_kmap_spots_add(struct ks_kmap_spots *spots, u32 site, struct ks_map64 *codes,
		      const struct ks_kmap_object *object)
{
	struct ks_kmap_extent *extent = extent_of(spots, site);
	bool placed = false;
	size_t i;

	if (!extent)
		return -ENOMEM;
	spots->nr_objects++;
	for (i = 0; i < object->nr_accesses; i++) {
		const struct ks_kmap_access *access = &object->accesses[i];
		u32 code;

		if (!(access->spot & KS_KMAP_HAS_SPOT)) {
			spots->unplaced = ks_add_sat(spots->unplaced, access->reads);
			spots->unplaced = ks_add_sat(spots->unplaced, access->writes);
			continue;
		}
		if (!placed)
			memset(spots->touched, 0,
			       (size_t)ks_min(ks_kmap_extent(object) / 8 + 1,
					      (u64)spots->touched_size));
		placed = true;
		code = ks_map64_add(codes, access->ip);
		if (code == KS_NONE ||
		    (access->reads && add_direction(spots, site, code, object, access, false)) ||
		    (access->writes && add_direction(spots, site, code, object, access, true)))
			return -ENOMEM;
	}
	if (placed)
		add_extent(spots, extent, object);
	return 0;
}
