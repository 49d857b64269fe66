// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The colours of all charts, those of the page included. The hues keep apart for the colour-blind too, and their
 * lightness differs, so that a grey print can be read. A name has its hue in every chart; each hue has three tones.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/rings.h"

/* === Data ================================================================================= */

static const struct ks_rgb palette[] = {
	{ 0x33, 0x22, 0x88 }, /* indigo */
	{ 0x11, 0x77, 0x33 }, /* green */
	{ 0xcc, 0x66, 0x77 }, /* rose */
	{ 0xdd, 0xcc, 0x77 }, /* sand */
	{ 0x88, 0xcc, 0xee }, /* cyan */
	{ 0x88, 0x22, 0x55 }, /* wine */
	{ 0x44, 0xaa, 0x99 }, /* teal */
	{ 0x99, 0x99, 0x33 }, /* olive */
	{ 0xaa, 0x44, 0x99 }, /* purple */
	{ 0xee, 0x99, 0x66 }, /* apricot */
	{ 0x55, 0x88, 0xbb }, /* steel */
	{ 0x77, 0x66, 0x55 }, /* umber */
};

enum { HUES = ARRAY_SIZE(palette), TONES = 3 };

/* The top directories of the kernel, the large ones first: each of these has a hue of its own. */
static const struct ks_known_color known[] = {
	{ "drivers", 0 }, { "fs", 1 },	  { "kernel", 2 },    { "mm", 3 },	 { "net", 4 },
	{ "arch", 5 },	  { "lib", 6 },	  { "block", 7 },     { "security", 8 }, { "crypto", 9 },
	{ "sound", 10 },  { "init", 11 }, { "io_uring", 10 }, { "ipc", 9 },	 { "virt", 7 },
	{ "certs", 6 },	  { "usr", 11 },  { "rust", 2 },      { "samples", 3 },
};

static const struct ks_rgb white = { 255, 255, 255 };
static const struct ks_rgb black = { 0, 0, 0 };
static const struct ks_rgb grey = { 0xb4, 0xb4, 0xb4 };
static const struct ks_rgb light_grey = { 0xd8, 0xd8, 0xd8 };

/* === Internals ============================================================================ */

static u8 mix_byte(u8 a, u8 b, double part)
{
	return (u8)(a + (b - a) * part + 0.5);
}

static struct ks_rgb mix(struct ks_rgb a, struct ks_rgb b, double part)
{
	return (struct ks_rgb){ mix_byte(a.r, b.r, part), mix_byte(a.g, b.g, part),
				mix_byte(a.b, b.b, part) };
}

/* A fixed function of the name: a colour must not change from run to run. */
static u32 name_hash(const char *name)
{
	u32 h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (u8)*name) * 16777619u;
	return h ^ h >> 15;
}

static double linear(u8 value)
{
	double v = value / 255.0;

	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* Outer rings are lighter; of two neighbours one is lighter than the other. */
static struct ks_rgb lighten(struct ks_rgb color, unsigned int level, bool odd)
{
	static const double parts[] = { 0.0, 0.24, 0.44, 0.60 };
	double part = parts[ks_min(level, (unsigned int)ARRAY_SIZE(parts) - 1)];

	return mix(color, white, part + (odd ? 0.10 : 0.0));
}

static struct ks_rgb base_color(u8 color)
{
	struct ks_rgb hue = palette[color % HUES];

	switch (color / HUES) {
	case 1:
		return mix(hue, white, 0.3);
	case 2:
		return mix(hue, black, 0.3);
	default:
		return hue;
	}
}

/* The colour that the name has when nothing is beside it. */
static u8 color_of_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].color;
	return (u8)(name_hash(name) % (HUES * TONES));
}

/* Whether another name had it, among the last @len. */
static bool is_taken(const struct ks_hues *hues, u8 color, u32 hash, size_t len)
{
	size_t i;

	for (i = 0; i < ks_min(len, hues->len); i++)
		if (hues->recent[i].color == color && hues->recent[i].hash != hash)
			return true;
	return false;
}

/* The first of the three tones that none of the last @len names has; -1 = there is none. */
static int free_tone(const struct ks_hues *hues, u8 color, u32 hash, size_t len)
{
	unsigned int tone;

	for (tone = 0; tone < TONES; tone++) {
		u8 tried = (u8)((color + tone * HUES) % (HUES * TONES));

		if (!is_taken(hues, tried, hash, len))
			return tried;
	}
	return -ENOENT;
}

/* === Public =============================================================================== */

void ks_hues_init(struct ks_hues *hues)
{
	hues->len = 0;
}

u8 ks_hues_next(struct ks_hues *hues, const char *name)
{
	const char *offset = strstr(name, "+0x");
	char func[128];
	u32 hash = name_hash(name);
	int color;
	u8 own;

	snprintf(func, sizeof(func), "%.*s",
		 offset ? (int)ks_min((size_t)(offset - name), sizeof(func)) : (int)sizeof(func),
		 name);
	own = color_of_name(func);
	color = free_tone(hues, own, hash, KS_HUES_RECENT);
	if (color < 0) /* at least not that of the one beside it */
		color = free_tone(hues, own, hash, 1);
	hues->len = ks_min(hues->len + 1, (size_t)KS_HUES_RECENT);
	memmove(hues->recent + 1, hues->recent, (hues->len - 1) * sizeof(*hues->recent));
	hues->recent[0].hash = hash;
	hues->recent[0].color = (u8)color;
	return (u8)color;
}

struct ks_rgb ks_rings_color(u8 color, unsigned int level, bool odd)
{
	return lighten(base_color(color), level, level && odd);
}

size_t ks_colors_len(void)
{
	return HUES * TONES;
}

const struct ks_known_color *ks_known_colors(size_t *ret_len)
{
	*ret_len = ARRAY_SIZE(known);
	return known;
}

struct ks_rgb ks_rings_other_color(unsigned int level)
{
	return lighten(light_grey, level, false);
}

struct ks_rgb ks_rings_unresolved_color(unsigned int level)
{
	return lighten(grey, level, false);
}

struct ks_rgb ks_text_color_on(struct ks_rgb fill)
{
	double light = 0.2126 * linear(fill.r) + 0.7152 * linear(fill.g) + 0.0722 * linear(fill.b);

	return light < 0.22 ? white : (struct ks_rgb){ 0x1a, 0x1a, 0x1a };
}
