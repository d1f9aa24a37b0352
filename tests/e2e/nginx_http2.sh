#!/usr/bin/env bash
# HTTP/2: many requests on one connection, each judged and answered by itself.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=1 queue=2 wait=3s;
  server {
    listen 127.0.0.1:$port http2;
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
count_codes() { grep -c "^$1" "$work/codes" || true; }

it "serves, holds and rejects"
begin_stream "/sleep?ms=400"
wait_until "the slot is taken" state_is .in_flight 1
begin_stream "/sleep?ms=1"
begin_stream "/sleep?ms=1"
wait_until "two wait" state_is .waiting 2
head -c 500000 /dev/zero >"$work/payload"
answer=$(get / -i)
matches "answer" "^HTTP/2 503 .*cache-control: no-store .*retry-after: [1-9].*overloaded" "${answer//$'\r\n'/ }"
# nginx resets a stream whose body it does not want, after the answer. curl calls that an error and
# forgets the answer, so nginx's own word is taken.
get /unread --data-binary "@$work/payload" -o /dev/null || true
wait_until "it is answered" logged '^503 REJECTED:queue_full:critical 0.000 /unread$'
wait_until "all have ended" codes_are_in 3
equal "served" 3 "$(count_codes 200)"
equal "waited" 2 "$(grep -c WAITED "$work/access.log")"
equal "most at the upstream at once" 1 "$(service_count max_outstanding)"
wait_until "the slot is free" state_is .in_flight 0

it "forgets a stream that is reset while it waits"
begin_stream "/sleep?ms=500"
wait_until "the slot is taken" state_is .in_flight 1
before=$(service_count received)
curl -s -m 10 --http2-prior-knowledge -o /dev/null "http://127.0.0.1:$port/sleep?ms=5" &
leaver=$!
wait_until "it waits" state_is .waiting 1
kill "$leaver"
wait_until "it is forgotten" state_is .waiting 0
wait_until "all have ended" state_is .in_flight 0
equal "received by the upstream" "$before" "$(service_count received)"
