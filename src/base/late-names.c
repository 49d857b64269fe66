// SPDX-License-Identifier: LGPL-2.1-only
/* Nothing: a library of this is linked with all that is loaded late, and so has their names, for late.py and for packages. */

extern const char ks_late_names;
const char ks_late_names = 0;
