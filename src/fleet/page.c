// SPDX-License-Identifier: LGPL-2.1-only
/* The page of an answer: its table, and charts of what it is about. */
#include "fleet/page.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "table/render.h"

/* === Data ================================================================================= */

enum { WIDTH = 760, HEIGHT = 180, LEFT = 80, BOTTOM = 24, COLORS = 6, LINES_MAX = 12 };

static const char head[] =
	"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
	"<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	"<meta name=viewport content=\"width=device-width\">\n<title>";
static const char style[] =
	"</title>\n<style>\n"
	":root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em}\n"
	"h1{font-size:1.4em}h2{font-size:1.05em;margin-top:2em}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
	"th,td{text-align:left;padding:.2em .8em .2em 0;border-bottom:1px solid #8884;vertical-align:top}th{font-weight:600}\n"
	".n{text-align:right;white-space:nowrap}.wide{overflow-x:auto}svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}\n"
	".axis{stroke:#8886}polyline,.key{fill:none;stroke-width:2}\n"
	".c0{stroke:#3b76c4}.c1{stroke:#c4643b}.c2{stroke:#3b9a5d}.c3{stroke:#9a4fb5}.c4{stroke:#b08b1e}.c5{stroke:#5a6b7a}\n"
	"</style></head><body>\n";

/* Where the columns of a history are. */
struct columns {
	unsigned int hour, bytes, build;
};

/* === Internals ============================================================================ */

static void put_text(struct ks_strbuf *out, const char *text)
{
	ks_escape_xml(out, text, strlen(text));
}

static void put_heading(struct ks_strbuf *out, const char *tag, const char *text)
{
	ks_strbuf_printf(out, "<%s>", tag);
	put_text(out, text);
	ks_strbuf_printf(out, "</%s>\n", tag);
}

static unsigned int find_column(const struct ks_table *table, const char *name)
{
	unsigned int i;

	for (i = 0; i < table->nr_columns; i++)
		if (table->columns[i].name && !strcmp(table->columns[i].name, name))
			return i;
	return 0;
}

static const char *text_of(const struct ks_table *table, size_t row, unsigned int column)
{
	return ks_table_state(table, row, column) == KS_CELL_UNSET
		       ? ""
		       : ks_table_cell(table, row, column)->text;
}

/* Hours before this row's: rows come newest first, those of one hour together. */
static size_t hours_after(const struct ks_table *table, const struct columns *c, size_t row)
{
	size_t hours = 0, i;

	for (i = row + 1; i < ks_table_len(table); i++)
		hours += strcmp(text_of(table, i, c->hour), text_of(table, i - 1, c->hour)) != 0;
	return hours;
}

static double bytes_of(const struct ks_table *table, const struct columns *c, size_t row)
{
	s64 bytes = ks_table_cell(table, row, c->bytes)->s64;

	return bytes > 0 ? (double)bytes : 0;
}

static bool is_first_of_build(const struct ks_table *table, const struct columns *c, size_t row)
{
	size_t i;

	for (i = 0; i < row; i++)
		if (!strcmp(text_of(table, i, c->build), text_of(table, row, c->build)))
			return false;
	return true;
}

static void put_line(const struct ks_table *table, const struct columns *c, size_t first,
		     double most, size_t hours, unsigned int number, struct ks_strbuf *out)
{
	const char *build = text_of(table, first, c->build);
	size_t i, at = hours;

	ks_strbuf_printf(out, "<polyline class=c%u points=\"", number % COLORS);
	for (i = 0; i < ks_table_len(table); i++) {
		if (i && strcmp(text_of(table, i, c->hour), text_of(table, i - 1, c->hour)))
			at--;
		if (strcmp(text_of(table, i, c->build), build))
			continue;
		ks_strbuf_printf(out, "%.1f,%.1f ",
				 LEFT + (double)at * (WIDTH - LEFT) /
						 (double)ks_max(hours, (size_t)1),
				 (HEIGHT - BOTTOM) * (1 - bytes_of(table, c, i) / most));
	}
	ks_strbuf_printf(out,
			 "\"/><line class=\"key c%u\" x1=%d x2=%d y1=%u y2=%u /><text x=%d y=%u>",
			 number % COLORS, LEFT, LEFT + 24, HEIGHT + 16 + 18 * number,
			 HEIGHT + 16 + 18 * number, LEFT + 32, HEIGHT + 20 + 18 * number);
	put_text(out, *build ? build : "(no build)");
	ks_strbuf_puts(out, "</text>\n");
}

static void put_chart(const struct ks_table *table, struct ks_strbuf *out)
{
	struct columns c = { find_column(table, "hour"), find_column(table, "live_per_host"),
			     find_column(table, "build") };
	size_t rows = ks_table_len(table), hours = rows ? hours_after(table, &c, 0) : 0, i;
	unsigned int lines = 0, number = 0;
	double most = 1;

	for (i = 0; i < rows; i++) {
		most = bytes_of(table, &c, i) > most ? bytes_of(table, &c, i) : most;
		lines += is_first_of_build(table, &c, i);
	}
	if (!rows)
		return;
	lines = ks_min(lines, (unsigned int)LINES_MAX);
	ks_strbuf_printf(out,
			 "<svg viewBox=\"0 0 %d %u\" width=%d role=img>\n"
			 "<line class=axis x1=%d x2=%d y1=%d y2=%d /><text x=0 y=12>",
			 WIDTH + 10, HEIGHT + 12 + 18 * lines, WIDTH + 10, LEFT, WIDTH,
			 HEIGHT - BOTTOM, HEIGHT - BOTTOM);
	ks_render_amount(true, (u64)most, out);
	ks_strbuf_printf(out, "</text><text x=0 y=%d>0</text><text x=%d y=%d>", HEIGHT - BOTTOM,
			 LEFT, HEIGHT - 6);
	put_text(out, text_of(table, rows - 1, c.hour));
	ks_strbuf_printf(out, "</text><text x=%d y=%d text-anchor=end>", WIDTH, HEIGHT - 6);
	put_text(out, text_of(table, 0, c.hour));
	ks_strbuf_puts(out, "</text>\n");
	for (i = 0; i < rows && number < lines; i++)
		if (is_first_of_build(table, &c, i))
			put_line(table, &c, i, most, hours, number++, out);
	ks_strbuf_puts(out, "</svg>\n");
}

/* === Public =============================================================================== */

void ks_fleet_page(const char *title, const struct ks_doc *answer,
		   const struct ks_fleet_chart *charts, size_t nr_charts, struct ks_strbuf *out)
{
	const struct ks_table *table = answer->tables.len ? answer->tables.items[0] : NULL;
	size_t i;

	ks_strbuf_puts(out, head);
	put_text(out, title);
	ks_strbuf_puts(out, style);
	put_heading(out, "h1", title);
	if (table && ks_table_len(table)) {
		put_heading(out, "h2", table->title ? table->title : table->name);
		ks_strbuf_puts(out, "<div class=wide>\n");
		ks_render_table_html(table, out);
		ks_strbuf_puts(out, "</div>\n");
	}
	for (i = 0; i < answer->parts.len; i++)
		if (answer->parts.items[i].kind == KS_PART_SAY)
			put_heading(out, "p", answer->parts.items[i].text);
	for (i = 0; i < nr_charts; i++) {
		const struct ks_doc *history = charts[i].history;

		put_heading(out, "h2", charts[i].title);
		if (history->tables.len)
			put_chart(history->tables.items[0], out);
		out->failed |= history->failed;
	}
	ks_strbuf_puts(out, "</body></html>\n");
	out->failed |= answer->failed;
}
