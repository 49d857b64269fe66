// SPDX-License-Identifier: GPL-2.0-only
/* From the packed object to what readers get: the binary record, and the text line made of it. */
#include "record.h"

/* === Data ================================================================================= */

/*
 * A kernel has some ten thousand pairs of call site and flags. Comms are up to user space, which
 * may invent them: beyond the table they are left out, and counted.
 */
#define SITES_MAX 32768
#define COMMS_MAX 8192

/* === Internals ============================================================================ */

/* The fields are separated by commas and the lines by newlines, so a comm must not hold them. */
static void escape_comm(const char *comm, char *buf)
{
	static const char hex[] = "0123456789abcdef";
	unsigned int i;

	for (i = 0; i < MEMORIZER_COMM_LEN && comm[i]; i++) {
		u8 c = comm[i];

		if (c > ' ' - 1 && c < 0x7f && c != ',' && c != '\\') {
			*buf++ = c;
			continue;
		}
		*buf++ = '\\';
		*buf++ = 'x';
		*buf++ = hex[c >> 4];
		*buf++ = hex[c & 15];
	}
	*buf = '\0';
}

/* === Public =============================================================================== */

int mz_names_init(struct mz_names *names)
{
	int err;

	*names = (struct mz_names){ 0 };
	err = mz_table_init(&names->sites, SITES_MAX, MZ_SITE_KEY_SIZE, sizeof(struct mz_site));
	if (!err)
		err = mz_table_init(&names->comms, COMMS_MAX, sizeof(struct mz_comm),
				    sizeof(struct mz_comm));
	if (err)
		mz_names_deinit(names);
	return err;
}

void mz_names_deinit(struct mz_names *names)
{
	mz_table_deinit(&names->comms);
	mz_table_deinit(&names->sites);
}

void mz_record_fill(const struct mz_names *names, const struct mz_object *obj,
		    struct memorizer_record *ret_record)
{
	const struct mz_site *site = mz_table_entry(&names->sites, obj->alloc_site);
	const struct mz_site *free_site = mz_table_entry(&names->sites, obj->free_site);
	const struct mz_comm *comm = mz_table_entry(&names->comms, obj->comm);

	*ret_record = (struct memorizer_record){
		.addr = mz_object_addr(obj),
		.alloc_ip = site->ip,
		.free_ip = free_site->ip,
		.alloc_ns = obj->alloc_ns,
		.free_ns = obj->free_ns,
		.bytes_req = obj->size,
		.bytes_alloc = site->bytes_alloc,
		.gfp = site->gfp,
		.pid = obj->pid,
		.tgid = obj->tgid,
		.cpu = obj->cpu,
		.kind = site->kind,
		.context = obj->context,
		.flags = (obj->free_ns ? MEMORIZER_FREED : 0) |
			 (obj->implied ? MEMORIZER_IMPLIED : 0),
		.accesses = 0,
	};
	memcpy(ret_record->comm, comm->name, sizeof(ret_record->comm));
	memcpy(ret_record->cache, site->cache, sizeof(ret_record->cache));
}

/* The value of jiffies at a moment; 0 stays 0, "not yet". */
u64 mz_clock_jiffies(const struct mz_clock *clock, u64 ns)
{
	if (!ns)
		return 0;
	if (ns >= clock->base_ns)
		return clock->base_jiffies + div64_u64(ns - clock->base_ns, clock->tick_ns);
	return clock->base_jiffies -
	       div64_u64(clock->base_ns - ns + clock->tick_ns - 1, clock->tick_ns);
}

/**
 * mz_record_text() - the kmap line of an object, with its newline
 * @record: the object
 * @clock: for the jiffies
 * @buf: at least MZ_LINE_MAX bytes
 * @size: of @buf
 *
 * alloc_ip,pid,obj_va_ptr,size,alloc_jiffies,free_jiffies,free_ip,executable
 *
 * Return: the length of the line.
 */
int mz_record_text(const struct memorizer_record *record, const struct mz_clock *clock, char *buf,
		   size_t size)
{
	char comm[MEMORIZER_COMM_LEN * 4 + 1];

	escape_comm(record->comm, comm);
	return scnprintf(buf, size, "%016llx,%d,%016llx,%llu,%llu,%llu,%016llx,%s\n",
			 (unsigned long long)record->alloc_ip, record->pid,
			 (unsigned long long)record->addr, (unsigned long long)record->bytes_req,
			 (unsigned long long)mz_clock_jiffies(clock, record->alloc_ns),
			 (unsigned long long)mz_clock_jiffies(clock, record->free_ns),
			 (unsigned long long)record->free_ip, comm);
}
