#!/usr/bin/env bash
# A sidecar that finds its limit: told so in a file or on the command line, it says what it did, and hands the
# limit over and takes it back.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

start_service --workers 16 --service 20ms

overload() { # SECONDS
  "$LOADLINE_COMMAND" load "http://127.0.0.1:$port/" --closed 100 --duration "$1s" --json --allow-starved \
    >"$work/load.json" 2>&1
}

it "finds the limit, and tells how"
start_sidecar --limit auto --limit-at-most 300 --workers 2
grep -q 'with limit auto, queue auto' "$work/sidecar.log" || fail "$(cat "$work/sidecar.log")"
overload 5
at_least "limit" 8 "$(gate .limit)"
at_most "limit" 64 "$(gate .limit)"
set_gate >"$work/set.log"
matches "the state" "limit [0-9]+ \(auto" "$(head -n 1 "$work/set.log")"
at_least "steps" 2 "$(grep -c 's ago: [A-Z].*\.$' "$work/set.log")"

it "hands it over, and takes it back"
matches "set by hand" "limit 5, " "$(set_gate limit=5)"
equal "law" fixed "$(gate .law)"
matches "given back" "limit 5 \(auto" "$(set_gate limit=auto)"
overload 3
at_least "limit" 6 "$(gate .limit)"

it "goes on with what it has found after a reload"
# What was being measured as the load went is given up soon.
is_at_rest() { [ "$(gate '.limit_events.last[0].ago_ms > 4000')" = true ]; }
wait_until "the limit is at rest" is_at_rest
found=$(gate .limit)
kill -HUP "$sidecar"
wait_until "it has reloaded" grep -q '^loadline: reloaded' "$work/sidecar.log"
equal "limit" "$found" "$(gate .limit)"
kill -TERM "$sidecar"
wait "$sidecar" || fail "exit code $?"

it "reads it from a file, and a number on the command line overrules it"
printf 'version: 1\nlimit: {law: auto, from: 9, at_least: 9, at_most: 30}\n' >"$work/sidecar.yaml"
start_sidecar --config "$work/sidecar.yaml"
equal "limit" 9 "$(gate .limit)"
equal "law" auto "$(gate .law)"
kill -TERM "$sidecar"
wait "$sidecar" || fail "exit code $?"
start_sidecar --config "$work/sidecar.yaml" --limit 12
equal "limit" 12 "$(gate .limit)"
equal "law" fixed "$(gate .law)"
