// SPDX-License-Identifier: LGPL-2.1-only
/* Loads libraries that few runs need. */
#include "base/late.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

/* === Internals ============================================================================ */

static int load(const char *library, const char *const *names, size_t len, void **functions,
		struct ks_diag *diag)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *function = NULL;
	size_t i;

	for (i = 0; i < len && handle; i++) {
		function = dlsym(handle, names[i]);
		if (!function)
			break;
		memcpy(&functions[i], &function, sizeof(function));
	}
	if (handle && i == len)
		return 0;
	functions[len - 1] = NULL;
	return ks_diag_set(diag, -ELIBACC, "a library that this needs can't be loaded: %s",
			   dlerror());
}

/* === Public =============================================================================== */

int ks_late_load(const char *library, const char *const *names, size_t len, void *functions,
		 struct ks_diag *diag)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	void **table = functions;
	int err = 0;

	pthread_mutex_lock(&lock);
	/* The last one is set last. */
	if (!table[len - 1])
		err = load(library, names, len, table, diag);
	pthread_mutex_unlock(&lock);
	return err;
}
