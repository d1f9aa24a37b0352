#!/usr/bin/env bash
# index.sh FOLDER: its README.md names each scenario file of it once, and none that is not there.
set -euo pipefail
cd "$1"
diff <(printf '%s\n' */*.yaml | LC_ALL=C sort) \
  <(grep -o '](\([a-z0-9_/]*\.yaml\))' README.md | tr -d '()]' | LC_ALL=C sort) ||
  { echo "scenarios/README.md and the folder differ" >&2; exit 1; }
