// SPDX-License-Identifier: LGPL-2.1-only
/* A screen of characters in memory. */
#include "tui/screen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/vec.h"

/* === Data ================================================================================= */

/* Characters that combine with the one before them, or show nothing: a column of their own is a lie. */
static const struct {
	u32 first, last;
} no_width[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a }, { 0x180b, 0x180e },
	{ 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x200b, 0x200f }, { 0x2028, 0x2029 },
	{ 0x2060, 0x206f }, { 0x20d0, 0x20ff }, { 0xe000, 0xf8ff }, { 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb }, { 0xe0000, 0x10ffff },
};

/* Characters of two columns: East Asian wide and full width, and pictures. */
static const struct {
	u32 first, last;
} two_wide[] = {
	{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },	  { 0xac00, 0xd7a3 },
	{ 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },	  { 0xffe0, 0xffe6 },
	{ 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
};

/* === Internals ============================================================================ */

/* A character that may be shown, and its columns. */
static unsigned int shown(const struct ks_screen *screen, u32 *code)
{
	size_t i;

	if (*code < 0x7f)
		return 1;
	for (i = 0; i < ARRAY_SIZE(no_width); i++)
		if (*code >= no_width[i].first && *code <= no_width[i].last)
			*code = '?';
	if (screen->ascii)
		*code = '?';
	for (i = 0; i < ARRAY_SIZE(two_wide); i++)
		if (*code >= two_wide[i].first && *code <= two_wide[i].last)
			return 2;
	return 1;
}

/*
 * Takes the next character off the text, or one of the four that stand for a byte that is none. @state is 0 at first.
 * Returns its columns; 0 at the end.
 */
static unsigned int next_glyph(const struct ks_screen *screen, const char **text,
			       unsigned int *state, u32 *ret_code)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = strnlen(*text, 4), n;
	u8 byte = (u8) * *text;

	if (!len)
		return 0;
	n = ks_utf8_char(*text, len, ret_code);
	if (n && byte >= 0x20 && byte != 0x7f) {
		*text += n;
		return shown(screen, ret_code);
	}
	switch ((*state)++) {
	case 0:
		*ret_code = '\\';
		break;
	case 1:
		*ret_code = 'x';
		break;
	case 2:
		*ret_code = (u32)digits[byte >> 4];
		break;
	default:
		*ret_code = (u32)digits[byte & 15];
		*state = 0;
		(*text)++;
		break;
	}
	return 1;
}

/* Half of a wide character can't be shown: the other half becomes a blank. */
static void split(struct ks_screen *screen, unsigned int row, unsigned int col)
{
	struct ks_glyph *at = ks_screen_at(screen, row, col);

	if (!at->width) {
		at[-1].code = ' ';
		at[-1].width = 1;
	} else if (at->width == 2) {
		at[1].code = ' ';
		at[1].width = 1;
	}
	at->code = ' ';
	at->width = 1;
}

static void set(struct ks_screen *screen, unsigned int row, unsigned int col, u32 code,
		unsigned int width, enum ks_style style)
{
	struct ks_glyph *at = ks_screen_at(screen, row, col);

	split(screen, row, col);
	if (width == 2) {
		split(screen, row, col + 1);
		at[1] = (struct ks_glyph){ ' ', (u8)style, 0 };
	}
	*at = (struct ks_glyph){ code, (u8)style, (u8)width };
}

/* === Public =============================================================================== */

void ks_screen_init(struct ks_screen *screen)
{
	memset(screen, 0, sizeof(*screen));
}

void ks_screen_deinit(struct ks_screen *screen)
{
	free(screen->glyphs);
	ks_screen_init(screen);
}

int ks_screen_resize(struct ks_screen *screen, unsigned int rows, unsigned int cols)
{
	struct ks_glyph *glyphs;

	rows = ks_min(rows, (unsigned int)KS_SCREEN_ROWS_MAX);
	cols = ks_min(cols, (unsigned int)KS_SCREEN_COLS_MAX);
	glyphs = ks_array_new((u64)rows * cols, sizeof(*glyphs));
	if (!glyphs)
		return -ENOMEM;
	free(screen->glyphs);
	screen->glyphs = glyphs;
	screen->rows = rows;
	screen->cols = cols;
	ks_screen_clear(screen);
	return 0;
}

void ks_screen_clear(struct ks_screen *screen)
{
	size_t i, len = (size_t)screen->rows * screen->cols;

	for (i = 0; i < len; i++)
		screen->glyphs[i] = (struct ks_glyph){ ' ', KS_STYLE_PLAIN, 1 };
}

unsigned int ks_screen_put(struct ks_screen *screen, unsigned int row, unsigned int col,
			   unsigned int width, enum ks_style style, const char *text)
{
	unsigned int used = 0, state = 0, take;
	u32 code;

	if (row >= screen->rows || col >= screen->cols)
		return 0;
	width = ks_min(width, screen->cols - col);
	while ((take = next_glyph(screen, &text, &state, &code))) {
		if (used + take > width) {
			/* The room that is left, or the last character gives way. */
			if (width)
				set(screen, row, col + ks_min(used, width - 1), '~', 1, style);
			return width;
		}
		set(screen, row, col + used, code, take, style);
		used += take;
	}
	return used;
}

unsigned int ks_screen_printf(struct ks_screen *screen, unsigned int row, unsigned int col,
			      enum ks_style style, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ks_screen_put(screen, row, col, UINT32_MAX, style, text);
}

unsigned int ks_screen_width(const struct ks_screen *screen, const char *text)
{
	unsigned int width = 0, state = 0, take;
	u32 code;

	while ((take = next_glyph(screen, &text, &state, &code)))
		width += take;
	return width;
}

void ks_screen_paint(struct ks_screen *screen, unsigned int row, unsigned int col,
		     unsigned int width, enum ks_style style)
{
	unsigned int i;

	for (i = col; row < screen->rows && i < screen->cols && i - col < width; i++)
		ks_screen_at(screen, row, i)->style = (u8)style;
}

void ks_screen_spark(struct ks_screen *screen, unsigned int row, unsigned int col,
		     unsigned int width, enum ks_style style, const u64 *values, size_t len)
{
	static const char steps[] = "_.-=^*#";
	u64 low = UINT64_MAX, high = 0;
	size_t i, first;

	if (row >= screen->rows || col >= screen->cols || !len)
		return;
	width = ks_min(width, screen->cols - col);
	first = len > width ? len - width : 0;
	for (i = first; i < len; i++) {
		low = ks_min(low, values[i]);
		high = ks_max(high, values[i]);
	}
	for (i = first; i < len; i++) {
		u64 levels = screen->ascii ? sizeof(steps) - 1 : 8;
		/* In floating point, since eight times a number of bytes may be too large. */
		u32 level = high > low ? (u32)((double)(values[i] - low) / (double)(high - low) *
					       (double)(levels - 1))
				       : 0;

		set(screen, row, col + (unsigned int)(i - first),
		    screen->ascii ? (u32)steps[level] : 0x2581 + level, 1, style);
	}
}

void ks_screen_row(const struct ks_screen *screen, unsigned int row, struct ks_strbuf *out)
{
	unsigned int col, end = screen->cols;

	while (end && ks_screen_at(screen, row, end - 1)->code == ' ')
		end--;
	for (col = 0; col < end; col++) {
		const struct ks_glyph *at = ks_screen_at(screen, row, col);
		char bytes[4];
		u32 c = at->code;
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

		if (!at->width)
			continue;
		for (i = n; i-- > 1; c >>= 6)
			bytes[i] = (char)(0x80 | (c & 0x3f));
		bytes[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
		ks_strbuf_add(out, bytes, n);
	}
}
