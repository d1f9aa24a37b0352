#!/usr/bin/env bash
# The demo holds what it promises, and writes the numbers that it prints.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

it "ends well: at every overload the goodput is at least 0.97 of capacity with the gate, at most 0.2 without"
"$LOADLINE_COMMAND" demo --json "$work/demo.json" >"$work/demo.log" 2>&1 ||
  fail "$(cat "$work/demo.log")"

it "writes the same numbers"
equal "loads" "0.8 1.2 3 10" "$(jq -r '[.rows[].load | tostring] | join(" ")' "$work/demo.json")"
equal "overloads that held" 3 "$(jq '[.rows[] | select(.load > 1 and
  .protected.goodput_of_capacity >= 0.97 and .unprotected.goodput_of_capacity <= 0.2)] | length' "$work/demo.json")"
# Rounded as the table rounds: halves, which four seconds of counting give, to the even side.
goodput=$(jq '.rows[3].protected.goodput' "$work/demo.json")
equal "goodput at 10x in the table" "$(printf '%.0f' "$goodput")/s" \
  "$(awk '$1 == "on" { last = $2 } END { print last }' "$work/demo.log")"

it "ends with the command that guards a service of one's own"
grep -q 'loadline run --limit 64 --upstream http://127.0.0.1:9000' "$work/demo.log" || fail "it does not"

it "leaves nothing behind"
equal "folders" 0 "$(find /tmp -maxdepth 1 -name 'loadline-demo.*' | wc -l)"
