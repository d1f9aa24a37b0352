#!/usr/bin/env bash
# What a request says of itself: from a stranger it may lower its standing and never raise it; and what
# goes on to the service is what was decided.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
own=$port
free_port
inner=$port
port=$own
start_nginx <<EOC
  loadline_gate api:512k limit=100 tenants=100 groups=free:2 quota=2r/m quota_burst=2;
  server {
    listen 127.0.0.1:$own;
    listen 127.0.0.1:$inner;
    loadline_deadline_header X-Time-Left-Ms;
    loadline_tenant_header X-Tenant;
    loadline api tenant=\$arg_tenant weight=\$arg_weight group=\$arg_group;
    add_header X-Judged "\$loadline_class" always;
    set_real_ip_from 127.0.0.1;
    real_ip_header X-From;
    loadline_trusted 10.0.0.0/8;
    location / { proxy_pass http://$service; }
    location /same { loadline_lower_retries off; proxy_pass http://$service; }
    location /as-it-came { loadline_rewrite_headers off; proxy_pass http://$service/echo; }
    location /limited { loadline api quota=\$arg_key; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
  }
EOC
trusted=(-H 'X-From: 10.1.2.3')
judged() { get / -i "$@" | sed -n 's/^X-Judged: \([a-z_]*\).*/\1/p'; }
# arrives HEADER OPTION...: what the service gets in it.
arrives() { get /echo "${@:2}" | jq -r "[.headers[] | select(.[0] | ascii_downcase == \"$1\") | .[1]] | join(\",\")"; }

it "takes a retry for one class less important, whoever says so"
equal "first" critical "$(judged -H 'x-envoy-attempt-count: 1')"
equal "envoy" sheddable_plus "$(judged -H 'x-envoy-attempt-count: 2')"
equal "grpc, the first" critical "$(judged -H 'grpc-previous-rpc-attempts: 0')"
equal "grpc" sheddable_plus "$(judged -H 'grpc-previous-rpc-attempts: 1')"
equal "sdk" sheddable_plus "$(judged -H 'amz-sdk-request: attempt=3; max=4')"
equal "the largest counts" sheddable_plus "$(judged -H 'x-envoy-attempt-count: 1' -H 'x-envoy-attempt-count: 3')"
equal "of a trusted peer's class" critical "$(judged "${trusted[@]}" -H 'X-Request-Criticality: critical_plus' -H 'x-envoy-attempt-count: 2')"
equal "and no further down than there is" sheddable "$(judged -H 'X-Request-Criticality: sheddable' -H 'x-envoy-attempt-count: 2')"
matches "not where switched off" "X-Judged: critical" "$(get /same -i -H 'x-envoy-attempt-count: 2')"
malformed=$(state .malformed_headers)
for value in -1 abc 0 99999999999 ""; do
  equal "attempt '$value'" critical "$(judged -H "x-envoy-attempt-count: $value")"
done
at_least "counted as malformed" $((malformed + 4)) "$(state .malformed_headers)"

it "hands on the class that it was judged as"
equal "a stranger's claim" critical "$(arrives x-request-criticality -H 'X-Request-Criticality: critical_plus')"
equal "a trusted one" critical_plus "$(arrives x-request-criticality "${trusted[@]}" -H 'X-Request-Criticality: critical_plus')"
equal "nothing where nothing was said" "" "$(arrives x-request-criticality)"

it "hands on what is left of a deadline"
left=$(arrives grpc-timeout -H 'grpc-timeout: 9S' | tr -d m)
at_most "milliseconds" 9000 "$left"
at_least "milliseconds" 5000 "$left"
at_most "in a header of our own" 2000 "$(arrives x-time-left-ms -H 'X-Time-Left-Ms: 2000')"

it "hands on no tenant that a stranger named"
equal "a stranger's" "" "$(arrives x-tenant -H 'X-Tenant: big-customer')"
equal "a trusted one" big-customer "$(arrives x-tenant "${trusted[@]}" -H 'X-Tenant: big-customer')"
matches "as it came where told so" critical_plus "$(get /as-it-came -H 'X-Request-Criticality: critical_plus')"

it "takes a weight, a group and a tenant from variables, and counts what is none"
malformed=$(state .malformed_headers)
equal "sound ones" 200 "$(code '/?weight=10&tenant=a&group=free')"
equal "malformed" "$malformed" "$(state .malformed_headers)"
equal "no weight" 200 "$(code '/?weight=-3&tenant=a&group=unknown')"
equal "malformed" $((malformed + 1)) "$(state .malformed_headers)"
begin "/sleep?ms=1500&weight=10"
wait_until "ten units are in flight" state_is .in_flight 10
wait_until "and come back" state_is .in_flight 0

it "answers 429 to a key above its quota, with the RateLimit fields"
equal "within" "200 200" "$(code '/limited?key=a') $(code '/limited?key=a')"
answer=$(get '/limited?key=a' -i)
matches "status" "^HTTP/1.1 429 " "$answer"
matches "policy" $'\r\nRateLimit-Policy: "api";q=2;w=60\r\n' "$answer"
matches "state" $'\r\nRateLimit: "api";r=0;t=[0-9]+\r\n' "$answer"
matches "when to come back" $'\r\nRetry-After: [0-9]+\r\n' "$answer"
equal "another key" 200 "$(code '/limited?key=b')"
equal "no key, no quota" "200 200 200" "$(code /limited) $(code /limited) $(code /limited)"
equal "counted as what it is" 1 "$(class_state critical .rejected.quota)"
