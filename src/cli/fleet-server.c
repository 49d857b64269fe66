// SPDX-License-Identifier: GPL-2.0-only
/* The server that fleet commands ask: its options, its password, the connection. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/io.h"
#include "cli/fleet.h"

/* === Data ================================================================================= */

enum { PASSWORD_MAX = 4096 };

struct setting {
	struct ks_cli *cli;
	const struct ks_option *own;
};

/* === Internals ============================================================================ */

static int take_setting(void *ctx, const char *name, const char *value, struct ks_diag *diag)
{
	const struct setting *setting = ctx;
	int code = ks_cli_set(setting->cli, setting->own, name, value);

	return code < 0 ? 0
			: ks_diag_set(diag, KS_EBADINPUT, "'%s = %s' can't be set", name, value);
}

/* === Public =============================================================================== */

int ks_fleet_parse(struct ks_cli *cli, const struct ks_option *own,
		   const struct ks_fleet_config *config, int argc, char **argv, char **ret_text)
{
	struct setting setting = { cli, own };
	struct ks_diag diag = { 0 };
	int code = ks_cli_parse(cli, own, argc, argv), err;
	bool given = *config->nr > config->least;

	if (code >= 0 || !config->path)
		return code;
	*config->nr = config->least;
	err = ks_config_read(config->path, take_setting, &setting, ret_text, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	if (given)
		*config->nr = config->least;
	optind = 0; /* getopt begins anew */
	return ks_cli_parse(cli, own, argc, argv);
}

int ks_fleet_read_secret(const struct ks_cli *cli, struct ks_fleet_server *server)
{
	int fd = open(server->password_file, O_RDONLY | O_CLOEXEC);
	char *text = malloc(PASSWORD_MAX + 1);
	ssize_t got = fd >= 0 && text ? ks_pread_full(fd, text, PASSWORD_MAX, 0) : -1;
	int err = errno;

	if (fd >= 0)
		close(fd);
	if (got < 0) {
		free(text);
		return text ? ks_cli_error(cli, KS_EXIT_FAILED, "%s: cannot read: %s",
					   server->password_file, strerror(err))
			    : ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	}
	text[got] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	server->password = text;
	return 0;
}

int ks_fleet_connect(const struct ks_cli *cli, struct ks_fleet_server *server,
		     struct ks_store *store)
{
	struct ks_diag diag = { 0 };
	int code, err;

	*store = (struct ks_store){ .database = server->database ? server->database : "kmemscope" };
	if (!server->http.url)
		server->http.url = getenv("KMEMSCOPE_FLEET");
	if (!server->http.url || !*server->http.url)
		return ks_cli_error(
			cli, KS_EXIT_USAGE,
			"name the server: --server http://HOST:8123, or KMEMSCOPE_FLEET");
	if (!ks_store_check_name(store->database))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "'%s' is no name of a database: letters, digits and _",
				    store->database);
	if (server->password_file && !server->password) {
		code = ks_fleet_read_secret(cli, server);
		if (code)
			return code;
		server->http.password = server->password;
	}
	err = ks_http_new(&server->http, &store->http, &diag);
	if (err)
		return err == -EINVAL ? ks_cli_error(cli, KS_EXIT_USAGE, "%s", diag.text)
				      : ks_cli_fail(cli, err, &diag);
	return 0;
}

void ks_fleet_disconnect(struct ks_fleet_server *server, struct ks_store *store)
{
	ks_http_free(store->http);
	if (server->password)
		explicit_bzero(server->password, strlen(server->password));
	free(server->password);
	server->password = NULL;
}
