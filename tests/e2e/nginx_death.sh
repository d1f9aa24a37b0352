#!/usr/bin/env bash
# Workers that die: what they held comes back, and who waits elsewhere goes on.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 200
free_port
workers=2
start_nginx <<EOC
  loadline_gate api:256k limit=4 queue=20 wait=8s;
  server {
    listen 127.0.0.1:$port reuseport;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
  }
EOC
wait_until "both workers have a seat" state_is .workers 2

# Sockets to the upstream, by worker: who holds permits.
holds_permits() { find "/proc/$1/fd" -lname 'socket:*' 2>/dev/null | wc -l; }
busiest() {
  local pid best=0 most=-1
  for pid in $(worker_pids); do
    if [ "$(holds_permits "$pid")" -gt "$most" ]; then
      most=$(holds_permits "$pid")
      best=$pid
    fi
  done
  echo "$best"
}

it "takes back what a killed worker held"
for _ in 1 2 3 4; do begin "/sleep?ms=20000"; done
wait_until "all slots are taken" state_is .in_flight 4
for pid in $(worker_pids); do kill -KILL "$pid"; done
wait_until "new workers sit" state_is .workers 2
wait_until "all slots are free" state_is .in_flight 0
at_least "reclaimed" 1 "$(state .reclaimed)"
equal "status" 200 "$(code "/sleep?ms=1")"

it "wakes who waits in another worker"
: >"$work/codes"
for _ in $(seq 4); do begin "/sleep?ms=20000"; done
wait_until "all slots are taken" state_is .in_flight 4
for _ in $(seq 8); do begin "/sleep?ms=1"; done
wait_until "eight wait" state_is .waiting 8
kill -KILL "$(busiest)"
survivors() { [ "$(state .waiting)" = 0 ]; }
wait_until "nobody waits" survivors
wait_until "two workers sit" state_is .workers 2
equal "status" 200 "$(code "/sleep?ms=1")"

it "takes back what a terminated worker held"
before=$(worker_pids)
for pid in $before; do kill -TERM "$pid"; done
wait_until "others are there" has_new_worker "$before"
wait_until "all slots are free" state_is .in_flight 0
wait_until "two workers sit" state_is .workers 2
for _ in $(seq 20); do equal "status" 200 "$(code "/sleep?ms=1")"; done
equal "in flight" 0 "$(state .in_flight)"
equal "repaired indices" 0 "$(state .repairs)"
