#!/usr/bin/env bash
# Installs the missing Debian packages of tools/packages.txt. Prints nothing if none is missing.
set -eu
cd "$(dirname "$0")/.."

missing=()
while read -r name unless command; do
	[ -z "$unless" ] || ! command -v "$command" >/dev/null || continue
	state=$(dpkg-query -W -f='${db:Status-Abbrev}' "$name" 2>/dev/null || true)
	[ "${state:0:2}" = ii ] || missing+=("$name")
done < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' tools/packages.txt)
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "setup: this is not Debian; please install the equivalents of: ${missing[*]}" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "setup: some packages are missing; as root, run:" >&2
	echo "    apt-get install ${missing[*]}" >&2
	exit 1
fi
echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get install -y --no-install-recommends "${missing[@]}" ||
	{ apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; }; } >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
