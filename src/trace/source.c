// SPDX-License-Identifier: LGPL-2.1-only
/* What all readers of captures begin and end with. */
#include "trace/reader.h"

#include <stdlib.h>

/* === Public =============================================================================== */

void *ks_trace_new(size_t size, const struct ks_trace_ops *ops, const char *format)
{
	struct ks_trace *trace = calloc(1, size);

	if (!trace || ks_names_init(&trace->names)) {
		free(trace);
		return NULL;
	}
	trace->ops = ops;
	trace->info.format = format;
	trace->info.clock = "none";
	return trace;
}

void ks_trace_free(struct ks_trace *trace)
{
	size_t i;

	for (i = 0; i < trace->info.unparsed.len; i++)
		free(trace->info.unparsed.items[i]);
	ks_vec_free(&trace->info.unparsed);
	ks_vec_free(&trace->info.cpus);
	ks_vec_free(&trace->info.cpu_nodes);
	ks_names_deinit(&trace->names);
	free(trace);
}

int ks_trace_add_cpu(struct ks_trace *trace, const struct ks_cpu_info *cpu)
{
	struct ks_cpu_info *slot = ks_vec_push(&trace->info.cpus);

	if (!slot)
		return -ENOMEM;
	*slot = *cpu;
	trace->info.records_bad += cpu->bad;
	return 0;
}

void ks_trace_close(struct ks_trace *trace)
{
	if (trace)
		trace->ops->close(trace);
}
