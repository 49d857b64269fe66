// SPDX-License-Identifier: LGPL-2.1-only
/* Capabilities of this process, and the kernel's lockdown. */
#include "heap/rights.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* === Internals ============================================================================ */

static const char *capability_name(unsigned int capability)
{
	switch (capability) {
	case CAP_BPF:
		return "CAP_BPF";
	case CAP_PERFMON:
		return "CAP_PERFMON";
	case CAP_SYS_RAWIO:
		return "CAP_SYS_RAWIO";
	default:
		return "CAP_SYS_ADMIN";
	}
}

static bool stands_in(unsigned int capability)
{
	return (capability == CAP_BPF || capability == CAP_PERFMON) && ks_is_capable(CAP_SYS_ADMIN);
}

/* === Public =============================================================================== */

bool ks_is_locked_down(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return strstr(line, "[confidentiality]");
}

bool ks_is_capable(unsigned int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective >> capability % 32 & 1;
}

bool ks_explain_refusal(const char *what, const unsigned int *needed, size_t count, int err,
			struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (ks_is_capable(needed[i]) || stands_in(needed[i]))
			continue;
		ks_diag_set(diag, err, "%s needs root: this process lacks %s", what,
			    capability_name(needed[i]));
		return true;
	}
	if (!ks_is_locked_down())
		return false;
	ks_diag_set(diag, err,
		    "%s is forbidden: the kernel is locked down (lockdown=confidentiality), until "
		    "a reboot",
		    what);
	return true;
}
