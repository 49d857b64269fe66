// SPDX-License-Identifier: LGPL-2.1-only
/* Memory of a kernel that no longer runs, or of a guest: a dump (vmcore) that kdump or QEMU has written, as ELF or compressed. */
#include "heap/memory-physical.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/flattened.h"

#ifdef KS_HAVE_KDUMPFILE

#include <libkdumpfile/kdumpfile.h>

#include "heap/late-kdumpfile.h"

/* === Data ================================================================================= */

struct dump {
	struct ks_physical physical;
	kdump_ctx_t *ctx;
	int fd; /* -1 = another handle has it */
};

/* === Internals ============================================================================ */

/* The library's own functions for this are inline, and call others that are loaded late. */
static bool get_string(kdump_ctx_t *ctx, const char *key, const char **ret_text)
{
	kdump_attr_t attr = { .type = KDUMP_STRING };

	if (kdump_get_typed_attr(ctx, key, &attr) != KDUMP_OK)
		return false;
	*ret_text = attr.val.string;
	return true;
}

static bool set_string(kdump_ctx_t *ctx, const char *key, const char *text)
{
	const kdump_attr_t attr = { .type = text ? KDUMP_STRING : KDUMP_NIL, .val.string = text };

	return kdump_set_attr(ctx, key, &attr) == KDUMP_OK;
}

static int open_dump(struct dump *d, const char *path, struct ks_diag *diag)
{
	kdump_attr_t pages = { .type = KDUMP_NUMBER };
	const kdump_attr_t yes = { .type = KDUMP_NUMBER, .val.number = 1 };
	const char *arch;
	int plain, err;

	if (ks_is_flattened(d->fd)) {
		err = ks_unflatten(d->fd, path, &plain, diag);
		if (err)
			return err;
		close(d->fd);
		d->fd = plain;
	}
	err = ks_late_kdumpfile(diag);
	if (err)
		return err;
	d->ctx = kdump_new();
	if (!d->ctx)
		return ks_diag_nomem(diag, "opening a dump");
	if (kdump_open_fdset(d->ctx, 1, &d->fd) != KDUMP_OK)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: no dump of a kernel that is known: %s",
				   path, kdump_get_err(d->ctx));
	/* QEMU's compressed dumps do not say it. If it is another, its page tables will make no sense. */
	if (!get_string(d->ctx, KDUMP_ATTR_ARCH_NAME, &arch) &&
	    (!set_string(d->ctx, KDUMP_ATTR_ARCH_NAME, KDUMP_ARCH_X86_64) ||
	     !get_string(d->ctx, KDUMP_ATTR_ARCH_NAME, &arch)))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: a dump that does not say of which architecture it is",
				   path);
	if (strcmp(arch, KDUMP_ARCH_X86_64))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: a dump of another architecture (%s) than x86-64", path,
				   arch);
	/* Pages of zeros may have been left out. */
	kdump_set_attr(d->ctx, KDUMP_ATTR_ZERO_EXCLUDED, &yes);
	if (kdump_get_typed_attr(d->ctx, "max_pfn", &pages) == KDUMP_OK)
		d->physical.pages = pages.val.number;
	return 0;
}

/*
 * With the last handle of a compressed dump libkdumpfile 0.5 writes to attributes that it has freed, and with some dumps
 * that crashes. The first handle is the last to go; of such a dump it stays, and what all handles share stays with it.
 */
static bool stays(kdump_ctx_t *dump)
{
	const char *format;

	return get_string(dump, KDUMP_ATTR_FILE_FORMAT, &format) && strcmp(format, "elf");
}

/* === Interface ============================================================================ */

static int dump_read(struct ks_physical *physical, u64 addr, void *buf, size_t len)
{
	size_t got = len;

	return kdump_read(((struct dump *)physical)->ctx, KDUMP_MACHPHYSADDR, addr, buf, &got) ==
				       KDUMP_OK &&
			       got == len
		       ? 0
		       : -EFAULT;
}

static struct ks_physical *dump_dup(struct ks_physical *physical)
{
	struct dump *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *(struct dump *)physical;
	copy->fd = -1;
	copy->ctx = kdump_clone(copy->ctx, 0);
	if (!copy->ctx) {
		free(copy);
		return NULL;
	}
	return &copy->physical;
}

/*
 * libkdumpfile gives the note only of a system whose name is set, and of an ELF dump it sets none. Ours does not stay
 * set: with it, libkdumpfile would look for page tables by itself.
 */
static char *dump_note(struct ks_physical *physical)
{
	kdump_ctx_t *ctx = ((struct dump *)physical)->ctx;
	char *text = NULL;

	if (kdump_vmcoreinfo_raw(ctx, &text) == KDUMP_OK)
		return text;
	set_string(ctx, KDUMP_ATTR_OSTYPE, "linux");
	if (kdump_vmcoreinfo_raw(ctx, &text) != KDUMP_OK)
		text = NULL;
	set_string(ctx, KDUMP_ATTR_OSTYPE, NULL);
	return text;
}

static void dump_free(struct ks_physical *physical)
{
	struct dump *d = (struct dump *)physical;

	if (d && d->ctx && (d->fd < 0 || !stays(d->ctx)))
		kdump_free(d->ctx);
	if (d && d->fd >= 0)
		close(d->fd);
	free(d);
}

static const struct ks_physical_ops dump_ops = {
	.name = "vmcore",
	.read = dump_read,
	.dup = dump_dup,
	.note = dump_note,
	.free = dump_free,
};

/* === Public =============================================================================== */

int ks_memory_open_vmcore(const char *path, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct dump *d = calloc(1, sizeof(*d));
	int err = 0;

	if (!d)
		return ks_diag_nomem(diag, "opening a dump");
	d->physical.ops = &dump_ops;
	d->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (d->fd < 0)
		err = ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	if (!err)
		err = open_dump(d, path, diag);
	if (err) {
		dump_free(&d->physical);
		return err;
	}
	return ks_memory_open_physical(path, &d->physical, ret_memory, diag);
}

bool ks_memory_reads_dumps(void)
{
	return true;
}

#else

int ks_memory_open_vmcore(const char *path, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	return ks_diag_set(diag, -EOPNOTSUPP,
			   "%s: this kmemscope was built without libkdumpfile, which reads dumps",
			   path);
}

bool ks_memory_reads_dumps(void)
{
	return false;
}

#endif
