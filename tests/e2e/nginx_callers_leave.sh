#!/usr/bin/env bash
# 1,000 waiting and 10 running callers leave at once: none of the waiting starts, and the queue is empty within
# 50 ms.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_counting_service
free_port
workers=2
connections=4096
start_nginx <<EOC
  loadline_gate api:512k limit=10 queue=1000 wait=30s;
  server {
    listen 127.0.0.1:$port backlog=4096;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
  }
EOC

left=0
# Three times, and the quickest is judged: what else the machine does can only add to it.
leave() { # WAY...
  local quickest=1000 took
  for _ in 1 2 3; do
    curl -s -X POST -o /dev/null "http://$service/reset"
    # shellcheck disable=SC2046  # each pid is a word
    run_client leavers.py "$port" --seed "$left" "$@" --stop $(worker_pids) >"$work/left"
    left=$((left + 1))
    took=$(json "$work/left" '.nobody_waits_after_ms | floor')
    quickest=$((took < quickest ? took : quickest))
    figure "$(cat "$work/left"), received by the service $(service_count received)"
    equal "started: those who ran" 10 "$(service_count received)"
    # Some had their turn when those who ran had left, and were found to be gone before they went on.
    equal "counted" $((left * 1010)) "$(class_state critical '.cancelled + .admitted')"
    at_least "cancelled" $((left * 950)) "$(class_state critical .cancelled)"
  done
  at_most "ms until the queue was empty" 50 "$quickest"
}

it "forgets 1,010 who close their connections"
leave --fin
it "forgets 1,010 who reset their connections"
leave
equal "logged as those who left" $((left * 1010)) "$(grep -c '^499 ' "$work/access.log")"
