/* SPDX-License-Identifier: LGPL-2.1-only */
/* All of libkmemscope but the structs of Arrow, which are in kmemscope/arrow.h. */
#ifndef KMEMSCOPE_KMEMSCOPE_H
#define KMEMSCOPE_KMEMSCOPE_H

#include <kmemscope/analyzer.h>
#include <kmemscope/base.h>
#include <kmemscope/capture.h>
#include <kmemscope/document.h>
#include <kmemscope/heap.h>
#include <kmemscope/map.h>

#endif
