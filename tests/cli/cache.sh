#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What "make check" and "make check-all" say before they start, by what the cache has. Prints TAP.
set -u
cd "$(dirname "$0")/../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tap_dir=$work
. tests/lib/tap.sh
export KMEMSCOPE_CACHE=$work/cache
tool=tools/cache.sh

check "check: an empty cache: everything is named" says "will fetch .*6\.12.*for arm64.*build .*counts accesses, 6\.1;.*6\.12 on x86-64" \
	bash -c "$tool check | tr '\n' ' '"
check "and how much disk it takes" says 'needs about [1-9][0-9]? GB more' $tool check

# Each kind in the tests' own words: what they put there.
mkdir -p "$KMEMSCOPE_CACHE"
kinds() { sed -n "/^$1='/,/'\$/p" $tool | sed "s/^$1='//" | awk '{ print $1 }' | sed 's/\[0-9a-f\]/a/g; s/????/beef/; s/-$/-0123/'; }
for kind in $(kinds kept); do mkdir "$KMEMSCOPE_CACHE/$kind"; done
check "check: a full cache: nothing is missing" says 'are in the cache' $tool check
check "and nothing will be fetched" test -z "$($tool check | grep -E 'will (fetch|build)')"
rmdir "$KMEMSCOPE_CACHE"/lab-6.12-um-aa
mkdir "$KMEMSCOPE_CACHE/lab-6.12-um-build-0123"
check "a kernel that was never finished is missing" says 'will build a kernel that counts accesses, 6\.12\.$' $tool check
check "check-all: what it has beside that" says "will fetch .*5\.10.*6\.1.*s390x.*build .*7\.2" bash -c "$tool check-all | tr '\n' ' '"
for kind in $(kinds kept_by_all); do mkdir "$KMEMSCOPE_CACHE/$kind"; done
check "check-all: which is there: no word of it" test -z "$($tool check-all | grep will)"
check "check-all says how long it takes" says 'hours' $tool check-all
touch "$KMEMSCOPE_CACHE/of-another"
check "clean" $tool clean
check "leaves what is not ours, and nothing else" equal "$(ls "$KMEMSCOPE_CACHE")" of-another
done_testing
