#!/usr/bin/env bash
# As what a request is judged: inheritance, maps, observing, and whose headers are believed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=5 queue=off classes=high,middle,low,least default=middle;
  loadline_gate other:256k limit=1 queue=off;
  loadline api;
  map \$arg_who \$standing { boss high; bot least; nobody unheard-of; default ""; }
  map \$arg_time \$time { default \$arg_time; }
  real_ip_header X-Real-IP;
  set_real_ip_from 127.0.0.1;
  add_header X-Judged "\$loadline_class,\$loadline_deadline_left,\$loadline_status,\$loadline_reason" always;

  server {
    listen 127.0.0.1:$port;
    location / { proxy_pass http://$service; }
    location /mapped { loadline api class=\$standing deadline=\$time; proxy_pass http://$service; }
    location /mapped/inner { proxy_pass http://$service; }
    location /braced { loadline api class=\${standing} deadline=\${time}; proxy_pass http://$service; }
    location /composed { loadline api class=\${arg_begin}\$arg_end deadline=\${arg_time}ms; proxy_pass http://$service; }
    location ~ "^/matched/([a-z]+)" { loadline api class=\$1; proxy_pass http://$service; }
    location /fixed { loadline api class=low deadline=2s; proxy_pass http://$service; }
    location /trusted { loadline api class=low deadline=2s; loadline_trusted 10.0.0.0/8 192.0.2.7; loadline_deadline_header X-Time-Left; proxy_pass http://$service; }
    location /trusted/off { loadline_trusted off; proxy_pass http://$service; }
    location /headers { loadline_class_header Criticality; loadline_deadline_header X-Time-Left; proxy_pass http://$service; }
    location /deaf { loadline_class_header off; proxy_pass http://$service; }
    location /off { loadline off; proxy_pass http://$service; }
    location /other { loadline other; proxy_pass http://$service; }
    location /observe { loadline other; loadline_observe on; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
    location = /gated-status { loadline other; loadline_stub_status; }
    location = /metrics { loadline_metrics; }
  }
EOC

# As which class, and with how many milliseconds left (rounded up to 100).
judged() {
  local fields class left
  fields=$(get "$1" -o /dev/null -D - "${@:2}" | sed -n 's/^X-Judged: //p' | tr -d '\r')
  class=${fields%%,*}
  left=$(cut -d, -f2 <<<"$fields")
  [ -z "$left" ] || left=$(((left + 99) / 100 * 100))
  echo "$class $left"
}
malformed() { state .malformed_headers; }

it "gives a request that says nothing the default class, and no deadline"
equal "judged" "middle " "$(judged /)"

it "takes the operator's word, by constant or by map"
equal "constant" "low 2000" "$(judged /fixed)"
equal "map" "high " "$(judged '/mapped?who=boss')"
equal "map to least" "least 500" "$(judged '/mapped?who=bot&time=500ms')"
equal "a bare number is seconds" "middle 3000" "$(judged '/mapped?time=3')"
equal "unknown class" "middle " "$(judged '/mapped?who=nobody')"
equal "in braces" "high 500" "$(judged '/braced?who=boss&time=500ms')"
equal "of pieces" "least 400" "$(judged '/composed?begin=le&end=ast&time=400')"
equal "of one piece that is there" "low " "$(judged '/composed?begin=low')"
equal "of an expression" "high " "$(judged /matched/high)"
equal "inherited" "high 1000" "$(judged '/mapped?who=boss&time=1s')"

it "ignores and counts a deadline that is none"
before=$(malformed)
equal "judged" "middle " "$(judged '/mapped?time=soon')"
equal "malformed" $((before + 1)) "$(malformed)"

it "lets anybody be less important, and nobody more"
equal "less" "least " "$(judged / -H 'X-Request-Criticality: least')"
equal "more" "middle " "$(judged / -H 'X-Request-Criticality: high')"
equal "in capitals" "least " "$(judged / -H 'X-Request-Criticality: LEAST')"
equal "several" "least " "$(judged / -H 'X-Request-Criticality: least' -H 'X-Request-Criticality: high')"
equal "another header" "low " "$(judged /headers -H 'Criticality: low')"
equal "another header only" "middle " "$(judged /headers -H 'X-Request-Criticality: low')"
equal "no header" "middle " "$(judged /deaf -H 'X-Request-Criticality: low')"

it "lets anybody have less time, and nobody more"
equal "less" "low 300" "$(judged /fixed -H 'grpc-timeout: 300m')"
equal "more" "low 2000" "$(judged /fixed -H 'grpc-timeout: 30S')"
equal "some where there was none" "middle 300" "$(judged / -H 'grpc-timeout: 300m')"
equal "of Envoy" "middle 700" "$(judged / -H 'x-envoy-expected-rq-timeout-ms: 700')"
equal "of a header with a name of ours" "middle 400" "$(judged /headers -H 'X-Time-Left: 400')"
equal "the shortest of several" "middle 300" \
  "$(judged /headers -H 'X-Time-Left: 400' -H 'grpc-timeout: 300m' -H 'x-envoy-expected-rq-timeout-ms: 900')"
equal "the shorter of two" "middle 1000" "$(judged / -H 'grpc-timeout: 10S' -H 'GRPC-TIMEOUT: 1S')"
equal "for ever" "middle " "$(judged / -H 'grpc-timeout: 99999999H')"

it "ignores and counts malformed values"
for value in '123456789m' '0S' '-1S' '+1S' '10' 'S' '10s' '10 S' '1.5S'; do
  before=$(malformed)
  equal "grpc-timeout: $value" "middle " "$(judged / -H "grpc-timeout: $value")"
  equal "malformed after $value" $((before + 1)) "$(malformed)"
done
for value in -1 99999999999 abc 0; do
  before=$(malformed)
  equal "class: $value" "middle " "$(judged / -H "X-Request-Criticality: $value")"
  equal "malformed after $value" $((before + 1)) "$(malformed)"
done
get /metrics | grep "^loadline_malformed_headers_total{gate=\"api\"} $(malformed)$" >/dev/null || fail "metric"

it "believes trusted peers, as realip leaves their address"
equal "class" "high 2000" "$(judged /trusted -H 'X-Real-IP: 10.1.2.3' -H 'X-Request-Criticality: high')"
equal "time" "low 9000" "$(judged /trusted -H 'X-Real-IP: 192.0.2.7' -H 'X-Time-Left: 9000')"
equal "a stranger's class" "low 2000" "$(judged /trusted -H 'X-Real-IP: 192.0.2.8' -H 'X-Request-Criticality: high')"
equal "a stranger's time" "low 2000" "$(judged /trusted -H 'X-Real-IP: 192.0.2.8' -H 'X-Time-Left: 9000')"
equal "trust taken back" "middle " "$(judged /trusted/off -H 'X-Real-IP: 10.1.2.3' -H 'X-Request-Criticality: high')"

it "answers 504 where the time has run out"
equal "gRPC" 504 "$(code / -H 'grpc-timeout: 1n')"
equal "milliseconds" 504 "$(code / -H 'x-envoy-expected-rq-timeout-ms: 0')"
equal "negative" 504 "$(code / -H 'x-envoy-expected-rq-timeout-ms: -5')"

it "inherits a gate, and stops where told to"
equal "off" "  " "$(judged /off) "
begin "/other"
begin "/off"
wait_until "both have ended" codes_are_in 2
equal "both served" 2 "$(count_codes 200)"

it "observes without refusing"
start_service --workers 50 --service 800ms
stop_nginx
sed -i "s|proxy_pass http://[0-9.:]*;|proxy_pass http://$service;|" "$work/nginx.conf"
start nginx run_nginx_in_front
nginx=$started
wait_until "nginx listens" is_listening "$port"
: >"$work/codes"
begin /other
in_flight_of_other() { [ "$(get /status | jq '.gates[1].in_flight')" = "$1" ]; }
wait_until "the slot is taken" in_flight_of_other 1
equal "status where it is in force" 503 "$(code /other)"
answer=$(get /observe -i)
matches "status line" "^HTTP/1.1 200 " "$answer"
matches "standing" "X-Judged: critical,,OBSERVED,limit" "$answer"
equal "observed" 1 "$(get /status | jq '.gates[1].classes[1].observed.limit')"

it "never gates its own pages, unless their location says so"
code /other >/dev/null &
wait_until "the slot is taken" in_flight_of_other 1
equal "own page" 200 "$(code /status)"
equal "gated page" 503 "$(code /gated-status)"
wait_until "the slot is free" in_flight_of_other 0
equal "gated page" 200 "$(code /gated-status)"
