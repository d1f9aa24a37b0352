#!/usr/bin/env bash
# The demo of a limit that is found, in a short form. LOADLINE_LONG=1: the whole.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=10
! long_form || seconds=60
# Whether it all held depends on how busy the machine is; what must hold everywhere is looked at here.
"$LOADLINE_COMMAND" demo --limit auto --seconds "$seconds" --json "$work/demo.json" >"$work/demo.log" 2>&1 || true
[ -s "$work/demo.json" ] || fail "$(cat "$work/demo.log")"
row() { jq "[.rows[] | select(.service | test(\"$1\"))][0]$2" "$work/demo.json"; }

# Where others take its processor, nothing can be said of one that computes.
alone=$([ "$(row computes .fault)" = '""' ] && echo yes || echo no)
figure "one that computes: $(row computes .fault)"

it "refuses nobody at 0.7x"
[ "$alone" = no ] || equal "of one that computes" 0 "$(row computes .quiet.not_served_in_time)"
equal "of 32 that wait" 0 "$(row wait .quiet.not_served_in_time)"

it "brings at least 0.95 of what the service can do at 1.5x, and again with half of it gone"
jq -e '[.rows[] | select(.service | test("wait"))][0] | .overload.goodput_of_capacity >= 0.95 and .halved.goodput_of_capacity >= 0.95' \
  "$work/demo.json" >/dev/null || fail "$(cat "$work/demo.log")"

it "finds very different limits for the two"
at_least "of 32 that wait" 24 "$(row wait .overload.limit)"
[ "$alone" = no ] || at_most "of one that computes" 16 "$(row computes .overload.limit)"

it "says what the law did, and how to have it"
at_least "steps" 1 "$(row wait '.steps | length')"
grep -q 'loadline run --limit auto --upstream http://127.0.0.1:9000' "$work/demo.log" || fail "it does not"

it "leaves nothing behind"
equal "folders" 0 "$(find /tmp -maxdepth 1 -name 'loadline-demo.*' -newer "$work" | wc -l)"
