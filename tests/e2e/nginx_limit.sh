#!/usr/bin/env bash
# The limit, held by two workers together, while many wait and one location must always answer.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 200 --service 50ms
free_port
workers=2
start_nginx <<EOC
  loadline_gate api:256k limit=4 queue=40 wait=2s;
  server {
    listen 127.0.0.1:$port reuseport;
    location / { loadline api; proxy_pass http://$service; }
    location = /healthz { loadline off; return 200 "ok\n"; }
    location = /status { loadline_stub_status; }
  }
EOC
wait_until "both workers have a seat" state_is .workers 2

it "never lets more through than the limit, over both workers"
for _ in $(seq 40); do begin "/"; done
for _ in $(seq 10); do equal "/healthz" 200 "$(code /healthz)"; done
wait_until "all have ended" codes_are_in 40
equal "served" 40 "$(count_codes 200)"
equal "most at the upstream at once" 4 "$(service_count max_outstanding)"
at_least "waited" 15 "$(grep -c WAITED "$work/access.log")"
equal "in flight" 0 "$(state .in_flight)"

it "wastes no time between them: 40 of 50 ms, four at a time, are 500 ms"
slowest=$(sort -k2 "$work/codes" | tail -n 1 | cut -d' ' -f2 | tr -d .)
at_most "microseconds of the slowest" 900000 "$((10#$slowest))"

it "holds 50 slots with a short wait under four times their load, and answers /healthz throughout"
stop_nginx
start_nginx <<EOC
  loadline_gate api:256k limit=50 wait=20ms;
  server {
    listen 127.0.0.1:$port reuseport;
    location / { loadline api; proxy_pass http://$service; }
    location = /healthz { loadline off; return 200 "ok\n"; }
    location = /status { loadline_stub_status; }
  }
EOC
curl -s -X POST "http://$service/reset" >/dev/null
load() { # FILE
  curl -s -m 30 -Z --parallel-immediate --parallel-max 100 -o /dev/null -w '%{http_code} %{time_total}\n' \
    "http://127.0.0.1:$port/?[1-1500]" >"$1" 2>/dev/null || true
}
load "$work/codes.1" &
first=$!
load "$work/codes.2" &
second=$!
started_pids+=("$first" "$second")
probes=0
while is_running "$first" || is_running "$second"; do
  equal "/healthz" 200 "$(code /healthz -m 1)"
  probes=$((probes + 1))
done
at_least "probes" 5 "$probes"
cat "$work/codes.1" "$work/codes.2" >"$work/codes"
equal "answers" 3000 "$(wc -l <"$work/codes")"
equal "served or turned away" 3000 $(($(count_codes 200) + $(count_codes 503)))
at_least "served" 50 "$(count_codes 200)"
at_least "turned away" 50 "$(count_codes 503)"
at_most "most at the upstream at once" 50 "$(service_count max_outstanding)"
equal "the upstream saw who was served, and nobody else" "$(count_codes 200)" "$(service_count received)"
equal "in flight" 0 "$(state .in_flight)"
equal "faults" 0 "$(state .faults)"
