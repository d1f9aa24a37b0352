#!/usr/bin/env bash
# kill -9 of a worker that holds 25 of 100: all of them are back within a second, those who wait elsewhere are
# woken, and the service never sees more than the limit.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

deaths=4
! long_form || deaths=100

start_counting_service
free_port
workers=2
connections=4096
start_nginx <<EOC
  loadline_gate api:256k limit=100 queue=100 wait=20s;
  server {
    listen 127.0.0.1:$port;
    keepalive_timeout 100s;
    location / { loadline api; proxy_pass http://$service; }
    location /ballast { client_max_body_size 0; client_body_buffer_size 250m; proxy_pass http://$service; }
    location = /who { return 200 \$pid; }
    location = /status { loadline_stub_status; }
  }
EOC

# A worker that has much memory takes long to die, which is when it is decided whether its slots are given away
# before its connections are closed.
for death in $(seq "$deaths"); do
  ballast=$((death % 2 * 200))
  it "gives back the 25 of a killed worker of $ballast MiB, and wakes who waits in another ($death)"
  wait_until "both workers sit" state_is .workers 2
  curl -s -X POST -o /dev/null "http://$service/reset"
  before=$(state .reclaimed_units)
  run_client death.py "$port" "${service#*:}" --ms 2000 --ballast "$ballast" >"$work/death"
  figure "$(cat "$work/death")"
  within "ms until all 25 were back and used" 1000 "$(json "$work/death" .back_after_ms)"
  equal "in flight then" 100 "$(json "$work/death" .in_flight_then)"
  equal "units taken back" 25 $(($(json "$work/death" .reclaimed_units) - before))
  equal "served of those that waited" 25 "$(json "$work/death" .waiting_served)"
  at_least "looked at the connections" 10 "$(json "$work/death" .samples)"
  within "connections to the service at once" 100 "$(json "$work/death" .connections_most)"
  equal "most callers at the service at once" 100 "$(service_most)"
  wait_until "nothing is in flight" state_is .in_flight 0
done
equal "repairs" 0 "$(state .repairs)"
equal "corruptions" 0 "$(state .corruptions)"
