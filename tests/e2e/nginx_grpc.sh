#!/usr/bin/env bash
# gRPC through grpc_pass: a real client reads why it was turned away.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# Debian's own Python: the library is a package of it.
grpc_pair() { /usr/bin/python3 "$root/tests/e2e/clients/grpc_pair.py" "$@"; }
start upstream /usr/bin/python3 "$root/tests/e2e/clients/grpc_pair.py" serve
wait_until "the service listens" test -s "$work/upstream.log"
upstream=$(cat "$work/upstream.log")

free_port
grpc_port=$port
free_port
start_nginx <<EOC
  loadline_gate api:512k limit=1 queue=off quota=1r/h;
  server {
    listen 127.0.0.1:$grpc_port http2;
    loadline api quota=\$http_x_key;
    location / { grpc_pass grpc://127.0.0.1:$upstream; }
  }
  server {
    listen 127.0.0.1:$port;
    location /grpc { loadline api; proxy_pass http://127.0.0.1:$upstream; }
    location = /status { loadline_stub_status; }
  }
EOC
call() { grpc_pair call "$grpc_port" "$@"; }

it "lets a call through"
equal "the answer" "OK hello" "$(call Say hello | sed 's/ *$//')"

it "tells a key above its quota RESOURCE_EXHAUSTED"
equal "the first" "OK a" "$(call Say a x-key=one | sed 's/ *$//')"
matches "the next" "^RESOURCE_EXHAUSTED [0-9]+ quota$" "$(call Say a x-key=one)"

it "tells UNAVAILABLE and when to come back where the limit is reached"
start holder /usr/bin/python3 "$root/tests/e2e/clients/grpc_pair.py" call "$grpc_port" Sleep 2000
wait_until "it is in flight" state_is .in_flight 1
said=$(call Say hello)
matches "status, pushback, reason" "^UNAVAILABLE [0-9]+ limit$" "$said"
pushback=$(cut -d' ' -f2 <<<"$said")
equal "whole seconds" 0 $((pushback % 1000))
at_least "milliseconds" 1000 "$pushback"
at_most "milliseconds" 32000 "$pushback"
wait_until "the first is served" grep -q '^OK 2000' "$work/holder.log"

it "tells DEADLINE_EXCEEDED, and no time, where the deadline has passed"
# Through curl: the library itself would give up before it sent such a call.
answer=$(curl -s -i --http2-prior-knowledge -X POST -H 'content-type: application/grpc' -H 'te: trailers' \
  -H 'grpc-timeout: 1n' "http://127.0.0.1:$grpc_port/test.Echo/Say")
matches "HTTP's status" "^HTTP/2 200" "$answer"
matches "status" $'\r\ngrpc-status: 4\r\n' "$answer"
matches "type" $'\r\ncontent-type: application/grpc\r\n' "$answer"
matches "the mark of a refusal" $'\r\nx-loadline-refused: deadline_expired\r\n' "$answer"
[[ $answer != *grpc-retry-pushback-ms* ]] || fail "a time to come back: $answer"

it "ends its answer where somebody claims to be a gRPC client over HTTP/1"
start holder /usr/bin/python3 "$root/tests/e2e/clients/grpc_pair.py" call "$grpc_port" Sleep 2000
wait_until "it is in flight" state_is .in_flight 1
answer=$(curl -s -i -m 5 -X POST -H 'Content-Type: application/grpc' -d '' "http://127.0.0.1:$port/grpc")
matches "its length" $'\r\nContent-Length: 0\r\n' "$answer"
matches "its status" $'\r\ngrpc-status: 14\r\n' "$answer"
refused=$(class_state critical .rejected.limit)
for http in --http1.1 --http2-prior-knowledge; do
  [ "$http" = --http1.1 ] && to=$port/grpc || to=$grpc_port/grpc
  answer=$(curl -s -i -m 5 "$http" -X POST -H 'content-type: application/grpc' -H 'If-Match: "x"' -d '' "http://127.0.0.1:$to")
  matches "not what its conditions ask for, $http" "grpc-status: 14" "$answer"
done
equal "each counted once" $((refused + 2)) "$(class_state critical .rejected.limit)"
logged '^200 REJECTED:limit' || fail "it is not logged as what it was"
wait_until "the first is served" grep -q '^OK 2000' "$work/holder.log"

it "counts each as what it was"
equal "quota" 1 "$(class_state critical .rejected.quota)"
equal "limit" 4 "$(class_state critical .rejected.limit)"
equal "deadline" 1 "$(class_state critical .rejected.deadline_expired)"
equal "in flight" 0 "$(state .in_flight)"
