#!/usr/bin/env bash
# A service that stands still, and callers who try again at once beside those of the client half: the short
# form of ./dev demo storm.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

stall=2 watch=6
! long_form || stall=5 watch=10

# Whether it all held depends on how busy the machine is; what must hold everywhere is looked at here.
"$LOADLINE_STORM" --command "$LOADLINE_COMMAND" --module "$LOADLINE_MODULE" --stall "$stall" --watch "$watch" \
  --json "$work/storm.json" >"$work/storm.log" 2>&1 || true
[ -s "$work/storm.json" ] || fail "$(cat "$work/storm.log")"
sed -n '/^ *gate/,/^$/p' "$work/storm.log"

# row GATE CALLERS FIELD
row() { jq ".rows[] | select(.gate == $1 and .callers == \"$2\") | .$3" "$work/storm.json"; }
# Seconds; what never came took longer than anybody watched.
normal_after() { jq ".rows[] | select(.gate == $1 and .callers == \"$2\") | .normal_after_s // 1000" "$work/storm.json"; }

it "callers who try again at once send all they may while it stands still"
for gate in false true; do
  attempts=$(row $gate naive attempts_per_call_stall)
  figure "gate $gate: $attempts a call"
  within "three, of four" "$attempts" 3
done

# 20 programs have ten retries each saved up, and a stall of 2 s has 400 calls: 1.5, and what succeeds pays for
# some more.
it "those of the client half pay for each retry"
for gate in false true; do
  attempts=$(row $gate ours attempts_per_call_stall)
  figure "gate $gate: $attempts a call"
  within "attempts per call" 1.6 "$attempts"
done

it "without a gate the first never let it recover, the second do"
equal "naive callers: normal after" null "$(row false naive normal_after_s)"
within "callers of the client half: seconds until normal" "$watch" "$(normal_after false ours)"

it "with a gate both are soon back to normal, the second with less waste than without either"
for callers in naive ours; do
  within "$callers: seconds until normal" "$watch" "$(normal_after true "$callers")"
done
within "waste" "$(row false naive waste)" "$(row true ours waste)"

it "leaves nothing behind"
equal "folders" 0 "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'loadline-storm.*' | wc -l)"
