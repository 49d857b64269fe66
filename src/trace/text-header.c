// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The header of a line in a text log. The layouts, with what varies:
 *
 *   comm-pid [(tgid)] [cpu] [flags] seconds:            trace, trace_pipe, trace-cmd report
 *   comm-pid cpuFlags microseconds us[mark]:            option latency-format
 *   comm pid cpu n hex hex [hex] ms (+ms):              options latency-format and verbose
 *   comm pid[/tid] [cpu] seconds:                       perf script
 *
 * A comm may hold blanks, dashes, digits and brackets, so each dash (each blank for perf) is tried
 * as its end until all that follows fits. Lines come in runs of one task on one CPU: the last few
 * prefixes are kept with their meaning, so that only a new one is taken apart.
 */
#include "trace/text-header.h"

#include <string.h>

#include "base/hash.h"
#include "trace/text-scan.h"

/* === Internals ============================================================================ */

enum { COMM_MAX = 16, NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

static const u32 frac_scale[] = { 1000000000, 100000000, 10000000, 1000000, 100000,
				  10000,      1000,	 100,	   10,	    1 };

/* A time stamp up to its colon, in any of the units. */
static bool scan_time(const char **p, const char *end, u64 *ret_ts, enum ks_clock *ret_clock)
{
	const char *s = *p;
	u64 whole, frac = 0, unit = NS_PER_S, ts;
	bool has_frac;

	if (!ks_scan_dec(&s, end, &whole))
		return false;
	has_frac = s < end && *s == '.';
	if (has_frac) {
		const char *start = ++s;

		if (!ks_scan_dec(&s, end, &frac) || s - start > 9)
			return false;
		frac *= frac_scale[s - start]; /* in billionths of the unit */
	}
	if (unlikely(ks_eat(&s, end, "us"))) {
		unit = NS_PER_US;
		if (s < end && strchr(" +!#*@$", *s))
			s++;
	} else if (unlikely(ks_eat(&s, end, "ms"))) {
		unit = NS_PER_MS;
		if (ks_eat(&s, end, " (+")) {
			s = memchr(s, ')', (size_t)(end - s));
			if (!s)
				return false;
			s++;
		}
	} else if (!has_frac) {
		unit = 0;
	}
	if (s == end || *s != ':')
		return false;
	if (!unit)
		ts = whole;
	else if (__builtin_mul_overflow(whole, unit, &ts) ||
		 __builtin_add_overflow(ts, unit == NS_PER_S ? frac : frac / (NS_PER_S / unit),
					&ts))
		return false;
	*ret_ts = ts;
	*ret_clock = unit ? KS_CLOCK_SECONDS : KS_CLOCK_TICKS;
	*p = s + 1;
	return true;
}

/* Leaves *@p at the time stamp when one is there. */
static bool at_time(const char *p, const char *end)
{
	enum ks_clock clock;
	u64 ts;

	return scan_time(&p, end, &ts, &clock);
}

/* "[003]", then perhaps "d..2.", then the time. */
static bool scan_bracket_cpu(const char **p, const char *end, u16 *ret_cpu)
{
	const char *s = *p, *word;
	size_t len;
	u64 cpu;

	if (!ks_eat(&s, end, "[") || !ks_scan_dec(&s, end, &cpu) || !ks_eat(&s, end, "]") ||
	    cpu >= KS_CPU_UNKNOWN)
		return false;
	ks_skip_spaces(&s, end);
	if (!at_time(s, end)) {
		if (!ks_scan_word(&s, end, &word, &len) || len > 8)
			return false;
		ks_skip_spaces(&s, end);
		if (!at_time(s, end))
			return false;
	}
	*ret_cpu = (u16)cpu;
	*p = s;
	return true;
}

/* "3d..2." as one word: the CPU's digits, then flags that begin with a dot or a letter. */
static bool scan_latency_cpu(const char **p, const char *end, u16 *ret_cpu)
{
	const char *s = *p, *word;
	size_t len;
	u64 cpu;

	if (!ks_scan_dec(&s, end, &cpu) || cpu >= KS_CPU_UNKNOWN ||
	    !ks_scan_word(&s, end, &word, &len) || len < 3 || len > 8)
		return false;
	ks_skip_spaces(&s, end);
	if (!at_time(s, end))
		return false;
	*ret_cpu = (u16)cpu;
	*p = s;
	return true;
}

/* "1 0 00000000 00000006 [18bfaec6]": CPU, preempt count and others, then the time. */
static bool scan_verbose_cpu(const char **p, const char *end, u16 *ret_cpu)
{
	const char *s = *p, *word;
	size_t len;
	u64 cpu;
	int i;

	if (!ks_scan_dec(&s, end, &cpu) || cpu >= KS_CPU_UNKNOWN)
		return false;
	for (i = 0; i < 4; i++) {
		ks_skip_spaces(&s, end);
		if (!ks_scan_word(&s, end, &word, &len) || len > 12)
			return false;
	}
	if (word[0] != '[')
		return false;
	ks_skip_spaces(&s, end);
	if (!at_time(s, end))
		return false;
	*ret_cpu = (u16)cpu;
	*p = s;
	return true;
}

/* "(  123)" or "(-----)". */
static void skip_tgid(const char **p, const char *end)
{
	const char *s = *p;

	if (!ks_eat(&s, end, "("))
		return;
	while (s < end && (*s == ' ' || *s == '-' || ks_is_digit(*s)))
		s++;
	if (ks_eat(&s, end, ")")) {
		ks_skip_spaces(&s, end);
		*p = s;
	}
}

static bool scan_pid(const char **p, const char *end, u32 *ret_pid)
{
	u64 pid;

	if (!ks_scan_dec(p, end, &pid) || pid >= KS_PID_UNKNOWN)
		return false;
	*ret_pid = (u32)pid;
	return true;
}

/* What follows a comm that ends at *@p, where the separator is. Leaves *@p at the time stamp. */
static bool scan_after_comm(const char **p, const char *end, u32 *ret_pid, u16 *ret_cpu)
{
	bool dash = **p == '-';
	const char *s = *p + 1;

	if (!dash)
		ks_skip_spaces(&s, end);
	if (!scan_pid(&s, end, ret_pid))
		return false;
	if (!dash && ks_eat(&s, end, "/") && !scan_pid(&s, end, ret_pid))
		return false;
	if (s == end || *s != ' ')
		return false;
	ks_skip_spaces(&s, end);
	if (dash)
		skip_tgid(&s, end);
	if (!scan_bracket_cpu(&s, end, ret_cpu) &&
	    !(dash ? scan_latency_cpu(&s, end, ret_cpu) : scan_verbose_cpu(&s, end, ret_cpu)))
		return false;
	*p = s;
	return true;
}

/* "[   12.345678] " of a console, perhaps with "<4>" in front. */
static void skip_printk_stamp(const char **p, const char *end)
{
	const char *s = *p;
	u64 v;

	if (ks_eat(&s, end, "<") && !(ks_scan_dec(&s, end, &v) && ks_eat(&s, end, ">")))
		return;
	if (!ks_eat(&s, end, "["))
		return;
	ks_skip_spaces(&s, end);
	if (ks_scan_dec(&s, end, &v) && ks_eat(&s, end, ".") && ks_scan_dec(&s, end, &v) &&
	    ks_eat(&s, end, "]"))
		*p = s;
}

/* Trims the text in front of the separator to the comm: blanks, and the name of an instance. */
static bool trim_comm(const char *start, const char *end, const char **ret_comm, size_t *ret_len)
{
	while (end > start && end[-1] == ' ')
		end--;
	/* trace-cmd prints "instance:" in column 0 and the comm right-aligned behind it. */
	if (end - start > COMM_MAX && *start != ' ') {
		const char *colon = memchr(start, ':', (size_t)(end - start));

		if (colon && colon + 1 < end && colon[1] == ' ')
			start = colon + 1;
	}
	ks_skip_spaces(&start, end);
	if (end - start > COMM_MAX)
		return false;
	*ret_comm = start;
	*ret_len = (size_t)(end - start);
	return true;
}

/* Tries every separator as the end of the comm. Leaves *@p at the time stamp. */
static bool scan_prefix(const char **p, const char *end, char separator, const char **ret_comm,
			size_t *ret_comm_len, struct ks_event *ev)
{
	const char *start = *p, *s;
	/* Blanks, an instance's name, a comm: no comm ends farther out than this. */
	const char *limit = end - start > 80 ? start + 80 : end;

	for (s = start; s < limit; s++) {
		const char *after = s;

		if (*s != separator)
			continue;
		if (separator == ' ' && (s == start || s[-1] == ' ' || s + 1 == end))
			continue;
		if (scan_after_comm(&after, end, &ev->pid, &ev->cpu) &&
		    trim_comm(start, s, ret_comm, ret_comm_len)) {
			*p = after;
			return true;
		}
	}
	return false;
}

static void remember(struct ks_header_parser *parser, const char *text, size_t len,
		     const struct ks_event *ev)
{
	struct ks_prefix *prefix = &parser->prefixes[parser->victim];

	if (len > KS_PREFIX_MAX)
		return;
	parser->last = parser->victim;
	parser->victim = (parser->victim + 1) % KS_PREFIXES;
	prefix->comm = ev->comm;
	prefix->pid = ev->pid;
	prefix->cpu = ev->cpu;
	prefix->len = (u16)len;
	memcpy(prefix->text, text, len);
}

/* The remembered prefix that the line begins with, in front of a digit. */
static const struct ks_prefix *recall(struct ks_header_parser *parser, const char *line, size_t len)
{
	u32 i;

	for (i = 0; i < KS_PREFIXES; i++) {
		u32 at = (parser->last + i) % KS_PREFIXES;
		const struct ks_prefix *prefix = &parser->prefixes[at];

		if (prefix->len && prefix->len < len && ks_is_digit(line[prefix->len]) &&
		    ks_same_bytes(line, prefix->text, prefix->len)) {
			parser->last = at;
			return prefix;
		}
	}
	return NULL;
}

/* === Public =============================================================================== */

bool ks_header_parse(struct ks_header_parser *parser, struct ks_intern *comms, const char **p,
		     const char *end, struct ks_event *ev)
{
	const char *line = *p, *s = line, *comm;
	const struct ks_prefix *known = recall(parser, line, (size_t)(end - line));
	enum ks_clock clock;
	size_t comm_len;
	u64 ts;

	if (likely(known)) {
		s += known->len;
		if (likely(scan_time(&s, end, &ts, &clock))) {
			ev->comm = known->comm;
			ev->pid = known->pid;
			ev->cpu = known->cpu;
			goto found;
		}
		s = line;
	}
	skip_printk_stamp(&s, end);
	if (!scan_prefix(&s, end, '-', &comm, &comm_len, ev) &&
	    !scan_prefix(&s, end, ' ', &comm, &comm_len, ev))
		goto none;
	ev->comm = ks_intern_add(comms, comm, comm_len);
	remember(parser, line, (size_t)(s - line), ev);
	if (!scan_time(&s, end, &ts, &clock))
		goto none;
found:
	ev->ts = ts;
	parser->clock = clock;
	*p = s;
	return true;
none:
	ev->pid = KS_PID_UNKNOWN;
	ev->cpu = KS_CPU_UNKNOWN;
	ev->comm = KS_NONE;
	return false;
}
