// SPDX-License-Identifier: LGPL-2.1-only
/* A cut of a map as a compartmentalization. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kmap/compartments.h"

/* === Internals ============================================================================ */

struct making {
	const struct ks_kmap_census *census;
	const struct ks_kmap_places *places;
	const struct ks_kmap_functions *functions;
	enum ks_kmap_unit unit;
	struct ks_cpm *cpm;
	struct ks_map64 subjects, objects; /* domains by label */
	struct ks_map64 grants;		   /* operation, principal and target, to have each once */
};

static u32 add_name(struct making *m, const char *name)
{
	return ks_intern_add(&m->cpm->names, name, strlen(name));
}

/* The domain of a label: found, or new. KS_NONE = no memory. */
static u32 domain_of(struct making *m, bool code, u32 label)
{
	u32 number = ks_map64_add(code ? &m->subjects : &m->objects, label);
	size_t len = code ? m->cpm->subjects.len : m->cpm->objects.len;
	struct ks_cpm_principal *principal;
	struct ks_cpm_domain *domain;

	if (number == KS_NONE || number < len)
		return number;
	domain = code ? ks_vec_push(&m->cpm->subjects) : ks_vec_push(&m->cpm->objects);
	if (!domain)
		return KS_NONE;
	domain->name = add_name(m, ks_kmap_label(m->places, label));
	if (domain->name == KS_NONE)
		return KS_NONE;
	if (code) {
		principal = ks_vec_push(&m->cpm->principals);
		if (!principal)
			return KS_NONE;
		principal->subject = number;
	}
	return number;
}

static int add_member(struct making *m, bool code, u32 domain, const u32 *labels, u32 name,
		      double size)
{
	struct ks_cpm_domain *to = code ? &m->cpm->subjects.items[domain]
					: &m->cpm->objects.items[domain];
	struct ks_cpm_member *member = ks_vec_push(&to->members);
	char text[640];

	if (!member)
		return -ENOMEM;
	snprintf(text, sizeof(text), "%s|%s", ks_kmap_label(m->places, labels[KS_KMAP_FILE]),
		 ks_kmap_label(m->places, name));
	member->name = add_name(m, text);
	member->size = size;
	return member->name == KS_NONE ? -ENOMEM : 0;
}

static int add_domains(struct making *m)
{
	size_t i, op;
	u32 domain;

	for (i = 0; i < m->functions->items.len; i++) {
		const struct ks_kmap_function *function = &m->functions->items.items[i];

		domain = domain_of(m, true, function->labels[m->unit]);
		if (domain == KS_NONE || add_member(m, true, domain, function->labels,
						    function->labels[KS_KMAP_FUNCTION],
						    m->functions->has_sizes ? function->size : 1))
			return -ENOMEM;
		for (op = 0; op < KS_CPM_OPS; op++)
			m->cpm->subjects.items[domain].instructions[op] += function->counts[op];
	}
	for (i = 0; i < m->census->sites.len; i++) {
		const u32 *labels = m->places->sites[i];

		if (!m->census->sites.items[i].stat.objects)
			continue; /* left out */
		domain = domain_of(m, false, labels[m->unit]);
		if (domain == KS_NONE ||
		    add_member(m, false, domain, labels, labels[KS_KMAP_SITE],
			       ks_kmap_weight(m->census, &m->census->sites.items[i])))
			return -ENOMEM;
	}
	return 0;
}

static int grant(struct making *m, u32 from, u32 to, enum ks_cpm_op op)
{
	u32 principal = domain_of(m, true, from), target = domain_of(m, op >= KS_CPM_CALL, to);
	u64 key = (u64)op << 62 | (u64)principal << 31 | target;
	size_t known = m->grants.keys.len;
	u32 *slot;

	if (principal == KS_NONE || target == KS_NONE || ks_map64_add(&m->grants, key) == KS_NONE)
		return -ENOMEM;
	if (m->grants.keys.len == known)
		return 0;
	slot = ks_vec_push(&m->cpm->principals.items[principal].may[op]);
	if (!slot)
		return -ENOMEM;
	*slot = target;
	return 0;
}

static int add_grants(struct making *m)
{
	size_t i;

	for (i = 0; i < m->census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &m->census->edges.items[i];
		u32 from = m->places->codes[edge->code][m->unit];
		u32 to = m->places->sites[edge->site][m->unit];

		if (m->functions->of_code[edge->code] == KS_NONE)
			continue;
		if ((edge->reads && grant(m, from, to, KS_CPM_READ)) ||
		    (edge->writes && grant(m, from, to, KS_CPM_WRITE)))
			return -ENOMEM;
	}
	for (i = 0; i < m->census->calls.len; i++) {
		const struct ks_kmap_calls *calls = &m->census->calls.items[i];
		u32 from = m->places->codes[calls->from][m->unit];
		u32 to = m->places->codes[calls->to][m->unit];

		if (m->functions->of_code[calls->from] == KS_NONE ||
		    m->functions->of_code[calls->to] == KS_NONE)
			continue;
		if ((calls->count && grant(m, from, to, KS_CPM_CALL)) ||
		    (calls->returns && grant(m, to, from, KS_CPM_RETURN)))
			return -ENOMEM;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_cut_cpm(const struct ks_kmap_census *census, const struct ks_kmap_places *places,
		    const struct ks_kmap_functions *functions, enum ks_kmap_unit unit,
		    struct ks_cpm **ret_cpm)
{
	struct making m = { census, places, functions, unit };
	int err = ks_cpm_new(&m.cpm);

	if (!err &&
	    (ks_map64_init(&m.subjects) || ks_map64_init(&m.objects) || ks_map64_init(&m.grants)))
		err = -ENOMEM;
	if (!err)
		err = add_domains(&m);
	if (!err)
		err = add_grants(&m);
	ks_map64_deinit(&m.subjects);
	ks_map64_deinit(&m.objects);
	ks_map64_deinit(&m.grants);
	if (err)
		ks_cpm_free(m.cpm);
	else
		*ret_cpm = m.cpm;
	return err;
}
