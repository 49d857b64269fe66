#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes a tiny "kernel" with the real compiler and linker, in the layout of Kbuild:
# make-tree.sh DIR. DIR/src is the source, built in place with -g; DIR/out is an O= build without
# debug information; DIR/inlined is an address, DIR/oracle has one line "address path" for each function called "helper", found
# by size with nm alone.
set -eu
dir=$1
cc="gcc -fdebug-prefix-map=$dir=/build -O1 -fno-pie -fno-stack-protector -fcf-protection=none -ffreestanding -fno-asynchronous-unwind-tables"

mkdir -p "$dir/src" && cd "$dir/src"
mkdir -p init fs/ext4 mm drivers/base drivers/net lib scripts include/config arch/x86/lib boot

# source FILE NOPS STATEMENT...: a file with a static "helper" whose size is unique.
source_file() {
	file=$1 nops=$2 name=$3
	cat >"$file" <<EOF
static __attribute__((noinline)) long helper(long x) { asm volatile(".rept $nops; nop; .endr"); return x * $nops; }
long $name(long x) { return helper(x) + 1; }
EOF
}
cat >init/main.c <<'EOF'
extern long ext4_alloc(long), inode_alloc(long), slub_alloc(long), base_alloc(long), memchew(long);
asm(".globl _stext\n_stext:");
int table[100] = { 1 };
static const char banner[] = "tiny kernel";
const char *version = banner;
void _start(void) { table[0] = ext4_alloc(1) + inode_alloc(2) + slub_alloc(3) + base_alloc(4) + memchew(5); }
EOF
source_file fs/ext4/inode.c 40 ext4_alloc
source_file fs/inode.c 80 inode_alloc
source_file mm/slub.c 120 slub_alloc
source_file drivers/base/core.c 160 base_alloc
source_file lib/never.c 10 never_called
source_file drivers/net/veth-one.c 24 veth_one
source_file drivers/net/veth-two.c 56 veth_two
cat >>mm/slub.c <<'EOF'
long slub_alloc_more(long x) { return x + 7; }
long slub_counters[6] __attribute__((section(".data..percpu"))) = { 1 };
long slub_boot[5] __attribute__((section(".init.data"))) = { 1 };
__attribute__((weak)) long arch_hook(long x) { return x; }
EOF
cat >>drivers/base/core.c <<'EOF'
long arch_hook(long x) { return x + 9; }
#include "../../include/slab.h"
static inline __attribute__((always_inline)) long base_inner(long x) { return from_header(x) * 3; }
long base_outer(long x) { return base_inner(x + 2) + 1; }
EOF
cat >include/slab.h <<'EOF'
static inline __attribute__((always_inline)) long from_header(long x) { return helper(x + 1) * 2; }
EOF
cat >arch/x86/lib/chew.S <<'EOF'
	.text
	.globl memchew
	.type memchew, @function
memchew:
	lea 1(%rdi), %rax
	ret
	.size memchew, . - memchew
	.section .note.GNU-stack, "", @progbits
EOF
echo 'int main(void) { return 0; }' >scripts/tool.c
echo 'int boot;' >boot/setup.c
echo 6.0.0-tiny >include/config/kernel.release

# build FLAGS SOURCE_DIR: builds everything into the current directory.
build() {
	flags=$1 src=$2
	for f in init/main.c fs/ext4/inode.c fs/inode.c mm/slub.c drivers/base/core.c lib/never.c \
		drivers/net/veth-one.c drivers/net/veth-two.c arch/x86/lib/chew.S scripts/tool.c boot/setup.c; do
		mkdir -p "${f%/*}"
		$cc $flags -c "$src/$f" -o "${f%.*}.o"
	done
	(cd fs && ar rcST built-in.a inode.o ext4/inode.o)
	(cd mm && ar rcST built-in.a slub.o)
	(cd drivers && ar rcST built-in.a base/core.o)
	(cd arch/x86/lib && ar rcsT lib.a chew.o)
	ar rcST vmlinux.a init/main.o fs/built-in.a mm/built-in.a drivers/built-in.a
	ld -o vmlinux -e _start -Ttext=0xffffffff81000000 -z max-page-size=4096 --whole-archive vmlinux.a \
		--no-whole-archive arch/x86/lib/lib.a
	nm -n vmlinux >System.map
	ld -r -o drivers/net/veth-pair.o drivers/net/veth-one.o drivers/net/veth-two.o
	printf '%s\n' drivers/net/veth-one.o drivers/net/veth-two.o >drivers/net/veth-pair.mod
	cp drivers/net/veth-pair.o drivers/net/veth-pair.ko
}
build -g .
mkdir -p "$dir/out/include/config" && cd "$dir/out"
ln -sfn ../src source
cp ../src/include/config/kernel.release include/config/
build -g0 ../src

# The return address in base_outer of the call that was inlined into it from base_inner.
objdump -d --disassemble=base_outer vmlinux | awk 'call { print $1; exit } $0 ~ /call.*<helper>/ { call = 1 }' | tr -d : >"$dir/inlined"

# The helper of each object, by its size.
for o in fs/ext4/inode fs/inode mm/slub drivers/base/core; do
	size=$(nm -S $o.o | awk '$4 == "helper" { print $2 }')
	nm -S vmlinux | awk -v size="$size" -v path=$o.c '$4 == "helper" && $2 == size { print $1, path }'
done >"$dir/oracle"
