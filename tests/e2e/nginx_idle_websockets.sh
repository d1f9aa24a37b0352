#!/usr/bin/env bash
# A thousand WebSockets that say nothing, and a limit of a hundred: all of it is there for requests.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_counting_service
free_port
workers=2
connections=4096
start_nginx <<EOC
  loadline_gate api:256k limit=100 queue=off streams=1000;
  server {
    listen 127.0.0.1:$port;
    loadline api;
    proxy_http_version 1.1;
    proxy_read_timeout 100s;
    location / { proxy_set_header Connection ""; proxy_pass http://$service; }
    location /ws {
      proxy_set_header Upgrade \$http_upgrade;
      proxy_set_header Connection upgrade;
      proxy_pass http://$service;
    }
    location = /status { loadline_stub_status; }
  }
EOC

it "opens a thousand"
start_client sockets websockets.py "$port" --count 1000
sockets=$started
wait_until "all are open" grep -q '"status_101": 1000' "$work/sockets.log"
equal "streams" 1000 "$(state .streams.open)"
equal "in flight" 0 "$(state .in_flight)"

it "has all of a hundred permits free for requests meanwhile, and no more"
"$LOADLINE_COMMAND" burst "http://127.0.0.1:$port/?ms=2000" -n 130 --json >"$work/burst" &
bursting=$!
wait_until "a hundred are in flight" state_is .in_flight 100
wait "$bursting"
figure "$(json "$work/burst" '.groups | tojson')"
equal "most at the service at once" 100 "$(service_most)"
equal "admitted" 1100 "$(class_state critical .admitted)"
equal "refused" 30 "$(class_state critical .rejected.limit)"

it "refuses what is more in the pool of the streams, and the limit does not notice"
run_client websockets.py "$port" --count 10 >"$work/more"
equal "one more" 10 "$(json "$work/more" .status_503)"
equal "counted" 10 "$(state .streams.refused)"
equal "in flight" 0 "$(state .in_flight)"
is_running "$sockets" || fail "the sockets have ended"
! grep -q ended "$work/sockets.log" || fail "a socket has ended"

it "gives all places back"
stop "$sockets"
wait_until "none is open" state_is .streams.open 0
equal "in flight" 0 "$(state .in_flight)"
