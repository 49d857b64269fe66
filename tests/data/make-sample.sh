#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# How sample.log was made: make-sample.sh OUTPUT, as root, on Linux 6.18. The six kmem events of the
# whole machine while a shell runs one small static program, through a private tracefs instance.
set -eu
instance=/sys/kernel/tracing/instances/kmemscope-sample-$$
mkdir $instance
trap 'echo 0 >$instance/tracing_on; echo 0 >$instance/events/enable; rmdir $instance' EXIT
echo 0 >$instance/tracing_on
echo 8192 >$instance/buffer_size_kb
echo 0 >$instance/options/hash-ptr
for event in kmalloc kfree kmem_cache_alloc kmem_cache_free mm_page_alloc mm_page_free; do
	echo 1 >$instance/events/kmem/$event/enable
done
echo 1 >$instance/tracing_on
/sbin/ldconfig -p >/dev/null
echo 0 >$instance/tracing_on
cat $instance/trace >"$1"
