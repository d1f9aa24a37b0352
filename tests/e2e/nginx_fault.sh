#!/usr/bin/env bash
# A fault of ours never costs a request. A gate has 64 seats: a worker beyond those passes its requests
# ungated, and says so.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50 --service 1ms
free_port
conf() {
  cat <<EOC
  loadline_gate api:256k limit=4 queue=off;
  server {
    listen 127.0.0.1:$port reuseport;
    location / { loadline api; proxy_pass http://$service; add_header X-Standing \$loadline_status; }
    location = /status { loadline_stub_status; }
    location = /metrics { loadline_metrics; }
  }
EOC
}
workers=80
start_nginx < <(conf)
wait_until "all seats are taken" state_is .workers 64

it "lets requests of a worker without a seat pass"
failed_open() {
  equal "status" 200 "$(code /)"
  [ "$(state .faults)" -ge 3 ]
}
wait_until "three have passed ungated" failed_open
logged '^200 FAILED_OPEN:-:critical' || fail "access log: $(tail -n 3 "$work/access.log")"
logged '^200 ADMITTED:-:critical' || fail "access log: $(tail -n 3 "$work/access.log")"
equal "refused" 0 "$(class_state critical '[.rejected[]] | add // 0')"
faults=$(state .faults)
equal "logged as failed open" "$faults" "$(grep -c FAILED_OPEN "$work/access.log")"
get /metrics | grep -x "loadline_faults_total{gate=\"api\"} $faults" >/dev/null || fail "metric"

it "says so in the error log, not for each"
error_logged '\[error\].*loadline_gate "api": no seat for this worker (64 of 64 are taken)' || fail "no line"
error_logged '\[error\].*loadline_gate "api": a request passes ungated: this worker has no seat' || fail "no line"
at_most "lines" "$SECONDS" "$(($(grep -c 'passes ungated:' "$work/error.log") - 1))"

it "gives a worker its seat when one is free"
workers=2
write_conf < <(conf)
kill -HUP "$nginx"
wait_until "only the new workers are left" worker_count_is 2
wait_until "both have a seat" state_is .workers 2
faults=$(state .faults)
for _ in $(seq 10); do equal "status" 200 "$(code /)"; done
equal "faults" "$faults" "$(state .faults)"
