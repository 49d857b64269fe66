// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The colours of ring charts. The hues keep apart for the colour-blind too, and their lightness
 * differs, so that a grey print can be read; a directory has its colour in every chart.
 */
#include <math.h>
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

/* The top directories of the kernel, the large ones first: each of these has a hue of its own. */
static const struct {
	const char *name;
	u8 color;
} known[] = {
	{ "drivers", 0 }, { "fs", 1 },	  { "kernel", 2 },    { "mm", 3 },	 { "net", 4 },
	{ "arch", 5 },	  { "lib", 6 },	  { "block", 7 },     { "security", 8 }, { "crypto", 9 },
	{ "sound", 10 },  { "init", 11 }, { "io_uring", 10 }, { "ipc", 9 },	 { "virt", 7 },
	{ "certs", 6 },	  { "usr", 11 },  { "rust", 2 },      { "samples", 3 },
};

static const struct ks_rgb white = { 255, 255, 255 };
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

/* === Public =============================================================================== */

void ks_hues_init(struct ks_hues *hues)
{
	memset(hues->recent, 0xff, sizeof(hues->recent));
}

u8 ks_hues_next(struct ks_hues *hues, const char *name)
{
	u8 hue = (u8)(name_hash(name) % ARRAY_SIZE(palette));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].name, name))
			break;
	if (i < ARRAY_SIZE(known))
		hue = known[i].color;
	else
		while (memchr(hues->recent, hue, sizeof(hues->recent)))
			hue = (u8)((hue + 1) % ARRAY_SIZE(palette));
	memmove(hues->recent, hues->recent + 1, sizeof(hues->recent) - 1);
	hues->recent[sizeof(hues->recent) - 1] = hue;
	return hue;
}

struct ks_rgb ks_rings_color(u8 hue, unsigned int level, bool odd)
{
	return lighten(palette[hue], level, level && odd);
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
