#!/usr/bin/env bash
# Signals from outside: what an application reports with its answers, and what the kernel tells.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 20
free_port
service_port=$port
free_port
workers=2

conf() {
  cat <<EOC
  loadline_log_level notice interval=1s;
  proxy_cache_path $work/cache keys_zone=cache:1m;
  loadline_gate api:1m limit=auto limit_from=40 $*;
  server {
    listen 127.0.0.1:$service_port;
    location = /blanks {
      add_header X-Loadline-Report "other=1 , db_latency = 20ms ";
      return 200 "done";
    }
    location = /slow {
      set \$ms 300;
      add_header X-Loadline-Report \$arg_report;
      proxy_pass http://$service/sleep?ms=\$ms;
    }
    location / {
      add_header X-Loadline-Report \$arg_report always;
      add_header X-Else yes always;
      return 200 "done";
    }
  }
  server {
    listen 127.0.0.1:$port reuseport;
    location / { loadline api; proxy_pass http://127.0.0.1:$service_port; }
    location = /leased { loadline api; loadline_lease 50ms; proxy_pass http://127.0.0.1:$service_port/slow; }
    location = /polled { loadline api; loadline_stream_after 50ms; proxy_pass http://127.0.0.1:$service_port/slow; }
    location /cached {
      loadline api;
      proxy_cache cache;
      proxy_cache_valid 200 1m;
      proxy_pass http://127.0.0.1:$service_port;
    }
    location = /free { proxy_pass http://127.0.0.1:$service_port/; }
    location = /status { loadline_stub_status; }
    location = /metrics { loadline_metrics; }
  }
EOC
}
# report VALUE...: as the application does it, with an answer.
report() { get "/?report=$1"; }
signal() { state ".signals[0]$1"; }
last() { state ".limit_events.last[0]$1"; }
limit_falls_below() { report "$2" >/dev/null && [ "$(state .limit)" -lt "$1" ]; }
limit_is() { report "$2" >/dev/null && [ "$(state .limit)" -eq "$1" ]; }

it "hears what the application reports, and keeps it from the client"
start_nginx < <(conf signals=db_latency:50ms,jobs:100)
wait_until "both workers have a seat" state_is .workers 2
equal "nothing yet" '{"name":"db_latency","at_most":0.05,"value":null,"ago_ms":null}' "$(state '.signals[0] | tojson')"
get "/?report=db_latency=12ms,jobs=7" -i >"$work/answer"
grep -qi '^X-Loadline-Report' "$work/answer" && fail "the client sees the report"
grep -qi '^X-Else: yes' "$work/answer" || fail "the client does not see what else there is"
equal "db_latency" true "$(signal '.value | . > 0.01199 and . <= 0.012')"
equal "jobs" true "$(state '.signals[1].value | . > 6.999 and . <= 7')"
equal "limit" 40 "$(state .limit)"
get /metrics >"$work/metrics"
grep -qx 'loadline_signal_at_most{gate="api",signal="db_latency"} 0.05' "$work/metrics" || fail "no set-point among the metrics"
grep -q '^loadline_signal{gate="api",signal="db_latency"} 0.01[12]' "$work/metrics" || fail "no signal among the metrics"
get "/free?report=db_latency=500ms" -i | grep -qi '^X-Loadline-Report' || fail "an answer that no gate has let in is changed"

it "passes over what is no report"
for text in db_latency db_latency= =5 db_latency=-1 db_latency=x db_latency=1e9 other=5 "," ",,," db_latency=5ms5 \
  "$(printf 'a=1,%.0s' {1..50})db_latency=9"; do
  report "$text" >/dev/null
done
equal "db_latency" true "$(signal '.value | . > 0.01199 and . <= 0.012')"
get /blanks >/dev/null
equal "with blanks" true "$(signal '.value | . > 0.01999 and . <= 0.02')"

it "believes no report that comes from a cache"
get "/cached?report=db_latency=30ms" >/dev/null
equal "when it is new" true "$(signal '.value | . > 0.02999 and . <= 0.03')"
report db_latency=10ms >/dev/null
get "/cached?report=db_latency=30ms" -i >"$work/answer"
grep -qi '^X-Loadline-Report' "$work/answer" && fail "the client sees the report"
equal "later" true "$(signal '.value | . > 0.00999 and . <= 0.01')"

it "hears an answer that has come too late to hold its place"
get "/leased?report=db_latency=41ms" -i >"$work/answer"
equal "leases that ran out" 1 "$(state .leases_expired)"
grep -qi '^X-Loadline-Report' "$work/answer" && fail "the client sees the report"
equal "after its lease" true "$(signal '.value | . > 0.04099 and . <= 0.041')"
get "/polled?report=db_latency=42ms" -i >"$work/answer"
grep -qi '^X-Loadline-Report' "$work/answer" && fail "the client sees the report"
equal "as a stream" true "$(signal '.value | . > 0.04199 and . <= 0.042')"
report db_latency=10ms >/dev/null

it "passes over no report for its many digits"
report db_latency=0.0123456789012345678s >/dev/null
equal "db_latency" true "$(signal '.value | . > 0.01234 and . <= 0.012345')"

it "lowers the limit while it is above, says so, and lets it go"
wait_until "the limit falls" limit_falls_below 40 db_latency=75ms
equal "the step" '40 30 pressed db_latency 0.05' "$(state '.limit_events.last[-2] | "\(.from) \(.to) \(.cause) \(.signal) \(.at_most)"')"
wait_until "and falls again" limit_falls_below 30 db_latency=75ms
equal "a quarter less" 23 "$(last .to)"
wait_until "the limit comes back" limit_is 40 db_latency=0
equal "the cause" relieved "$(last .cause)"

it "finds the limit without a signal that the kernel does not tell, and says so"
stop_nginx
start_nginx < <(conf signals=cpu_pressure:100%)
wait_until "both workers have a seat" state_is .workers 2
told() { [ "$(signal .value)" != null ]; }
if grep -q 'cpu_pressure cannot be read\|CPU.s pressure cannot be read' "$work/error.log"; then
  figure "this machine does not tell it: $(grep -o 'cannot be read.*' "$work/error.log" | head -n 1)"
  equal "one worker has looked" 1 "$(grep -c 'cannot be read' "$work/error.log")"
else
  wait_until "it is read" told
  figure "cpu_pressure $(signal .value)"
  equal "a share" true "$(signal '.value | . >= 0 and . <= 1')"
  equal "not above its set-point" 40 "$(state .limit)"
fi
