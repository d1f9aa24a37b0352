#!/usr/bin/env bash
# pools.sh SERVER: reports fill their own two slots, and nobody else's.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/examples/ask.sh
. "$(dirname "$0")/ask.sh"

reports_answered() { cat "$work"/report*.log | grep -c "$1" || true; }
reports_are_full() { [ "$(reports_answered 503)" = 2 ]; }

start_server "$1"

it "turns reports away beyond two, at once"
for i in 1 2 3 4; do
  start "report$i" curl -s -o /dev/null -w '%{http_code}\n' "$url/report"
done
wait_until "two are turned away" reports_are_full

it "serves everything else while the reports are full"
ask_at_once 8 /
[ "$(count '^200 $')" = 8 ] || fail "$(cat "$work/answers")"
[ "$(reports_answered 200)" = 0 ] || fail "the reports were done before"
