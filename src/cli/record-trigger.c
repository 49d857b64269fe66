// SPDX-License-Identifier: GPL-2.0-only
/* Triggers: thresholds of the kernel's slab memory, and a signal. */
#include "cli/record-trigger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "capture/machine.h"
#include "cli/cli.h"

/* === Data ================================================================================= */

#define SECOND 1000000000ull

/* What led to it is in the file only when the recorder's buffers have gone there. */
#define DELAY (SECOND + SECOND / 2)

/* === Public =============================================================================== */

int ks_cli_parse_trigger(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_triggers *triggers = option->value;
	const struct {
		const char *name;
		u64 *to;
	} known[] = { { "slab=", &triggers->slab }, { "growth=", &triggers->growth } };
	const char *p = arg;
	char word[32];
	size_t i, len;

	while (*p) {
		bool found = false;

		for (i = 0; i < ARRAY_SIZE(known) && !found; i++) {
			size_t name = strlen(known[i].name);

			if (strncmp(p, known[i].name, name))
				continue;
			len = strcspn(p + name, ",");
			found = len && len < sizeof(word);
			if (!found)
				continue;
			memcpy(word, p + name, len);
			word[len] = '\0';
			found = !ks_parse_size(word, known[i].to) && *known[i].to;
			p += name + len + (p[name + len] == ',');
		}
		if (!found)
			break;
	}
	if (*p || !*arg)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--trigger '%s': give slab=SIZE, growth=SIZE, or both with a "
				    "comma",
				    arg);
	return -1;
}

int ks_cli_parse_sizes(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_record_filter *filter = option->value;
	bool above = *arg == '>', below = *arg == '<', equal;
	const char *p = arg + (above || below), *dash;
	u64 first, last;
	char word[32];
	int err;

	equal = (above || below) && *p == '=';
	p += equal;
	dash = above || below ? NULL : strchr(p, '-');
	snprintf(word, sizeof(word), "%.*s", dash ? (int)ks_min(dash - p, 31) : 31, p);
	err = ks_parse_size(word, &first);
	last = first;
	if (!err && dash)
		err = ks_parse_size(dash + 1, &last);
	if (err || first > last || (below && !equal && first == 1))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--size '%s': give bytes, 192 or 4k, or '>=4k', '<64', 64-256",
				    arg);
	filter->by_size = true;
	filter->size_min = below ? 0 : first + (above && !equal);
	filter->size_max = above ? UINT64_MAX : last - (below && !equal);
	return -1;
}

int ks_cli_parse_keep(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_record_opts *opts = option->value;
	size_t len = strlen(arg);
	char unit = len ? arg[len - 1] : 0;
	int err;

	/* Minutes are m, megabytes M. */
	if (unit == 's' || unit == 'm' || unit == 'h')
		err = ks_parse_time(arg, &opts->keep_ns) || !opts->keep_ns;
	else
		err = (unit >= '0' && unit <= '9') || ks_parse_size(arg, &opts->keep_bytes) ||
		      !opts->keep_bytes;
	if (err)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--keep '%s': give a time with its unit, 10m, or a size, 2G",
				    arg);
	return -1;
}

void ks_trigger_pull(struct ks_triggers *triggers, const char *why, u64 now_ns)
{
	if (triggers->save_at)
		return;
	triggers->save_at = now_ns + DELAY;
	triggers->why = why;
}

bool ks_trigger_look(struct ks_triggers *triggers, u64 now_ns)
{
	u64 memory[KS_CENSUS_MEMORIES] = { 0 }, slab;

	if ((triggers->slab || triggers->growth) && now_ns - triggers->looked >= SECOND &&
	    !ks_machine_meminfo(memory)) {
		triggers->looked = now_ns;
		slab = memory[KS_CENSUS_SLAB];
		/* Once for each time that it rises above, not for as long as it is there. */
		if (triggers->slab && slab >= triggers->slab && !triggers->raised)
			ks_trigger_pull(triggers, "slab memory is above the threshold", now_ns);
		triggers->raised = slab >= triggers->slab;
		if (!triggers->base)
			triggers->base = slab;
		if (triggers->growth && slab >= triggers->base + triggers->growth) {
			ks_trigger_pull(triggers, "slab memory has grown", now_ns);
			triggers->base = slab;
		}
	}
	if (!triggers->save_at || now_ns < triggers->save_at)
		return false;
	triggers->save_at = 0;
	return true;
}

char *ks_trigger_path(const char *path)
{
	unsigned int n;
	char *name;

	for (n = 1;; n++) {
		if (asprintf(&name, "%s.%u", path, n) < 0)
			return NULL;
		if (access(name, F_OK))
			return name;
		free(name);
	}
}
