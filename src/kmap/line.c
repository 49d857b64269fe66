// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The grammar of one line. All numbers stand at the left and all names at the right, with the
 * command's name, which alone may hold commas, between fields whose number is known.
 */
#include "kmap/line.h"

#include <string.h>

/* === Data ================================================================================= */

#define MIN_FIELDS 8
#define MAX_FIELDS 11
#define UNSURE	   UINT32_MAX

/* The value of a hexadecimal digit plus one; 0 = it is none. */
static const u8 digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* === Internals: numbers. Each returns what is behind it, or NULL. The line's newline stops them. === */

static const char *skip_blanks(const char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

/* Kernels up to 4.14 print the pointer 0 as "(null)". */
static const char *parse_hex(const char *p, u64 *ret_value)
{
	const char *start;
	u64 value = 0;
	u8 digit;

	p = skip_blanks(p);
	if (*p == '(') {
		if (strncmp(p, "(null)", 6))
			return NULL;
		*ret_value = 0;
		return skip_blanks(p + 6);
	}
	if (p[0] == '0' && p[1] == 'x')
		p += 2;
	for (start = p; (digit = digits[(u8)*p]); p++)
		value = value << 4 | (u64)(digit - 1);
	if (p == start || p - start > 16)
		return NULL;
	*ret_value = value;
	return *p == ' ' ? skip_blanks(p) : p;
}

static const char *parse_u64(const char *p, u64 *ret_value)
{
	const char *start = p = skip_blanks(p);
	u64 value = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (u64)(*p - '0');
	/* Up to 19 digits fit; the twentieth is looked at with care. */
	if (p == start || p - start > 20)
		return NULL;
	if (p - start == 20 && (*start > '1' || value < 10000000000000000000ull))
		return NULL;
	*ret_value = value;
	return p;
}

/* "accesses" files print -1 as 2^64 - 1. */
static const char *parse_pid(const char *p, s32 *ret_pid)
{
	bool negative;
	u64 value;

	p = skip_blanks(p);
	negative = *p == '-';
	p = parse_u64(p + negative, &value);
	if (!p)
		return NULL;
	if (!negative && (value == UINT64_MAX || value == UINT32_MAX)) {
		value = 1;
		negative = true;
	}
	if (value > INT32_MAX)
		return NULL;
	*ret_pid = negative ? -(s32)value : (s32)value;
	return p;
}

/* === Internals: lines ===================================================================== */

static const char *past(const char *p, char c)
{
	return p && *p == c ? p + 1 : NULL;
}

static const char *parse_numbers(const char *p, struct ks_kmap_object *object)
{
	p = past(parse_hex(p, &object->alloc_ip), ',');
	if (p)
		p = past(parse_pid(p, &object->pid), ',');
	if (p)
		p = past(parse_hex(p, &object->addr), ',');
	if (p)
		p = past(parse_u64(p, &object->size), ',');
	if (p)
		p = past(parse_u64(p, &object->alloc_time), ',');
	if (p)
		p = past(parse_u64(p, &object->free_time), ',');
	if (p)
		p = past(parse_hex(p, &object->free_ip), ',');
	return p;
}

/* Cuts the last field off the slice; false if it is the only one. */
static bool cut_last(struct ks_slice *from, struct ks_slice *ret_last)
{
	const char *comma = memrchr(from->s, ',', from->len);

	if (!comma)
		return false;
	*ret_last = (struct ks_slice){ comma + 1, (size_t)(from->s + from->len - comma) - 1 };
	from->len = (size_t)(comma - from->s);
	return true;
}

/* The fields from the eighth on. */
static void parse_names(const struct ks_kmap_dialect *dialect, const char *p, const char *end,
			struct ks_kmap_parsed *parsed)
{
	struct ks_kmap_object *object = &parsed->object;
	struct ks_slice rest = { p, (size_t)(end - p) };
	const char *comma;

	object->type = KS_KMAP_TYPES;
	object->cache = object->type_name = object->new_type = (struct ks_slice){ end, 0 };
	object->fields = MIN_FIELDS;
	parsed->short_of_fields = false;
	if (dialect->fields > MIN_FIELDS) {
		comma = memchr(p, ',', rest.len);
		if (comma) {
			object->type_name = (struct ks_slice){ p, (size_t)(comma - p) };
			object->type = ks_kmap_type_parse(p, (size_t)(comma - p));
			rest = (struct ks_slice){ comma + 1, (size_t)(end - comma) - 1 };
			object->fields++;
		}
		if (dialect->fields > 10 && cut_last(&rest, &object->new_type))
			object->fields++;
		if (dialect->fields > 9 && cut_last(&rest, &object->cache))
			object->fields++;
		parsed->short_of_fields = object->fields < dialect->fields;
	}
	object->comm = rest;
	/* Where there is no field for the type, the site of what no code allocated says it. */
	if (dialect->fields == MIN_FIELDS && object->alloc_ip &&
	    object->alloc_ip < KS_KMAP_IP_TYPES_END && ks_kmap_type_name((u32)object->alloc_ip))
		object->type = (u32)object->alloc_ip;
}

static bool parse_object(const struct ks_kmap_dialect *dialect, const char *line, const char *end,
			 struct ks_kmap_parsed *parsed)
{
	const char *p = parse_numbers(line, &parsed->object);

	if (!p)
		return false;
	parsed->object.slot = 0;
	parsed->object.has_bytes = false;
	parsed->object.context = KS_KMAP_IN_ANY;
	parsed->object.accesses = NULL;
	parsed->object.nr_accesses = 0;
	parse_names(dialect, p, end, parsed);
	return true;
}

/* Two counts behind the ip, and a pid in front of or behind them, or none. */
static bool parse_access(const struct ks_kmap_dialect *dialect, const char *p, const char *end,
			 struct ks_kmap_access *access)
{
	const char *pid;

	p = skip_blanks(p);
	if (p[0] == 'f' && p[1] == 'r' && !strncmp(p, "from:", 5))
		p += 5;
	p = past(parse_hex(p, &access->ip), ',');
	access->caller = 0;
	if (p && *p == 'c' && !strncmp(p, "caller:", 7))
		p = past(parse_hex(p + 7, &access->caller), ',');
	if (!p)
		return false;
	if (dialect->fields == MIN_FIELDS) {
		const char *q = past(parse_pid(p, &access->pid), ',');

		q = q ? past(parse_u64(q, &access->writes), ',') : NULL;
		q = q ? parse_u64(q, &access->reads) : NULL;
		if (q == end)
			return true;
	}
	p = past(parse_u64(p, &access->writes), ',');
	p = p ? parse_u64(p, &access->reads) : NULL;
	if (!p)
		return false;
	access->pid = KS_KMAP_NO_PID;
	if (p == end)
		return true;
	pid = past(p, ',');
	return pid && parse_pid(pid, &access->pid) == end;
}

/* "from to count", with blanks between; from kernels that count returns their number comes behind. */
static bool parse_call(const char *p, const char *end, struct ks_kmap_call *call)
{
	const char *to = parse_hex(p, &call->from);
	const char *count = to && to > p && to[-1] == ' ' ? parse_hex(to, &call->to) : NULL;

	if (!count || count[-1] != ' ')
		return false;
	count = parse_u64(count, &call->count);
	call->returns = 0;
	call->has_returns = count && count < end && *count == ' ';
	if (call->has_returns)
		count = parse_u64(count + 1, &call->returns);
	return count == end;
}

/*
 * How many fields the line of an object has as its names stand; 0 if it is of no object. With a
 * comma behind what is no type, it may be a command's name or a type not known here: UNSURE.
 */
static unsigned int count_fields(const char *line, const char *end)
{
	struct ks_kmap_object object;
	const char *p = parse_numbers(line, &object), *comma;
	unsigned int fields = MIN_FIELDS;

	if (!p)
		return 0;
	comma = memchr(p, ',', (size_t)(end - p));
	if (!comma)
		return MIN_FIELDS;
	if (ks_kmap_type_parse(p, (size_t)(comma - p)) == KS_KMAP_TYPES)
		return UNSURE;
	for (p = comma; p; p = memchr(p + 1, ',', (size_t)(end - p) - 1))
		fields++;
	return ks_min(fields, (unsigned int)MAX_FIELDS);
}

static bool is_head(const char *line)
{
	return line[0] == 'a' && line[1] == 'l' && !strncmp(line, "alloc_ip,", 9);
}

/* === Public =============================================================================== */

enum ks_kmap_line ks_kmap_line_parse(const struct ks_kmap_dialect *dialect, const char *line,
				     size_t len, struct ks_kmap_parsed *parsed)
{
	const char *end = line + len;

	if (len && end[-1] == '\r')
		end--;
	if (line == end || *line == '#' || is_head(line))
		return KS_KMAP_LINE_COMMENT;
	if (*line == ' ' && parse_access(dialect, line, end, &parsed->access))
		return KS_KMAP_LINE_ACCESS;
	if (parse_object(dialect, line, end, parsed))
		return KS_KMAP_LINE_OBJECT;
	if (parse_call(line, end, &parsed->call))
		return KS_KMAP_LINE_CALL;
	return KS_KMAP_LINE_BAD;
}

bool ks_kmap_line_parse_csv(const char *line, size_t len, bool has_pid, u64 *ret_index,
			    struct ks_kmap_access *ret_access)
{
	struct ks_kmap_access access = { .pid = KS_KMAP_NO_PID };
	const char *end = line + len, *p;
	u64 index = 0;

	if (len && end[-1] == '\r')
		end--;
	p = past(parse_u64(line, &index), ',');
	p = p ? past(parse_hex(p, &access.ip), ',') : NULL;
	if (p && has_pid)
		p = past(parse_pid(p, &access.pid), ',');
	p = p ? past(parse_u64(p, &access.writes), ',') : NULL;
	p = p ? parse_u64(p, &access.reads) : NULL;
	if (p != end)
		return false;
	*ret_index = index;
	*ret_access = access;
	return true;
}

bool ks_kmap_dialect_detect(const char *data, size_t len, struct ks_kmap_dialect *ret_dialect)
{
	struct ks_kmap_dialect dialect = { .fields = MAX_FIELDS + 1 };
	struct ks_kmap_call call;
	const char *p = data, *end = data + len, *newline;
	bool calls = false, unsure = false;

	for (; p < end && (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
		const char *line_end = newline > p && newline[-1] == '\r' ? newline - 1 : newline;
		unsigned int fields = *p == '#' ? 0 : count_fields(p, line_end);

		dialect.csv |= is_head(p);
		unsure |= fields == UNSURE;
		calls |= !fields && parse_call(p, line_end, &call);
		if (fields)
			dialect.fields = ks_min(dialect.fields, fields);
	}
	if (dialect.fields > MAX_FIELDS && !unsure && !calls && !dialect.csv)
		return false;
	if (dialect.fields > MAX_FIELDS)
		dialect.fields = unsure ? MIN_FIELDS : MAX_FIELDS;
	*ret_dialect = dialect;
	return true;
}
