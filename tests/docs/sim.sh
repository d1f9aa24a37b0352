#!/usr/bin/env bash
# sim.sh COMMAND ROOT: the README's table is what `loadline sim` prints, and the picture in docs/images what it draws.
set -euo pipefail
command=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

"$command" sim scenarios/articles/queue.yaml --plot "$work/queue.svg" >"$work/printed"
sed -n '/^<!-- sim table -->$/,/^<!-- .sim table -->$/ { /^<!--/d; /^```/d; p }' README.md >"$work/shown"
[ "$(wc -l <"$work/shown")" = 6 ] || { echo "FAILED: no table in README.md"; exit 1; }
sed -n '/^policy /,/^$/ { /^$/d; p }' "$work/printed" | diff "$work/shown" - || { echo "FAILED: README.md has another table"; exit 1; }
cmp docs/images/queue.svg "$work/queue.svg" || {
  echo "FAILED: make docs/images/queue.svg again: loadline sim scenarios/articles/queue.yaml --plot docs/images/queue.svg"
  exit 1
}
