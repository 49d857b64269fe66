// SPDX-License-Identifier: LGPL-2.1-only
/* Looks up the function that releases files with such operations. */
#include "heap/file-types.h"

#include <string.h>

#include "base/types.h"
#include "heap/code-names.h"
#include "sym/symtab.h"

/* === Data ================================================================================= */

/*
 * From the kernel's sources, 5.10 to 7.2; only where the struct is the whole object. A struct that a kernel does not have
 * names nothing.
 */
static const struct {
	const char *release, *type;
} known[] = {
	{ "bpf_prog_release", "bpf_prog" },	    { "btf_release", "btf" },
	{ "ep_eventpoll_release", "eventpoll" },    { "evdev_release", "evdev_client" },
	{ "eventfd_release", "eventfd_ctx" },	    { "fanotify_release", "fsnotify_group" },
	{ "fscontext_release", "fs_context" },	    { "fuse_dev_release", "fuse_dev" },
	{ "inotify_release", "fsnotify_group" },    { "io_uring_release", "io_ring_ctx" },
	{ "perf_release", "perf_event" },	    { "pipe_release", "pipe_inode_info" },
	{ "anon_pipe_release", "pipe_inode_info" }, { "ppp_release", "ppp_file" },
	{ "signalfd_release", "signalfd_ctx" },	    { "snd_ctl_release", "snd_ctl_file" },
	{ "snd_pcm_release", "snd_pcm_file" },	    { "timerfd_release", "timerfd_ctx" },
	{ "tty_release", "tty_file_private" },	    { "uinput_release", "uinput_device" },
	{ "usbdev_release", "usb_dev_state" },	    { "userfaultfd_release", "userfaultfd_ctx" },
	{ "vhost_net_release", "vhost_net" },
};

/* === Internals ============================================================================ */

/* The function that operations have for the end of a file, or NULL. */
static const char *releasing(struct ks_kernel *kernel, const struct ks_symtab *symbols,
			     struct ks_types *types, u64 operations)
{
	u32 table = ks_types_struct(types, "file_operations", strlen("file_operations"));
	u32 offset = table ? ks_types_member(types, table, "release") : KS_NONE;
	const struct ks_symbol *symbol;
	u64 function;

	if (offset == KS_NONE || !ks_kernel_in_image(kernel, operations) ||
	    ks_memory_get(kernel->memory, operations + offset, &function, sizeof(function)))
		return NULL;
	symbol = ks_code_at(kernel, symbols, function);
	return symbol ? ks_symtab_name(symbols, symbol) : NULL;
}

/* === Public =============================================================================== */

u32 ks_file_type(struct ks_kernel *kernel, const struct ks_symtab *symbols, struct ks_types *types,
		 u64 operations)
{
	const char *release = releasing(kernel, symbols, types, operations);
	size_t i;

	for (i = 0; release && i < ARRAY_SIZE(known); i++)
		if (!strcmp(release, known[i].release))
			return ks_types_struct(types, known[i].type, strlen(known[i].type));
	return 0;
}
