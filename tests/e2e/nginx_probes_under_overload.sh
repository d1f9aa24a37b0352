#!/usr/bin/env bash
# A liveness probe and the metrics at ten times the capacity: they are answered as if nothing were.
# LOADLINE_LONG=1: ten minutes.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=15
! long_form || seconds=600

# 100 requests/s are what it can do, and the limit is as many as it works on.
start_service --workers 4 --service 40ms
free_port
workers=2
start_nginx <<EOC
  loadline_gate api:256k limit=4;
  server {
    listen 127.0.0.1:$port;
    loadline api;
    location / { proxy_pass http://$service; }
    location = /healthz { loadline_exempt 1; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
    location = /metrics { loadline_metrics; }
  }
EOC

it "answers every probe at ten times the capacity, within 10 ms, and the metrics within 50 ms"
start load "$LOADLINE_COMMAND" load "http://127.0.0.1:$port/" --rate 1000 --duration "$((seconds + 2))s" --seed 1 --allow-starved --json-file "$work/load"
load=$started
wait_until "the limit is reached" state_is .in_flight 4
run_client prober.py "$port" /healthz /metrics --seconds "$seconds" >"$work/probes"
is_running "$load" || fail "the load has ended before the probes"
wait "$load" || fail "the load could not be made: $(cat "$work/load.log")"
for path in /healthz /metrics; do
  figure "$path: $(json "$work/probes" ".\"$path\" | tojson")"
  equal "answers of $path" "$(json "$work/probes" ".\"$path\".asked")" "$(json "$work/probes" ".\"$path\".good")"
done
within "p99 of the probe, ms" 10 "$(json "$work/probes" '."/healthz".p99_ms')"
within "p99 of the metrics, ms" 50 "$(json "$work/probes" '."/metrics".p99_ms')"

it "was overloaded meanwhile"
figure "offered $(json "$work/load" .offered_per_second)/s, rejected $(json "$work/load" .share_rejected), good $(json "$work/load" .goodput_per_second)/s"
within "the rest" 0.15 "$(json "$work/load" '1 - .share_rejected')"
within "what it did not do of what it can, /s" 10 "$(json "$work/load" '100 - .goodput_per_second')"
