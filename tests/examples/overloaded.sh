#!/usr/bin/env bash
# overloaded.sh SERVER: an example that works on two at once for 50 ms, asked by thirty at once.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/examples/ask.sh
. "$(dirname "$0")/ask.sh"

both_slots_are_free() {
  ask_at_once 2 /
  [ "$(count '^200 $')" = 2 ]
}

it "answers one"
start_server "$1"
ask_at_once 1 /
[ "$(count '^200 $')" = 1 ] || fail "$(cat "$work/answers")"

it "serves some of thirty and sends the others away, with a time to come back"
ask_at_once 30 /
served=$(count '^200 $')
rejected=$(count '^503 [1-9][0-9]*$')
[ "$served" -ge 2 ] || fail "served: $served"
[ "$rejected" -ge 1 ] || fail "rejected: $rejected"
[ "$((served + rejected))" = 30 ] || fail "$(sort "$work/answers" | uniq -c)"

it "says 504, and no time to come back, to one whose deadline has passed"
[ "$(curl -s -o "$work/body" -w '%{http_code} %header{retry-after}' -H 'X-Deadline-Ms: 0' "$url/")" = "504 " ] ||
  fail "$(cat "$work/body")"
grep -q 'Its deadline has passed.' "$work/body" || fail "$(cat "$work/body")"

it "forgets those who leave while they wait or are served"
for _ in 1 2 3 4 5 6 7 8; do
  curl -s -o /dev/null --max-time 0.02 "$url/" || true
done
wait_until "both slots are free again" both_slots_are_free
