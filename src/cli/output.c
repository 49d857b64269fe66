// SPDX-License-Identifier: GPL-2.0-only
/* Output: standard output through a pager where that is a terminal, or a file. */
#include "cli/output.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/outfile.h"

/* === Internals ============================================================================ */

/* The user's own choice of pager, as man and git take it; "" and "cat" mean none. */
static const char *find_pager(void)
{
	const char *pager = getenv("KMEMSCOPE_PAGER");

	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		pager = "less";
	return *pager && strcmp(pager, "cat") ? pager : NULL;
}

/* Starts the pager and returns where to write, or -1. */
static int start_pager(const char *pager, pid_t *ret_pid)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	if (!pid) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		setenv("LESS", "FRX", 0); /* short output stays on the screen */
		if (getenv("SUDO_UID"))
			setenv("LESSSECURE", "1", 0); /* who may run kmemscope may not run all */
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	*ret_pid = pid;
	return ends[1];
}

/* === Public =============================================================================== */

int ks_cli_print(const struct ks_cli *cli, const struct ks_strbuf *text)
{
	const char *pager = cli->output.no_pager || !isatty(STDOUT_FILENO) ? NULL : find_pager();
	int status, err, fd = -1;
	pid_t pid = 0;

	if (text->failed)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory while printing");
	if (pager) {
		signal(SIGPIPE, SIG_IGN); /* a pager that was quit is no error */
		fd = start_pager(pager, &pid);
	}
	err = ks_write_all(fd >= 0 ? fd : STDOUT_FILENO, ks_strbuf_str(text), text->len);
	if (fd >= 0) {
		close(fd);
		waitpid(pid, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 127)
			return 0;
		err = ks_write_all(STDOUT_FILENO, ks_strbuf_str(text),
				   text->len); /* no such pager */
	}
	if (err)
		return ks_cli_error(cli, KS_EXIT_FAILED, "standard output: cannot write: %s",
				    strerror(-err));
	return 0;
}

int ks_cli_print_doc(const struct ks_cli *cli, struct ks_doc *doc)
{
	struct ks_strbuf text;
	int code;

	if (!doc)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	ks_strbuf_init(&text);
	doc->detailed |= cli->output.verbose;
	if (cli->shared & KS_WITH_BYTES && !cli->output.bytes)
		ks_doc_for_people(doc);
	if (cli->output.json)
		ks_render_doc_json(doc, &text);
	else if (cli->output.csv)
		ks_render_doc_csv(doc, &text);
	else if (cli->output.markdown)
		ks_render_doc_markdown(doc, &text);
	else
		ks_render_doc(doc, &text);
	code = ks_cli_print(cli, &text);
	ks_strbuf_deinit(&text);
	ks_doc_free(doc);
	return code;
}

int ks_cli_write(const struct ks_cli *cli, const char *path, const struct ks_strbuf *text)
{
	struct ks_diag diag = { 0 };
	struct ks_outfile out;
	int err;

	if (!strcmp(path, "-"))
		return ks_cli_print(cli, text);
	if (text->failed)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory while writing %s", path);
	err = ks_outfile_open(&out, path, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	err = ks_outfile_write(&out, ks_strbuf_str(text), text->len, &diag);
	if (err)
		ks_outfile_abort(&out);
	else
		err = ks_outfile_commit(&out, &diag);
	return err ? ks_cli_fail(cli, err, &diag) : 0;
}

int ks_cli_check_written(const struct ks_cli *cli, const char *path)
{
	if (!cli->output.json || strcmp(path, "-"))
		return 0;
	return ks_cli_error(cli, KS_EXIT_USAGE,
			    "--json says what was written: name a file with --output");
}

int ks_cli_print_written(const struct ks_cli *cli, const struct ks_model *model,
			 const struct ks_written *written)
{
	if (!strcmp(written->path, "-"))
		return 0;
	return ks_cli_print_doc(cli, ks_doc_of_written(model, written));
}

int ks_cli_print_quality(const struct ks_cli *cli, const struct ks_model *model)
{
	struct ks_strbuf text;
	int code;

	ks_strbuf_init(&text);
	ks_render_quality(model, cli->output.verbose, &text);
	code = ks_cli_print(cli, &text);
	ks_strbuf_deinit(&text);
	return code;
}
