# shellcheck shell=bash
# What the tests of the packaging share. Sourced.
#   LOADLINE_COMMAND  the loadline command
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Others use this.
# shellcheck disable=SC2034
packaging=$root/packaging
LOADLINE_COMMAND=${LOADLINE_COMMAND:-$root/build/bin/loadline}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

# Those that this test knows, so that a fault in reading --help does not make it check nothing.
subcommands() {
  local found
  found=$("$LOADLINE_COMMAND" --help | awk '/^Subcommands:/ { on = 1; next } on && /^  [a-z]/ { print $1 }')
  for name in run check set serve load burst sim demo; do
    grep -qx "$name" <<<"$found" || fail "--help names no subcommand '$name'"
  done
  echo "$found"
}

# Every long option in the left column of --help; of a subcommand, if one is given.
options() {
  local found
  found=$("$LOADLINE_COMMAND" "$@" --help | cut -c1-29 | grep '^  -' | sed 's| Needs:.*||' | grep -oE -- '--[a-z-]+')
  grep -qx -- --help <<<"$found" || fail "$* --help names no --help"
  echo "$found"
}

# Every key of the file that `loadline run --config` reads.
keys() {
  local found
  found=$("$LOADLINE_COMMAND" check --keys | awk -F '`' '/^\| `/ { print $2 }')
  grep -qx deadline.header <<<"$found" || fail "check --keys names no deadline.header"
  echo "$found"
}
