/* SPDX-License-Identifier: LGPL-2.1-only */
/* Text from a trace is hostile wherever it is shown: these make it harmless, byte by byte. */
#ifndef KS_BASE_ESCAPE_H
#define KS_BASE_ESCAPE_H

#include "base/strbuf.h"

/*
 * The length of the valid UTF-8 character at @s, or 0. Overlong forms, surrogates, the C1 controls (which some
 * terminals obey) and marks that turn the direction of text are not valid here. @len is not 0.
 */
size_t ks_utf8_char(const char *s, size_t len, u32 *ret_code);

/* For a terminal: control characters and bytes that are not UTF-8 become \xNN. */
void ks_escape_tty(struct ks_strbuf *sb, const char *s, size_t len);

/* For JSON, without the quotes. The result is valid UTF-8; other bytes become U+FFFD. */
void ks_escape_json(struct ks_strbuf *sb, const char *s, size_t len);

/*
 * For CSV: quoted where needed. A cell that a spreadsheet would run as a formula gets a ' in front.
 */
void ks_escape_csv(struct ks_strbuf *sb, const char *s, size_t len);

/* For XML text and attributes, SVG among it. */
void ks_escape_xml(struct ks_strbuf *sb, const char *s, size_t len);

#endif
