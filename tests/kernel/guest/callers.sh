# SPDX-License-Identifier: GPL-2.0-only
# Who allocates and frees pages, read off the stack: a function of the allocator that caller.c does not
# know by its name would be taken for the caller. STACKS=no where the kernel can't walk its stack.
if [ "$STACKS" != no ]; then
	for pattern in pages callers; do
		reset
		put 1 /sys/module/memorizer/parameters/page_callers
		put 1 $M/memorizer_enabled; put $pattern $T/run; put 0 $M/memorizer_enabled
		put 0 /sys/module/memorizer/parameters/page_callers
		cat $M/kmap >/tmp/kmap
		check "pages have their callers: $pattern" mzcheck kmap /tmp/kmap
	done
	reset
fi
