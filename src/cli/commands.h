/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands, by name. */
#ifndef KS_CLI_COMMANDS_H
#define KS_CLI_COMMANDS_H

struct ks_report;

struct ks_command {
	const char *name;
	int (*run)(int argc, char **argv); /* NULL = it is a report */
	const char *summary;
	const struct ks_report *report; /* see cli/report.h */
};

/* The commands, ending with a name of NULL (main.c). */
extern const struct ks_command ks_commands[];

int ks_cmd_static(int argc, char **argv);
int ks_cmd_kmap(int argc, char **argv);
int ks_cmd_lab(int argc, char **argv);
int ks_cmd_rings(int argc, char **argv);
int ks_cmd_agent(int argc, char **argv);
int ks_cmd_account(int argc, char **argv);
int ks_cmd_import(int argc, char **argv);
int ks_cmd_relay(int argc, char **argv);
int ks_cmd_record(int argc, char **argv);
int ks_cmd_check(int argc, char **argv);
int ks_cmd_doctor(int argc, char **argv);
int ks_cmd_heap(int argc, char **argv);
int ks_cmd_html(int argc, char **argv);
int ks_cmd_diff(int argc, char **argv);
int ks_cmd_gate(int argc, char **argv);
int ks_cmd_export(int argc, char **argv);
int ks_cmd_fleet(int argc, char **argv);
int ks_cmd_flame(int argc, char **argv);
int ks_cmd_top(int argc, char **argv);
int ks_cmd_serve(int argc, char **argv);
int ks_cmd_watch(int argc, char **argv);
int ks_cmd_timeline(int argc, char **argv);

/* The ancestors' commands under their own names. */
int ks_trace_analyze(int argc, char **argv);
int ks_kmemtraced(int argc, char **argv);
int ks_kmemtrace_check(int argc, char **argv);
int ks_kmemtrace_report(int argc, char **argv);

#endif
