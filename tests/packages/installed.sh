#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The Debian packages, installed with apt from an archive into a new system, used there, upgraded and purged. Speaks TAP.
. "$(dirname "$0")/lib.sh"
need_packages
user_side="kmemscope libkmemscope0 libkmemscope-dev python3-kmemscope"
need_root $(needed_by $user_side)
export LC_ALL=C
mkdir "$work/old"

# The same packages as an earlier version would have been, with a file that is gone today.
earlier() { # NAME
	local dir=$work/old/$1
	dpkg-deb -R "$(package "$1")" "$dir" && sed -i 's/^Version: .*/Version: 0.0.9/; s/(= [0-9.]*)/(= 0.0.9)/; s/(>= 0\.1[0-9.]*)/(>= 0.0.9)/' "$dir/DEBIAN/control" &&
		mkdir -p "$dir/usr/share/doc/$1" && echo old >"$dir/usr/share/doc/$1/gone" && dpkg-deb -b "$dir" "$work/old/$1_0.0.9.deb"
}
all_earlier() {
	local name
	for name in $user_side; do earlier "$name" || return; done
}
# What belongs to the packages' own management, and what any command of the system may write, is not ours.
everything() {
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./archive -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache \
		-o -path ./var/log -o -path ./tmp -o -path ./etc/apt -o -path ./etc/ld.so.cache \) -prune -o -print | LC_ALL=C sort)
}
installed() { inside dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' $user_side; }
versions() { # VERSION
	local name
	for name in $user_side; do echo "$name $1 installed"; done
}
# With nothing that is only recommended.
apt() { inside apt-get -y --no-install-recommends -o Dpkg::Options::=--force-confdef "$@"; }

everything >"$work/before"
check "packages of an earlier version" all_earlier
check "an archive has them" offer "$work"/old/*.deb
check "apt installs them" apt install $user_side
check "all of them" equal "$(installed | sort)" "$(versions 0.0.9 | sort)"
echo '# of the owner of this machine' >>"$root/etc/kmemscope/serve.conf"
check "the archive gets the new ones" offer "$packages"/*.deb
check "apt upgrades" apt upgrade
check "all of them" equal "$(installed | sort)" "$(versions "$(field kmemscope Version)" | sort)"
check "what is no longer there is gone" [ -z "$(find "$root/usr/share/doc" -name gone)" ]
check "a changed setting stays" grep -q 'of the owner' "$root/etc/kmemscope/serve.conf"

cp "$tree/tests/data/sample.log" "$root/tmp/kmem.log"
check "kmemscope runs" says "^kmemscope $(field kmemscope Version)\$" inside kmemscope --version
check "a report of a capture" says '5888 .*task_struct' inside kmemscope report --by cache --bytes /tmp/kmem.log
check "the older program's name" says 'usage: trace_analyze' inside trace_analyze.py --help
check "Python has the module" says '^task_struct 5888$' inside python3 -c '
import kmemscope
for row in kmemscope.open("/tmp/kmem.log").report(by="cache").main:
    print(row["cache"], row["live_bytes"])'
check "manual pages" test -s "$root/usr/share/man/man1/kmemscope-report.1.gz" -a -s "$root/usr/share/man/man3/ks_capture.3.gz"
completes() { inside bash -c '. /usr/share/bash-completion/completions/kmemscope && complete -p kmemscope'; }
check "completion" completes
check "programs are linked with the library that is there" test -e "$(ls "$root"/usr/lib/*/libkmemscope.so)"

# What services leave behind.
mkdir -p "$root/var/lib/kmemscope" "$root/var/lib/private/kmemscope-relay"
touch "$root/var/lib/kmemscope/trace.dat.1" "$root/etc/kmemscope/tokens"
check "they are removed" apt purge $user_side
check "with what they needed" apt autoremove --purge
rm -f "$root/tmp/kmem.log"
# Made for the test above.
rmdir "$root/var/lib/private" 2>/dev/null
everything >"$work/after"
check "and nothing is left" same "$work/before" "$work/after"
done_testing
