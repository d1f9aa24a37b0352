#!/usr/bin/env bash
# man.sh FOLDER: the manual pages in it name every subcommand and option, every key of the file and every directive,
# variable and metric of the module, and mandoc has nothing against them.
# shellcheck source=tests/packaging/lib.sh
. "$(dirname "$0")/lib.sh"
man=$1

text() { mandoc -Tutf8 -Owidth=1000 "$1" | sed 's/.\x08//g'; }

echo "- nothing is wrong with them"
for page in loadline.1 loadline.yaml.5 loadline-nginx.5 loadline-scenarios.5 loadline-traces.5 loadline-auto.7; do
  mandoc -Tlint -Wwarning "$man/$page" || fail "mandoc has something against $page"
done

echo "- loadline(1) names every subcommand with every option"
text "$man/loadline.1" >"$work/loadline.1"
checked=0
for name in $(subcommands); do
  # From its heading to the next.
  awk -v heading="loadline $name" '{ line = $0; sub(/^ */, "", line) }
    /^ ? ? ?[^ ]/ { on = (line == heading) } on' "$work/loadline.1" >"$work/section"
  [ -s "$work/section" ] || fail "no section 'loadline $name'"
  for option in $(options "$name"); do
    grep -qE -- "^ +(-[a-z],)?$option( |$|:)" "$work/section" || fail "'loadline $name' lacks $option"
    checked=$((checked + 1))
  done
done
[ "$checked" -gt 50 ] || fail "only $checked options were looked for"
grep -q -- --version "$work/loadline.1" || fail "no --version"
grep -q -- "-n,--count" "$work/loadline.1" || fail "no -n"
if grep -q '@[A-Z]*@' "$work/loadline.1"; then fail "something was not filled in"; fi

echo "- loadline.yaml(5) names every key"
text "$man/loadline.yaml.5" >"$work/loadline.yaml.5"
keys >"$work/keys"
while IFS= read -r key; do
  grep -qE "^ +$key( |$)" "$work/loadline.yaml.5" || fail "no key $key"
done <"$work/keys"

echo "- loadline-scenarios(5) names every figure, and loadline-traces(5) every format"
text "$man/loadline-scenarios.5" >"$work/loadline-scenarios.5"
text "$man/loadline-traces.5" >"$work/loadline-traces.5"
grep -oE '^    [{]"[a-z0-9 _-]+"' "$root/tools/sim_figure.cpp" | tr -d ' {"' >"$work/figures"
[ "$(wc -l <"$work/figures")" -gt 20 ] || fail "tools/sim_figure.cpp names few figures"
while IFS= read -r figure; do
  grep -qwF -- "$figure" "$work/loadline-scenarios.5" || fail "no figure $figure"
done <"$work/figures"
for format in nginx apache apache-us apache-ms apache-s csv azure-llm; do
  grep -qwF -- "$format" "$work/loadline-traces.5" || fail "no format $format"
done

echo "- loadline-nginx(5) names every directive, variable and metric"
text "$man/loadline-nginx.5" >"$work/loadline-nginx.5"
cat "$root"/hosts/nginx/{directives,gate_variables,caller_variables,metrics}.cpp | grep -oE '"loadline[a-z_]*"' | tr -d '"' | sort -u >"$work/names"
for name in loadline loadline_gate loadline_inflight loadline_queue_wait_seconds; do
  grep -qx "$name" "$work/names" || fail "the module's sources do not name $name"
done
while IFS= read -r name; do
  grep -qE "(^|[^a-z_])$name([^a-z_]|$)" "$work/loadline-nginx.5" || fail "no $name"
done <"$work/names"
