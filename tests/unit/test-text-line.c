// SPDX-License-Identifier: GPL-2.0-only
/*
 * The grammar of text logs: lines of every kernel and program, with their meaning as read by a
 * human. The modern ones were printed by a 6.18 kernel, by trace-cmd 3.1 and by perf 6.1; the older
 * ones follow the print formats of their kernels.
 */
#include "ks-test.h"

#include "trace/text-line.h"

#define PTR_HASHED 0x0d440f2full

struct line_case {
	const char *what;
	const char *line;
	int class;
	int kind;
	u64 ts;
	const char *comm;
	u32 pid;
	u32 cpu;
	const char *site;
	const char *func;
	const char *module;
	u64 addr, offset, ptr, req, alloc;
	const char *cache, *gfp;
	int node;
	int flags;
};

#define TAIL_6_18 \
	"bytes_req=60 bytes_alloc=64 gfp_flags=GFP_NOFS|__GFP_ZERO node=-1 accounted=false"

static const struct line_case cases[] = {
	{ .what = "6.18 trace file",
	  .line = "            bash-3202    [000] .....   415.214965: kmalloc: call_site=eventfs_set_attr+0x10d/0x140 ptr=000000000d440f2f " TAIL_6_18,
	  .kind = KS_KMALLOC,
	  .ts = 415214965000,
	  .comm = "bash",
	  .pid = 3202,
	  .cpu = 0,
	  .site = "eventfs_set_attr+0x10d/0x140",
	  .func = "eventfs_set_attr",
	  .offset = 0x10d,
	  .ptr = PTR_HASHED,
	  .req = 60,
	  .alloc = 64,
	  .gfp = "GFP_NOFS|__GFP_ZERO",
	  .node = -1 },
	{ .what = "6.18 cache with a name",
	  .line = "              ls-3207    [001] d..1.   415.368738: kmem_cache_alloc: call_site=getname_flags.part.0+0x24/0x1f0 ptr=00000000a24afd4c name=names_cache bytes_req=4096 bytes_alloc=4096 gfp_flags=GFP_KERNEL node=1 accounted=true",
	  .kind = KS_CACHE_ALLOC,
	  .ts = 415368738000,
	  .comm = "ls",
	  .pid = 3207,
	  .cpu = 1,
	  .site = "getname_flags.part.0+0x24/0x1f0",
	  .func = "getname_flags.part.0",
	  .offset = 0x24,
	  .ptr = 0xa24afd4c,
	  .req = 4096,
	  .alloc = 4096,
	  .cache = "names_cache",
	  .gfp = "GFP_KERNEL",
	  .node = 1 },
	{ .what = "a cache whose name has blanks",
	  .line = "  x-1 [000] .... 1.000000: kmem_cache_alloc: call_site=f+0x1/0x2 ptr=00000000a24afd4c name=odd name=1 bytes_req=8 bytes_alloc=8 gfp_flags=GFP_KERNEL node=-1 accounted=true",
	  .kind = KS_CACHE_ALLOC,
	  .ts = 1000000000,
	  .comm = "x",
	  .pid = 1,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .req = 8,
	  .alloc = 8,
	  .cache = "odd name=1",
	  .gfp = "GFP_KERNEL",
	  .node = -1 },
	{ .what = "a free with a cache name of two words",
	  .line = "  x-1 [000] .... 1.000000: kmem_cache_free: call_site=f+0x1/0x2 ptr=00000000a24afd4c name=odd name",
	  .kind = KS_CACHE_FREE,
	  .ts = 1000000000,
	  .comm = "x",
	  .pid = 1,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .cache = "odd name",
	  .node = -1 },
	{ .what = "2.6.30: bare addresses, no irq flags",
	  .line = "            Xorg-4017  [003]  4183.123456: kmalloc: call_site=ffffffff8110f8a2 ptr=ffff8800379e0500 bytes_req=240 bytes_alloc=256 gfp_flags=GFP_KERNEL|GFP_ZERO",
	  .kind = KS_KMALLOC,
	  .ts = 4183123456000,
	  .comm = "Xorg",
	  .pid = 4017,
	  .cpu = 3,
	  .site = "ffffffff8110f8a2",
	  .func = "",
	  .addr = 0xffffffff8110f8a2,
	  .ptr = 0xffff8800379e0500,
	  .req = 240,
	  .alloc = 256,
	  .gfp = "GFP_KERNEL|GFP_ZERO",
	  .node = -1 },
	{ .what = "32-bit ARM of 2012",
	  .line = "          <idle>-0     [000] d.h2    12.345678: kmem_cache_alloc: call_site=c00a1b2c ptr=cf804ac0 bytes_req=64 bytes_alloc=64 gfp_flags=GFP_ATOMIC",
	  .kind = KS_CACHE_ALLOC,
	  .ts = 12345678000,
	  .comm = "<idle>",
	  .pid = 0,
	  .cpu = 0,
	  .site = "c00a1b2c",
	  .func = "",
	  .addr = 0xc00a1b2c,
	  .ptr = 0xcf804ac0,
	  .req = 64,
	  .alloc = 64,
	  .gfp = "GFP_ATOMIC",
	  .node = -1 },
	{ .what = "4.14 _node event",
	  .line = "     kworker/u8:2-93    [001] ....    55.000001: kmem_cache_alloc_node: call_site=ffffffff817e5c11 ptr=ffff880136c0b700 bytes_req=232 bytes_alloc=256 gfp_flags=GFP_KERNEL node=-1",
	  .kind = KS_CACHE_ALLOC,
	  .ts = 55000001000,
	  .comm = "kworker/u8:2",
	  .pid = 93,
	  .cpu = 1,
	  .site = "ffffffff817e5c11",
	  .func = "",
	  .addr = 0xffffffff817e5c11,
	  .ptr = 0xffff880136c0b700,
	  .req = 232,
	  .alloc = 256,
	  .gfp = "GFP_KERNEL",
	  .node = -1 },
	{ .what = "kmalloc_node, node 0",
	  .line = "  x-1 [000] .... 1.000000: kmalloc_node: call_site=f+0x1/0x2 ptr=00000000a24afd4c bytes_req=8 bytes_alloc=8 gfp_flags=0x24080c0 node=0",
	  .kind = KS_KMALLOC,
	  .ts = 1000000000,
	  .comm = "x",
	  .pid = 1,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .req = 8,
	  .alloc = 8,
	  .gfp = "0x24080c0",
	  .node = 0 },
	{ .what = "a module's site",
	  .line = "  mount-700   [000] ....    70.000000: kmalloc: call_site=ext4_fill_super+0x1c/0x9a0 [ext4] ptr=000000007b3a9f10 bytes_req=100 bytes_alloc=128 gfp_flags=GFP_KERNEL",
	  .kind = KS_KMALLOC,
	  .ts = 70000000000,
	  .comm = "mount",
	  .pid = 700,
	  .cpu = 0,
	  .site = "ext4_fill_super+0x1c/0x9a0 [ext4]",
	  .func = "ext4_fill_super",
	  .module = "ext4",
	  .offset = 0x1c,
	  .ptr = 0x7b3a9f10,
	  .req = 100,
	  .alloc = 128,
	  .gfp = "GFP_KERNEL",
	  .node = -1 },
	{ .what = "pointer not shown in early boot",
	  .line = "       swapper/0-1     [000] ....     0.200000: kmalloc: call_site=f+0x1/0x2 ptr=(____ptrval____) bytes_req=8 bytes_alloc=8 gfp_flags=GFP_KERNEL",
	  .kind = KS_KMALLOC,
	  .ts = 200000000,
	  .comm = "swapper/0",
	  .pid = 1,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .req = 8,
	  .alloc = 8,
	  .gfp = "GFP_KERNEL",
	  .node = -1,
	  .flags = KS_EV_NO_PTR },
	{ .what = "NULL of old kernels, behind blanks",
	  .line = "            bash-2     [000] ....     3.000000: kfree: call_site=ffffffff81234567 ptr=          (null)",
	  .kind = KS_KFREE,
	  .ts = 3000000000,
	  .comm = "bash",
	  .pid = 2,
	  .cpu = 0,
	  .site = "ffffffff81234567",
	  .func = "",
	  .addr = 0xffffffff81234567,
	  .node = -1 },
	{ .what = "TGID column",
	  .line = "            find-3206    (  3206) [001] .....   415.276293: kfree: call_site=free_rb_tree_fname+0x3f/0x70 ptr=00000000887f3b67",
	  .kind = KS_KFREE,
	  .ts = 415276293000,
	  .comm = "find",
	  .pid = 3206,
	  .cpu = 1,
	  .site = "free_rb_tree_fname+0x3f/0x70",
	  .func = "free_rb_tree_fname",
	  .offset = 0x3f,
	  .ptr = 0x887f3b67,
	  .node = -1 },
	{ .what = "TGID not known, no irq flags",
	  .line = "            find-3206    (-------) [001]    415.276293: kfree: call_site=f+0x3f/0x70 ptr=00000000887f3b67",
	  .kind = KS_KFREE,
	  .ts = 415276293000,
	  .comm = "find",
	  .pid = 3206,
	  .cpu = 1,
	  .site = "f+0x3f/0x70",
	  .func = "f",
	  .offset = 0x3f,
	  .ptr = 0x887f3b67,
	  .node = -1 },
	{ .what = "latency format",
	  .line = "    find-3206      1..... 415276293us : kfree: call_site=f+0x3f/0x70 ptr=00000000887f3b67",
	  .kind = KS_KFREE,
	  .ts = 415276293000,
	  .comm = "find",
	  .pid = 3206,
	  .cpu = 1,
	  .site = "f+0x3f/0x70",
	  .func = "f",
	  .offset = 0x3f,
	  .ptr = 0x887f3b67,
	  .node = -1 },
	{ .what = "latency format with a delay mark",
	  .line = "    find-3206      1dNh2.    29us+: kfree: call_site=f+0x3f/0x70 ptr=00000000887f3b67",
	  .kind = KS_KFREE,
	  .ts = 29000,
	  .comm = "find",
	  .pid = 3206,
	  .cpu = 1,
	  .site = "f+0x3f/0x70",
	  .func = "f",
	  .offset = 0x3f,
	  .ptr = 0x887f3b67,
	  .node = -1 },
	{ .what = "verbose latency format",
	  .line = "            find    3206   1 0 00000000 00004e26 [18c09d05] 415276.293ms (+0.000ms): kfree: call_site=f+0x3f/0x70 ptr=00000000887f3b67",
	  .kind = KS_KFREE,
	  .ts = 415276293000,
	  .comm = "find",
	  .pid = 3206,
	  .cpu = 1,
	  .site = "f+0x3f/0x70",
	  .func = "f",
	  .offset = 0x3f,
	  .ptr = 0x887f3b67,
	  .node = -1 },
	{ .what = "clock in ticks",
	  .line = "            bash-3248    [001] ..... 1125749544323: kmem_cache_free: call_site=f+0x88/0xd0 ptr=00000000c9d1f473 name=names_cache",
	  .kind = KS_CACHE_FREE,
	  .ts = 1125749544323,
	  .comm = "bash",
	  .pid = 3248,
	  .cpu = 1,
	  .site = "f+0x88/0xd0",
	  .func = "f",
	  .offset = 0x88,
	  .ptr = 0xc9d1f473,
	  .cache = "names_cache",
	  .node = -1 },
	{ .what = "trace-cmd report, an instance",
	  .line = "ksx:               ls-3287  [001]   433.745351: kfree:                (ida_alloc_range+0x39b) call_site=ida_alloc_range+0x39b ptr=(nil)",
	  .kind = KS_KFREE,
	  .ts = 433745351000,
	  .comm = "ls",
	  .pid = 3287,
	  .cpu = 1,
	  .site = "ida_alloc_range+0x39b",
	  .func = "ida_alloc_range",
	  .offset = 0x39b,
	  .node = -1 },
	{ .what = "trace-cmd report in ns with 0x pointers",
	  .line = "            bash-3248  [001]   433.741802123: kmem_cache_free:      (__fput+0x141) call_site=__fput+0x141 ptr=0xffff888106eed708 name=lsm_file_cache",
	  .kind = KS_CACHE_FREE,
	  .ts = 433741802123,
	  .comm = "bash",
	  .pid = 3248,
	  .cpu = 1,
	  .site = "__fput+0x141",
	  .func = "__fput",
	  .offset = 0x141,
	  .ptr = 0xffff888106eed708,
	  .cache = "lsm_file_cache",
	  .node = -1 },
	{ .what = "perf script",
	  .line = "              ls  3389 [000]   437.869160:          kmem:kmalloc: call_site=ext4_htree_store_dirent+0x34 ptr=0xffff88810897ea20 bytes_req=71 bytes_alloc=96 gfp_flags=GFP_KERNEL|__GFP_ZERO node=-1 accounted=false",
	  .kind = KS_KMALLOC,
	  .ts = 437869160000,
	  .comm = "ls",
	  .pid = 3389,
	  .cpu = 0,
	  .site = "ext4_htree_store_dirent+0x34",
	  .func = "ext4_htree_store_dirent",
	  .offset = 0x34,
	  .ptr = 0xffff88810897ea20,
	  .req = 71,
	  .alloc = 96,
	  .gfp = "GFP_KERNEL|__GFP_ZERO",
	  .node = -1 },
	{ .what = "perf script with pid/tid and a comm of two words",
	  .line = "     Web Content 12/34 [002]    10.500000: kmem:kfree: call_site=f+0x1 ptr=0xffff88810897ea20",
	  .kind = KS_KFREE,
	  .ts = 10500000000,
	  .comm = "Web Content",
	  .pid = 34,
	  .cpu = 2,
	  .site = "f+0x1",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xffff88810897ea20,
	  .node = -1 },
	{ .what = "a comm with dashes, digits, brackets",
	  .line = "     a-1 [001]-7-77      [000] ....     1.000000: kfree: call_site=f+0x1/0x2 ptr=00000000a24afd4c",
	  .kind = KS_KFREE,
	  .ts = 1000000000,
	  .comm = "a-1 [001]-7",
	  .pid = 77,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .node = -1 },
	{ .what = "a comm with parentheses",
	  .line = "        (sd-pam)-998     [000] ....     1.000000: kfree: call_site=f+0x1/0x2 ptr=00000000a24afd4c",
	  .kind = KS_KFREE,
	  .ts = 1000000000,
	  .comm = "(sd-pam)",
	  .pid = 998,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .node = -1 },
	{ .what = "a comm that looks like an event",
	  .line = "        kfree: x-998     [000] ....     1.000000: kfree: call_site=f+0x1/0x2 ptr=00000000a24afd4c",
	  .kind = KS_KFREE,
	  .ts = 1000000000,
	  .comm = "kfree: x",
	  .pid = 998,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .node = -1 },
	{ .what = "without context (option nocontext-info)",
	  .line = "kfree: call_site=f+0x1/0x2 ptr=00000000a24afd4c",
	  .kind = KS_KFREE,
	  .comm = "",
	  .pid = KS_PID_UNKNOWN,
	  .cpu = KS_CPU_UNKNOWN,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .node = -1 },
	{ .what = "over a serial console: CR, and a printk stamp in front",
	  .line = "[   12.345678]             bash-7       [000] ....     1.000000: kfree: call_site=f+0x1/0x2 ptr=00000000a24afd4c\r",
	  .kind = KS_KFREE,
	  .ts = 1000000000,
	  .comm = "bash",
	  .pid = 7,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .node = -1 },
	{ .what = "page allocation, hex frame",
	  .line = "  x-1 [000] .... 1.000000: mm_page_alloc: page=00000000a24afd4c pfn=0x10f00 order=2 migratetype=1 gfp_flags=GFP_KERNEL",
	  .kind = KS_PAGE_ALLOC,
	  .ts = 1000000000,
	  .comm = "x",
	  .pid = 1,
	  .cpu = 0,
	  .site = "",
	  .func = "",
	  .ptr = 0x10f00,
	  .req = 16384,
	  .alloc = 16384,
	  .gfp = "GFP_KERNEL",
	  .node = -1 },
	{ .what = "page free of 2.6.32, decimal frame",
	  .line = "  x-1 [000] 1.000000: mm_page_free_direct: page=ffffea0000d5a8c0 pfn=62000 order=0",
	  .kind = KS_PAGE_FREE,
	  .ts = 1000000000,
	  .comm = "x",
	  .pid = 1,
	  .cpu = 0,
	  .site = "",
	  .func = "",
	  .ptr = 62000,
	  .alloc = 4096,
	  .node = -1 },
	{ .what = "page allocation that failed",
	  .line = "  x-1 [000] 1.000000: mm_page_alloc: page=0000000000000000 pfn=0x0 order=9 migratetype=1 gfp_flags=GFP_NOWAIT",
	  .kind = KS_PAGE_ALLOC,
	  .ts = 1000000000,
	  .comm = "x",
	  .pid = 1,
	  .cpu = 0,
	  .site = "",
	  .func = "",
	  .ptr = UINT64_MAX,
	  .req = 2097152,
	  .alloc = 2097152,
	  .gfp = "GFP_NOWAIT",
	  .node = -1 },
	{ .what = "fields in another order, and one from the future",
	  .line = "  x-1 [000] 1.000000: kmalloc: future=7 bytes_alloc=64 call_site=f+0x1/0x2 bytes_req=60 ptr=00000000a24afd4c gfp_flags=GFP_KERNEL",
	  .kind = KS_KMALLOC,
	  .ts = 1000000000,
	  .comm = "x",
	  .pid = 1,
	  .cpu = 0,
	  .site = "f+0x1/0x2",
	  .func = "f",
	  .offset = 1,
	  .ptr = 0xa24afd4c,
	  .req = 60,
	  .alloc = 64,
	  .gfp = "GFP_KERNEL",
	  .node = -1 },
	{ .what = "losses: the kernel's line",
	  .line = "CPU:3 [LOST 7012 EVENTS]",
	  .kind = KS_LOST,
	  .comm = "",
	  .pid = KS_PID_UNKNOWN,
	  .cpu = 3,
	  .site = "",
	  .func = "",
	  .req = 7012,
	  .node = -1 },
	{ .what = "losses: trace-cmd's line",
	  .line = "CPU:1 [12 EVENTS DROPPED]",
	  .kind = KS_LOST,
	  .comm = "",
	  .pid = KS_PID_UNKNOWN,
	  .cpu = 1,
	  .site = "",
	  .func = "",
	  .req = 12,
	  .node = -1 },
	{ .what = "losses: trace-cmd's line of an instance",
	  .line = "ksq: CPU:1 [1337 EVENTS DROPPED]",
	  .kind = KS_LOST,
	  .comm = "",
	  .pid = KS_PID_UNKNOWN,
	  .cpu = 1,
	  .site = "",
	  .func = "",
	  .req = 1337,
	  .node = -1 },
	{ .what = "losses: perf's line",
	  .line = "         swapper     0 [000]   437.800000: PERF_RECORD_LOST lost 1285",
	  .kind = KS_LOST,
	  .ts = 437800000000,
	  .comm = "swapper",
	  .pid = 0,
	  .cpu = 0,
	  .site = "",
	  .func = "",
	  .req = 1285,
	  .node = -1 },

	{ .what = "another event",
	  .class = KS_LINE_OTHER_EVENT,
	  .line = "  x-1 [000] d..3. 1.000000: sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b" },
	{ .what = "a page event that is not a free of its own",
	  .class = KS_LINE_OTHER_EVENT,
	  .line = "  x-1 [000] d..3. 1.000000: mm_page_free_batched: page=00000000a24afd4c pfn=0x1 order=0" },
	{ .what = "a function of the function tracer",
	  .class = KS_LINE_OTHER_EVENT,
	  .line = "  x-1 [000] d..3. 1.000000: kfree <-free_thing" },
	{ .what = "stack header",
	  .class = KS_LINE_STACK,
	  .line = "            bash-3248    [001] .....   433.749226: <stack trace>" },
	{ .what = "stack header of trace-cmd",
	  .class = KS_LINE_STACK,
	  .line = "ksx:               ls-3287  [001]   433.745354: kernel_stack:         <stack trace >" },
	{ .what = "stack header without context", .class = KS_LINE_STACK, .line = "<stack trace>" },
	{ .what = "user stack header",
	  .class = KS_LINE_USER_STACK,
	  .line = "            bash-3248    [001] .....   433.749226: <user stack trace>" },
	{ .what = "user stack header without context",
	  .class = KS_LINE_USER_STACK,
	  .line = "<user stack trace>" },
	{ .what = "stack frame", .class = KS_LINE_FRAME, .line = " => kmem_cache_alloc_noprof" },
	{ .what = "stack frame of trace-cmd",
	  .class = KS_LINE_FRAME,
	  .line = "=> do_dentry_open (ffffffff816b1b46)" },
	{ .what = "stack frame of perf",
	  .class = KS_LINE_FRAME,
	  .line = "\tffffffff816b1b46 do_dentry_open+0x6 ([kernel.kallsyms])" },
	{ .what = "comment", .class = KS_LINE_COMMENT, .line = "# tracer: nop" },
	{ .what = "empty line", .class = KS_LINE_COMMENT, .line = "\r" },
	{ .what = "number of CPUs", .class = KS_LINE_COMMENT, .line = "cpus=2" },
	{ .what = "overwritten",
	  .class = KS_LINE_OVERWRITTEN,
	  .req = 8000,
	  .line = "# entries-in-buffer/entries-written: 205/8205   #P:2" },
	{ .what = "nothing overwritten",
	  .class = KS_LINE_COMMENT,
	  .line = "# entries-in-buffer/entries-written: 205/205   #P:2" },

	{ .what = "half a line: no sizes",
	  .class = KS_LINE_UNPARSED,
	  .line = "  x-1 [000] 1.000000: kmalloc: call_site=f+0x1/0x2 ptr=00000000a24afd4c bytes_req=6" },
	{ .what = "half a pointer",
	  .class = KS_LINE_UNPARSED,
	  .line = "  x-1 [000] 1.000000: kfree: call_site=f+0x1/0x2 ptr=00000000a24af" },
	{ .what = "a console message inside a number",
	  .class = KS_LINE_UNPARSED,
	  .line = "  x-1 [000] 1.000000: kmalloc: call_site=f+0x1/0x2 ptr=00000000a24afd4c bytes_req=6[    1.0] usb 1-1: new" },
	{ .what = "a number too large for anything",
	  .class = KS_LINE_UNPARSED,
	  .line = "  x-1 [000] 1.000000: kmalloc: call_site=f+0x1/0x2 ptr=00000000a24afd4c bytes_req=99999999999999999999 bytes_alloc=1 gfp_flags=0" },
	{ .what = "an order no kernel has",
	  .class = KS_LINE_UNPARSED,
	  .line = "  x-1 [000] 1.000000: mm_page_alloc: page=00000000a24afd4c pfn=0x1 order=20 migratetype=1 gfp_flags=0" },
	{ .what = "boot message",
	  .class = KS_LINE_UNPARSED,
	  .line = "[    0.000000] Linux version 3.6.0" },
	{ .what = "prose", .class = KS_LINE_UNPARSED, .line = "the quick brown fox" },
};

static int parse(struct ks_line_parser *parser, const char *text, enum ks_line_class *class,
		 struct ks_event *ev)
{
	size_t len = strlen(text);
	char *line = malloc(len + KS_LINE_SLACK);
	int err;

	memcpy(line, text, len);
	memset(line + len, '7', KS_LINE_SLACK); /* digits, so that reading on would show */
	err = ks_line_parse(parser, line, len, class, ev);
	free(line);
	return err;
}

static void check_event(struct ks_line_parser *parser, const struct line_case *c,
			const struct ks_event *ev)
{
	const struct ks_names *names = ks_line_parser_names(parser);
	const struct ks_site *site = ks_sites_get(&names->sites, ev->site);

	assert_int_equal(ev->kind, c->kind);
	assert_true(ev->ts == c->ts);
	assert_string_equal(ks_intern_get(&names->comms, ev->comm).s, c->comm);
	assert_int_equal(ev->pid, c->pid);
	assert_int_equal(ev->cpu, c->cpu);
	assert_string_equal(site->text, c->site);
	assert_string_equal(site->func, c->func);
	assert_string_equal(site->module, c->module ? c->module : "");
	assert_true(site->addr == c->addr);
	assert_true(site->offset == c->offset);
	assert_true(ev->ptr == c->ptr);
	assert_true(ev->bytes_req == c->req);
	assert_true(ev->bytes_alloc == c->alloc);
	assert_string_equal(ks_intern_get(&names->caches, ev->cache).s, c->cache ? c->cache : "");
	assert_string_equal(ks_intern_get(&names->gfps, ev->gfp).s, c->gfp ? c->gfp : "");
	assert_int_equal(ev->node, c->node);
	assert_int_equal(ev->flags, c->flags);
}

/*
 * Parses each line twice with one parser: what the parser remembers of the first time must not
 * change the result.
 */
static void test_lines(void **state)
{
	struct ks_line_parser *parser;
	size_t i, round;

	(void)state;
	assert_int_equal(ks_line_parser_new(&parser), 0);
	for (round = 0; round < 2; round++)
		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			enum ks_line_class class;
			struct ks_event ev;

			print_message("# %s\n", cases[i].what);
			assert_int_equal(parse(parser, cases[i].line, &class, &ev), 0);
			assert_int_equal(class, cases[i].class);
			if (class == KS_LINE_EVENT)
				check_event(parser, &cases[i], &ev);
			if (class == KS_LINE_OVERWRITTEN)
				assert_int_equal(ev.bytes_req, cases[i].req);
		}
	ks_line_parser_free(parser);
}

/*
 * Every line cut off at every place: the result is never an event with values that differ from the
 * whole line's.
 */
static void test_truncated(void **state)
{
	struct ks_line_parser *parser;
	size_t i, cut;
	char line[512];

	(void)state;
	assert_int_equal(ks_line_parser_new(&parser), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct line_case *c = &cases[i];

		/* At the end of a line, eight digits of sixteen look like a 32-bit address. */
		if (c->class != KS_LINE_EVENT || !ks_kind_is_alloc(c->kind) ||
		    strstr(c->line, "future="))
			continue;
		for (cut = 1; cut < strlen(c->line); cut++) {
			enum ks_line_class class;
			struct ks_event ev;

			memcpy(line, c->line, cut);
			line[cut] = '\0';
			assert_int_equal(parse(parser, line, &class, &ev), 0);
			if (class != KS_LINE_EVENT)
				continue;
			/*
			 * Only the last fields can be missing unnoticed, or digits of the last
			 * number.
			 */
			assert_true(ev.ptr == c->ptr || ks_kind_is_page(c->kind));
			if (!ks_kind_is_page(c->kind))
				assert_true(ev.bytes_req == c->req);
		}
	}
	ks_line_parser_free(parser);
}

/* The same site with other sizes: the remembered tail of the line must not be used. */
static void test_memo(void **state)
{
	struct ks_line_parser *parser;
	enum ks_line_class class;
	struct ks_event ev;
	char line[256];
	int size;

	(void)state;
	assert_int_equal(ks_line_parser_new(&parser), 0);
	for (size = 10; size < 90; size++) {
		snprintf(
			line, sizeof(line),
			"  x-1 [000] .... 1.0: kmalloc: call_site=f+0x1/0x2 ptr=00000000a24afd4c bytes_req=%d bytes_alloc=96 gfp_flags=GFP_KERNEL",
			size);
		assert_int_equal(parse(parser, line, &class, &ev), 0);
		assert_int_equal(class, KS_LINE_EVENT);
		assert_int_equal(ev.bytes_req, size);
	}
	/* Half of an allocation that ends like a free of the same site. */
	parse(parser,
	      "x-1 [000] 1.0: kmem_cache_free: call_site=f+0x1 ptr=00000000a24afd4c name=odd",
	      &class, &ev);
	assert_int_equal(class, KS_LINE_EVENT);
	parse(parser,
	      "x-1 [000] 1.0: kmem_cache_alloc: call_site=f+0x1 ptr=00000000a24afd4c name=odd",
	      &class, &ev);
	assert_int_equal(class, KS_LINE_UNPARSED);
	ks_line_parser_free(parser);
}

/* The size of the function distinguishes functions of the same name. */
static void test_extent(void **state)
{
	struct ks_sites sites = { 0 };

	(void)state;
	assert_int_equal(ks_intern_init(&sites.texts), 0);
	assert_int_equal(ks_sites_add(&sites, "f+0x1/0x20 [m]", 14), 0);
	assert_int_equal(ks_sites_add(&sites, "f+0x1/0x40 [m]", 14), 1);
	assert_int_equal(ks_sites_add(&sites, "fade", 4), 2);
	assert_int_equal(ks_sites_get(&sites, 0)->extent, 0x20);
	assert_int_equal(ks_sites_get(&sites, 1)->extent, 0x40);
	assert_string_equal(ks_sites_get(&sites, 1)->module, "m");
	assert_string_equal(ks_sites_get(&sites, 2)->func, "fade"); /* hex digits, but no address */
	assert_true(ks_sites_get(&sites, 2)->addr == 0);
	ks_intern_deinit(&sites.texts);
	ks_vec_free(&sites.sites);
}

static void test_clock_and_hashing(void **state)
{
	struct ks_line_parser *parser;
	enum ks_line_class class;
	struct ks_event ev;
	u64 wide, low;

	(void)state;
	assert_int_equal(ks_line_parser_new(&parser), 0);
	assert_int_equal(ks_line_parser_clock(parser), KS_CLOCK_NONE);
	parse(parser, cases[0].line, &class, &ev);
	assert_int_equal(ks_line_parser_clock(parser), KS_CLOCK_SECONDS);
	ks_line_parser_ptr_stats(parser, &wide, &low);
	assert_int_equal(wide, 1);
	assert_int_equal(low, 1);
	parse(parser, "x-1 [000] 77: kfree: call_site=f+0x1 ptr=ffff8800379e0500", &class, &ev);
	assert_int_equal(ks_line_parser_clock(parser), KS_CLOCK_TICKS);
	ks_line_parser_ptr_stats(parser, &wide, &low);
	assert_int_equal(wide, 2);
	assert_int_equal(low, 1);
	ks_line_parser_free(parser);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_lines),
	cmocka_unit_test(test_truncated),
	cmocka_unit_test(test_memo),
	cmocka_unit_test(test_extent),
	cmocka_unit_test(test_clock_and_hashing),
};

KS_RUN(tests)
