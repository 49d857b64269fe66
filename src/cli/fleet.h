/* SPDX-License-Identifier: GPL-2.0-only */
/* kmemscope fleet: what its subcommands share. */
#ifndef KS_CLI_FLEET_H
#define KS_CLI_FLEET_H

#include "cli/cli.h"
#include "fleet/question.h"

/* What the options said of a server. */
struct ks_fleet_server {
	struct ks_http_opts http;
	const char *database;
	const char *password_file;
	char *password; /* what the file has */
};

/* What becomes of an answer. */
enum ks_fleet_report { KS_FLEET_PRINT, KS_FLEET_HTML, KS_FLEET_EXPORT };
enum ks_fleet_format { KS_FLEET_PARQUET, KS_FLEET_PPROF, KS_FLEET_FORMATS };

struct ks_fleet_args {
	struct ks_cli cli;
	struct ks_rows_opts rows;
	struct ks_fleet_server server;

	/* set-up */
	const char *cluster;
	u64 keep_days;
	u64 hosts;    /* for the estimate */
	bool dry_run; /* print the statements */

	/* questions */
	struct ks_question question;
	u64 since_ns;	 /* of time, up to the last hour */
	unsigned int by; /* enum ks_fleet_by */
	bool by_host;	 /* leaks: of single hosts */
	u64 least;
	u64 sigmas;

	enum ks_fleet_report report;
	unsigned int format; /* enum ks_fleet_format */
	const char *output;  /* of html and export */

	const char *from; /* a directory of tables to ask; NULL = the server */

	u64 at; /* push: when a capture began, in seconds since 1970; 0 = as it says itself */

	u64 every_ns; /* rollup: again and again; 0 = once */

	char **operands;
	int nr_operands;
};

/* Rows of the options of a server, for ks_cli_parse(). @parts as in struct ks_option. */
#define KS_FLEET_ACCESS_OPTIONS(server_, parts_)                                                 \
	{ 0,                                                                                     \
	  "database",                                                                            \
	  "NAME",                                                                                \
	  "its database; kmemscope unless given",                                                \
	  .string = &(server_)->database,                                                        \
	  .parts = (parts_) },                                                                   \
		{ 0,                                                                             \
		  "user",                                                                        \
		  "NAME",                                                                        \
		  "the user of the database",                                                    \
		  .string = &(server_)->http.user,                                               \
		  .parts = (parts_) },                                                           \
		{ 0,                                                                             \
		  "password-file",                                                               \
		  "FILE",                                                                        \
		  "a file with the user's password",                                             \
		  .string = &(server_)->password_file,                                           \
		  .parts = (parts_) },                                                           \
		{ 0,                                                                             \
		  "ca",                                                                          \
		  "FILE",                                                                        \
		  "certificates to trust, for https",                                            \
		  .string = &(server_)->http.ca,                                                 \
		  .parts = (parts_) },                                                           \
		{ 0,                                                                             \
		  "cert",                                                                        \
		  "FILE",                                                                        \
		  "the client's certificate, for https",                                         \
		  .string = &(server_)->http.cert,                                               \
		  .parts = (parts_) },                                                           \
	{                                                                                        \
		0, "key", "FILE", "the key of that certificate", .string = &(server_)->http.key, \
								 .parts = (parts_)               \
	}

/*
 * The command line of a program with --config: settings of the file are its options, and the command line wins. @nr counts what an
 * option that may be repeated gave, from @least on: if it is on the command line, that of the file does not count. Values stay as long
 * as *@ret_text, which the caller frees. Returns as ks_cli_parse() does.
 */
struct ks_fleet_config {
	const char *path; /* of --config; NULL = none */
	size_t *nr, least;
};
int ks_fleet_parse(struct ks_cli *cli, const struct ks_option *own,
		   const struct ks_fleet_config *config, int argc, char **argv, char **ret_text);

/* Reads the first line of the password file into the password. 0 or an exit code, with a message. */
int ks_fleet_read_secret(const struct ks_cli *cli, struct ks_fleet_server *server);

/*
 * Connects; *@store is to be closed with ks_fleet_disconnect(), also when it fails. 0 or an exit code, with a message.
 */
int ks_fleet_connect(const struct ks_cli *cli, struct ks_fleet_server *server,
		     struct ks_store *store);
void ks_fleet_disconnect(struct ks_fleet_server *server, struct ks_store *store);

/* How long one statement that adds up may take: an hour of a large fleet is a hundred million rows. */
#define KS_FLEET_ROLLUP_SECS 3600

int ks_fleet_set_up(struct ks_fleet_args *args);
int ks_fleet_rollup(struct ks_fleet_args *args);
int ks_fleet_push(struct ks_fleet_args *args);
int ks_fleet_ask(struct ks_fleet_args *args);

/* Of html and export: 0 or an exit code, with a message. */
const char *ks_fleet_format_name(unsigned int format);
int ks_fleet_check_report(const struct ks_fleet_args *args);
int ks_fleet_write_report(struct ks_fleet_args *args, struct ks_store *store,
			  struct ks_doc *answer);

#endif
