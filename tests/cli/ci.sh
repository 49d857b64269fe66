#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What kernel CI runs (packaging/ci): a branch against its base, on a repository that is made here. Its "kernel" is a number, of
# the objects of 64 bytes that a run leaves behind.
. "$(dirname "$0")/lib.sh"
ci=$tests/../packaging/ci
export KMEMSCOPE RUNS=2 BASE=main RESULTS=$scratch/results GIT_CONFIG_GLOBAL=$scratch/gitconfig GIT_CONFIG_SYSTEM=/dev/null
git config --global user.name tester
git config --global user.email tester@example.org

commits() { # COUNT
	echo "$1" >count
	git commit --quiet --all --message "$1 objects"
}
git init --quiet -b main repo
cd repo || exit 1
echo 0 >count
git add count
commits 100
git checkout --quiet -b branch

cat >"$scratch/workload" <<'WORKLOAD'
awk '{ for (n = 0; n < $1; n++)
	printf "test-1 [000] ..... 1.%06d: kmalloc: call_site=driver_open+0x10/0x80 ptr=ffff8880%08x bytes_req=60 bytes_alloc=64 gfp_flags=GFP_KERNEL node=-1 accounted=false\n", n, 4096 + 64 * n
}' kernel >"$CAPTURE"
WORKLOAD
run="bash $scratch/workload"
build="cp count kernel"

git commit --quiet --allow-empty -m nothing
check "a branch that does as its base" says 'Run 2 of 2' "$ci/gate.sh" "$run" "$build"
# 100 objects with a margin of 5 % at least: from the manual of kmemscope gate.
commits 104
check "a little more is noise" exits_with 0 "$ci/gate.sh" "$run" "$build"
commits 150
check "half as much again is over the budget" ends_saying 5 'OVER . live . function driver' "$ci/gate.sh" "$run" "$build"
check "its verdict is kept" grep -q 'OVER . live . function driver' "$RESULTS/verdict.md"
check "for JUnit, too" grep -q '<failure' "$RESULTS/gate-1.xml"
check "captures of both are kept" equal "$(cd "$RESULTS" && ls ./*.capture | tr '\n' ' ')" \
	"./base-1.capture ./base-2.capture ./branch-1.capture ./branch-2.capture "
check "of the kernel that was built" equal "$(wc -l <"$RESULTS/base-1.capture") $(wc -l <"$RESULTS/branch-2.capture")" "100 150"
check "the tree is as it was" equal "$(git worktree list | wc -l) $(git status --porcelain)" "1 "
check "less is within the budget" bash -c 'echo 50 >count && git commit --quiet -am less && exec "$@"' - "$ci/gate.sh" "$run" "$build"
echo 'total objects 49' >"$scratch/limits"
check "a limit of one's own holds whatever the base does" ends_saying 5 'OVER|over' env LIMITS="$scratch/limits" "$ci/gate.sh" "$run" "$build"
check "a kernel that does not build is no verdict" ends_saying 1 'BUILD failed with status 3 in the base' "$ci/gate.sh" "$run" "exit 3"
check "nor one that does not run" ends_saying 1 'RUN failed with status 4 in the base' "$ci/gate.sh" "exit 4" "$build"
check "nor a run that writes nothing" ends_saying 1 'wrote nothing' "$ci/gate.sh" "true" "$build"
check "nor a base that is not there" ends_saying 2 'no commit nowhere' env BASE=nowhere "$ci/gate.sh" "$run" "$build"
check "nor a capture of nothing" ends_saying 3 'empty|format|capture' "$ci/gate.sh" 'echo nothing >"$CAPTURE"' "$build"
check "usage" ends_saying 2 '^gate.sh|RUN \[BUILD\]' "$ci/gate.sh"
check "and nothing is left behind" equal "$(git worktree list | wc -l)" 1

# The step of the action, as it is: with the inputs that its environment asks for.
action() { # RUN BUILD
	sed -n '/^      run: |$/,$ { 1d; s/^        // p }' "$ci/action.yml" >"$scratch/step"
	grep -q gate.sh "$scratch/step" &&
		env ACTION="$ci" RUN="$1" BUILD="$2" GITHUB_STEP_SUMMARY="$scratch/summary" bash --noprofile --norc -eo pipefail "$scratch/step"
}
commits 150
check "the action's step fails as the script does" exits_with 5 action "$run" "$build"
check "and shows the verdict in the summary" grep -q 'OVER . live . function driver' "$scratch/summary"
inputs() { sed -n '/^inputs:/,/^runs:/ s/^  \([a-z]*\):.*/\1/p' "$ci/action.yml" | sort; }
asked() { grep -o 'inputs\.[a-z]*' "$ci/action.yml" | sed 's/.*\.//' | sort; }
check "it asks for all of its inputs, and no others" same <(inputs) <(asked)
# What the script reads from its environment, the step gives it, but for the program, which is in the path of the container.
given() { sed -n '/^      env:/,/^      run:/ s/^        \([A-Z]*\):.*/\1/p' "$ci/action.yml" | grep -vx -e ACTION -e RUN -e BUILD | sort; }
read_by_script() { grep -oE '\$\{(BASE|RUNS|RESULTS|LIMITS|GATE)[:}]' "$ci/gate.sh" | tr -d '${:}' | sort -u; }
check "and sets what the script reads" same <(given) <(read_by_script)

# The container file: it can't be built without a registry, but what it names can be looked for.
copied() {
	local name
	for name in $(sed -n '/--from/! s/^COPY \([^ ]*\) .*/\1/p' "$ci/Containerfile"); do [ -e "$tests/../$name" ] || { echo "$name"; return 1; }; done
}
check "the container gets files that are there" copied
packages() { sed -n '/install .* bc bison/,/rm -rf/p' "$ci/Containerfile" | tr -s ' \\' '\n' | grep -E '^[a-z][a-z0-9-]*$' | grep -vx -e apt-get -e update -e install -e rm; }
exist() {
	local name
	[ "$(packages | wc -l)" -ge 10 ] || return 1
	for name in $(packages); do apt-cache show "$name" >/dev/null 2>&1 || { echo "$name"; return 1; }; done
}
if apt-cache show gcc >/dev/null 2>&1; then
	check "and packages that the archive has" exist
else
	skip "and packages that the archive has" "no lists of packages"
fi
done_testing
