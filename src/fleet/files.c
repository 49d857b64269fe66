// SPDX-License-Identifier: LGPL-2.1-only
/* Tables of a fleet as Parquet files in a directory. */
#include "fleet/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/outfile.h"
#include "fleet/files-names.h"
#include "fleet/store.h"
#include "table/parquet-read.h"

/* === Data ================================================================================= */

enum {
	HOUR = 3600,
	ROWS_MAX = 2000000, /* waiting to be written */
	FILE_MAX = 1 << 30,
	PATH_LEN = 4096,
	COLUMNS_MAX = 20,
};

/* Rows of one table and hour that wait to be written. */
struct part {
	enum ks_store_table table;
	u32 hour;
	KS_VEC(u64) numbers;
};

struct ks_files {
	char *dir;
	int lock;
	KS_VEC(struct part) parts;
	size_t rows; /* in parts */
	struct ks_files_names names;
};

/* What makes a row one of its kind: of rows with the same key the one with the highest version stays. */
static const u8 rows_key[] = { KS_ROW_HOST, KS_ROW_BOOT,  KS_ROW_CACHE,	 KS_ROW_TYPE,
			       KS_ROW_SITE, KS_ROW_STACK, KS_ROW_CGROUP, KS_ROW_TS };
static const u8 reports_key[] = { KS_REPORT_TS, KS_REPORT_HOST, KS_REPORT_BOOT };

static const struct ks_native_column stored_column = { "stored", KS_NATIVE_TIME };

/* === Internals: tables ==================================================================== */

static size_t width_of(enum ks_store_table table)
{
	return table == KS_STORE_ROWS ? KS_FILES_ROW_COLUMNS : KS_FILES_REPORT_COLUMNS;
}

static const struct ks_native_column *column_of(enum ks_store_table table, size_t i)
{
	const struct ks_store_shape *shape = &ks_store_shapes[table];

	return i < shape->nr_columns ? &shape->columns[i] : &stored_column;
}

static enum ks_parquet_type type_of(const struct ks_native_column *column)
{
	switch (column->type) {
	case KS_NATIVE_U64:
		return KS_PARQUET_U64;
	case KS_NATIVE_S64:
		return KS_PARQUET_S64;
	case KS_NATIVE_F32:
	case KS_NATIVE_F64:
		return KS_PARQUET_DOUBLE;
	default:
		return KS_PARQUET_U32;
	}
}

/* A float is kept by its bits, as in blocks for a server; a file has a double. */
static u64 widen(u64 bits32)
{
	u32 narrow = (u32)bits32;
	double wide;
	float value;
	u64 bits;

	memcpy(&value, &narrow, sizeof(value));
	wide = (double)value;
	memcpy(&bits, &wide, sizeof(bits));
	return bits;
}

static u64 narrow(u64 bits)
{
	double wide;
	float value;
	u32 bits32;

	memcpy(&wide, &bits, sizeof(wide));
	value = (float)wide;
	memcpy(&bits32, &value, sizeof(bits32));
	return bits32;
}

static int compare_keys(const u64 *a, const u64 *b, const u8 *key, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (a[key[i]] != b[key[i]])
			return a[key[i]] < b[key[i]] ? -1 : 1;
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const u64 *a = left, *b = right;
	int order = compare_keys(a, b, rows_key, sizeof(rows_key));

	if (order)
		return order;
	return a[KS_ROW_VER] < b[KS_ROW_VER] ? 1 : a[KS_ROW_VER] > b[KS_ROW_VER] ? -1 : 0;
}

static int compare_reports(const void *left, const void *right)
{
	const u64 *a = left, *b = right;
	int order = compare_keys(a, b, reports_key, sizeof(reports_key));

	if (order)
		return order;
	if (a[KS_REPORT_VER] != b[KS_REPORT_VER])
		return a[KS_REPORT_VER] < b[KS_REPORT_VER] ? 1 : -1;
	return 0;
}

/* Sorts, and keeps the first of each key: the one with the highest version. Returns how many are left. */
static size_t sort_and_merge(enum ks_store_table table, u64 *numbers, size_t rows)
{
	bool of_rows = table == KS_STORE_ROWS;
	size_t width = width_of(table), kept = 0, i;

	qsort(numbers, rows, width * sizeof(u64), of_rows ? compare_rows : compare_reports);
	for (i = 0; i < rows; i++) {
		u64 *row = &numbers[i * width], *last = kept ? &numbers[(kept - 1) * width] : NULL;

		if (last && !(of_rows ? compare_keys(last, row, rows_key, sizeof(rows_key))
				      : compare_keys(last, row, reports_key, sizeof(reports_key))))
			continue;
		memmove(&numbers[kept++ * width], row, width * sizeof(u64));
	}
	return kept;
}

/* === Internals: files ===================================================================== */

static void hour_path(const struct ks_files *files, enum ks_store_table table, u32 hour,
		      char path[PATH_LEN])
{
	time_t at = hour;
	struct tm tm;

	gmtime_r(&at, &tm);
	snprintf(path, PATH_LEN, "%s/%s/%04d-%02d-%02dT%02d.parquet", files->dir,
		 ks_store_shapes[table].name, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		 tm.tm_hour);
}

static int write_hour(const struct ks_files *files, enum ks_store_table table, u32 hour,
		      const u64 *numbers, size_t rows, struct ks_diag *diag)
{
	struct ks_parquet_field fields[COLUMNS_MAX];
	size_t width = width_of(table), i, j;
	struct ks_parquet *writer;
	char path[PATH_LEN];
	struct ks_strbuf out;
	int err;

	for (i = 0; i < width; i++)
		fields[i] = (struct ks_parquet_field){ column_of(table, i)->name,
						       type_of(column_of(table, i)), false };
	ks_strbuf_init(&out);
	writer = ks_parquet_new(fields, width, &out);
	if (!writer) {
		ks_strbuf_deinit(&out);
		return ks_diag_nomem(diag, "writing a Parquet file");
	}
	for (i = 0; i < rows; i++)
		for (j = 0; j < width; j++) {
			u64 value = numbers[i * width + j];

			ks_parquet_number(writer, fields[j].type == KS_PARQUET_DOUBLE ? widen(value)
										      : value);
		}
	ks_parquet_finish(writer);
	ks_parquet_free(writer);
	hour_path(files, table, hour, path);
	err = ks_files_write(path, &out, diag);
	ks_strbuf_deinit(&out);
	return err;
}

/* What is there and what is new become one file. */
static int flush_part(const struct ks_files *files, struct part *part, struct ks_diag *diag)
{
	struct ks_files_table old = { 0 };
	size_t width = width_of(part->table), rows;
	int err = ks_files_read(files, part->table, part->hour, UINT32_MAX, &old, diag);

	if (!err && ks_vec_reserve(&part->numbers, part->numbers.len + old.items.len))
		err = ks_diag_nomem(diag, "writing a Parquet file");
	if (!err) {
		if (old.items.len)
			memcpy(part->numbers.items + part->numbers.len, old.items.items,
			       old.items.len * sizeof(u64));
		rows = (part->numbers.len + old.items.len) / width;
		rows = sort_and_merge(part->table, part->numbers.items, rows);
		err = write_hour(files, part->table, part->hour, part->numbers.items, rows, diag);
	}
	ks_vec_free(&old.items);
	return err;
}

static int find_part(struct ks_files *files, enum ks_store_table table, u32 hour,
		     struct part **ret_part)
{
	struct part *part;
	size_t i;

	for (i = 0; i < files->parts.len; i++) {
		part = &files->parts.items[i];
		if (part->table == table && part->hour == hour) {
			*ret_part = part;
			return 0;
		}
	}
	part = ks_vec_push(&files->parts);
	if (!part)
		return -ENOMEM;
	part->table = table;
	part->hour = hour;
	*ret_part = part;
	return 0;
}

static int add_values(struct part *part, const u64 *values)
{
	size_t width = width_of(part->table);

	if (ks_vec_reserve(&part->numbers, part->numbers.len + width))
		return -ENOMEM;
	memcpy(&part->numbers.items[part->numbers.len], values, width * sizeof(u64));
	part->numbers.len += width;
	return 0;
}

static int add_batch(struct ks_files *files, const struct ks_fleet_batch *batch)
{
	u64 values[COLUMNS_MAX];
	struct part *part;
	u32 hour = batch->at / HOUR * HOUR;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < batch->names.len; i++) {
		const struct ks_fleet_name *name = &batch->names.items[i];

		err = ks_files_names_add(&files->names, name->id, name->kind, name->name,
					 name->len);
	}
	for (i = 0; !err && i < batch->labels.len; i++)
		err = ks_files_names_label(&files->names, batch->host, batch->version,
					   batch->labels.items[i].name,
					   batch->labels.items[i].value);
	if (!err)
		err = find_part(files, KS_STORE_ROWS, hour, &part);
	for (i = 0; !err && i < batch->rows.len; i++) {
		ks_store_row_values(batch, &batch->rows.items[i], values);
		err = add_values(part, values);
	}
	if (!err)
		err = find_part(files, KS_STORE_REPORTS, hour, &part);
	if (!err) {
		ks_store_report_values(batch, values);
		values[KS_REPORT_STORED] = (u64)time(NULL);
		err = add_values(part, values);
	}
	return err;
}

/* "2023-11-15T00.parquet": seconds since 1970, or 0. */
static u32 parse_hour(const char *name)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, "%Y-%m-%dT%H", &tm);
	s64 at = end && !strcmp(end, ".parquet") ? timegm(&tm) : 0;

	return at > 0 && at <= UINT32_MAX ? (u32)at : 0;
}

static int compare_hours(const void *left, const void *right)
{
	const u32 *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int lock_dir(struct ks_files *files, struct ks_diag *diag)
{
	static const char *const folders[] = { "", "rows", "reports" };
	char path[PATH_LEN];
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", files->dir, folders[i]);
		if (mkdir(path, 0700) && errno != EEXIST)
			return ks_diag_set(diag, -errno, "%s: cannot make it: %s", path,
					   strerror(errno));
	}
	snprintf(path, sizeof(path), "%s/lock", files->dir);
	files->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (files->lock < 0)
		return ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	if (flock(files->lock, LOCK_EX | LOCK_NB)) {
		err = -errno;
		return ks_diag_set(diag, err, "%s: another process writes here", files->dir);
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_files_open(const char *dir, bool write, struct ks_files **ret_files, struct ks_diag *diag)
{
	struct ks_files *files = calloc(1, sizeof(*files));
	struct stat st;
	int err = 0;

	if (!files || ks_files_names_init(&files->names) || !(files->dir = strdup(dir))) {
		if (files)
			ks_files_names_deinit(&files->names);
		free(files);
		return ks_diag_nomem(diag, "opening a directory of tables");
	}
	files->lock = -1;
	if (strlen(dir) > PATH_LEN / 2)
		err = ks_diag_set(diag, -ENAMETOOLONG, "%.40s...: %s", dir, strerror(ENAMETOOLONG));
	else if (write)
		err = lock_dir(files, diag);
	else if (stat(dir, &st))
		err = ks_diag_set(diag, -errno, "%s: %s", dir, strerror(errno));
	if (!err)
		err = ks_files_names_read(&files->names, dir, diag);
	if (err)
		ks_files_close(files);
	else
		*ret_files = files;
	return err;
}

void ks_files_close(struct ks_files *files)
{
	if (!files)
		return;
	ks_files_clear(files);
	ks_vec_free(&files->parts);
	ks_files_names_deinit(&files->names);
	if (files->lock >= 0)
		close(files->lock);
	free(files->dir);
	free(files);
}

int ks_files_add(struct ks_files *files, const struct ks_fleet_batch *batch, struct ks_diag *diag)
{
	if (files->rows && files->rows + batch->rows.len > ROWS_MAX)
		return -E2BIG;
	if (add_batch(files, batch))
		return ks_diag_nomem(diag, "keeping rows");
	files->rows += batch->rows.len + 1;
	return 0;
}

int ks_files_flush(struct ks_files *files, struct ks_diag *diag)
{
	static const enum ks_store_table order[] = { KS_STORE_ROWS, KS_STORE_REPORTS };
	int err = ks_files_names_write(&files->names, files->dir, diag);
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		for (j = 0; !err && j < files->parts.len; j++)
			if (files->parts.items[j].table == order[i])
				err = flush_part(files, &files->parts.items[j], diag);
	if (!err)
		ks_files_clear(files);
	return err;
}

void ks_files_clear(struct ks_files *files)
{
	size_t i;

	for (i = 0; i < files->parts.len; i++)
		ks_vec_free(&files->parts.items[i].numbers);
	files->parts.len = 0;
	files->rows = 0;
}

int ks_files_hours(const struct ks_files *files, enum ks_store_table table,
		   struct ks_files_hours *ret_hours, struct ks_diag *diag)
{
	char path[PATH_LEN];
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", files->dir, ks_store_shapes[table].name);
	dir = opendir(path);
	if (!dir)
		return ks_diag_set(diag, -errno, "%s: %s: an agent makes it with --to file:%s",
				   path, strerror(errno), files->dir);
	while (!err && (entry = readdir(dir))) {
		u32 hour = parse_hour(entry->d_name), *to;

		if (!hour)
			continue;
		to = ks_vec_push(&ret_hours->items);
		if (to)
			*to = hour;
		else
			err = ks_diag_nomem(diag, "looking for files");
	}
	closedir(dir);
	if (!err && ret_hours->items.len)
		qsort(ret_hours->items.items, ret_hours->items.len, sizeof(u32), compare_hours);
	return err;
}

int ks_files_read(const struct ks_files *files, enum ks_store_table table, u32 hour,
		  unsigned int columns, struct ks_files_table *ret_table, struct ks_diag *diag)
{
	struct ks_parquet_file *file = NULL;
	char path[PATH_LEN];
	size_t len, i, row;
	u8 *data;
	int err;

	ret_table->width = width_of(table);
	hour_path(files, table, hour, path);
	err = ks_files_slurp(path, &data, &len, diag);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = ks_parquet_open(data, len, path, &file, diag);
	for (i = 0; !err && i < ret_table->width; i++) {
		enum ks_parquet_type type = type_of(column_of(table, i));
		struct ks_parquet_numbers numbers = { 0 };

		if (!(columns & 1u << i))
			continue;
		err = ks_parquet_read_numbers(file, column_of(table, i)->name, type, &numbers,
					      diag);
		if (!err && ks_vec_reserve(&ret_table->items, numbers.items.len * ret_table->width))
			err = ks_diag_nomem(diag, "reading a Parquet file");
		if (!err && !ret_table->items.len && numbers.items.len) {
			ret_table->items.len = numbers.items.len * ret_table->width;
			memset(ret_table->items.items, 0, ret_table->items.len * sizeof(u64));
		}
		for (row = 0; !err && row < numbers.items.len; row++)
			ret_table->items.items[row * ret_table->width + i] =
				type == KS_PARQUET_DOUBLE ? narrow(numbers.items.items[row])
							  : numbers.items.items[row];
		ks_vec_free(&numbers.items);
	}
	ks_parquet_close(file);
	free(data);
	return err;
}

const char *ks_files_name(const struct ks_files *files, u64 id)
{
	u32 number = ks_map64_find(&files->names.ids, id);

	return number == KS_NONE ? NULL : files->names.names.items[number].name;
}

const char *ks_files_label(const struct ks_files *files, u64 host, const char *label, size_t len)
{
	size_t i;

	for (i = 0; i < files->names.labels.len; i++) {
		const struct ks_files_label *at = &files->names.labels.items[i];

		if (at->host == host && !strncmp(at->label, label, len) && !at->label[len])
			return at->value;
	}
	return NULL;
}

u64 ks_files_label_id(const char *value)
{
	return value ? ks_fleet_id(KS_FLEET_KINDS, value, strlen(value)) : 0;
}

const char *ks_files_label_of_id(const struct ks_files *files, const char *label, u64 id)
{
	size_t i;

	for (i = 0; i < files->names.labels.len; i++) {
		const struct ks_files_label *at = &files->names.labels.items[i];

		if (!strcmp(at->label, label) && ks_files_label_id(at->value) == id)
			return at->value;
	}
	return NULL;
}

int ks_files_write(const char *path, const struct ks_strbuf *data, struct ks_diag *diag)
{
	struct ks_outfile out;
	int err = data->failed ? ks_diag_nomem(diag, "writing a Parquet file")
			       : ks_outfile_open(&out, path, diag);

	if (err)
		return err;
	err = ks_outfile_write(&out, data->s, data->len, diag);
	if (err) {
		ks_outfile_abort(&out);
		return err;
	}
	return ks_outfile_commit(&out, diag);
}

int ks_files_slurp(const char *path, u8 **ret_data, size_t *ret_len, struct ks_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), err = fd < 0 ? -errno : 0;
	struct stat st = { 0 };
	u8 *data = NULL;
	ssize_t got = 0;

	if (err == -ENOENT)
		return err;
	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err && st.st_size > FILE_MAX)
		err = -EFBIG;
	if (!err) {
		data = malloc((size_t)st.st_size + 1);
		got = data ? ks_pread_full(fd, data, (size_t)st.st_size, 0) : -ENOMEM;
		err = got < 0 ? (int)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (err) {
		free(data);
		return ks_diag_set(diag, err, "%s: cannot read: %s", path, strerror(-err));
	}
	*ret_data = data;
	*ret_len = (size_t)got;
	return 0;
}
