// SPDX-License-Identifier: LGPL-2.1-only
/* A compartmentalization as a value, its score, and the weights that a score may be asked with. */
#include "kmap/cpm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sym/tree.h"

/* === Data ================================================================================= */

static const char *const op_names[KS_CPM_OPS] = { "read", "write", "call", "return" };

/* Of a file of weights. */
#define WEIGHTS_MAX (16u << 20)

/* === Internals ============================================================================ */

/* By name, so that a member is found by bisection. */
static int compare_weights(const void *a, const void *b)
{
	const struct ks_cpm_weight *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static double factor(const struct ks_cpm_weights *weights, const char *name, enum ks_cpm_op op)
{
	struct ks_cpm_weight key = { .name = (char *)name };
	const struct ks_cpm_weight *found = weights && weights->items.len
						    ? bsearch(&key, weights->items.items,
							      weights->items.len, sizeof(key),
							      compare_weights)
						    : NULL;

	return found ? found->factors[op] : 1;
}

/* The bytes of a domain, as one operation counts them. */
static double domain_size(const struct ks_cpm *cpm, const struct ks_cpm_weights *weights,
			  const struct ks_cpm_domain *domain, enum ks_cpm_op op)
{
	double size = 0;
	size_t i;

	for (i = 0; i < domain->members.len; i++)
		size += domain->members.items[i].size *
			factor(weights, ks_cpm_name(cpm, domain->members.items[i].name), op);
	return size;
}

/* The sizes of all domains of code, or of data, as one operation counts them; the sum comes back. */
static double size_domains(const struct ks_cpm *cpm, const struct ks_cpm_weights *weights,
			   enum ks_cpm_op op, bool code, double *sizes)
{
	const struct ks_cpm_domain *domains = code ? cpm->subjects.items : cpm->objects.items;
	size_t i, len = code ? cpm->subjects.len : cpm->objects.len;
	double all = 0;

	for (i = 0; i < len; i++)
		all += sizes[i] = domain_size(cpm, weights, &domains[i], op);
	return all;
}

/* Code may always go on in its own domain. @seen: the principal + 1 that a domain was last counted for. */
static double reach(const struct ks_cpm_principal *principal, size_t number, enum ks_cpm_op op,
		    const double *sizes, size_t *seen)
{
	bool code = op >= KS_CPM_CALL;
	double bytes = 0;
	size_t i;

	if (code) {
		seen[principal->subject] = number + 1;
		bytes = sizes[principal->subject];
	}
	for (i = 0; i < principal->may[op].len; i++) {
		u32 target = principal->may[op].items[i];

		if (seen[target] == number + 1)
			continue;
		seen[target] = number + 1;
		bytes += sizes[target];
	}
	return bytes;
}

static void score_op(const struct ks_cpm *cpm, const struct ks_cpm_weights *weights,
		     enum ks_cpm_op op, double *sizes, size_t *seen, struct ks_cpm_score *score)
{
	bool code = op >= KS_CPM_CALL;
	double instructions = 0;
	double other = size_domains(cpm, weights, op, !code, sizes);
	double own = size_domains(cpm, weights, op, code, sizes);
	size_t i;

	for (i = 0; i < cpm->subjects.len; i++)
		instructions += cpm->subjects.items[i].instructions[op];
	for (i = 0; i < cpm->principals.len; i++) {
		const struct ks_cpm_principal *principal = &cpm->principals.items[i];

		score->granted[op] += cpm->subjects.items[principal->subject].instructions[op] *
				      reach(principal, i, op, sizes, seen);
	}
	score->mono_wx[op] = instructions * own;
	score->mono[op] = instructions * (own + other);
}

static int parse_weight(char *line, struct ks_cpm_weights *weights, const char *path,
			unsigned int number, struct ks_diag *diag)
{
	char *at = strchr(line, ','), *end;
	struct ks_cpm_weight *weight;
	enum ks_cpm_op op;

	while (*line == ' ' || *line == '\t')
		line++;
	if (!*line || *line == '#')
		return 0;
	if (!at || at == line)
		goto bad;
	*at++ = 0;
	weight = ks_vec_push(&weights->items);
	if (!weight || !(weight->name = strdup(line)))
		return ks_diag_nomem(diag, "reading weights");
	for (op = 0; op < KS_CPM_OPS; op++) {
		weight->factors[op] = strtod(at, &end);
		if (end == at || !isfinite(weight->factors[op]) || weight->factors[op] < 0)
			goto bad;
		at = end + strspn(end, " \t\r");
		if (op < KS_CPM_RETURN ? *at++ != ',' : *at != 0)
			goto bad;
	}
	return 0;
bad:
	return ks_diag_set(diag, KS_EBADINPUT,
			   "%s: line %u: want NAME, READ, WRITE, CALL, RETURN with four numbers",
			   path, number);
}

/* === Public =============================================================================== */

const char *ks_cpm_op_name(enum ks_cpm_op op)
{
	return op_names[op];
}

int ks_cpm_new(struct ks_cpm **ret_cpm)
{
	struct ks_cpm *cpm = calloc(1, sizeof(*cpm));

	if (!cpm || ks_intern_init(&cpm->names)) {
		free(cpm);
		return -ENOMEM;
	}
	*ret_cpm = cpm;
	return 0;
}

void ks_cpm_free(struct ks_cpm *cpm)
{
	size_t i, op;

	if (!cpm)
		return;
	for (i = 0; i < cpm->subjects.len; i++)
		ks_vec_free(&cpm->subjects.items[i].members);
	for (i = 0; i < cpm->objects.len; i++)
		ks_vec_free(&cpm->objects.items[i].members);
	for (i = 0; i < cpm->principals.len; i++)
		for (op = 0; op < KS_CPM_OPS; op++)
			ks_vec_free(&cpm->principals.items[i].may[op]);
	ks_vec_free(&cpm->subjects);
	ks_vec_free(&cpm->objects);
	ks_vec_free(&cpm->principals);
	ks_intern_deinit(&cpm->names);
	free(cpm);
}

int ks_cpm_weights_read(const char *path, struct ks_cpm_weights *ret_weights, struct ks_diag *diag)
{
	struct ks_cpm_weights weights = { 0 };
	unsigned int number = 0;
	char *text, *line, *rest;
	size_t len;
	int err = ks_read_file(path, WEIGHTS_MAX, &text, &len, diag);

	if (err)
		return err == -ENOENT ? ks_diag_set(diag, err, "%s: no such file", path) : err;
	for (rest = text; !err && (line = strsep(&rest, "\n"));)
		err = parse_weight(line, &weights, path, ++number, diag);
	free(text);
	if (err) {
		ks_cpm_weights_free(&weights);
		return err;
	}
	if (weights.items.len)
		qsort(weights.items.items, weights.items.len, sizeof(*weights.items.items),
		      compare_weights);
	*ret_weights = weights;
	return 0;
}

void ks_cpm_weights_free(struct ks_cpm_weights *weights)
{
	size_t i;

	for (i = 0; i < weights->items.len; i++)
		free(weights->items.items[i].name);
	ks_vec_free(&weights->items);
}

int ks_cpm_score(const struct ks_cpm *cpm, const struct ks_cpm_weights *weights,
		 struct ks_cpm_score *ret_score)
{
	size_t len = ks_max(cpm->subjects.len, cpm->objects.len) + 1;
	double *sizes = calloc(len, sizeof(*sizes));
	size_t *seen = calloc(len, sizeof(*seen));
	struct ks_cpm_score score = { 0 };
	enum ks_cpm_op op;
	int err = sizes && seen ? 0 : -ENOMEM;

	for (op = 0; !err && op < KS_CPM_OPS; op++) {
		memset(seen, 0, len * sizeof(*seen));
		score_op(cpm, weights, op, sizes, seen, &score);
	}
	free(sizes);
	free(seen);
	if (!err)
		*ret_score = score;
	return err;
}
