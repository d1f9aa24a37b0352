#!/usr/bin/env bash
# The ways in which nginx can be run, besides a master in the foreground.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
conf() {
  cat <<EOC
  loadline_gate api:256k limit=1 queue=4 wait=2s;
  loadline_gate other:256k limit=1 queue=4 wait=2s;
  proxy_cache_path $work/cache keys_zone=cache:1m;
  server {
    listen 127.0.0.1:$port;
    location / { loadline api; proxy_pass http://$service; }
    location /other/ { loadline other; proxy_pass http://$service/; }
    location = /status { loadline_stub_status; }
  }
EOC
}

# One request takes each slot and three wait for it, at both gates.
serves() {
  local path
  for path in / /other/; do
    : >"$work/codes"
    for _ in 1 2 3 4; do begin "${path}sleep?ms=50"; done
    wait_until "all have ended" codes_are_in 4
    equal "served at $path" 4 "$(count_codes 200)"
  done
  equal "in flight" "0 0" "$(get /status | jq -r '.gates | map(.in_flight) | join(" ")')"
  at_least "waited" 4 "$(grep -c WAITED "$work/access.log")"
}

it "serves as a single process"
main_conf='master_process off;'
start_nginx < <(conf)
serves
equal "workers" 1 "$(state .workers)"
stop_nginx

it "serves as a daemon, beside processes that are no workers"
main_conf=
workers=2
start_daemon < <(conf)
wait_until "both workers sit, and nobody else" state_is .workers 2
serves
equal "workers" 2 "$(state .workers)"
