#!/usr/bin/env bash
# 5,000 wait, and for five seconds nothing goes on: none of them starts past its deadline, they are cleared
# when their time is up, and who comes then is served at once.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_counting_service
serving=$started
free_port
workers=2
connections=8192
start_nginx <<EOC
  loadline_gate api:1m limit=10 queue=5000 wait=20s;
  log_format waits '\$status \$loadline_status \$loadline_reason \$loadline_wait \$args';
  access_log $work/waits.log waits;
  server {
    listen 127.0.0.1:$port backlog=4096;
    keepalive_requests 1000000;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { access_log off; loadline_stub_status; }
  }
EOC

# none_late: the waiting got no service, the next one did, and no slot was lost.
none_late() {
  figure "$(cat "$work/stall")"
  equal "started past the deadline" 0 "$(service_count late)"
  equal "answered as too late" 5000 "$(json "$work/stall" '.waiting_503 // 0 + .waiting_504 // 0')"
  equal "the fresh one" 200 "$(json "$work/stall" .fresh_status)"
  wait_until "nothing is in flight" state_is .in_flight 0
}

it "while the service stands still"
run_client stall.py "$port" --deadline 8000 --ms 5200 --stop "$serving" >"$work/stall"
none_late
# They may wait for half of their time: 4 s. The quicker half is judged, since what else the machine does can only add.
grep ' REJECTED ' "$work/waits.log" | cut -d' ' -f4 | sort -n >"$work/waited"
figure "longest waits: half $(sed -n 2500p "$work/waited") s, 99 % $(sed -n 4950p "$work/waited") s, all $(tail -n 1 "$work/waited") s"
within "seconds until the dead were cleared" 4.010 "$(sed -n '2500s/^0*\([0-9]\)/\1/p' "$work/waited")"

within "ms until the next one was served" 50 "$(json "$work/stall" .fresh_after_ms)"

# How soon the next one is served is no figure here: 5,000 answers are written in the same moment, and read by one client.
it "while nginx's workers stand still"
# shellcheck disable=SC2046  # each pid is a word
run_client stall.py "$port" --deadline 8000 --ms 3000 --stop $(worker_pids) >"$work/stall"
none_late
