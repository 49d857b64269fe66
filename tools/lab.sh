#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# "make lab": builds the kernel that counts accesses, runs "ls -l /" in it, and shows reports of its access
# map. Usage: lab.sh BUILD_DIR
set -eu
cd "$(dirname "$0")/.."
kmemscope=${1:?usage: lab.sh BUILD_DIR}/kmemscope
out=lab-out
map=$out/ls.kmap

mkdir -p $out
kernel=$("$kmemscope" lab build)
echo "lab: the kernel is in $kernel"
echo
echo "\$ kmemscope lab run --access -o $map -- ls -l /"
"$kmemscope" lab run -q --access -o $map -- ls -l /
echo
echo "\$ kmemscope kmap report -k $kernel/vmlinux --order-by accesses --top 10 $map"
"$kmemscope" kmap report --no-pager -k "$kernel/vmlinux" --order-by accesses --top 10 $map
"$kmemscope" kmap matrix -k "$kernel/build" --by dir -o $out/ls.svg $map >$out/matrix.txt

cat <<END

lab: files in $PWD/$out:
    ls.kmap     the map: a line for each object, and a line for each instruction that touched it
    ls.svg      which code touches whose objects, as a heat map
    matrix.txt  the heat map as a table
lab: commands to try next:
    $kmemscope kmap accesses -k "$kernel/vmlinux" __d_alloc $map
    $kmemscope kmap touches -k "$kernel/vmlinux" strncpy $map
    $kmemscope lab run --boot --access -o $out/boot.kmap
    $kmemscope lab shell
END
