#!/usr/bin/env bash
# 20,000 HEADERS + RST_STREAM on one HTTP/2 connection: never more at the service than the limit, and
# nothing is left of it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_counting_service
free_port
workers=2
connections=4096
start_nginx <<EOC
  loadline_gate api:256k limit=16 queue=32 wait=2s;
  server {
    listen 127.0.0.1:$port http2;
    # nginx has bounds of its own against this (1,000 requests a connection, twice as many new streams
    # at once as may be open). They would end the connection before the gate has seen much of it.
    keepalive_requests 1000000;
    http2_max_concurrent_streams 20000;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
  }
EOC
get() { curl -s -m 10 --http2-prior-knowledge "http://127.0.0.1:$port$1" "${@:2}"; }
begin_stream() { # PATH
  { curl -s -m 20 --http2-prior-knowledge -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$port$1" || true; } \
    >>"$work/codes" &
  started_pids+=("$!")
}

settled() { state '| .classes[1] | .admitted + .cancelled + ([.rejected[]] | add // 0)'; }

# resets COUNT OPTION...: on one connection, and each is counted by the gate and logged.
total=0
resets() {
  run_client h2_resets.py "$port" --count "$1" "${@:2}" >"$work/resets"
  figure "$(cat "$work/resets")"
  total=$((total + $1))
  equal "asked on one connection" "$1" "$(json "$work/resets" .asked)"
  equal "all read" true "$(json "$work/resets" .all_read)"
}
nothing_is_left() {
  wait_until "nothing is in flight" state_is .in_flight 0
  wait_until "nothing waits" state_is .waiting 0
  figure "most at the service at once $(service_most), received $(service_count received)"
  equal "counted by the gate" "$total" "$(settled)"
  equal "logged" "$total" "$(grep -c '/?ms=[0-9]*$' "$work/access.log")"
  equal "released twice" 0 "$(state .released_twice)"
}

it "takes 20,000 that are reset in the same breath"
resets 20000 --path "/?ms=50"
nothing_is_left

it "takes 20,000 that are reset while their handlers run or they wait"
resets 20000 --path "/?ms=50" --running --at-once 60
nothing_is_left
equal "most at the service at once" 16 "$(service_most)"

it "takes them while others have reached the limit, and those are served"
for _ in $(seq 20); do begin_stream "/?ms=1500"; done
total=$((total + 20))
wait_until "the limit is reached" state_is .in_flight 16
wait_until "four wait" state_is .waiting 4
resets 2000 --path "/?ms=50" --running
wait_until "all have ended" codes_are_in 20
equal "served" 20 "$(grep -c '^200' "$work/codes")"
nothing_is_left
equal "most at the service at once" 16 "$(service_most)"
