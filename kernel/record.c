// SPDX-License-Identifier: GPL-2.0-only
/* Makes binary records of packed objects, and text lines of records. */
#include "record.h"

/* === Data ================================================================================= */

/*
 * A kernel has some ten thousand pairs of call site and flags. User space chooses comms, and may
 * choose any number of them: those that do not fit are left out, and counted.
 */
#define SITES_MAX 32768
#define COMMS_MAX 8192

/* How many access records are merged before other tasks may run. */
#define MERGE_BATCH 4096

/* === Internals ============================================================================ */

/* The fields are separated by commas and the lines by newlines, so a name must not hold them. */
static void escape(const char *name, size_t len, char *buf)
{
	static const char hex[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len && name[i]; i++) {
		u8 c = name[i];

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

static u64 access_ip(const struct mz_access *access, u64 text)
{
	return text + (s64)(s32)access->ip;
}

static int access_pid(const struct mz_access *access)
{
	if (mz_access_context(access) != MEMORIZER_IN_TASK)
		return MEMORIZER_PID_NONE;
	return (int)mz_access_pid(access);
}

/* Records of one offset are a sum, and those of many a different one. */
static u32 access_spot(const struct mz_access *access)
{
	return mz_access_spot(access) & ~MZ_SPOT_LENGTHS;
}

/*
 * Negative, 0 or positive, as by instruction, thread, context, spot and processor @a is before,
 * with or after @b.
 */
static int compare_accesses(const struct mz_access *a, const struct mz_access *b)
{
	if (a->ip != b->ip)
		return (s32)a->ip < (s32)b->ip ? -1 : 1;
	if (access_pid(a) != access_pid(b))
		return access_pid(a) < access_pid(b) ? -1 : 1;
	if (mz_access_context(a) != mz_access_context(b))
		return (int)mz_access_context(a) - (int)mz_access_context(b);
	if (access_spot(a) != access_spot(b))
		return (int)access_spot(a) - (int)access_spot(b);
	return (int)mz_access_cpu(a) - (int)mz_access_cpu(b);
}

static u8 spot_flags(u32 spot)
{
	return MEMORIZER_HAS_SPOT | (spot & MZ_SPOT_VARIES ? MEMORIZER_OFFSET_VARIES : 0) |
	       (spot & MZ_SPOT_LENGTHS ? MEMORIZER_LENGTH_VARIES : 0);
}

/* Whether records are parts of one sum of the binary form, or of one line of the text. */
static bool belong_together(const struct mz_access *a, const struct mz_access *b, bool apart)
{
	if (apart)
		return compare_accesses(a, b) == 0;
	return a->ip == b->ip && access_pid(a) == access_pid(b);
}

static struct mz_access *merge_accesses(struct mz_access *a, struct mz_access *b)
{
	struct mz_access *merged = NULL, **end = &merged;
	unsigned int nr = 0;

	while (a && b) {
		struct mz_access **least = compare_accesses(a, b) <= 0 ? &a : &b;

		*end = *least;
		end = &(*end)->next;
		*least = *end;
		if (++nr % MERGE_BATCH == 0)
			cond_resched();
	}
	*end = a ? a : b;
	return merged;
}

/* === Public =============================================================================== */

int mz_names_init(struct mz_names *names)
{
	int err;

	memset(names, 0, sizeof(*names));
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
	bool in_task = obj->context == MEMORIZER_IN_TASK;

	*ret_record = (struct memorizer_record){
		.addr = mz_object_addr(obj),
		.alloc_ip = site->ip,
		.free_ip = free_site->ip,
		.alloc_ns = obj->alloc_ns,
		.free_ns = obj->free_ns,
		.bytes_req = obj->size,
		.bytes_alloc = site->bytes_alloc,
		.gfp = site->gfp,
		.pid = in_task ? (int)obj->pid : MEMORIZER_PID_NONE,
		.tgid = in_task ? (int)obj->tgid : MEMORIZER_PID_NONE,
		.cpu = obj->cpu,
		.kind = site->kind,
		.context = obj->context,
		.flags = (obj->free_ns ? MEMORIZER_FREED : 0) |
			 (obj->implied ? MEMORIZER_IMPLIED : 0),
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
 * The format is older than struct memorizer_record: its pid of an object from an interrupt is 0,
 * and the name in the last field says which kind of interrupt it was.
 *
 * Return: the length of the line.
 */
int mz_record_text(const struct memorizer_record *record, const struct mz_clock *clock, char *buf,
		   size_t size)
{
	int pid = record->context == MEMORIZER_IN_TASK ? record->pid : 0;
	u64 ip = record->kind == MEMORIZER_PERCPU ? MEMORIZER_TEXT_PERCPU : record->alloc_ip;
	char comm[MEMORIZER_COMM_LEN * 4 + 1];

	escape(record->comm, sizeof(record->comm), comm);
	return scnprintf(buf, size, "%016llx,%d,%016llx,%llu,%llu,%llu,%016llx,%s\n",
			 (unsigned long long)ip, pid, (unsigned long long)record->addr,
			 (unsigned long long)record->bytes_req,
			 (unsigned long long)mz_clock_jiffies(clock, record->alloc_ns),
			 (unsigned long long)mz_clock_jiffies(clock, record->free_ns),
			 (unsigned long long)record->free_ip, comm);
}

/* Sorts the records of an object that nobody counts in any more. */
void mz_accesses_sort(struct mz_object *obj)
{
	/* Bin i holds a sorted run of 2^i records. */
	struct mz_access *bins[32] = { NULL }, *access = mz_object_accesses(obj), *all = NULL;
	unsigned int i, nr = 0;

	while (access) {
		struct mz_access *run = access;

		if (++nr % MERGE_BATCH == 0)
			cond_resched();

		access = access->next;
		run->next = NULL;
		for (i = 0; bins[i]; i++) {
			run = merge_accesses(bins[i], run);
			bins[i] = NULL;
		}
		bins[i] = run;
	}
	for (i = 0; i < ARRAY_SIZE(bins); i++)
		all = merge_accesses(bins[i], all);
	mz_object_set_accesses(obj, all);
}

/* The number of sums that mz_accesses_next() makes of an object's records, spots apart. */
unsigned int mz_accesses_count(const struct mz_object *obj)
{
	const struct mz_access *access = mz_object_accesses(obj);
	unsigned int nr = 0;

	for (; access; access = access->next)
		nr += !access->next || compare_accesses(access, access->next) != 0;
	return nr;
}

/**
 * mz_accesses_next() - adds up what one instruction did in one thread
 * @from: the first of its records, which mz_accesses_sort() has sorted
 * @text: where the kernel's text starts
 * @apart: keep kinds of interrupts, spots and processors apart
 * @ret_access: the sum
 *
 * Return: the first record behind them, or NULL.
 */
const struct mz_access *mz_accesses_next(const struct mz_access *from, u64 text, bool apart,
					 struct memorizer_access *ret_access)
{
	const struct mz_access *access;

	*ret_access = (struct memorizer_access){
		.ip = access_ip(from, text),
		.pid = access_pid(from),
		.context = mz_access_context(from),
		.cpu = mz_access_cpu(from),
		.offset = access_spot(from) & MZ_SPOT_FAR,
	};
	for (access = from; access && belong_together(access, from, apart); access = access->next) {
		u64 sums = READ_ONCE(access->sums);

		ret_access->flags |= spot_flags(mz_sums_spot(sums));
		if (mz_access_is_write(access)) {
			ret_access->writes += mz_sums_count(sums);
			ret_access->bytes_written += mz_sums_bytes(sums);
		} else {
			ret_access->reads += mz_sums_count(sums);
			ret_access->bytes_read += mz_sums_bytes(sums);
		}
	}
	return access;
}

/* The line of an access below that of its object: access_ip,access_pid,write_count,read_count */
int mz_access_text(const struct memorizer_access *access, char *buf, size_t size)
{
	return scnprintf(buf, size, "  %016llx,%d,%llu,%llu\n", (unsigned long long)access->ip,
			 access->pid, (unsigned long long)access->writes,
			 (unsigned long long)access->reads);
}

/*
 * The line of an object in a table: alloc_ip,pid,ptr,size,alloc_time,free_time,free_ip,type,
 * command,slab,new_type. The time of the allocation is what the accesses name it by.
 */
int mz_record_csv(const struct memorizer_record *record, char *buf, size_t size)
{
	static const char *const types[] = {
		[MEMORIZER_KMALLOC] = "KMALLOC",       [MEMORIZER_CACHE] = "KMEM_CACHE",
		[MEMORIZER_PAGES] = "ALLOC_PAGES",     [MEMORIZER_VMALLOC] = "VMALLOC",
		[MEMORIZER_SLAB_PAGES] = "SLAB_PAGES", [MEMORIZER_GLOBAL] = "GLOBAL",
		[MEMORIZER_PERCPU] = "PERCPU",	       [MEMORIZER_STACK] = "STACK_PAGE",
		[MEMORIZER_BOOT] = "MEMBLOCK",	       [MEMORIZER_MODULE] = "MODULE",
		[MEMORIZER_PAGE_TABLE] = "PAGE_TABLE", [MEMORIZER_OTHER] = "UFO_NONE",
	};
	const char *type = record->kind < ARRAY_SIZE(types) ? types[record->kind] : NULL;
	char comm[MEMORIZER_COMM_LEN * 4 + 1], cache[MEMORIZER_CACHE_LEN * 4 + 1];

	escape(record->comm, sizeof(record->comm), comm);
	escape(record->cache, sizeof(record->cache), cache);
	return scnprintf(buf, size, "%016llx,%d,%016llx,%llu,%llu,%llu,%016llx,%s,%s,%s,\n",
			 (unsigned long long)record->alloc_ip, record->pid,
			 (unsigned long long)record->addr, (unsigned long long)record->bytes_req,
			 (unsigned long long)record->alloc_ns, (unsigned long long)record->free_ns,
			 (unsigned long long)record->free_ip, type ?: "NONE", comm,
			 cache[0] ? cache : "no-slab");
}

/* The line of an access in the table beside it. */
int mz_access_csv(u64 index, const struct memorizer_access *access, char *buf, size_t size)
{
	return scnprintf(buf, size, "%llu,%016llx,%d,%llu,%llu\n", (unsigned long long)index,
			 (unsigned long long)access->ip, access->pid,
			 (unsigned long long)access->writes, (unsigned long long)access->reads);
}
