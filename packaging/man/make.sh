#!/usr/bin/env bash
# make.sh COMMAND FOLDER: writes the manual pages into FOLDER: loadline(1) from what the command says of
# itself, loadline.yaml(5), loadline-nginx(5), loadline-scenarios(5), loadline-traces(5) and loadline-auto(7) from docs/. So they say what those say.
set -euo pipefail
command=$(realpath "$1") folder=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")"

version=$("$command" --version)
version=${version#loadline }
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%F)

subcommands() { "$command" --help | sed -n '/^Subcommands:/,$ s/^  \([a-z]*\) .*/\1/p'; }

commands() {
  local name
  for name in $(subcommands); do
    "$command" "$name" --help | awk -f text.awk -f help.awk -v command="$name"
  done
}

from_docs() { # NAME SECTION PAGE
  awk -f text.awk -f markdown.awk -v name="$1" -v section="$2" -v version="$version" -v date="$date" \
    "../../docs/$3" >"$folder/$1.$2"
}

commands >"$folder/commands.part"
sed -e "s/@VERSION@/$version/; s/@DATE@/$date/" -e "/^@COMMANDS@$/{ r $folder/commands.part
  d }" loadline.1.in >"$folder/loadline.1"
rm "$folder/commands.part"
from_docs loadline.yaml 5 configuration.md
from_docs loadline-nginx 5 nginx.md
from_docs loadline-scenarios 5 scenarios.md
from_docs loadline-traces 5 traces.md
from_docs loadline-auto 7 auto.md
