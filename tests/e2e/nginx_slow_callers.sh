#!/usr/bin/env bash
# Two thousand callers that send a byte a second, five hundred that do not read: neither holds a permit.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_counting_service
free_port
workers=2
connections=8192
start_nginx <<EOC
  loadline_gate api:256k limit=20 queue=off;
  loadline_gate patient:256k limit=20 queue=600 wait=10s;
  server {
    listen 127.0.0.1:$port backlog=4096 sndbuf=8k;
    loadline api;
    location / { proxy_pass http://$service; }
    location /patient { loadline patient; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
  }
EOC
admitted() { class_state critical .admitted; }
connected() { ss -Htn state established "sport = :$port" | wc -l; }

it "holds no permit for 2,000 bodies that come at a byte a second"
start_client senders senders.py "$port" --count 2000 --length 100000
senders=$started
wait_until "all send" grep -q '"begun": 2000' "$work/senders.log"
all_sent() { [ "$(connected)" -ge "$1" ]; }
wait_until "all are connected" all_sent 2000
wait_until "they have sent two bytes each" grep -q '"sent": [4-9][0-9][0-9][0-9]' "$work/senders.log"
equal "in flight" 0 "$(state .in_flight)"
equal "admitted" 0 "$(admitted)"

it "serves as many others as it may meanwhile"
"$LOADLINE_COMMAND" burst "http://127.0.0.1:$port/?ms=1500" -n 25 --json >"$work/burst" &
bursting=$!
wait_until "the limit is reached" state_is .in_flight 20
equal "a body, judged by its header at once" 503 "$(code / -H 'Content-Length: 100000' -H 'Expect:' --data-binary x)"
wait "$bursting"
equal "served" 20 "$(json "$work/burst" '.groups[] | select(.status == 200) | .count')"
equal "refused, with the one" 6 "$(class_state critical .rejected.limit)"
equal "most at the service at once" 20 "$(service_most)"
! grep -q '"status_' "$work/senders.log" || fail "a sender was answered: $(tail -n 1 "$work/senders.log")"
figure "$(connected) connected, in flight $(state .in_flight)"
stop "$senders"

it "reads a body to its end, and then takes a permit"
run_client senders.py "$port" --count 10 --length 5 --interval 0.1 >"$work/short"
equal "served" 10 "$(tail -n 1 "$work/short" | jq .status_200)"
equal "admitted" 30 "$(admitted)"

it "holds no permit for 500 that do not read their answer"
patient() { get /status | jq -r ".gates[1]$1"; }
patient_is() { [ "$(patient "$1")" = "$2" ]; }
start_client readers readers.py "$port" --count 500 --path "/patient?bytes=300000&ms=20"
readers=$started
wait_until "all have been served" patient_is '.classes[1].admitted' 500
wait_until "nothing is in flight" patient_is .in_flight 0
equal "still connected" 500 "$(connected)"
equal "most at the service at once" 20 "$(service_most)"
figure "$(connected) connected, in flight $(patient .in_flight), served $(patient '.classes[1].admitted')"
equal "others, served meanwhile" 20 \
  "$("$LOADLINE_COMMAND" burst "http://127.0.0.1:$port/patient?ms=500" -n 20 --json | jq '.groups[] | select(.status == 200) | .count')"
is_running "$readers" || fail "the readers have ended"
