// SPDX-License-Identifier: GPL-2.0-only
/* From a table of options to getopt, to the text of --help, and to where the arguments go. */
#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/num.h"
#include "cli/cli.h"

/* === Data ================================================================================= */

enum { MAX_OPTIONS = 64, FIRST_LONG = 256 };

/* All options of a command: its own, the shared ones, and at the end --help. */
struct table {
	struct ks_option rows[MAX_OPTIONS];
	int len;
};

/* === Internals: the table ================================================================= */

static bool has(const struct table *table, const char *name)
{
	int i;

	for (i = 0; i < table->len; i++)
		if (!strcmp(table->rows[i].name, name))
			return true;
	return false;
}

static void add(struct table *table, const struct ks_option *option)
{
	assert(table->len < MAX_OPTIONS);
	table->rows[table->len++] = *option;
}

static void make_table(struct ks_cli *cli, const struct ks_option *own, struct table *table)
{
	struct ks_option shared[KS_SHARED_OPTIONS];
	static const struct ks_option help = { 'h', "help", NULL, .help = "print this help" };
	size_t i, count = ks_cli_shared_options(cli, shared);

	table->len = 0;
	for (; own && own->name; own++)
		add(table, own);
	for (i = 0; i < count; i++)
		if (shared[i].set & cli->shared && !has(table, shared[i].name))
			add(table, &shared[i]);
	add(table, &help);
}

/* === Internals: --help ==================================================================== */

/* "-f, --file FILE", "    --cache[=NAME]": its width. */
static int format_names(const struct ks_option *option, char *buf, size_t cap)
{
	char letter[] = { '-', option->letter, ',', ' ', '\0' };

	return snprintf(buf, cap, "%s--%s%s%s", option->letter ? letter : "    ", option->name,
			option->arg && option->arg[0] != '[' ? " " : "",
			option->arg ? option->arg : "");
}

static void print_help(const struct ks_cli *cli, const struct table *table)
{
	const char *line;
	char names[80];
	int i, width = 0;

	for (i = 0; i < table->len; i++)
		width = ks_max(width, format_names(&table->rows[i], names, sizeof(names)));
	puts(cli->usage);
	for (i = 0; i < table->len; i++) {
		if (table->rows[i].set && cli->shared_hidden)
			continue;
		format_names(&table->rows[i], names, sizeof(names));
		for (line = table->rows[i].help; line; line = strchr(line, '\n')) {
			line += *line == '\n';
			printf("  %-*s  %.*s\n", width, names, (int)strcspn(line, "\n"), line);
			names[0] = '\0';
		}
	}
	if (cli->epilogue)
		printf("\n%s", cli->epilogue);
}

/* === Internals: taking options ============================================================ */

static int take_number(const struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	u64 number, max = option->max ? option->max : UINT64_MAX;

	if (!ks_parse_u64(arg, &number) && number >= option->min && number <= max) {
		*option->number = number;
		return -1;
	}
	if (option->max)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--%s '%s': give a number from %llu to %llu", option->name, arg,
				    (unsigned long long)option->min,
				    (unsigned long long)option->max);
	return ks_cli_error(cli, KS_EXIT_USAGE, "--%s '%s': give a number, %llu or more",
			    option->name, arg, (unsigned long long)option->min);
}

static int take_choice(const struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_strbuf names;
	unsigned int i;

	for (i = 0; i < option->choices; i++)
		if (!strcmp(arg, option->name_of(i))) {
			*option->choice = i;
			return -1;
		}
	ks_strbuf_init(&names);
	for (i = 0; i < option->choices; i++)
		ks_strbuf_printf(&names, "%s%s",
				 !i			   ? ""
				 : i + 1 < option->choices ? ", "
							   : " or ",
				 option->name_of(i));
	ks_cli_error(cli, 0, "--%s '%s': choose %s", option->name, arg, ks_strbuf_str(&names));
	ks_strbuf_deinit(&names);
	return KS_EXIT_USAGE;
}

static int take(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	if (option->parts && !(option->parts & cli->part))
		return ks_cli_error(cli, KS_EXIT_USAGE, "has no option --%s; see --help",
				    option->name);
	if (option->parse)
		return option->parse(cli, option, arg);
	if (option->number)
		return take_number(cli, option, arg);
	if (option->choice)
		return take_choice(cli, option, arg);
	if (option->string)
		*option->string = arg;
	else
		*option->flag = true;
	return -1;
}

/* What getopt wants to know: letters, and long options whose number is that of their row. */
static void describe(const struct table *table, char *letters, struct option *longs)
{
	int i;

	for (i = 0; i < table->len; i++) {
		const struct ks_option *option = &table->rows[i];

		longs[i] = (struct option){
			.name = option->name,
			.has_arg = !option->arg		   ? no_argument
				   : option->arg[0] == '[' ? optional_argument
							   : required_argument,
			.val = FIRST_LONG + i,
		};
		if (option->letter) {
			*letters++ = option->letter;
			if (option->arg)
				*letters++ = ':';
		}
	}
	longs[i] = (struct option){ 0 };
	*letters = '\0';
}

/* The row that getopt speaks of; NULL where it has said that there is none. */
static const struct ks_option *row_of(const struct table *table, int opt)
{
	int i;

	if (opt >= FIRST_LONG)
		return &table->rows[opt - FIRST_LONG];
	for (i = 0; i < table->len; i++)
		if (table->rows[i].letter == opt)
			return &table->rows[i];
	return NULL;
}

/* Behind what getopt says of an option that there is not. */
static void suggest(const struct ks_cli *cli, const struct table *table, const char *arg)
{
	struct ks_nearest nearest;
	char word[64];
	int i;

	if (!strncmp(arg, "--", 2)) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
		nearest = ks_nearest_to(word);
		for (i = 0; i < table->len; i++)
			ks_nearest_offer(&nearest, table->rows[i].name);
		/* An option that there is lacks its argument: getopt has said so. */
		if (nearest.best && strcmp(nearest.best, word))
			fprintf(stderr, "Did you mean --%s? ", nearest.best);
	}
	fprintf(stderr, "Try '%s --help'.\n", cli->command);
}

/* === Public =============================================================================== */

int ks_cli_parse(struct ks_cli *cli, const struct ks_option *own, int argc, char **argv)
{
	struct option longs[MAX_OPTIONS + 1];
	char letters[2 * MAX_OPTIONS + 2] = "+"; /* options end where a command begins */
	struct table table;
	int opt, code = -1;

	make_table(cli, own, &table);
	describe(&table, letters + 1, longs);
	while (code < 0 &&
	       (opt = getopt_long(argc, argv, letters + !cli->runs_command, longs, NULL)) != -1) {
		const struct ks_option *option = row_of(&table, opt);

		if (!option) {
			suggest(cli, &table, argv[optind - 1]);
			return KS_EXIT_USAGE;
		}
		if (option == &table.rows[table.len - 1]) {
			print_help(cli, &table);
			return KS_EXIT_OK;
		}
		code = take(cli, option, optarg);
	}
	return code;
}

int ks_cli_parse_capture(struct ks_cli *cli, const struct ks_option *own, int argc, char **argv)
{
	int code = ks_cli_parse(cli, own, argc, argv);

	return code < 0 ? ks_cli_input(cli, argc, argv) : code;
}

int ks_cli_set(struct ks_cli *cli, const struct ks_option *own, const char *name, const char *value)
{
	for (; own->name; own++) {
		if (strcmp(own->name, name) != 0)
			continue;
		if (!own->flag)
			return take(cli, own, value);
		if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
			return ks_cli_error(cli, KS_EXIT_USAGE, "%s: choose yes or no", name);
		*own->flag = !strcmp(value, "yes");
		return -1;
	}
	return ks_cli_error(cli, KS_EXIT_USAGE, "there is no setting '%s'", name);
}

void ks_cli_help(struct ks_cli *cli, const struct ks_option *own)
{
	struct table table;

	make_table(cli, own, &table);
	print_help(cli, &table);
}
