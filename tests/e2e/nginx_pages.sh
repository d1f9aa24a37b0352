#!/usr/bin/env bash
# Our own pages: state as JSON and for Prometheus, changes while it runs, and the line in the log.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=2 queue=3 wait=2s;
  loadline_gate batch:512k limit=10 queue=off classes=first:100%,second:50%;
  loadline_gate ruled:512k limit=10 order=fifo guarantee=sheddable_plus:5%,sheddable:10% heavy=25% exempt=0 retry_after=2-9
    tenants=50 groups=free:5,paid:50 quota=90r/m quota_burst=3 quota_keys=500;
  loadline_log_level warn interval=1s;
  server {
    listen 127.0.0.1:$port;
    loadline api;
    location / { proxy_pass http://$service; }
    location /batch { loadline batch; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
    location = /metrics { loadline_metrics; }
    location = /control { loadline_control; }
  }
EOC
control() { get "/control?$1" -X POST "${@:2}"; }
control_code() { code "/control?$1" -X POST; }

it "shows the state of all gates as JSON"
get /status >"$work/status.json"
jq -e . "$work/status.json" >/dev/null || fail "no JSON: $(cat "$work/status.json")"
equal "gates" "api batch ruled" "$(jq -r '.gates | map(.name) | join(" ")' "$work/status.json")"
matches "version" '^[0-9]+\.[0-9]+\.[0-9]+$' "$(jq -r .version "$work/status.json")"
equal "settings" '["on",false,2,0,0,3,"fixed",2000,0,1,0,0,0]' \
  "$(jq -c '.gates[0] | [.mode,.draining,.limit,.in_flight,.waiting,.queue_limit,.queue,.wait_budget_ms,.service_mean_ms,.workers,.reclaimed,.repairs,.faults]' "$work/status.json")"
equal "classes" '[["critical_plus",2],["critical",2],["sheddable_plus",2],["sheddable",2]]' \
  "$(jq -c '.gates[0].classes | map([.name,.threshold])' "$work/status.json")"
equal "thresholds by share" '[10,5]' "$(jq -c '.gates[1].classes | map(.threshold)' "$work/status.json")"
answer=$(get /status --head)
matches "HEAD" "^HTTP/1.1 200 OK.*Content-Type: application/json" "${answer//$'\r\n'/ }"
matches "not to be stored" "Cache-Control: no-store" "$answer"
equal "POST" 405 "$(code /status -X POST)"

equal "rules of the first" '{"order":"adaptive","heavy":{"limit":1,"in_flight":0},"exempt":{"limit_per_worker":16,"in_flight":0},"tenants":0,"groups":{},"quota":null,"retry_after":[1,32]}' \
  "$(jq -c '.gates[0] | {order,heavy,exempt,tenants,groups,quota,retry_after}' "$work/status.json")"
equal "rules of the second" '{"order":"fifo","heavy":{"limit":2,"in_flight":0},"exempt":{"limit_per_worker":0,"in_flight":0},"tenants":50,"groups":{"free":5,"paid":50},"quota":{"requests":90,"per_s":60,"burst":3,"keys":500},"retry_after":[2,9]}' \
  "$(jq -c '.gates[2] | {order,heavy,exempt,tenants,groups,quota,retry_after}' "$work/status.json")"
equal "guarantees" '[0,0,5,10]' "$(jq -c '.gates[2].classes | map(.guarantee_percent)' "$work/status.json")"
equal "what went wrong" '[0,0,0,0]' \
  "$(jq -c '.gates[0] | [.reclaimed_units,.taken_back,.released_twice,.corruptions]' "$work/status.json")"

it "shows it to Prometheus in its format"
for _ in $(seq 5); do begin "/sleep?ms=300"; done
wait_until "three wait" state_is .waiting 3
equal "the sixth" 503 "$(code /)"
wait_until "all have ended" codes_are_in 5
get /metrics >"$work/metrics"
has_metric() { grep -qxF "$1" "$work/metrics" || fail "no '$1' in $(grep "^${1%%\{*}" "$work/metrics")"; }
has_metric 'loadline_limit{gate="api"} 2'
has_metric 'loadline_limit{gate="batch"} 10'
has_metric 'loadline_in_flight{gate="api"} 0'
has_metric 'loadline_queue_limit{gate="api"} 3'
has_metric 'loadline_waiting{gate="api",class="critical"} 0'
has_metric 'loadline_admitted_total{gate="api",class="critical"} 5'
has_metric 'loadline_rejected_total{gate="api",class="critical",reason="queue_full"} 1'
has_metric 'loadline_cancelled_total{gate="api",class="critical"} 0'
has_metric 'loadline_observed_total{gate="api",class="critical",reason="limit"} 0'
has_metric 'loadline_queue_wait_seconds_count{gate="api",class="critical"} 3'
has_metric 'loadline_queue_wait_seconds_bucket{gate="api",class="critical",le="+Inf"} 3'
has_metric 'loadline_queue_wait_seconds_bucket{gate="api",class="critical",le="0.000125"} 0'
has_metric 'loadline_service_seconds_count{gate="api"} 5'
has_metric 'loadline_service_seconds_bucket{gate="api",le="0.256"} 0'
has_metric 'loadline_service_seconds_bucket{gate="api",le="0.512"} 5'
has_metric 'loadline_newest_first{gate="api",class="critical"} 0'
has_metric 'loadline_heavy_limit{gate="ruled"} 2'
has_metric 'loadline_heavy_in_flight{gate="api"} 0'
has_metric 'loadline_exempt_in_flight{gate="api"} 0'
has_metric 'loadline_rejected_total{gate="api",class="critical",reason="tenant_share"} 0'
has_metric 'loadline_rejected_total{gate="api",class="critical",reason="quota"} 0'
has_metric 'loadline_reclaimed_total{gate="api"} 0'
has_metric 'loadline_reclaimed_units_total{gate="api"} 0'
has_metric 'loadline_taken_back_total{gate="api"} 0'
has_metric 'loadline_released_twice_total{gate="api"} 0'
has_metric 'loadline_repairs_total{gate="api"} 0'
has_metric 'loadline_corruptions_total{gate="api"} 0'
has_metric 'loadline_faults_total{gate="api"} 0'
has_metric 'loadline_malformed_headers_total{gate="api"} 0'
has_metric 'loadline_workers{gate="api"} 1'
has_metric 'loadline_mode{gate="api",mode="on"} 1'
has_metric 'loadline_mode{gate="api",mode="observe"} 0'
has_metric 'loadline_draining{gate="api"} 0'
sum=$(sed -n 's/^loadline_service_seconds_sum{gate="api"} //p' "$work/metrics")
matches "sum of five times 0.3 s" '^1\.[5-7]' "$sum"
# Every line a comment or a sample; every metric in one piece, with one TYPE before it.
sample='^[a-z_]+\{([a-z]+="[^"\\]*",?)+\} [0-9]+(\.[0-9]+)?$'
equal "malformed lines" "" "$(grep -Ev "$sample|^# (HELP|TYPE) " "$work/metrics" || true)"
names=$(sed -n '/^#/d; s/{.*//; s/_\(bucket\|sum\|count\)$//; p' "$work/metrics" | uniq)
equal "metrics in more than one piece" "" "$(sort <<<"$names" | uniq -d)"
equal "metrics with a type" "$(sort <<<"$names")" "$(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$work/metrics" | sort)"

it "writes one line an interval about what was rejected"
wait_until "it is there" error_logged \
  '\[warn\].*loadline_gate "api": rejected 1 of [1-6] in 1s (queue_full 1; by class: critical 1); limit 2'
equal "lines" 1 "$(grep -c 'loadline_gate "api": rejected' "$work/error.log")"

it "changes the limit while it runs"
for _ in 1 2 3 4; do begin "/sleep?ms=700"; done
wait_until "two wait" state_is .waiting 2
equal "answer" 4 "$(control 'gate=api&limit=4' | jq '.gates[0].limit')"
wait_until "who waited has started" state_is .in_flight 4
wait_until "all have ended" state_is .in_flight 0
equal "the other's" 6 "$(control 'gate=batch&limit=6' | jq '.gates[1].limit')"
equal "its lesser class's share of it" 3 "$(get /status | jq '.gates[1].classes[1].threshold')"

it "takes no more while it drains, and lets who is there end"
begin "/sleep?ms=300"
wait_until "one is in flight" state_is .in_flight 1
equal "answer" true "$(control 'gate=api&draining=on' | jq '.gates[0].draining')"
equal "status" 503 "$(code /)"
equal "reason" 1 "$(class_state critical .rejected.draining)"
equal "answer" false "$(control 'gate=api&draining=off' | jq '.gates[0].draining')"
equal "status" 200 "$(code "/sleep?ms=1")"

it "changes the mode"
equal "answer" '"observe"' "$(control 'gate=api&mode=observe&limit=1' | jq '.gates[0].mode')"
for _ in 1 2 3 4 5 6 7; do begin "/sleep?ms=1500"; done
wait_until "all are at the upstream" service_count_is in_service 7
observed=$(state '| [.classes[].observed[]] | add')
at_least "would have been rejected" 1 "$observed"
wait_until "all have ended" state_is .in_flight 0
wait_until "the log says so" error_logged 'loadline_gate "api": would have rejected'
equal "answer" '"off"' "$(control 'gate=api&mode=off' | jq '.gates[0].mode')"
for _ in 1 2 3; do begin "/sleep?ms=2000"; done
wait_until "what is in flight is counted" state_is .in_flight 3
equal "answer" '"on"' "$(control 'gate=api&mode=on' | jq '.gates[0].mode')"
equal "status" "503 3" "$(code / -H 'grpc-timeout: 100m') $(state .in_flight)"

it "is changed by POST alone"
answer=$(get /control -i)
matches "status line" "^HTTP/1.1 405 " "$answer"
matches "Allow" $'\r\nAllow: POST\r\n' "$answer"

it "refuses what is wrong, and changes nothing then"
refused() { # ARGUMENTS PATTERN
  equal "status of $1" 400 "$(control_code "$1")"
  matches "text for $1" "$2" "$(control "$1")"
}
refused 'gate=api&limit=0' 'invalid limit "0": must be a whole number from 1 to 1000000'
refused 'gate=api&limit=1000001' 'invalid limit'
refused 'gate=api&limit=-1' 'invalid limit'
refused 'gate=api&limit=' 'invalid limit'
refused 'gate=api&limit=99999999999999999999' 'invalid limit'
refused 'gate=api&mode=maybe' 'invalid mode "maybe": must be on, observe or off'
refused 'gate=api&draining=1' 'invalid draining "1": must be on or off'
refused 'gate=none&limit=3' 'no gate is named "none"'
refused 'limit=3' 'which gate\? There are 3'
refused 'gate=api' 'nothing to change'
refused '' 'nothing to change'
refused 'gate=api&limt=3' 'unknown argument "limt"'
refused 'gate=api&limit=9&mode=maybe' 'invalid mode'
equal "limit" 1 "$(state .limit)"
equal "body is not minded" 1 "$(control 'gate=api&limit=1' -d 'some=body' | jq '.gates[0].limit')"
