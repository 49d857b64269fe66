// SPDX-License-Identifier: LGPL-2.1-only
/* What a command says of the file that it has written. */
#include "report/report.h"

struct ks_doc *ks_doc_of_written(const struct ks_model *model, const struct ks_written *written)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-written-1");

	if (!doc)
		return NULL;
	ks_doc_text(doc, "file", written->path);
	ks_doc_text(doc, "format", written->format);
	if (written->table)
		ks_doc_text(doc, "table", written->table);
	ks_doc_u64(doc, "bytes", written->bytes);
	if (written->table)
		ks_doc_u64(doc, "rows", written->rows);
	ks_doc_text(doc, "level", ks_level_name(model->level));
	ks_doc_quality(doc, model);
	return doc;
}
