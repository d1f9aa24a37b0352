#!/usr/bin/env bash
# Who is asked, when, and for how long: phases, exemptions, preflights, release points, leases.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=1 queue=off exempt=2;
  map \$http_x_user \$user_class { default sheddable; vip critical_plus; }
  server {
    listen 127.0.0.1:$port;
    loadline api;
    proxy_http_version 1.1;
    location / { proxy_pass http://$service; }
    location = /auth { internal; loadline off; proxy_pass http://$service/sleep?ms=1; proxy_pass_request_body off; }
    location /early/ { auth_request /auth; proxy_pass http://$service/; }
    location /late/ {
      loadline_phase precontent;
      auth_request /auth;
      auth_request_set \$who \$http_x_user;
      loadline api class=\$user_class;
      add_header X-Class \$loadline_class always;
      proxy_pass http://$service/;
    }
    location /denied/ { loadline_phase precontent; deny all; proxy_pass http://$service/; }
    location /bypassed/ { loadline_bypass \$arg_free; proxy_pass http://$service/; }
    location /exempt/ { loadline_exempt \$arg_free \$http_x_probe; proxy_pass http://$service/; }
    location /strict/ { loadline_exempt off; proxy_pass http://$service/; }
    location /header/ { loadline_release header; proxy_pass http://$service/; }
    location /end/ { loadline_release end; postpone_output 0; proxy_pass http://$service/; }
    location /leased/ { loadline_lease 200ms; proxy_pass http://$service/; }
    location = /status { loadline off; loadline_stub_status; }
  }
EOC

it "is asked before authentication, which then costs nothing"
begin "/sleep?ms=3000"
wait_until "the limit is reached" state_is .in_flight 1
received=$(service_count received)
equal "early" 503 "$(code /early/)"
equal "nobody was asked who it is" "$received" "$(service_count received)"

it "is asked after it where told to, so that it can tell the class"
matches "late" "^HTTP/1.1 503 .*X-Class: critical_plus" "$(get /late/ -i -H 'X-User: vip' | tr '\r\n' '  ')"
equal "authentication was asked" $((received + 1)) "$(service_count received)"
matches "late, another" "X-Class: sheddable" "$(get /late/ -i)"
equal "what access rules refuse is not asked" 403 "$(code /denied/)"

it "is not asked where bypassed, and not counted"
equal "bypassed" 200 "$(code '/bypassed/?free=1')"
equal "only where said" "503 503" "$(code '/bypassed/?free=0') $(code /bypassed/)"
equal "in flight" 1 "$(state .in_flight)"

it "is exempt by any of some values, in a pool with a bound"
equal "exempt" "200 200" "$(code '/exempt/?free=1') $(code /exempt/ -H 'X-Probe: 1')"
equal "only where said" 503 "$(code /exempt/)"
begin "/exempt/sleep?free=1&ms=1500"
begin "/exempt/sleep?free=1&ms=1500"
wait_until "the pool is full" state_is .exempt.in_flight 2
equal "the next is judged as any other" 503 "$(code '/exempt/?free=1')"
equal "the limit is not touched" 1 "$(state .in_flight)"

it "lets a browser ask whether it may ask"
preflight=(-X OPTIONS -H 'Origin: https://a.example' -H 'Access-Control-Request-Method: PUT')
wait_until "the pool is free" state_is .exempt.in_flight 0
equal "preflight" 200 "$(code / "${preflight[@]}")"
equal "the request after it is judged by itself" 503 "$(code / -X PUT -H 'Origin: https://a.example')"
equal "an OPTIONS that is none" 503 "$(code / -X OPTIONS -H 'Origin: https://a.example')"
equal "where it is switched off" 503 "$(code /strict/ "${preflight[@]}")"
wait_until "the limit is free" state_is .in_flight 0

it "gives its slot back when the answer begins, or when the client has it all"
start reader curl -s -N "http://127.0.0.1:$port/header/stream?chunks=100&interval=50ms"
wait_until "the answer has begun" grep -q 'chunk 1$' "$work/reader.log"
equal "in flight" 0 "$(state .in_flight)"
stop "$started"
equal "at the end" 200 "$(code /end/)"
wait_until "it is free" state_is .in_flight 0

it "takes back what is not given back within its lease, once, and says so"
begin "/leased/sleep?ms=1000"
wait_until "it is in flight" state_is .in_flight 1
wait_until "it is taken back" state_is .in_flight 0
equal "counted" 1 "$(state .leases_expired)"
error_logged 'loadline_gate "api": a permit was not given back within its lease' || fail "nothing is said"
equal "another may run meanwhile" 200 "$(code /leased/)"
answered() { grep -q '^200 1\.' "$work/codes"; }
wait_until "the first is answered all the same" answered
equal "in flight" 0 "$(state .in_flight)"
equal "counted" 1 "$(state .leases_expired)"
