// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Events that a caller makes: from their public form, with texts, to the project's own, with
 * numbers.
 */
#include <string.h>

#include "api/api.h"

_Static_assert((int)KS_EVENT_KMALLOC == (int)KS_KMALLOC &&
		       (int)KS_EVENT_PAGE_FREE == (int)KS_PAGE_FREE &&
		       (int)KS_EVENT_LOST == (int)KS_LOST,
	       "kinds of events are part of the interface");

/* === Internals ============================================================================ */

static int name_site(struct ks_sites *sites, const char *text, u32 *ret_id)
{
	if (!text || !*text)
		return 0;
	*ret_id = ks_sites_add(sites, text, strlen(text));
	return *ret_id == KS_NONE ? -ENOMEM : 0;
}

static int name_text(struct ks_intern *table, const char *text, u32 *ret_id)
{
	if (!text || !*text)
		return 0;
	*ret_id = ks_intern_add(table, text, strlen(text));
	return *ret_id == KS_NONE ? -ENOMEM : 0;
}

static int name_stack(const struct ks_event_data *given, struct ks_names *names, u32 *ret_id)
{
	u32 frames[KS_STACK_MAX];
	size_t i, len = ks_min(given->stack_len, (size_t)KS_STACK_MAX);
	int err = 0;

	if (!given->stack || !len)
		return 0;
	for (i = 0; i < len && !err; i++) {
		frames[i] = KS_NONE;
		err = name_site(&names->frames, given->stack[i] ? given->stack[i] : "?",
				&frames[i]);
	}
	if (err)
		return err;
	*ret_id = ks_names_add_stack(names, frames, len);
	return *ret_id == KS_NONE ? -ENOMEM : 0;
}

static int check(const struct ks_event_data *given, struct ks_diag *diag)
{
	if (given->kind >= KS_KINDS)
		return ks_diag_set(diag, -EINVAL, "an event of kind %u: there is none",
				   given->kind);
	if (given->has & KS_EVENT_HAS_CPU && given->cpu >= KS_CPU_UNKNOWN)
		return ks_diag_set(diag, -EINVAL, "an event on CPU %u: the most is %u", given->cpu,
				   KS_CPU_UNKNOWN - 1);
	if (given->has & KS_EVENT_HAS_PID && given->pid == KS_PID_UNKNOWN)
		return ks_diag_set(diag, -EINVAL, "an event of process %u: there is none",
				   given->pid);
	return 0;
}

/* === Interface ============================================================================ */

int ks_api_event(const struct ks_event_data *given, struct ks_names *names,
		 struct ks_event *ret_event, struct ks_diag *diag)
{
	struct ks_event_data data;
	struct ks_event ev;
	int err = ks_api_options(given, &data, sizeof(data), diag);

	if (!err)
		err = check(&data, diag);
	if (err)
		return err;
	ev = ks_event_blank((u8)data.kind, data.time_ns,
			    data.has & KS_EVENT_HAS_CPU ? (u16)data.cpu : KS_CPU_UNKNOWN);
	if (data.has & KS_EVENT_HAS_PID)
		ev.pid = data.pid;
	if (data.has & KS_EVENT_HAS_NODE)
		ev.node = data.node;
	if (data.kind == KS_EVENT_LOST) {
		ev.lost.count = data.lost;
	} else {
		ev.ptr = data.address;
		ev.bytes_req = data.bytes_requested;
		ev.bytes_alloc = data.bytes_allocated;
	}
	err = name_site(&names->sites, data.site, &ev.site);
	if (!err)
		err = name_text(&names->caches, data.cache, &ev.cache);
	if (!err)
		err = name_text(&names->comms, data.comm, &ev.comm);
	if (!err)
		err = name_text(&names->gfps, data.gfp, &ev.gfp);
	if (!err)
		err = name_stack(&data, names, &ev.stack);
	if (err)
		return ks_diag_nomem(diag, "taking an event");
	*ret_event = ev;
	return 0;
}
