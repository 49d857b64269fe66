// SPDX-License-Identifier: LGPL-2.1-only
/* How the stream of an access map divides into objects. */
#include "kmap/framing.h"

#include "base/bytes.h"
#include "kmap/line.h"

/* === Data ================================================================================= */

/* What must be there of a header and of a record before their sizes are known. */
enum {
	HEADER_SIZE = offsetof(struct memorizer_header, calls) + sizeof(u32),
	RECORD_SIZE = offsetof(struct memorizer_record, accesses) + sizeof(u32),
};
_Static_assert(HEADER_SIZE <= sizeof(((struct ks_kmap_counter *)0)->head), "fits the head");
_Static_assert(RECORD_SIZE <= sizeof(((struct ks_kmap_counter *)0)->head), "fits the head");
_Static_assert(sizeof(struct memorizer_header) <= KS_FRAMING_HEAD,
	       "a spool that goes on reads too little of the head");

/* === Internals: binary ==================================================================== */

/* Whether a binary stream begins here, as far as there is anything of it. */
static bool may_be_binary(const void *data, size_t len)
{
	return !memcmp(data, "MZK1", ks_min(len, (size_t)4)) ||
	       !memcmp(data, "1KZM", ks_min(len, (size_t)4));
}

/* The size of the object whose record begins here; 0 while that is not known. */
static u64 object_size(const void *data, size_t len, bool big_endian, size_t record_size,
		       size_t access_size)
{
	struct ks_bytes bytes;
	u64 size;

	ks_bytes_init(&bytes, data, len);
	bytes.big_endian = big_endian;
	ks_bytes_take(&bytes, offsetof(struct memorizer_record, accesses));
	size = record_size + (u64)ks_bytes_u32(&bytes) * access_size;
	return bytes.overrun ? 0 : size;
}

/* Of the header and the calls behind it. */
static u64 head_size(const struct ks_kmap_header *header)
{
	return header->header_size + (u64)header->calls * sizeof(struct memorizer_call);
}

/* The size of the header or object at the front; 0 while that is not known. */
static u64 size_at(struct ks_kmap_framing *framing, const void *data, size_t len)
{
	struct ks_kmap_header header;

	if (!ks_kmap_is_header(data, len))
		return framing->record_size
			       ? object_size(data, len, framing->big_endian, framing->record_size,
					     framing->access_size)
			       : 0;
	if (!ks_kmap_header_parse(data, len, &header))
		return 0;
	framing->record_size = header.record_size;
	framing->access_size = header.access_size;
	framing->big_endian = header.big_endian;
	framing->unknown = !ks_kmap_header_is_sane(&header);
	return head_size(&header);
}

/* === Internals: text ====================================================================== */

/* Behind the last line, or in front of the last line that begins an object. */
static size_t cut_lines(const char *data, size_t len, bool more)
{
	const char *newline = memrchr(data, '\n', len);

	while (more && newline && (newline + 1 == data + len || newline[1] == ' '))
		newline = memrchr(data, '\n', (size_t)(newline - data));
	return newline ? (size_t)(newline - data) + 1 : 0;
}

/* === Internals: for a spool ================================================================ */

static size_t frame_whole(void *ctx, const void *data, size_t len, bool more)
{
	return ks_kmap_framing_whole(ctx, data, len, more);
}

/* What all lines of objects have in common in one stream: the number of fields, and digits of the first. */
struct shape {
	size_t fields, digits;
};

static struct shape shape_of(const char *line, size_t len)
{
	const char *comma = memchr(line, ',', len), *at;
	struct shape shape = { 1, comma ? (size_t)(comma - line) : len };

	for (at = comma; at; at = memchr(at + 1, ',', (size_t)(line + len - at - 1)))
		shape.fields++;
	return shape;
}

/*
 * The first line may be the end of one. It counts if it looks like the next line of an object: a line that was cut
 * has fewer fields, or fewer digits in the first. Accesses in front are of an object that is not known.
 */
static size_t resync_lines(const char *data, size_t len, bool last, bool *ret_found)
{
	const char *end = data + len, *first = memchr(data, '\n', len), *at, *newline;
	struct shape whole, cut;

	for (at = first ? first + 1 : end; at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			break;
		if (*at == ' ')
			continue;
		whole = shape_of(at, (size_t)(newline - at));
		cut = shape_of(data, (size_t)(first - data));
		*ret_found = true;
		if (*data != ' ' && cut.fields == whole.fields && cut.digits == whole.digits)
			return 0;
		return (size_t)(at - data);
	}
	return last ? len : 0;
}

/* Records have no mark of their own: a header does. */
static size_t resync_records(const char *data, size_t len, bool last, bool *ret_found)
{
	size_t i;

	for (i = 0; i + 4 <= len; i++)
		if (ks_kmap_is_header(data + i, len - i)) {
			*ret_found = true;
			return i;
		}
	return last ? len : i;
}

static size_t frame_resync(void *ctx, const void *data, size_t len, bool last, bool *ret_found)
{
	(void)ctx;
	if (len < 4 && !last)
		return 0;
	if (may_be_binary(data, len) || memchr(data, 0, len))
		return resync_records(data, len, last, ret_found);
	return resync_lines(data, len, last, ret_found);
}

static void frame_pass(void *ctx, const void *data, size_t len)
{
	ks_kmap_framing_pass(ctx, data, len);
}

/* === Internals: counting ================================================================== */

/* By such a line the kernel says where it is; it looks like that of an object. */
static bool is_anchor(struct ks_kmap_counter *counter)
{
	const struct ks_kmap_dialect dialect = { .fields = 8 };
	struct ks_kmap_parsed parsed;

	if (counter->head_len == sizeof(counter->head))
		return false;
	counter->head[counter->head_len] = '\n';
	return ks_kmap_line_parse(&dialect, counter->head, counter->head_len, &parsed) ==
		       KS_KMAP_LINE_OBJECT &&
	       ks_kmap_is_anchor(&parsed.object);
}

static void begin_line(struct ks_kmap_counter *counter, const char *at, u64 offset)
{
	counter->in_head = *at ==
			   '0'; /* no code is at 0: all anchors begin like that, few objects do */
	counter->head_len = 0;
	counter->has_comma = counter->has_blank = false;
	counter->is_object = *at != ' ';
	if (!counter->is_object)
		return;
	counter->objects++;
	counter->last_begin = offset;
}

static void count_lines(struct ks_kmap_counter *counter, const char *data, size_t len)
{
	const char *at = data, *end = data + len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at), room;

		if (!counter->in_line)
			begin_line(counter, at, counter->bytes + (u64)(at - data));
		if (counter->in_head) {
			room = sizeof(counter->head) - counter->head_len;
			memcpy(counter->head + counter->head_len, at, ks_min(n, room));
			counter->head_len += (u32)ks_min(n, room);
		}
		counter->in_line = !newline;
		if (counter->is_object && !counter->has_comma) {
			counter->has_comma = memchr(at, ',', n);
			counter->has_blank |= !counter->has_comma && memchr(at, ' ', n);
			if (newline && counter->has_blank && !counter->has_comma)
				counter->objects--;
		}
		if (newline && counter->in_head && is_anchor(counter))
			counter->objects--;
		at += n + (newline != NULL);
	}
}

/* Uses the header or record whose beginning is in head[]; false while it is not long enough. */
static bool use_head(struct ks_kmap_counter *counter)
{
	struct ks_kmap_header header;

	if (ks_kmap_is_header(counter->head, counter->head_len)) {
		if (!ks_kmap_header_parse(counter->head, counter->head_len, &header))
			return false;
		counter->record_size = header.record_size;
		counter->access_size = header.access_size;
		counter->big_endian = header.big_endian;
		counter->unknown = !ks_kmap_header_is_sane(&header);
		counter->skip = head_size(&header) - ks_min(head_size(&header), (u64)HEADER_SIZE);
		return true;
	}
	if (counter->head_len < RECORD_SIZE)
		return false;
	counter->skip = object_size(counter->head, counter->head_len, counter->big_endian,
				    counter->record_size, counter->access_size) -
			RECORD_SIZE;
	return true;
}

static void count_records(struct ks_kmap_counter *counter, const char *data, size_t len)
{
	size_t at = 0;

	while (at < len && !counter->unknown) {
		size_t want, n;

		if (counter->skip) {
			n = (size_t)ks_min((u64)(len - at), counter->skip);
			counter->skip -= n;
			at += n;
			continue;
		}
		/* Four bytes tell a header from a record, and with it how much to collect. */
		want = counter->head_len < 4				     ? 4
		       : ks_kmap_is_header(counter->head, counter->head_len) ? HEADER_SIZE
									     : RECORD_SIZE;
		n = ks_min(len - at, want - counter->head_len);
		memcpy(counter->head + counter->head_len, data + at, n);
		counter->head_len += (u32)n;
		if (counter->head_len == 4 && !ks_kmap_is_header(counter->head, 4)) {
			counter->objects++;
			counter->last_begin = counter->bytes + at + n - 4;
		}
		at += n;
		if (counter->head_len == want && use_head(counter))
			counter->head_len = 0;
	}
}

/* === Public =============================================================================== */

bool ks_kmap_header_parse(const void *data, size_t len, struct ks_kmap_header *ret_header)
{
	struct ks_kmap_header header = { 0 };
	struct ks_bytes bytes;
	const char *name;

	ks_bytes_init(&bytes, data, len);
	bytes.big_endian = ks_bytes_u32(&bytes) != MEMORIZER_MAGIC;
	header.big_endian = bytes.big_endian;
	header.version = ks_bytes_u16(&bytes);
	header.header_size = ks_bytes_u16(&bytes);
	header.record_size = ks_bytes_u32(&bytes);
	header.tick_ns = ks_bytes_u32(&bytes);
	header.base_ns = ks_bytes_u64(&bytes);
	header.base_jiffies = ks_bytes_u64(&bytes);
	header.anchor = ks_bytes_u64(&bytes);
	name = ks_bytes_take(&bytes, sizeof(((struct memorizer_header *)0)->anchor_name));
	header.access_size = ks_bytes_u32(&bytes);
	header.calls = ks_bytes_u32(&bytes);
	if (header.version < MEMORIZER_ABI_CALLS)
		header.calls = 0; /* the field was not in use */
	if (bytes.overrun)
		return false;
	memcpy(header.anchor_name, name, sizeof(((struct memorizer_header *)0)->anchor_name));
	*ret_header = header;
	return true;
}

bool ks_kmap_header_is_known(const struct ks_kmap_header *header)
{
	return header->version == MEMORIZER_ABI_VERSION || header->version == MEMORIZER_ABI_CALLS;
}

bool ks_kmap_header_is_sane(const struct ks_kmap_header *header)
{
	return header->header_size >= sizeof(struct memorizer_header) &&
	       header->record_size >= sizeof(struct memorizer_record) &&
	       header->record_size <= KS_KMAP_RECORD_MAX &&
	       header->access_size >= KS_KMAP_ACCESS_MIN &&
	       header->access_size <= KS_KMAP_RECORD_MAX;
}

size_t ks_kmap_framing_whole(struct ks_kmap_framing *framing, const void *data, size_t len,
			     bool more)
{
	size_t whole = (size_t)ks_min((u64)len, framing->rest);
	const u8 *bytes = data;

	framing->rest -= whole;
	while (whole < len && !framing->unknown) {
		u64 size = size_at(framing, bytes + whole, len - whole);

		if (!size || size > len - whole)
			break;
		whole += (size_t)size;
	}
	/* The reader of the stream will say what is wrong with it. */
	if (framing->unknown)
		return len;
	if (framing->record_size || whole || may_be_binary(data, len))
		return whole;
	return cut_lines(data, len, more);
}

void ks_kmap_framing_pass(struct ks_kmap_framing *framing, const void *data, size_t len)
{
	u64 size = framing->record_size ? size_at(framing, data, len) : 0;

	framing->rest = size > len ? size - len : 0;
}

struct ks_framing ks_kmap_spool_framing(struct ks_kmap_framing *framing)
{
	return (struct ks_framing){
		.whole = frame_whole, .resync = frame_resync, .pass = frame_pass, .ctx = framing
	};
}

void ks_kmap_counter_add(struct ks_kmap_counter *counter, const void *data, size_t len)
{
	if (counter->text)
		count_lines(counter, data, len);
	else
		count_records(counter, data, len);
	counter->bytes += len;
}
