// SPDX-License-Identifier: LGPL-2.1-only
/* Access maps in the forms that other programs read. */
#include "kmap/convert.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "base/map64.h"
#include "base/num.h"
#include "base/vec.h"
#include "kmap/binary.h"
#include "kmap/capmap.h"
#include "kmap/clock.h"
#include "sym/sym.h"
#include "uapi/memorizer.h"

/* === Data ================================================================================= */

#define FLUSH_AT (256u << 10)

/* Where the accesses of an instruction are added up. */
struct place {
	u64 object; /* the number of the object that has it, from 1 */
	size_t at;  /* in merged[], if that is the object in hand */
};

struct writer {
	enum ks_kmap_target target;
	const struct ks_kmap_sink *sink;
	struct ks_strbuf first, second;
	struct ks_kmap_converted done;
	KS_VEC(struct ks_kmap_access) merged; /* of the object in hand, by instruction */
	struct ks_map64 instructions;	      /* all so far, and ... */
	KS_VEC(struct place) places;	      /* ... by their numbers there */
	KS_VEC(struct memorizer_call) calls;  /* for the end of a binary map */
	bool anchored;			      /* where the kernel was has been said */
	struct ks_kmap_clock clock;
	struct ks_resolver *resolver; /* NULL = addresses stay as they are */
	u64 slide;		      /* what KASLR added to the addresses of code */
};

static const char *const target_names[KS_KMAP_TARGETS] = { "seed", "uscope", "iti",
							   "csv",  "json",   "binary" };

/* === Internals: fields ==================================================================== */

/* A name that cannot shift fields or end the line. */
static void put_name(struct writer *writer, struct ks_slice name)
{
	size_t i, plain = 0;

	for (i = 0; i < name.len; i++) {
		if (name.s[i] != ',' && name.s[i] != '\n' && name.s[i] != '\r')
			continue;
		ks_strbuf_add(&writer->first, name.s + plain, i - plain);
		ks_strbuf_puts(&writer->first, "_");
		plain = i + 1;
	}
	writer->done.changed_names += plain > 0;
	ks_strbuf_add(&writer->first, name.s + plain, name.len - plain);
}

static s32 pid_of(s32 pid)
{
	return pid == KS_KMAP_NO_PID ? -1 : pid;
}

static void put_numbers(struct writer *writer, const struct ks_kmap_object *object)
{
	struct ks_kmap_times times = ks_kmap_clock_times(&writer->clock, object);

	ks_strbuf_printf(&writer->first, "%-16llx,%d,%016llx,%llu,%llu,%llu,%016llx,",
			 (unsigned long long)object->alloc_ip, pid_of(object->pid),
			 (unsigned long long)object->addr, (unsigned long long)object->size,
			 (unsigned long long)times.alloc, (unsigned long long)times.free,
			 (unsigned long long)object->free_ip);
}

/* === Internals: lines ===================================================================== */

/*
 * A line of text has what an instruction did to an object in one thread, wherever in it; accesses with their
 * offsets are in the order of their instructions and threads. Returns the number behind those that it adds up.
 */
static size_t take_line(const struct ks_kmap_object *object, size_t i, struct ks_kmap_access *sum)
{
	const struct ks_kmap_access *next = &object->accesses[i], *end;

	*sum = *next++;
	end = object->accesses + object->nr_accesses;
	for (; sum->spot && next < end && next->ip == sum->ip && next->pid == sum->pid; next++) {
		sum->writes = ks_add_sat(sum->writes, next->writes);
		sum->reads = ks_add_sat(sum->reads, next->reads);
	}
	return (size_t)(next - object->accesses);
}

static void put_seed(struct writer *writer, const struct ks_kmap_object *object)
{
	struct ks_kmap_access sum;
	size_t i;

	put_numbers(writer, object);
	put_name(writer, object->comm);
	ks_strbuf_puts(&writer->first, "\n");
	writer->done.dropped_types += object->type_name.len > 0;
	writer->done.dropped_caches += object->cache.len > 0;
	for (i = 0; i < object->nr_accesses;) {
		i = take_line(object, i, &sum);
		ks_strbuf_printf(&writer->first, "  %016llx,%d,%llu,%llu\n",
				 (unsigned long long)sum.ip, pid_of(sum.pid),
				 (unsigned long long)sum.writes, (unsigned long long)sum.reads);
	}
}

/* From the command on, for 10 and 11 fields. */
static void put_last_names(struct writer *writer, const struct ks_kmap_object *object)
{
	put_name(writer, object->comm);
	ks_strbuf_puts(&writer->first, ",");
	put_name(writer, object->cache.len ? object->cache : (struct ks_slice){ "no-slab", 7 });
}

/* From the type on, for 11 fields. */
static void put_names(struct writer *writer, const struct ks_kmap_object *object)
{
	put_name(writer,
		 object->type_name.len ? object->type_name : (struct ks_slice){ "NONE", 4 });
	ks_strbuf_puts(&writer->first, ",");
	put_last_names(writer, object);
}

/* The place of an instruction in merged[]; a new one at the end. NULL = no memory. */
static struct ks_kmap_access *merged_at(struct writer *writer, u64 ip)
{
	u32 number = ks_map64_add(&writer->instructions, ip);
	struct place *place = NULL;

	if (number == KS_NONE)
		return NULL;
	if (number == writer->places.len && !ks_vec_push(&writer->places))
		return NULL;
	place = &writer->places.items[number];
	if (place->object != writer->done.objects) {
		place->object = writer->done.objects;
		place->at = writer->merged.len;
		return ks_vec_push(&writer->merged);
	}
	return &writer->merged.items[place->at];
}

/*
 * Adds the lines of each instruction up to one, without pids: the target takes a fourth field for the
 * number of frees. An object may have any number of accesses, so no line is compared with all others.
 */
static int merge_pids(struct writer *writer, const struct ks_kmap_object *object)
{
	size_t i;

	writer->merged.len = 0;
	for (i = 0; i < object->nr_accesses; i++) {
		const struct ks_kmap_access *access = &object->accesses[i];
		struct ks_kmap_access *slot = merged_at(writer, access->ip);

		if (!slot)
			return -ENOMEM;
		writer->done.dropped_pids += access->pid != KS_KMAP_NO_PID;
		slot->ip = access->ip;
		slot->reads = ks_add_sat(slot->reads, access->reads);
		slot->writes = ks_add_sat(slot->writes, access->writes);
	}
	return 0;
}

static int put_uscope(struct writer *writer, const struct ks_kmap_object *object)
{
	struct ks_kmap_times times = ks_kmap_clock_times(&writer->clock, object);
	u64 addr = object->addr - (object->type == KS_KMAP_GLOBAL ? writer->slide : 0);
	struct ks_capmap_object as;
	size_t i;

	ks_capmap_object(object, writer->slide, &as);
	writer->done.changed_types += as.changed;
	writer->done.guessed_types += as.guessed;
	ks_strbuf_printf(&writer->first, "%s,%d,%016llx,%llu,%llu,%llu,%s,", as.alloc_ip,
			 pid_of(object->pid), (unsigned long long)addr,
			 (unsigned long long)object->size, (unsigned long long)times.alloc,
			 (unsigned long long)times.free, as.free_ip);
	put_name(writer, as.type);
	ks_strbuf_puts(&writer->first, ",");
	put_last_names(writer, object);
	ks_strbuf_puts(&writer->first, "\n");
	if (as.left_out) {
		writer->done.left_out += object->nr_accesses > 0;
		return 0;
	}
	if (merge_pids(writer, object))
		return -ENOMEM;
	for (i = 0; i < writer->merged.len; i++) {
		const struct ks_kmap_access *access = &writer->merged.items[i];

		ks_strbuf_printf(&writer->first, "  %016llx,%llu,%llu\n",
				 (unsigned long long)(access->ip - writer->slide),
				 (unsigned long long)access->writes,
				 (unsigned long long)access->reads);
	}
	return 0;
}

static void put_iti_line(struct writer *writer, const struct ks_kmap_object *object)
{
	put_numbers(writer, object);
	put_names(writer, object);
	ks_strbuf_puts(&writer->first, ",");
	put_name(writer, object->new_type);
	ks_strbuf_puts(&writer->first, "\n");
}

static void put_iti(struct writer *writer, const struct ks_kmap_object *object)
{
	struct ks_kmap_access sum;
	size_t i;

	put_iti_line(writer, object);
	for (i = 0; i < object->nr_accesses;) {
		i = take_line(object, i, &sum);
		ks_strbuf_printf(&writer->first, "  %016llx,%llu,%llu,%d\n",
				 (unsigned long long)sum.ip, (unsigned long long)sum.writes,
				 (unsigned long long)sum.reads, pid_of(sum.pid));
	}
}

static void put_csv(struct writer *writer, const struct ks_kmap_object *object)
{
	struct ks_kmap_access sum;
	size_t i;

	put_iti_line(writer, object);
	for (i = 0; i < object->nr_accesses;) {
		i = take_line(object, i, &sum);
		ks_strbuf_printf(&writer->second, "%llu,%016llx,%d,%llu,%llu\n",
				 (unsigned long long)object->alloc_time, (unsigned long long)sum.ip,
				 pid_of(sum.pid), (unsigned long long)sum.writes,
				 (unsigned long long)sum.reads);
	}
}

static void put_json_string(struct ks_strbuf *out, const char *key, struct ks_slice value)
{
	ks_strbuf_printf(out, ",\"%s\":\"", key);
	ks_escape_json(out, value.s, value.len);
	ks_strbuf_puts(out, "\"");
}

static void put_json_spot(struct ks_strbuf *out, const struct ks_kmap_access *access)
{
	ks_strbuf_printf(out, ",\"offset\":%u,\"cpu\":%u", access->offset, access->cpu);
	if (access->spot & KS_KMAP_OFFSET_VARIES)
		ks_strbuf_puts(out, ",\"offset_varies\":true");
	if (access->spot & KS_KMAP_LENGTH_VARIES)
		ks_strbuf_puts(out, ",\"length_varies\":true");
}

static void put_json(struct writer *writer, const struct ks_kmap_object *object)
{
	struct ks_strbuf *out = &writer->first;
	size_t i;

	ks_strbuf_printf(out,
			 "{\"alloc_ip\":\"0x%llx\",\"pid\":%d,\"address\":\"0x%llx\",\"size\":%llu",
			 (unsigned long long)object->alloc_ip, pid_of(object->pid),
			 (unsigned long long)object->addr, (unsigned long long)object->size);
	if (object->slot)
		ks_strbuf_printf(out, ",\"slot\":%llu", (unsigned long long)object->slot);
	ks_strbuf_printf(out, ",\"alloc_time\":%llu,\"free_time\":%llu,\"free_ip\":\"0x%llx\"",
			 (unsigned long long)object->alloc_time,
			 (unsigned long long)object->free_time,
			 (unsigned long long)object->free_ip);
	if (!object->fields)
		ks_strbuf_printf(out, ",\"cpu\":%u,\"gfp\":%u,\"tgid\":%d", object->cpu,
				 object->gfp, object->tgid);
	put_json_string(out, "type", object->type_name);
	put_json_string(out, "comm", object->comm);
	put_json_string(out, "cache", object->cache);
	put_json_string(out, "new_type", object->new_type);
	ks_strbuf_puts(out, ",\"accesses\":[");
	for (i = 0; i < object->nr_accesses; i++) {
		const struct ks_kmap_access *access = &object->accesses[i];

		ks_strbuf_printf(out, "%s{\"ip\":\"0x%llx\",\"writes\":%llu,\"reads\":%llu",
				 i ? "," : "", (unsigned long long)access->ip,
				 (unsigned long long)access->writes,
				 (unsigned long long)access->reads);
		if (access->pid != KS_KMAP_NO_PID)
			ks_strbuf_printf(out, ",\"pid\":%d", access->pid);
		if (access->context)
			ks_strbuf_printf(out, ",\"context\":\"%s\"",
					 access->context == KS_KMAP_IN_SOFTIRQ ? "softirq"
									       : "hardirq");
		if (object->has_bytes)
			ks_strbuf_printf(out, ",\"bytes_written\":%llu,\"bytes_read\":%llu",
					 (unsigned long long)access->bytes_written,
					 (unsigned long long)access->bytes_read);
		if (access->spot)
			put_json_spot(out, access);
		if (access->caller)
			ks_strbuf_printf(out, ",\"caller\":\"0x%llx\"",
					 (unsigned long long)access->caller);
		ks_strbuf_puts(out, "}");
	}
	ks_strbuf_puts(out, "]}\n");
}

/* === Internals: binary ==================================================================== */

static void copy_name(struct writer *writer, char *to, size_t size, struct ks_slice from)
{
	writer->done.cut_names += from.len > size;
	memcpy(to, from.s, ks_min(from.len, size));
}

static u8 kind_for(struct writer *writer, const struct ks_kmap_object *object)
{
	u8 kind = ks_kmap_kind_of(object->type);

	if (!kind && object->type != KS_KMAP_NONE)
		writer->done.dropped_types += object->type_name.len > 0;
	return kind;
}

/* The kernel knows the kind of each interrupt; most text has -1 for all. */
static u8 context_for(struct writer *writer, const struct ks_kmap_access *access)
{
	switch (access->context) {
	case KS_KMAP_IN_SOFTIRQ:
		return MEMORIZER_IN_SOFTIRQ;
	case KS_KMAP_IN_HARDIRQ:
		return MEMORIZER_IN_HARDIRQ;
	}
	if (access->pid != -1)
		return MEMORIZER_IN_TASK;
	writer->done.changed_contexts++;
	return MEMORIZER_IN_SOFTIRQ;
}

static void put_binary_access(struct writer *writer, const struct ks_kmap_access *access)
{
	struct memorizer_access record = {
		.ip = access->ip,
		.writes = access->writes,
		.reads = access->reads,
		.bytes_written = access->bytes_written,
		.bytes_read = access->bytes_read,
		.pid = pid_of(access->pid),
		.context = context_for(writer, access),
		.flags = access->spot,
		.cpu = access->spot ? access->cpu : 0,
		.offset = access->spot ? access->offset : 0,
	};

	ks_strbuf_add(&writer->first, &record, sizeof(record));
}

static bool has_comm(const struct ks_kmap_object *object, const char *name)
{
	return object->comm.len == strlen(name) && !memcmp(object->comm.s, name, object->comm.len);
}

/*
 * A text line has the kind of an interrupt in the name of the command, and 0 or -1 as the pid. The idle
 * task has pid 0, too, and another name.
 */
static u8 object_context(const struct ks_kmap_object *object)
{
	if (object->pid > 0)
		return MEMORIZER_IN_TASK;
	if (object->context == KS_KMAP_IN_HARDIRQ || has_comm(object, "hardirq"))
		return MEMORIZER_IN_HARDIRQ;
	if (object->pid < 0 || has_comm(object, "softirq"))
		return MEMORIZER_IN_SOFTIRQ;
	return MEMORIZER_IN_TASK;
}

static void put_binary(struct writer *writer, const struct ks_kmap_object *object)
{
	u32 accesses = (u32)ks_min(object->nr_accesses, (size_t)UINT32_MAX), i;
	struct memorizer_record record = {
		.addr = object->addr,
		.alloc_ip = object->alloc_ip,
		.free_ip = object->free_ip,
		.alloc_ns = object->alloc_time,
		.free_ns = object->free_time,
		.bytes_req = object->slot ? object->size : 0,
		.bytes_alloc = ks_kmap_extent(object),
		.kind = kind_for(writer, object),
		.context = object_context(object),
		.pid = object->pid,
		.tgid = object->fields ? object->pid : object->tgid,
		.gfp = object->fields ? 0 : object->gfp,
		.cpu = object->fields ? 0 : object->cpu,
		.accesses = accesses,
	};

	if (record.context != MEMORIZER_IN_TASK)
		record.pid = record.tgid = MEMORIZER_PID_NONE;
	if (!ks_kmap_is_live(object))
		record.flags = MEMORIZER_FREED;
	if (ks_kmap_is_implied(object))
		record.flags |= MEMORIZER_IMPLIED;
	copy_name(writer, record.comm, sizeof(record.comm), object->comm);
	copy_name(writer, record.cache, sizeof(record.cache), object->cache);
	ks_strbuf_add(&writer->first, &record, sizeof(record));
	for (i = 0; i < accesses; i++)
		put_binary_access(writer, &object->accesses[i]);
	writer->done.dropped_accesses += object->nr_accesses - accesses;
}

static void put_header(struct writer *writer, const struct ks_kmap_info *info, u32 calls)
{
	struct memorizer_header header = {
		.magic = MEMORIZER_MAGIC,
		.version = calls ? MEMORIZER_ABI_CALLS : MEMORIZER_ABI_VERSION,
		.header_size = sizeof(header),
		.record_size = sizeof(struct memorizer_record),
		.access_size = sizeof(struct memorizer_access),
		.tick_ns = info->tick_ns,
		.base_ns = info->base_ns,
		.base_jiffies = info->base_jiffies,
		.anchor = info->anchor,
		.calls = calls,
	};

	memcpy(header.anchor_name, info->anchor_name, sizeof(header.anchor_name) - 1);
	ks_strbuf_add(&writer->first, &header, sizeof(header));
}

/* Where the kernel was, where the target has a way to say so: once, as soon as it is known. */
static void put_anchor(struct writer *writer, const struct ks_kmap_info *info)
{
	unsigned long long anchor = info->anchor;

	if (!writer->slide && writer->resolver)
		writer->slide = ks_resolver_slide(writer->resolver);
	if (writer->anchored || !info->anchor_name[0])
		return;
	writer->anchored = true;
	if (writer->resolver) {
		writer->done.other_kernel =
			ks_resolver_set_anchor(writer->resolver, info->anchor_name, info->anchor) !=
			0;
		writer->slide = ks_resolver_slide(writer->resolver);
		return;
	}
	switch (writer->target) {
	case KS_KMAP_TO_BINARY:
		put_header(writer, info, 0);
		break;
	case KS_KMAP_TO_SEED:
		ks_strbuf_printf(&writer->first, "%016x,0,%016llx,0,0,0,%016x,%s\n", 0, anchor, 0,
				 info->anchor_name);
		break;
	case KS_KMAP_TO_JSON:
		ks_strbuf_printf(&writer->first, "{\"anchor\":\"0x%llx\",\"anchor_name\":\"",
				 anchor);
		ks_escape_json(&writer->first, info->anchor_name, strlen(info->anchor_name));
		ks_strbuf_puts(&writer->first, "\"}\n");
		break;
	default:
		writer->done.dropped_anchors++;
		break;
	}
}

static void put_head(struct writer *writer, const struct ks_kmap_info *info)
{
	ks_kmap_clock_init(&writer->clock,
			   writer->target == KS_KMAP_TO_SEED	 ? KS_KMAP_CLOCK_JIFFIES
			   : writer->target == KS_KMAP_TO_USCOPE ? KS_KMAP_CLOCK_MICROSECONDS
								 : KS_KMAP_CLOCK_AS_IS,
			   info);
	if (writer->target == KS_KMAP_TO_CSV) {
		ks_strbuf_puts(&writer->first, "alloc_ip,pid,ptr,size,alloc_serial,free_serial,"
					       "free_ip,type,command,slab,new_type\n");
		ks_strbuf_puts(&writer->second, "alloc_index,access_ip,pid,writes,reads\n");
	}
	put_anchor(writer, info);
	if (writer->target == KS_KMAP_TO_BINARY && !writer->anchored)
		put_header(writer, info, 0);
}

/* === Internals: the run =================================================================== */

/* What of an access nothing but JSON has a place for. */
static void count_dropped(struct writer *writer, const struct ks_kmap_object *object,
			  const struct ks_kmap_access *access)
{
	struct ks_kmap_converted *done = &writer->done;

	done->dropped_callers += access->caller != 0;
	if (writer->target == KS_KMAP_TO_BINARY)
		return;
	done->dropped_contexts += access->context != KS_KMAP_IN_ANY;
	done->dropped_bytes += object->has_bytes;
	done->dropped_spots += access->spot != 0;
}

static int put_object(struct writer *writer, const struct ks_kmap_object *object)
{
	struct ks_kmap_converted *done = &writer->done;
	bool keeps_all = writer->target == KS_KMAP_TO_JSON;
	size_t i;
	int err = 0;

	done->objects++;
	if (writer->target != KS_KMAP_TO_JSON && writer->target != KS_KMAP_TO_ITI &&
	    writer->target != KS_KMAP_TO_CSV)
		done->dropped_new_types += object->new_type.len > 0;
	done->accesses += object->nr_accesses;
	if (!keeps_all && writer->target != KS_KMAP_TO_BINARY) {
		done->dropped_sizes += object->slot != 0;
		done->dropped_details += !object->fields;
	}
	for (i = 0; i < object->nr_accesses && !keeps_all; i++)
		count_dropped(writer, object, &object->accesses[i]);
	switch (writer->target) {
	case KS_KMAP_TO_SEED:
		put_seed(writer, object);
		break;
	case KS_KMAP_TO_USCOPE:
		err = put_uscope(writer, object);
		break;
	case KS_KMAP_TO_ITI:
		put_iti(writer, object);
		break;
	case KS_KMAP_TO_CSV:
		put_csv(writer, object);
		break;
	case KS_KMAP_TO_JSON:
		put_json(writer, object);
		break;
	default:
		put_binary(writer, object);
		break;
	}
	return err;
}

/* Their number comes before them, so they wait. */
static int keep_call(struct writer *writer, const struct ks_kmap_call *call)
{
	struct memorizer_call *slot = ks_vec_push(&writer->calls);

	if (!slot)
		return -ENOMEM;
	*slot = (struct memorizer_call){
		.site = call->from,
		.function = call->to,
		.calls = call->count,
		.returns = call->has_returns ? call->returns : call->count,
	};
	writer->done.calls++;
	return 0;
}

/* Streams may be put end to end: here one without objects. */
static void put_kept_calls(struct writer *writer, const struct ks_kmap_info *info)
{
	if (!writer->calls.len)
		return;
	put_header(writer, info, (u32)writer->calls.len);
	ks_strbuf_add(&writer->first, writer->calls.items,
		      writer->calls.len * sizeof(*writer->calls.items));
}

static int put_call(struct writer *writer, const struct ks_kmap_call *call)
{
	unsigned long long from = call->from, to = call->to, count = call->count;

	switch (writer->target) {
	case KS_KMAP_TO_USCOPE:
		ks_strbuf_printf(&writer->first, "%016llx %016llx %llu\n", from - writer->slide,
				 to - writer->slide, count);
		writer->done.calls++;
		break;
	case KS_KMAP_TO_JSON:
		ks_strbuf_printf(&writer->first,
				 "{\"from\":\"0x%llx\",\"to\":\"0x%llx\",\"calls\":%llu", from, to,
				 count);
		if (call->has_returns)
			ks_strbuf_printf(&writer->first, ",\"returns\":%llu",
					 (unsigned long long)call->returns);
		ks_strbuf_puts(&writer->first, "}\n");
		writer->done.calls++;
		break;
	case KS_KMAP_TO_BINARY:
		return keep_call(writer, call);
	default:
		writer->done.dropped_calls++;
		break;
	}
	return 0;
}

static int flush(struct writer *writer, struct ks_diag *diag)
{
	int err;

	if (writer->first.failed || writer->second.failed)
		return ks_diag_nomem(diag, "converting an access map");
	err = writer->sink->write(writer->sink->ctx, false, ks_strbuf_str(&writer->first),
				  writer->first.len, diag);
	if (!err && writer->second.len)
		err = writer->sink->write(writer->sink->ctx, true, writer->second.s,
					  writer->second.len, diag);
	writer->first.len = writer->second.len = 0;
	return err;
}

static int convert_all(struct writer *writer, struct ks_kmap_reader *reader,
		       int (*progress)(void *ctx), void *ctx, struct ks_diag *diag)
{
	enum ks_kmap_item item = KS_KMAP_OBJECT;
	struct ks_kmap_object object;
	struct ks_kmap_call call;
	bool started = false;
	int err = 0;

	while (!err && item != KS_KMAP_END) {
		err = ks_kmap_next(reader, &item, &object, &call, diag);
		if (!err && !started) {
			put_head(writer, ks_kmap_reader_info(reader));
			started = true;
		}
		put_anchor(writer, ks_kmap_reader_info(reader));
		if (!err && item == KS_KMAP_OBJECT && put_object(writer, &object))
			err = ks_diag_nomem(diag, "converting an access map");
		if (!err && item == KS_KMAP_CALL && put_call(writer, &call))
			err = ks_diag_nomem(diag, "converting an access map");
		if (!err && item == KS_KMAP_END)
			put_kept_calls(writer, ks_kmap_reader_info(reader));
		if (!err && (item == KS_KMAP_END || writer->first.len > FLUSH_AT ||
			     writer->second.len > FLUSH_AT)) {
			err = flush(writer, diag);
			if (!err && progress && progress(ctx))
				err = ks_diag_set(diag, -EINTR, "interrupted");
		}
	}
	return err;
}

/* === Public =============================================================================== */

const char *ks_kmap_target_name(enum ks_kmap_target target)
{
	return target_names[target];
}

int ks_kmap_target_parse(const char *name, enum ks_kmap_target *ret_target)
{
	size_t i;

	for (i = 0; i < KS_KMAP_TARGETS; i++)
		if (!strcmp(name, target_names[i])) {
			*ret_target = (enum ks_kmap_target)i;
			return 0;
		}
	return -EINVAL;
}

int ks_kmap_convert(struct ks_kmap_reader *reader, enum ks_kmap_target target,
		    struct ks_resolver *resolver, const struct ks_kmap_sink *sink,
		    int (*progress)(void *ctx), void *ctx, struct ks_kmap_converted *ret_converted,
		    struct ks_diag *diag)
{
	struct writer writer = { .target = target, .sink = sink, .resolver = resolver };
	int err;

	ks_strbuf_init(&writer.first);
	ks_strbuf_init(&writer.second);
	err = ks_map64_init(&writer.instructions)
		      ? ks_diag_nomem(diag, "converting an access map")
		      : convert_all(&writer, reader, progress, ctx, diag);
	ks_strbuf_deinit(&writer.first);
	ks_strbuf_deinit(&writer.second);
	ks_vec_free(&writer.merged);
	ks_vec_free(&writer.places);
	ks_vec_free(&writer.calls);
	ks_map64_deinit(&writer.instructions);
	writer.done.clipped_times = writer.clock.clipped;
	if (!err)
		*ret_converted = writer.done;
	return err;
}
