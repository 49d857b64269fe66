/* SPDX-License-Identifier: LGPL-2.1-only */
/* The header of a perf.data: what was counted, how samples are laid out, and where they are. */
#ifndef KS_TRACE_PERFFILE_H
#define KS_TRACE_PERFFILE_H

#include "trace/host.h"
#include "trace/tracemeta.h"

enum {
	KS_PERF_IP = 1 << 0,
	KS_PERF_TID = 1 << 1,
	KS_PERF_TIME = 1 << 2,
	KS_PERF_ADDR = 1 << 3,
	KS_PERF_READ = 1 << 4,
	KS_PERF_CALLCHAIN = 1 << 5,
	KS_PERF_ID = 1 << 6,
	KS_PERF_CPU = 1 << 7,
	KS_PERF_PERIOD = 1 << 8,
	KS_PERF_STREAM_ID = 1 << 9,
	KS_PERF_RAW = 1 << 10,
	KS_PERF_IDENTIFIER = 1 << 16,
};

/* How the records of one event are laid out. */
struct ks_perf_attr {
	u64 sample_type, read_format;
	bool sample_id_all;
};

struct ks_perf_file {
	const char *name;
	int fd;
	u64 size;
	bool big_endian, swap;
	bool pipe;  /* written to a pipe: attributes and formats come as records */
	bool mixed; /* attributes differ: records must be looked up by id */
	u64 data_pos, data_end;
	struct ks_host host;
	KS_VEC(struct ks_perf_attr) attrs;
	KS_VEC(u16) cpu_nodes; /* NUMA node by CPU */
	struct ks_map64 ids;   /* sample ids, numbered as id_attrs */
	KS_VEC(u32) id_attrs;  /* index of the attribute */
};

/* Reads the header and the tracing data; @dec is initialised here, the caller's on success. */
int ks_perf_file_open(struct ks_perf_file *pf, const char *name, int fd, u64 size,
		      struct ks_names *names, struct ks_rawdec *dec, struct ks_diag *diag);
void ks_perf_file_deinit(struct ks_perf_file *pf);

/* One attribute at the cursor, of @attr_size bytes, and its ids. */
int ks_perf_add_attr(struct ks_perf_file *pf, struct ks_cursor *attr, u64 attr_size,
		     struct ks_cursor *ids, u64 ids_len);

enum { KS_PERF_RECORD_HEADER = 8 };

/* Where and when a record was made; of a sample, also its event. */
struct ks_perf_sample {
	u64 time;
	u32 cpu; /* KS_CPU_UNKNOWN where the sample does not say */
	const u8 *raw;
	u32 raw_len;
	const u8 *chain; /* addresses of the kernel's part of the call chain, 8 bytes each */
	u32 chain_len;
};

/* Walks a sample in the order of its fields, as far as the raw data; false where it is too short. */
bool ks_perf_parse_sample(const struct ks_perf_file *pf, const u8 *rec, size_t size,
			  struct ks_perf_sample *ret_sample);

/* The time and CPU that follow other records: read from their end. */
void ks_perf_parse_trailer(const struct ks_perf_file *pf, const u8 *rec, size_t size,
			   struct ks_perf_sample *ret_sample);

/* Reads the sections that a trace.dat has as well, one after the other. */
void ks_perf_tracing_data(struct ks_cursor *cur, struct ks_rawdec *dec);

#endif
