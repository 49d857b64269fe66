/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What all headers of libkmemscope share: see libkmemscope(3).
 *
 * Rules of the interface, which do not change: functions return 0, or a negative errno, or
 * KS_ERROR_INPUT, and then leave what they would have returned alone. The struct ks_diag * at the
 * end of their parameters may be NULL; on error it says in a sentence what was wrong. All structs
 * are opaque but those that begin with a size: a caller zeroes one and sets size to its sizeof.
 * Members that a newer library has in addition are as if they were 0; those that are set and that
 * an older one does not know are refused with -E2BIG. Strings are UTF-8 where they are the caller's
 * and bytes of any kind where they are the kernel's. Objects of different threads are independent;
 * one object is used by one thread at a time.
 */
#ifndef KMEMSCOPE_BASE_H
#define KMEMSCOPE_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define KS_API __attribute__((visibility("default")))
#else
#define KS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Input that is damaged, hostile or of no known format. Other errors are negative errno values. */
#define KS_ERROR_INPUT (-100000)

/* The version of the library that is loaded: "0.1.0". */
KS_API const char *ks_version(void);

/* Gives back what a function of the library says is to be given back so. NULL is fine. */
KS_API void ks_free(void *memory);

/* Why something failed. One may be used for any number of calls, and has the last error. */
struct ks_diag;

/* NULL when there is no memory. */
KS_API struct ks_diag *ks_diag_new(void);
KS_API void ks_diag_free(struct ks_diag *diag);

/* What the last failing function returned; 0 = none has failed. */
KS_API int ks_diag_code(const struct ks_diag *diag);

/*
 * One line for a person: what, where, and how to mend it, where that is known; "" = none has
 * failed.
 */
KS_API const char *ks_diag_text(const struct ks_diag *diag);

/*
 * 1, and the place in the file where it is damaged, in bytes from its beginning; or 0 where the
 * error has no such place.
 */
KS_API int ks_diag_offset(const struct ks_diag *diag, uint64_t *ret_offset);

/* For callbacks: notes an error, and returns @code, so that a callback can return it. */
KS_API int ks_diag_explain(struct ks_diag *diag, int code, const char *text);

#ifdef __cplusplus
}
#endif

#endif
