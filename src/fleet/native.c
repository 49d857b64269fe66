// SPDX-License-Identifier: LGPL-2.1-only
/* Writes blocks of ClickHouse's Native format. */
#include "fleet/native.h"

#include <assert.h>
#include <string.h>

#include "base/pack.h"

/* === Data ================================================================================= */

static const struct {
	const char *name;
	unsigned int size;
} types[KS_NATIVE_TYPES] = {
	[KS_NATIVE_U8] = { "UInt8", 1 },      [KS_NATIVE_U32] = { "UInt32", 4 },
	[KS_NATIVE_U64] = { "UInt64", 8 },    [KS_NATIVE_S64] = { "Int64", 8 },
	[KS_NATIVE_F32] = { "Float32", 4 },   [KS_NATIVE_F64] = { "Float64", 8 },
	[KS_NATIVE_TIME] = { "DateTime", 4 }, [KS_NATIVE_STRING] = { "String", 0 },
};

/* === Internals ============================================================================ */

static struct ks_strbuf *next_column(struct ks_native *block)
{
	struct ks_strbuf *data = &block->data[block->next];

	block->next++;
	if (block->next == block->nr_columns) {
		block->next = 0;
		block->rows++;
	}
	return data;
}

/* === Public =============================================================================== */

const char *ks_native_type_name(enum ks_native_type type)
{
	return types[type].name;
}

int ks_native_init(struct ks_native *block, const struct ks_native_column *columns,
		   size_t nr_columns)
{
	*block = (struct ks_native){ .columns = columns, .nr_columns = nr_columns };
	block->data = calloc(nr_columns, sizeof(*block->data));
	return block->data ? 0 : -ENOMEM;
}

void ks_native_deinit(struct ks_native *block)
{
	size_t i;

	for (i = 0; block->data && i < block->nr_columns; i++)
		ks_strbuf_deinit(&block->data[i]);
	free(block->data);
	block->data = NULL;
}

void ks_native_number(struct ks_native *block, u64 value)
{
	unsigned int size = types[block->columns[block->next].type].size;

	assert(size);
	ks_pack_uint(next_column(block), value, size);
}

void ks_native_string(struct ks_native *block, const char *s, size_t len)
{
	assert(block->columns[block->next].type == KS_NATIVE_STRING);
	ks_pack_string(next_column(block), s, len);
}

void ks_native_finish(const struct ks_native *block, struct ks_strbuf *out)
{
	size_t i;

	assert(!block->next && block->rows <= KS_NATIVE_ROWS_MAX);
	ks_pack_varint(out, block->nr_columns);
	ks_pack_varint(out, block->rows);
	for (i = 0; i < block->nr_columns; i++) {
		const char *type = types[block->columns[i].type].name;

		ks_pack_string(out, block->columns[i].name, strlen(block->columns[i].name));
		ks_pack_string(out, type, strlen(type));
		ks_strbuf_add(out, block->data[i].s, block->data[i].len);
		out->failed |= block->data[i].failed;
	}
}

void ks_native_clear(struct ks_native *block)
{
	size_t i;

	for (i = 0; block->data && i < block->nr_columns; i++)
		block->data[i].len = 0;
	block->rows = 0;
}

void ks_native_names(const struct ks_native_column *columns, size_t nr_columns,
		     struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < nr_columns; i++)
		ks_strbuf_printf(out, "%s%s", i ? ", " : "(", columns[i].name);
	ks_strbuf_puts(out, ")");
}
