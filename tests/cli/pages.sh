#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Where pages are allocated: page events name no call site, stack traces do.
. "$(dirname "$0")/lib.sh"

page() { # TIME FRAME ORDER GFP
	printf '            bash-70    [000] d..2.  %s: mm_page_alloc: page=0x%s pfn=0x%s order=%s migratetype=0 gfp_flags=%s\n' "$1" "$2" "$2" "$3" "$4"
}
stack() { # TIME FRAME...
	printf '            bash-70    [000] d..2.  %s: <stack trace>\n' "$1"
	shift
	printf ' => %s\n' "$@"
}
tracer=(trace_event_raw_event_mm_page_alloc __traceiter_mm_page_alloc __alloc_frozen_pages_noprof alloc_pages_mpol)
{
	page 1.000001 100 0 GFP_USER
	stack 1.000002 "${tracer[@]}" vma_alloc_folio_noprof do_anonymous_page+0x31e/0x400 handle_mm_fault
	page 1.000003 101 0 GFP_USER
	stack 1.000004 "${tracer[@]}" vma_alloc_folio_noprof do_anonymous_page+0x31e/0x400 exc_page_fault
	page 1.000005 102 1 GFP_KERNEL
	stack 1.000006 "${tracer[@]}" ___kmalloc_large_node '__kmalloc_large_noprof' 'big_one+0x10/0x20 [mod]'
	page 1.000007 104 0 GFP_KERNEL
	stack 1.000008 "${tracer[@]}" vm_area_alloc_pages __vmalloc_node_range_noprof vzalloc_noprof wrapper+0x8/0x10 user_of_wrapper+0x4/0x8
	page 1.000009 105 2 'GFP_KERNEL|__GFP_ZERO'
} >stacks.log
{
	page 1.000001 100 0 GFP_USER
	page 1.000002 101 3 GFP_KERNEL
	page 1.000003 109 0 GFP_USER
} >bare.log

# SITE:BYTES, most bytes first
rows() { must "$KMEMSCOPE" "$@" --json | python3 -c '
import json, sys
print(" ".join("%s:%d" % (row["site"], row["live_bytes"]) for row in json.load(sys.stdin)["rows"]))'; }
# says() for what must not be there
silent() { # PATTERN COMMAND...
	local pattern=$1
	shift
	"$@" >silent.out 2>&1 && ! grep -Eq -- "$pattern" silent.out
}

sites='no stack: GFP_KERNEL|__GFP_ZERO:16384 do_anonymous_page+0x31e:8192 big_one+0x10 [mod]:8192 wrapper+0x8:4096'
check "the first frame that does not allocate for others" equal "$(rows report --pages --by site stacks.log)" "$sites"
check "a helper of the user's" says 'user_of_wrapper\+0x4' "$KMEMSCOPE" report --pages --by site --helpers <(echo wrapper) stacks.log
check "by function" says ' do_anonymous_page$' "$KMEMSCOPE" report --pages --by function stacks.log
check "what has no stack is said" says 'page events name no call site' "$KMEMSCOPE" report --pages --by site bare.log
check "in JSON too" says '"pages_unplaced": true' "$KMEMSCOPE" report --pages --by site --json bare.log
check "and is no row of unknown" equal "$(rows report --pages --by site bare.log)" "no stack: GFP_KERNEL:32768 no stack: GFP_USER:8192"
check "of functions neither" says 'no stack: GFP_KERNEL$' "$KMEMSCOPE" report --pages --by function bare.log
check "slab reports do not speak of pages" silent 'page events' "$KMEMSCOPE" report bare.log
must "$KMEMSCOPE" import -o db stacks.log >/dev/null
check "a DB says the same" equal "$(rows report --pages --by site db)" "$sites"
check "the filter by site" equal "$(rows report --pages --site big_one stacks.log)" "big_one+0x10 [mod]:8192"
check "leaks have sites" says 'do_anonymous_page\+0x31e' "$KMEMSCOPE" leaks --all --pages stacks.log
check "a stack begins with its site" says '^ +do_anonymous_page\+0x31e$' "$KMEMSCOPE" leaks --all --pages --stacks stacks.log
check "tracer and allocator are gone" silent 'trace_event|traceiter|alloc_pages' "$KMEMSCOPE" leaks --all --pages --stacks stacks.log
check "so they are in a flame graph" silent 'trace_event|traceiter' "$KMEMSCOPE" flame --pages -o - stacks.log
check "which has the sites" says 'do_anonymous_page\+0x31e' "$KMEMSCOPE" flame --pages -o - stacks.log
check "the account" says 'do_anonymous_page' "$KMEMSCOPE" account --pages stacks.log
check "the page" says 'do_anonymous_page\+0x31e' "$KMEMSCOPE" html --pages -o - stacks.log
done_testing
