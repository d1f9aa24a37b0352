#!/usr/bin/env bash
# What a sidecar is told at its start, what it says of itself, and what it does are the same thing.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

start_service --workers 1 --service 100ms

burst_of_four() { burst "http://127.0.0.1:$port/" -n 4; }
served() { burst_count 200 0 100; }
stop_sidecar() {
  kill -TERM "$sidecar"
  wait "$sidecar" || fail "exit code $?"
}

for mode in observe off; do
  it "started with --$mode it says so, and refuses nothing"
  start_sidecar --limit 1 --queue off "--$mode"
  equal "mode" "$mode" "$(gate .mode)"
  burst_of_four
  equal "served" 4 "$(served)"

  it "a reload keeps it at --$mode"
  kill -HUP "$sidecar"
  wait_until "it has reloaded" grep -q '^loadline: reloaded: .*; what was set at run time no longer holds$' "$work/sidecar.log"
  equal "mode" "$mode" "$(gate .mode)"

  it "switched on it refuses"
  set_gate on >"$work/set.log"
  equal "mode" on "$(gate .mode)"
  burst_of_four
  equal "served" 1 "$(served)"
  stop_sidecar
done

it "what was rejected since the last line is logged when it ends"
# The second run has rejected three, and its interval was not over.
grep -q 'rejected 3 of ' "$work/sidecar.log" || fail "$(cat "$work/sidecar.log")"
