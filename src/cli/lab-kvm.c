// SPDX-License-Identifier: GPL-2.0-only
/* Whether KVM gets a guest up here: some machines offer it, and it does not. */
#include <string.h>
#include <unistd.h>

#include "capture/tracefs.h"
#include "cli/lab.h"
#include "cli/output.h"

/* === Internals ============================================================================ */

/* Where it is noted that KVM does not work, and what is noted: it may after the next boot. */
static int kvm_note(struct ks_strbuf *path, struct ks_strbuf *boot)
{
	struct ks_diag diag;
	int err = ks_lab_cache(path, &diag);

	ks_strbuf_puts(path, "/lab-kvm-fails");
	return err ? err : ks_slurp("/proc/sys/kernel/random/boot_id", boot);
}

/* === Public =============================================================================== */

bool ks_lab_kvm_promises(void)
{
	struct ks_strbuf path, boot, noted;
	bool failed_before;

	if (access("/dev/kvm", R_OK | W_OK))
		return false;
	ks_strbuf_init(&path);
	ks_strbuf_init(&boot);
	ks_strbuf_init(&noted);
	failed_before = !kvm_note(&path, &boot) && !ks_slurp(ks_strbuf_str(&path), &noted) &&
			!strcmp(ks_strbuf_str(&boot), ks_strbuf_str(&noted));
	ks_strbuf_deinit(&noted);
	ks_strbuf_deinit(&boot);
	ks_strbuf_deinit(&path);
	return !failed_before;
}

void ks_lab_kvm_failed(struct ks_cli *cli)
{
	struct ks_strbuf path, boot;

	ks_strbuf_init(&path);
	ks_strbuf_init(&boot);
	if (!kvm_note(&path, &boot))
		ks_cli_write(cli, ks_strbuf_str(&path), &boot);
	ks_strbuf_deinit(&boot);
	ks_strbuf_deinit(&path);
}
