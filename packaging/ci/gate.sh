#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Does a branch of a kernel tree use more memory than its base? gate.sh RUN [BUILD]
#
# RUN and BUILD are commands of the shell. For the base and then for the branch, each checked out into a directory of its own, BUILD
# runs once and RUN as often as $RUNS says (3). Each time RUN writes a capture of the same workload to $CAPTURE: by
# "kmemscope lab run --stock --kernel IMAGE -o "$CAPTURE" COMMAND", or by "kmemscope record" in a guest of one's own. The captures of the base make a budget, which those of the
# branch must keep to.
#
# BASE    the commit to compare with; where HEAD and origin/main parted, if not given
# RUNS    how often RUN runs for each; the more, the tighter the budget
# RESULTS where captures, budget, verdict.md and gate-N.xml (JUnit) go: kmemscope-gate
# LIMITS  a file of more rules for the budget, with limits that hold whatever the base does
# GATE    more options for "kmemscope gate", such as "--strict"
# KMEMSCOPE  the program
#
# It exits with 0, with 5 if the branch is over the budget, and with another status if something failed.
set -euo pipefail
[ $# = 1 ] || [ $# = 2 ] || { sed -n 's/^# \?//; 3,/^$/p' "$0" >&2; exit 2; }
run=$1 build=${2:-true}
kmemscope=${KMEMSCOPE:-kmemscope}
runs=${RUNS:-3}
results=$(realpath -m "${RESULTS:-kmemscope-gate}")
limits=${LIMITS:+$(realpath "$LIMITS")}
base=${BASE:-$(git merge-base HEAD origin/main)}
base=$(git rev-parse --verify --quiet "$base^{commit}") || { echo "gate.sh: there is no commit ${BASE:-} here; was all of the history fetched?" >&2; exit 2; }
mkdir -p "$results"
rm -f "$results"/{base,branch}-*.capture* "$results"/{budget,verdict.md} "$results"/gate-*.xml

trees=$(mktemp -d)
clean() {
	local side
	for side in base branch; do git worktree remove --force "$trees/$side" 2>/dev/null || true; done
	rm -rf "$trees"
}
trap clean EXIT

# The command must write a capture: one of an earlier run, or of the other kernel, would be compared with itself.
captures() { # base|branch COMMIT
	local n
	git worktree add --quiet --detach "$trees/$1" "$2"
	(cd "$trees/$1" && bash -euo pipefail -c "$build") || { echo "gate.sh: BUILD failed with status $? in the $1, $2" >&2; return 1; }
	for ((n = 1; n <= runs; n++)); do
		CAPTURE=$results/$1-$n.capture
		(cd "$trees/$1" && export CAPTURE && bash -euo pipefail -c "$run") ||
			{ echo "gate.sh: RUN failed with status $? in the $1, $2" >&2; return 1; }
		[ -s "$CAPTURE" ] || { echo "gate.sh: RUN wrote nothing to $CAPTURE" >&2; return 1; }
	done
}
captures base "$base"
captures branch "$(git rev-parse HEAD)"

"$kmemscope" gate --init -o "$results/budget" "$results"/base-*.capture
[ -z "$limits" ] || cat "$limits" >>"$results/budget"

# What is new or gone in the branch has no rule, or one that matches nothing: both are shown, and are no failure.
worst=0
for ((n = 1; n <= runs; n++)); do
	status=0
	# shellcheck disable=SC2086
	"$kmemscope" gate --budget "$results/budget" --allow-missing --markdown --junit "$results/gate-$n.xml" ${GATE:-} \
		"$results/branch-$n.capture" >"$results/verdict-$n" || status=$?
	[ -s "$results/verdict-$n" ] || exit "$status"
	printf '### Run %s of %s\n\n%s\n\n' $n "$runs" "$(cat "$results/verdict-$n")" >>"$results/verdict.md"
	rm "$results/verdict-$n"
	[ $status -le $worst ] || worst=$status
done
cat "$results/verdict.md"
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$results/verdict.md" >>"$GITHUB_STEP_SUMMARY"
exit $worst
