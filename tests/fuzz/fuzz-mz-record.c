// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel module's tables of names, and the records and lines made from them: compared with
 * arrays of what was added, and checked by reading each line back.
 */
#include "steps.h"

#include "../../kernel/record.h"

bool user_pages_exhausted;

/* === The model ============================================================================ */

enum { SITES = 16, COMMS = 8 };

/* Entries by their number: all that were ever added, since a table removes nothing. */
struct model {
	struct mz_names names;
	struct mz_site sites[SITES + 1];
	struct mz_comm comms[COMMS + 1];
	u32 nr_sites, nr_comms;
	bool site_used[SITES + 1], comm_used[COMMS + 1];
};

static u32 find_site(const struct model *model, const struct mz_site *site)
{
	u32 id;

	for (id = 1; id <= SITES; id++) {
		const struct mz_site *known = &model->sites[id];

		if (model->site_used[id] && known->ip == site->ip && known->what == site->what &&
		    known->gfp == site->gfp && known->kind == site->kind)
			return id;
	}
	return MZ_ID_NONE;
}

static u32 find_comm(const struct model *model, const struct mz_comm *comm)
{
	u32 id;

	for (id = 1; id <= COMMS; id++) {
		if (model->comm_used[id] && !memcmp(&model->comms[id], comm, sizeof(*comm)))
			return id;
	}
	return MZ_ID_NONE;
}

/* Whether the result of a table is correct, where @known is the number of the entry so far. */
static void check_answer(bool found, u32 id, u32 known, u32 capacity, const bool *used)
{
	FUZZ_ASSERT(found == (id != MZ_ID_NONE));
	FUZZ_ASSERT(id <= capacity);
	if (known)
		FUZZ_ASSERT(id == known);
	else if (id)
		FUZZ_ASSERT(!used[id]);
}

/* === Steps ================================================================================ */

static struct mz_site read_site(struct steps *steps)
{
	u8 choice = step_u8(steps);

	/* Few of each, so that some are the same. */
	return (struct mz_site){
		.ip = choice & 3,
		.what = choice >> 2 & 3,
		.gfp = choice >> 4 & 1,
		.kind = choice >> 5,
		.bytes_req = step_u16(steps),
		.bytes_alloc = step_u32(steps),
		.cache = { (char)choice, 'x' },
	};
}

static struct mz_comm read_comm(struct steps *steps)
{
	struct mz_comm comm = { { 0 } };
	u8 len = step_u8(steps), i;

	for (i = 0; i < sizeof(comm.name) && i < len; i++)
		comm.name[i] = (char)step_u8(steps);
	return comm;
}

static void add_site(struct model *model, struct steps *steps)
{
	struct mz_site site = read_site(steps);
	u32 id = MZ_ID_NONE, known = find_site(model, &site);
	bool added;

	FUZZ_ASSERT(mz_table_find(&model->names.sites, &site, &id) == !!known);
	FUZZ_ASSERT(id == known);
	added = mz_table_add(&model->names.sites, &site, &id);
	check_answer(added, id, known, SITES, model->site_used);
	FUZZ_ASSERT(added == (known || model->nr_sites < SITES / 4 * 3));
	if (added && !known) {
		model->sites[id] = site;
		model->site_used[id] = true;
		model->nr_sites++;
	}
	FUZZ_ASSERT(
		!memcmp(mz_table_entry(&model->names.sites, id), &model->sites[id], sizeof(site)));
}

static void add_comm(struct model *model, struct steps *steps)
{
	struct mz_comm comm = read_comm(steps);
	u32 id = MZ_ID_NONE, known = find_comm(model, &comm);
	bool added;

	FUZZ_ASSERT(mz_table_find(&model->names.comms, &comm, &id) == !!known);
	FUZZ_ASSERT(id == known);
	added = mz_table_add(&model->names.comms, &comm, &id);
	check_answer(added, id, known, COMMS, model->comm_used);
	FUZZ_ASSERT(added == (known || model->nr_comms < COMMS / 4 * 3));
	if (added && !known) {
		model->comms[id] = comm;
		model->comm_used[id] = true;
		model->nr_comms++;
	}
}

/* === Lines ================================================================================ */

/* The moment in jiffies: rounded down, on both sides of the base. */
static u64 jiffies_of(const struct mz_clock *clock, u64 ns)
{
	u64 tick = (u64)clock->tick_ns, before;

	if (!ns)
		return 0;
	if (ns >= clock->base_ns)
		return clock->base_jiffies + (ns - clock->base_ns) / tick;
	before = clock->base_ns - ns;
	return clock->base_jiffies - (before / tick + (before % tick != 0));
}

static u64 number(const char **at, int base, char end)
{
	char *behind;
	u64 value;

	FUZZ_ASSERT(**at >= '0' && **at <= 'f'); /* no blank, no sign */
	value = strtoull(*at, &behind, base);
	FUZZ_ASSERT(base != 16 || behind - *at == 16);
	FUZZ_ASSERT(*behind == end);
	*at = behind + 1;
	return value;
}

static int signed_number(const char **at, char end)
{
	bool negative = **at == '-';
	u64 value;

	*at += negative;
	value = number(at, 10, end);
	return (int)(negative ? -value : value);
}

/* The last field: special characters are written as \xNN. */
static void check_comm(const char *at, const char *comm)
{
	unsigned int i;

	for (i = 0; i < MEMORIZER_COMM_LEN && comm[i]; i++) {
		unsigned int c = (u8)*at;

		FUZZ_ASSERT(c >= ' ' && c < 0x7f && c != ',');
		if (*at == '\\') {
			FUZZ_ASSERT(sscanf(at, "\\x%2x", &c) == 1);
			at += 3;
		}
		at++;
		FUZZ_ASSERT((char)c == comm[i]);
	}
	FUZZ_ASSERT(!strcmp(at, "\n"));
}

static void check_line(const struct memorizer_record *record, const struct mz_clock *clock)
{
	char line[MZ_LINE_MAX];
	const char *at = line;
	int len = mz_record_text(record, clock, line, sizeof(line));

	FUZZ_ASSERT(len == (int)strlen(line));
	FUZZ_ASSERT(number(&at, 16, ',') ==
		    (record->kind == MEMORIZER_PERCPU ? MEMORIZER_TEXT_PERCPU : record->alloc_ip));
	FUZZ_ASSERT(signed_number(&at, ',') ==
		    (record->context == MEMORIZER_IN_TASK ? record->pid : 0));
	FUZZ_ASSERT(number(&at, 16, ',') == record->addr);
	FUZZ_ASSERT(number(&at, 10, ',') == record->bytes_req);
	FUZZ_ASSERT(number(&at, 10, ',') == jiffies_of(clock, record->alloc_ns));
	FUZZ_ASSERT(number(&at, 10, ',') == jiffies_of(clock, record->free_ns));
	FUZZ_ASSERT(number(&at, 16, ',') == record->free_ip);
	check_comm(at, record->comm);
}

static void check_access_line(struct steps *steps)
{
	struct memorizer_access access = {
		.ip = step_u64(steps),
		.pid = (int)step_u32(steps),
		.writes = step_u64(steps),
		.reads = step_u64(steps),
	};
	char line[MZ_LINE_MAX];
	const char *at = line + 2;
	int len = mz_access_text(&access, line, sizeof(line));

	FUZZ_ASSERT(len == (int)strlen(line));
	FUZZ_ASSERT(!strncmp(line, "  ", 2));
	FUZZ_ASSERT(number(&at, 16, ',') == access.ip);
	FUZZ_ASSERT(signed_number(&at, ',') == access.pid);
	FUZZ_ASSERT(number(&at, 10, ',') == access.writes);
	FUZZ_ASSERT(number(&at, 10, '\n') == access.reads);
	FUZZ_ASSERT(at == line + len);
}

static struct mz_clock read_clock(struct steps *steps)
{
	return (struct mz_clock){
		.base_ns = step_u64(steps) >> 1, /* three hundred years */
		.base_jiffies = step_u64(steps),
		.tick_ns = 1 + step_u32(steps) % 1000000000,
	};
}

/* No kernel's addresses differ in the two highest bits; the key of what was made does. */
static u64 addr_of(u64 key)
{
	u64 top = key >> 62;

	return top == 1 || top == 2 ? key ^ 1ULL << 62 : key - (key & 1);
}

/* Compares each field of an object's record with its expected value. */
static void check_record(const struct model *model, struct steps *steps)
{
	struct mz_clock clock = read_clock(steps);
	struct mz_object obj = {
		.key = step_u64(steps),
		.alloc_ns = step_u64(steps) >> 1,
		.free_ns = step_u64(steps) >> 1,
		.alloc_site = step_u8(steps) % (SITES + 1),
		.free_site = step_u8(steps) % (SITES + 1),
		.size = step_u32(steps),
		.pid = step_u32(steps),
		.tgid = step_u32(steps),
		.comm = step_u8(steps) % (COMMS + 1),
		.cpu = step_u16(steps),
		.context = step_u8(steps),
		.implied = step_u8(steps),
		.gen = step_u8(steps),
	};
	const struct mz_site *site = &model->sites[obj.alloc_site];
	struct memorizer_record record;

	mz_record_fill(&model->names, &obj, &record);
	FUZZ_ASSERT(record.addr == addr_of(obj.key));
	FUZZ_ASSERT(record.alloc_ip == site->ip && record.gfp == site->gfp);
	FUZZ_ASSERT(record.free_ip == model->sites[obj.free_site].ip);
	FUZZ_ASSERT(record.alloc_ns == obj.alloc_ns && record.free_ns == obj.free_ns);
	FUZZ_ASSERT(record.bytes_req == obj.size && record.bytes_alloc == site->bytes_alloc);
	FUZZ_ASSERT(record.pid == (obj.context == MEMORIZER_IN_TASK ? (int)obj.pid : -1));
	FUZZ_ASSERT(record.tgid == (obj.context == MEMORIZER_IN_TASK ? (int)obj.tgid : -1));
	FUZZ_ASSERT(record.cpu == obj.cpu);
	FUZZ_ASSERT(record.kind == site->kind && record.context == obj.context);
	FUZZ_ASSERT(!(record.flags & MEMORIZER_FREED) == !obj.free_ns);
	FUZZ_ASSERT(!(record.flags & MEMORIZER_IMPLIED) == !obj.implied);
	FUZZ_ASSERT(!(record.flags & ~(MEMORIZER_FREED | MEMORIZER_IMPLIED)));
	FUZZ_ASSERT(!record.accesses);
	FUZZ_ASSERT(!memcmp(record.comm, &model->comms[obj.comm], sizeof(record.comm)));
	FUZZ_ASSERT(!memcmp(record.cache, site->cache, sizeof(record.cache)));
	check_line(&record, &clock);

	/* The widest possible line. */
	record.pid = (int)step_u32(steps);
	record.bytes_req = step_u64(steps);
	check_line(&record, &clock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct steps steps = { data, data + size };
	struct model model = { .nr_sites = 0 };
	struct mz_names *names = &model.names;

	FUZZ_ASSERT(!mz_table_init(&names->sites, SITES, MZ_SITE_KEY_SIZE, sizeof(struct mz_site)));
	FUZZ_ASSERT(!mz_table_init(&names->comms, COMMS, sizeof(struct mz_comm),
				   sizeof(struct mz_comm)));
	while (steps_left(&steps)) {
		switch (step_u8(&steps) % 4) {
		case 0:
			add_site(&model, &steps);
			break;
		case 1:
			add_comm(&model, &steps);
			break;
		case 2:
			check_access_line(&steps);
			break;
		default:
			check_record(&model, &steps);
			break;
		}
	}
	mz_names_deinit(names);
	return 0;
}
