// SPDX-License-Identifier: GPL-2.0-only
/* Triggers: thresholds of the kernel's slab memory, a command, and a signal; when a new file is begun. */
#include "cli/record-trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "capture/machine.h"
#include "cli/cli.h"

/* === Data ================================================================================= */

#define SECOND 1000000000ull

/* What led to it is in the file only when the recorder's buffers have gone there. */
#define DELAY (SECOND + SECOND / 2)

/* === Internals ============================================================================ */

/* Words at blanks. No shell looks at them, so nothing in them means anything. */
static int split_command(struct ks_triggers *triggers, const char *text)
{
	size_t count = 0;
	char *word, *rest;

	free(triggers->command);
	free(triggers->words);
	triggers->command = strdup(text);
	triggers->words = calloc(strlen(text) / 2 + 2, sizeof(char *));
	if (!triggers->command || !triggers->words)
		return -ENOMEM;
	for (word = strtok_r(triggers->command, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		triggers->words[count++] = word;
	return count ? 0 : -EINVAL;
}

/* Its output is nobody's. Signals that the recorder waits for are not blocked in it. */
static int run_command(struct ks_triggers *triggers, u64 now_ns)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int err;

	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	err = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY,
						       0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	if (!err)
		err = posix_spawnp(&triggers->child, triggers->words[0], &files, &attributes,
				   triggers->words, environ);
	if (err)
		triggers->child = 0;
	triggers->ran = now_ns;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return err;
}

/* Saves when it agrees for the first time, and again only after it has not. It never runs twice at once. */
static void look_at_command(struct ks_triggers *triggers, u64 now_ns)
{
	int status;

	if (triggers->child && waitpid(triggers->child, &status, WNOHANG) == triggers->child) {
		bool agrees = WIFEXITED(status) && !WEXITSTATUS(status);

		triggers->child = 0;
		if (agrees && !triggers->agreed)
			ks_trigger_pull(triggers, "the command agreed", now_ns);
		triggers->agreed = agrees;
	}
	if (!triggers->child && now_ns - triggers->ran >= triggers->every)
		run_command(triggers, now_ns);
}

/* "10m" is a time, "2G" a size. */
static bool parse_amount(const char *arg, u64 *ret_bytes, u64 *ret_ns)
{
	size_t len = strlen(arg);
	char unit = len ? arg[len - 1] : 0;

	/* Minutes are m, megabytes M. */
	if (unit == 's' || unit == 'm' || unit == 'h')
		return !ks_parse_time(arg, ret_ns) && *ret_ns;
	return (unit < '0' || unit > '9') && !ks_parse_size(arg, ret_bytes) && *ret_bytes;
}

/* === Public =============================================================================== */

int ks_cli_parse_trigger(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_triggers *triggers = option->value;
	const struct {
		const char *name;
		u64 *to;
	} known[] = { { "slab=", &triggers->slab },
		      { "growth=", &triggers->growth },
		      { "every=", &triggers->every } };
	const char *p = arg;
	char word[32];
	size_t i, len;

	while (*p) {
		bool found = false;

		if (!strncmp(p, "command=", 8)) { /* all that follows */
			int err = split_command(triggers, p + 8);

			if (err == -ENOMEM)
				return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
			if (!err)
				p += strlen(p);
			break;
		}
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
			found = !(known[i].to == &triggers->every
					  ? ks_parse_time(word, known[i].to)
					  : ks_parse_size(word, known[i].to)) &&
				*known[i].to;
			p += name + len + (p[name + len] == ',');
		}
		if (!found)
			break;
	}
	if (*p || !*arg)
		return ks_cli_error(
			cli, KS_EXIT_USAGE,
			"--trigger '%s': give slab=SIZE, growth=SIZE, every=TIME or, as the "
			"last, command=PROGRAM, with commas in between",
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

	if (!parse_amount(arg, &opts->keep_bytes, &opts->keep_ns))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--keep '%s': give a time with its unit, 10m, or a size, 2G",
				    arg);
	return -1;
}

int ks_cli_parse_rotate(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_rotation *rotation = option->value;

	if (!parse_amount(arg, &rotation->bytes, &rotation->ns))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--rotate '%s': give a time with its unit, 10m, or a size, 2G",
				    arg);
	return -1;
}

bool ks_rotation_is_due(const struct ks_rotation *rotation, u64 size, u64 now_ns)
{
	if (rotation->now)
		return true;
	if (rotation->ns)
		return now_ns >= rotation->next;
	return rotation->bytes && size >= rotation->bytes && now_ns >= rotation->next;
}

int ks_trigger_start(struct ks_triggers *triggers, u64 now_ns)
{
	return triggers->words ? run_command(triggers, now_ns) : 0;
}

void ks_trigger_stop(struct ks_triggers *triggers)
{
	if (triggers->child) {
		kill(triggers->child, SIGKILL);
		waitpid(triggers->child, NULL, 0);
	}
	free(triggers->words);
	free(triggers->command);
	triggers->words = NULL;
	triggers->command = NULL;
	triggers->child = 0;
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
	if (triggers->words)
		look_at_command(triggers, now_ns);
	if (!triggers->save_at || now_ns < triggers->save_at)
		return false;
	triggers->save_at = 0;
	return true;
}

char *ks_trigger_path(const char *path)
{
	unsigned int n;
	struct stat st;
	char *name;

	for (n = 1;; n++) {
		if (asprintf(&name, "%s.%u", path, n) < 0)
			return NULL;
		if (lstat(name, &st)) /* a link is somebody's, too, wherever it leads */
			return name;
		free(name);
	}
}
