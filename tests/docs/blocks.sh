#!/usr/bin/env bash
# blocks.sh DOCUMENT FOLDER...: every block of C++, C or CMake in the document stands, line for line, in a file
# of those folders. Indentation does not count.
set -euo pipefail
document=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

plain() { sed -e 's/^[[:space:]]*//' -e '/^$/d' "$1"; }

awk -v folder="$work" '
  /^```(cpp|c|cmake)$/ { file = folder "/block" ++count; next }
  /^```/ { if (file) close(file); file = ""; next }
  file { print > file }' "$document"

sources=()
while IFS= read -r file; do
  sources+=("$(plain "$file")")
done < <(find "$@" -name '*.cpp' -o -name '*.c' -o -name '*.h' -o -name CMakeLists.txt)

checked=0
for block in "$work"/block*; do
  text=$(plain "$block")
  found=0
  for source in "${sources[@]}"; do
    [[ $source != *"$text"* ]] || found=1
  done
  if [ "$found" = 0 ]; then
    echo "FAILED: in no tested file:"
    cat "$block"
    exit 1
  fi
  checked=$((checked + 1))
done
[ "$checked" -gt 5 ]
