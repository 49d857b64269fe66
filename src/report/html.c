// SPDX-License-Identifier: LGPL-2.1-only
/* The HTML report: the page of assets/ around its data. */
#include "report/html.h"

#include <stdio.h>
#include <string.h>

#include "report/html-assets.h"
#include "report/rings.h"

/* === Internals ============================================================================ */

/*
 * JSON has '<' in strings only, and there it can be written as an escape: so nothing in the data can
 * end the script element that holds it.
 */
static void put_escaped(const struct ks_strbuf *json, struct ks_strbuf *out)
{
	const char *at = ks_strbuf_str(json), *next;

	while ((next = strchr(at, '<'))) {
		ks_strbuf_add(out, at, (size_t)(next - at));
		ks_strbuf_puts(out, "\\u003c");
		at = next + 1;
	}
	ks_strbuf_puts(out, at);
}

/* The colours of all charts, by number, and which names have one of their own. */
static void put_colors(struct ks_json *json)
{
	const struct ks_known_color *known;
	size_t i, len;
	char text[8];

	ks_json_object(json, "colors");
	ks_json_array(json, "all");
	for (i = 0; i < ks_colors_len(); i++) {
		struct ks_rgb rgb = ks_rings_color((u8)i, 0, false);

		snprintf(text, sizeof(text), "#%02x%02x%02x", rgb.r, rgb.g, rgb.b);
		ks_json_string(json, NULL, text);
	}
	ks_json_end_array(json);
	ks_json_object(json, "known");
	known = ks_known_colors(&len);
	for (i = 0; i < len; i++)
		ks_json_u64(json, known[i].name, known[i].color);
	ks_json_end_object(json);
	ks_json_end_object(json);
}

/* === Public =============================================================================== */

/* Nothing is indented: the cells of a timeline are most of the file. */
void ks_render_html_data(const struct ks_html_part *parts, size_t nr_parts, struct ks_strbuf *out)
{
	struct ks_json json;
	size_t i;

	ks_json_init(&json, out, KS_JSON_COMPACT);
	ks_json_object(&json, NULL);
	put_colors(&json);
	for (i = 0; i < nr_parts; i++)
		parts[i].write(parts[i].part, &json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}

void ks_render_html(const struct ks_html_part *parts, size_t nr_parts, struct ks_strbuf *out)
{
	struct ks_strbuf json;

	ks_strbuf_init(&json);
	ks_render_html_data(parts, nr_parts, &json);
	ks_strbuf_add(out, ks_html_before, ks_html_before_len);
	put_escaped(&json, out);
	ks_strbuf_add(out, ks_html_after, ks_html_after_len);
	out->failed |= json.failed;
	ks_strbuf_deinit(&json);
}
