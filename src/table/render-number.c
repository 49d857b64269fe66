// SPDX-License-Identifier: LGPL-2.1-only
/* Numbers that text and CSV write alike. */
#include <inttypes.h>
#include <math.h>

#include "table/render.h"

/* === Public =============================================================================== */

void ks_render_number(const struct ks_table *table, size_t row, unsigned int id,
		      struct ks_strbuf *out)
{
	const struct ks_column *column = &table->columns[id];
	const union ks_cell_value *cell = ks_table_cell(table, row, id);
	bool negative = ks_table_state(table, row, id) == KS_CELL_NEGATIVE;

	switch (column->kind) {
	case KS_CELL_S64:
		ks_strbuf_printf(out, "%" PRId64, cell->s64);
		break;
	case KS_CELL_HEX:
		if (column->digits)
			ks_strbuf_printf(out, "%0*" PRIx64, column->digits, cell->u64);
		else
			ks_strbuf_printf(out, "0x%" PRIx64, cell->u64);
		break;
	case KS_CELL_DOUBLE:
		if (isnan(cell->number))
			ks_strbuf_puts(out, "-");
		else
			ks_strbuf_printf(out, "%.4g", cell->number);
		break;
	case KS_CELL_CHANGE:
		ks_strbuf_printf(out, "%s%" PRIu64,
				 negative    ? "-"
				 : cell->u64 ? "+"
					     : "",
				 cell->u64);
		break;
	default:
		ks_strbuf_printf(out, "%" PRIu64, cell->u64);
		break;
	}
}
