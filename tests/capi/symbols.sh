#!/usr/bin/env bash
# symbols.sh LIBRARY HEADER: the library shows exactly the functions that the header declares.
set -euo pipefail
export LC_ALL=C
diff <(nm -D --defined-only --format=posix "$1" | awk '$2 != "A" {print $1}' | sort) \
  <(grep -oE '^LOADLINE_API .*' "$2" | grep -oE 'loadline_[a-z_]+\(' | tr -d '(' | sort)
