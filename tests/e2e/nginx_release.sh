#!/usr/bin/env bash
# When a slot is free again: with the upstream's work, not with the client's patience.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
mkdir -p "$work/files"
head -c 8000000 /dev/zero >"$work/files/large"
start_nginx <<EOC
  loadline_gate api:256k limit=3 queue=off;
  server {
    listen 127.0.0.1:$port;
    listen unix:$work/files.sock;
    location / { loadline api; proxy_pass http://$service; }
    location /large { loadline api; proxy_pass http://unix:$work/files.sock:/files/large; }
    location /files { root $work; }
    location /broken { loadline api; proxy_pass http://127.0.0.1:1; }
    location /ws {
      loadline api;
      proxy_http_version 1.1;
      proxy_set_header Upgrade \$http_upgrade;
      proxy_set_header Connection upgrade;
      proxy_pass http://$service;
    }
    location = /status { loadline_stub_status; }
  }
EOC
completions() { get /status | jq '.gates[0].service_mean_ms'; }

it "frees it when the upstream is done, though the client has read next to nothing"
curl -s -o "$work/slowly" --limit-rate 2k "http://127.0.0.1:$port/large" &
reader=$!
started_pids+=("$reader")
wait_until "the answer is on its way" test -s "$work/slowly"
wait_until "the slot is free" state_is .in_flight 0
is_running "$reader" || fail "the client has ended"
equal "admitted" 1 "$(class_state critical .admitted)"
stop "$reader"

it "frees it when a connection is upgraded, though that stays"
curl -s -N -o /dev/null -m 20 "http://127.0.0.1:$port/ws" -H 'Connection: Upgrade' -H 'Upgrade: websocket' \
  -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==' &
reader=$!
started_pids+=("$reader")
is_admitted() { [ "$(class_state critical .admitted)" = "$1" ]; }
wait_until "it is admitted" is_admitted 2
wait_until "the slot is free" state_is .in_flight 0
is_running "$reader" || fail "the client has ended"
stop "$reader"
wait_until "it is logged" logged '^101 ADMITTED'

it "frees it after answers without a body, and after failures"
for _ in 1 2 3 4 5; do
  equal "HEAD" 200 "$(code "/sleep?ms=1" --head)"
  equal "broken" 502 "$(code /broken)"
done
wait_until "the slots are free" state_is .in_flight 0

it "frees it when a client leaves half-way through a stream"
curl -s -N -o "$work/stream" "http://127.0.0.1:$port/stream?chunks=1000&interval=20ms" &
reader=$!
wait_until "the slot is taken" state_is .in_flight 1
kill "$reader"
wait_until "the slot is free" state_is .in_flight 0

it "takes nobody's time for a service time that is none"
# 1 large file, 5 HEAD: neither the failures nor the upgrade nor the stream.
count=$(get /status | jq '[.gates[0].classes[].admitted] | add')
equal "admitted" 13 "$count"
equal "released twice or never" 0 "$(state .in_flight)"
