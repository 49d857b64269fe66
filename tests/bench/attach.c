// SPDX-License-Identifier: GPL-2.0-only
/* Loads and attaches all programs of a BPF object and waits until it is ended: attach FILE. */
#include <stdio.h>
#include <unistd.h>

#include <bpf/libbpf.h>

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open(argv[1]) : NULL;
	struct bpf_program *program;

	if (!object || bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(program, object) if (!bpf_program__attach(program)) return 1;
	puts("attached");
	fflush(stdout);
	pause();
	return 0;
}
