#!/usr/bin/env bash
# Connections that stay open have a pool of their own, and are known by what they turn out to be.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 200
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=2 queue=off streams=6;
  server {
    listen 127.0.0.1:$port;
    loadline api;
    proxy_http_version 1.1;
    location / { proxy_pass http://$service; }
    location /poll/ { loadline_stream_after 100ms; proxy_pass http://$service/; }
    location /ws {
      proxy_set_header Upgrade \$http_upgrade;
      proxy_set_header Connection upgrade;
      proxy_pass http://$service;
    }
    location = /status { loadline_stub_status; }
  }
EOC

upgrade() {
  start upgrade curl -s -N -o /dev/null -w '%{http_code}\n' -m 20 "http://127.0.0.1:$port/ws" -H 'Connection: Upgrade' \
    -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
}

it "moves WebSockets out of the limit"
for i in 1 2 3; do
  upgrade
  sockets[i]=$started
  wait_until "it is a stream" state_is .streams.open "$i"
done
equal "in flight" 0 "$(state .in_flight)"

it "moves event streams, and sends each event at once"
start events curl -s -N -m 20 "http://127.0.0.1:$port/stream?events=on&chunks=1000&interval=20ms"
events=$started
wait_until "it is a stream" state_is .streams.open 4
wait_until "the second event is there" grep -q '^data: 2$' "$work/events.log"
equal "in flight" 0 "$(state .in_flight)"

it "moves long polls once they have taken so long"
begin "/poll/sleep?ms=5000"
wait_until "it is in flight" state_is .in_flight 1
wait_until "it is a stream" state_is .streams.open 5
equal "in flight" 0 "$(state .in_flight)"
equal "a quick one is none" 200 "$(code /poll/sleep?ms=1)"
equal "streams" 5 "$(state .streams.open)"

it "takes none of their times for a service time"
service_mean() { state .service_mean_ms; }
[ "$(service_mean | cut -d. -f1)" -lt 5 ] || fail "a service takes $(service_mean) ms"

it "has room for so many, and says so to the next"
upgrade
sixth=$started
wait_until "it is a stream" state_is .streams.open 6
answer=$(get /ws -i -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
  -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==')
matches "the answer" "^HTTP/1.1 503 " "$answer"
[[ ! $answer =~ [Ss]ec-[Ww]eb[Ss]ocket ]] || fail "it says what the service said: $answer"
equal "in flight" 0 "$(state .in_flight)"
equal "counted" 1 "$(state .streams.refused)"
equal "streams" 6 "$(state .streams.open)"
equal "requests still have the limit" "200 200" "$(code /) $(code /)"

it "keeps what may be a slow request in the limit where there is no room"
begin "/poll/sleep?ms=600"
wait_until "it is in flight" state_is .in_flight 1
wait_until "it was looked at" state_is .streams.refused 2
equal "in flight" 1 "$(state .in_flight)"
wait_until "it has ended" state_is .in_flight 0

it "gives the places back"
for pid in "${sockets[@]}" "$events" "$sixth"; do stop "$pid"; done
wait_until "one long poll is left" state_is .streams.open 1

it "forgets those of a worker that died"
kill -9 "$(worker_pids)"
wait_until "another has come" state_is .streams.open 0
equal "and serves" 200 "$(code /)"

it "forgets those of a worker that died after a reload, whose seat nobody takes"
upgrade
wait_until "it is a stream" state_is .streams.open 1
old=$(worker_pids)
kill -HUP "$nginx"
wait_until "the new worker is there" has_new_worker "$old"
equal "it goes on" 1 "$(state .streams.open)"
kill -9 "$old"
wait_until "its place is free" state_is .streams.open 0
