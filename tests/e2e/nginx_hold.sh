#!/usr/bin/env bash
# Waiting: who starts when, who leaves, and who has waited long enough.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=1 queue=4 wait=3s;
  loadline_gate short:256k limit=1 queue=4 wait=150ms;
  server {
    listen 127.0.0.1:$port;
    location / { loadline api class=\$arg_class; proxy_pass http://$service; }
    location /short/ { loadline short; proxy_pass http://$service/; }
    location = /status { loadline_stub_status; }
  }
EOC

it "holds a request until a slot is free"
begin "/sleep?ms=500"
wait_until "the slot is taken" state_is .in_flight 1
equal "status" "200 done" "$(get /sleep?ms=1 -w ' %{http_code}' | tr -d '\n' | sed 's/\(.*\) \(.*\)/\2 \1/')"
logged "^200 WAITED:-:critical 0\.[34][0-9]* /sleep?ms=1$" || fail "access log: $(cat "$work/access.log")"
equal "most in service at once" 1 "$(service_count max_outstanding)"
wait_until "all slots are free" state_is .in_flight 0

it "starts the next at once when the slot is free, not at the next tick or timeout"
: >"$work/codes"
for _ in 1 2 3; do begin "/sleep?ms=100"; done
wait_until "all have ended" codes_are_in 3
equal "all were served" 3 "$(count_codes 200)"
slowest=$(sort -k2 "$work/codes" | tail -n 1 | cut -d' ' -f2 | tr -d .)
at_most "microseconds of the slowest" 450000 "$((10#$slowest))"

it "lets more important requests go first"
begin "/sleep?ms=300"
wait_until "the slot is taken" state_is .in_flight 1
begin "/sleep?ms=1&class=sheddable"
wait_until "one waits" state_is .waiting 1
begin "/sleep?ms=1&class=critical_plus"
wait_until "two wait" state_is .waiting 2
classed_are() { [ "$(grep -c 'WAITED.*class=' "$work/access.log")" = "$1" ]; }
wait_until "both have ended" classed_are 2
matches "order" "class=critical_plus.*class=sheddable" "$(grep 'WAITED.*class=' "$work/access.log" | tr '\n' ' ')"

it "refuses who has waited as long as it may"
begin "/short/sleep?ms=1000"
wait_until "the slot is taken" bash -c "curl -s http://127.0.0.1:$port/status | jq -e '.gates[1].in_flight == 1' >/dev/null"
answer=$(get "/short/sleep?ms=1" -o /dev/null -w '%{http_code} %{time_total}')
matches "status and time" "^503 0\.(1[5-9]|2)" "$answer"
logged "^503 REJECTED:queue_timeout:critical 0\.1[5-9][0-9] " || fail "access log: $(tail -n 2 "$work/access.log")"

it "refuses the fifth who would wait"
begin "/sleep?ms=700"
wait_until "the slot is taken" state_is .in_flight 1
for i in 1 2 3 4; do
  begin "/sleep?ms=1"
  wait_until "$i wait" state_is .waiting "$i"
done
equal "status" 503 "$(code /)"
equal "reason" 1 "$(class_state critical .rejected.queue_full)"
wait_until "all have ended" state_is .in_flight 0

it "forgets who leaves, at once, and never troubles the upstream with it"
before=$(service_count received)
begin "/sleep?ms=600"
wait_until "the slot is taken" state_is .in_flight 1
curl -s -m 10 -o /dev/null "http://127.0.0.1:$port/sleep?ms=2" &
leaver=$!
wait_until "it waits" state_is .waiting 1
kill "$leaver"
wait_until "it is forgotten" state_is .waiting 0
equal "cancelled" 1 "$(class_state critical .cancelled)"
wait_until "the first has ended" state_is .in_flight 0
equal "received by the upstream" $((before + 1)) "$(service_count received)"
logged "^499 CANCELLED:-:critical 0\.[0-9]* /sleep?ms=2$" || fail "access log: $(tail -n 3 "$work/access.log")"

it "gives the slot back when a caller leaves half-way"
curl -s -m 10 -o /dev/null "http://127.0.0.1:$port/sleep?ms=9000" &
leaver=$!
wait_until "the slot is taken" state_is .in_flight 1
kill "$leaver"
wait_until "the slot is free" state_is .in_flight 0

it "keeps a request waiting no longer than half of its deadline"
begin "/sleep?ms=900"
wait_until "the slot is taken" state_is .in_flight 1
answer=$(get "/" -o /dev/null -w '%{http_code} %{time_total}' -H 'grpc-timeout: 400m')
matches "status and time" "^50[34] 0\.[0-3]" "$answer"
wait_until "the slot is free" state_is .in_flight 0

it "closes its books: what was asked is what was answered"
sum=$(state '.classes | map(.admitted + .cancelled + ([.rejected[]] | add // 0)) | add')
equal "asked" "$(grep -vc '/status\|/short' "$work/access.log" || true)" "$sum"
equal "waiting" 0 "$(state .waiting)"
equal "faults" 0 "$(state .faults)"
