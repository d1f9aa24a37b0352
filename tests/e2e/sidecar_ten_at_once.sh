#!/usr/bin/env bash
# Ten requests at the same instant at a service of two workers x 300 ms, without and with a gate.
# A slice is 100 ms; on a slow machine an answer may come one slice later.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

start_service --workers 2 --service 300ms

it "without a gate two are answered every 300 ms, and the last wait for all before them"
burst "http://$service/" -n 10
for slice in 3 6 9 12 15; do
  equal "answers in slice $slice" 2 "$(burst_count 200 "$slice" "$((slice + 1))")"
done

it "a hundred at once: the last is answered after 15 s"
burst "http://$service/" -n 100 --timeout 30s
equal "answers" 100 "$(burst_count 200 0 152)"
equal "answers in the last slice" 2 "$(burst_count 200 150 152)"

it "with limit 2 and queue 2, four are served in time and six hear at once"
start_sidecar --limit 2 --queue 2 --wait 1s
burst "http://127.0.0.1:$port/" -n 10
equal "answers in slice 3" 2 "$(burst_count 200 3 4)"
equal "answers in slice 6" 2 "$(burst_count 200 6 7)"
equal "rejections in slice 0" 6 "$(burst_count 503 0 0)"

it "each rejection says when to come back, in a body of at most 16 bytes"
equal "rejections that say so" 6 "$(jq '[.answers[] | select(.status == 503 and
  (.retry_after | tonumber) >= 1 and .body_bytes <= 16)] | length' "$work/burst.json")"

it "the service never ran more than the limit"
equal "requests that reached it" 114 "$(service_count received)"
