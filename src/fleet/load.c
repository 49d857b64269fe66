// SPDX-License-Identifier: LGPL-2.1-only
/* Batches of many hosts become blocks: one for each table and hour. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/schema.h"
#include "fleet/store.h"

/* === Data ================================================================================= */

enum {
	HOUR = 3600,
	HOURS_MAX = 48, /* in one load */
	ROWS_MAX = 400000,
	VALUES_MAX = 20, /* columns of rows or reports */
};

/* A part of a table on the server is of one hour: rows of two would make two parts, one of which may be missing. */
struct hour {
	u32 number;
	struct ks_native rows, reports;
};

struct ks_store_load {
	struct ks_native names, labels;
	KS_VEC(struct hour) hours;
	size_t rows;
};

/* === Internals ============================================================================ */

static int init_block(struct ks_native *block, enum ks_store_table table)
{
	const struct ks_store_shape *shape = &ks_store_shapes[table];

	return ks_native_init(block, shape->columns, shape->nr_columns);
}

static struct hour *find_hour(struct ks_store_load *load, u32 number)
{
	struct hour *hour;
	size_t i;

	for (i = 0; i < load->hours.len; i++)
		if (load->hours.items[i].number == number)
			return &load->hours.items[i];
	hour = ks_vec_push(&load->hours);
	if (!hour)
		return NULL;
	hour->number = number;
	if (init_block(&hour->rows, KS_STORE_ROWS) || init_block(&hour->reports, KS_STORE_REPORTS))
		return NULL; /* what is there is freed with the rest */
	return hour;
}

static void add_values(struct ks_native *block, const u64 *values)
{
	size_t i;

	for (i = 0; i < block->nr_columns; i++)
		ks_native_number(block, values[i]);
}

static int put_block(struct ks_store *store, enum ks_store_table table,
		     const struct ks_native *block, struct ks_diag *diag)
{
	const struct ks_store_shape *shape = &ks_store_shapes[table];
	struct ks_strbuf sql, data;
	int err;

	if (!block->rows)
		return 0;
	ks_strbuf_init(&sql);
	ks_strbuf_init(&data);
	ks_strbuf_printf(&sql, "INSERT INTO %s.%s ", store->database, shape->name);
	ks_native_names(shape->columns, shape->nr_columns, &sql);
	ks_strbuf_puts(&sql, " FORMAT Native");
	ks_native_finish(block, &data);
	if (sql.failed || data.failed)
		err = ks_diag_nomem(diag, "making a block of rows");
	else
		err = ks_http_insert(store->http, sql.s, data.s, data.len, diag);
	ks_strbuf_deinit(&sql);
	ks_strbuf_deinit(&data);
	return err;
}

/* === Public =============================================================================== */

void ks_store_row_values(const struct ks_fleet_batch *batch, const struct ks_fleet_row *row,
			 u64 *values)
{
	const u64 all[] = { batch->host,
			    batch->boot,
			    batch->build,
			    batch->at,
			    batch->span,
			    row->cache,
			    row->type,
			    row->site,
			    row->stack,
			    row->cgroup,
			    (u64)row->live_bytes,
			    (u64)row->live_objects,
			    row->allocs,
			    row->frees,
			    0, /* the bits of the error */
			    row->quality,
			    batch->version };
	u32 bits;

	memcpy(&bits, &row->std_error, sizeof(bits));
	memcpy(values, all, sizeof(all));
	values[14] = bits;
}

void ks_store_report_values(const struct ks_fleet_batch *batch, u64 *values)
{
	u64 live = 0;
	size_t i;

	for (i = 0; i < batch->rows.len; i++)
		live += (u64)batch->rows.items[i].live_bytes;
	{
		const u64 all[] = { batch->host,   batch->boot,	  batch->build,	   batch->at,
				    batch->span,   batch->uptime, batch->rows.len, live,
				    batch->torn,   batch->lost,	  batch->skipped,  batch->quality,
				    batch->version };

		memcpy(values, all, sizeof(all));
	}
}

int ks_store_load_new(struct ks_store_load **ret_load, struct ks_diag *diag)
{
	struct ks_store_load *load = calloc(1, sizeof(*load));

	if (!load || init_block(&load->names, KS_STORE_NAMES) ||
	    init_block(&load->labels, KS_STORE_LABELS)) {
		ks_store_load_free(load);
		return ks_diag_nomem(diag, "making a block of rows");
	}
	*ret_load = load;
	return 0;
}

void ks_store_load_free(struct ks_store_load *load)
{
	if (!load)
		return;
	ks_store_load_clear(load);
	ks_native_deinit(&load->names);
	ks_native_deinit(&load->labels);
	ks_vec_free(&load->hours);
	free(load);
}

void ks_store_load_clear(struct ks_store_load *load)
{
	size_t i;

	for (i = 0; i < load->hours.len; i++) {
		ks_native_deinit(&load->hours.items[i].rows);
		ks_native_deinit(&load->hours.items[i].reports);
	}
	load->hours.len = 0;
	load->rows = 0;
	ks_native_clear(&load->names);
	ks_native_clear(&load->labels);
}

size_t ks_store_load_rows(const struct ks_store_load *load)
{
	return load->rows;
}

int ks_store_load_add(struct ks_store_load *load, const struct ks_fleet_batch *batch,
		      struct ks_diag *diag)
{
	u64 values[VALUES_MAX];
	struct hour *hour;
	size_t i;

	if (load->rows &&
	    (load->rows + batch->rows.len > ROWS_MAX ||
	     load->names.rows + batch->names.len > ROWS_MAX || load->hours.len == HOURS_MAX))
		return -E2BIG;
	hour = find_hour(load, batch->at / HOUR);
	if (!hour)
		return ks_diag_nomem(diag, "making a block of rows");
	for (i = 0; i < batch->names.len; i++) {
		const struct ks_fleet_name *name = &batch->names.items[i];

		ks_native_number(&load->names, name->kind);
		ks_native_number(&load->names, name->id);
		ks_native_string(&load->names, name->name, name->len);
	}
	for (i = 0; i < batch->labels.len; i++) {
		const struct ks_fleet_label *label = &batch->labels.items[i];

		ks_native_number(&load->labels, batch->host);
		ks_native_string(&load->labels, label->name, strlen(label->name));
		ks_native_string(&load->labels, label->value, strlen(label->value));
		ks_native_number(&load->labels, batch->version);
	}
	for (i = 0; i < batch->rows.len; i++) {
		ks_store_row_values(batch, &batch->rows.items[i], values);
		add_values(&hour->rows, values);
	}
	ks_store_report_values(batch, values);
	add_values(&hour->reports, values);
	load->rows += batch->rows.len + 1;
	return 0;
}

int ks_store_put(struct ks_store *store, struct ks_store_load *load, struct ks_diag *diag)
{
	int err = put_block(store, KS_STORE_NAMES, &load->names, diag);
	size_t i;

	if (!err)
		err = put_block(store, KS_STORE_LABELS, &load->labels, diag);
	for (i = 0; !err && i < load->hours.len; i++) {
		err = put_block(store, KS_STORE_ROWS, &load->hours.items[i].rows, diag);
		if (!err)
			err = put_block(store, KS_STORE_REPORTS, &load->hours.items[i].reports,
					diag);
	}
	return err;
}
