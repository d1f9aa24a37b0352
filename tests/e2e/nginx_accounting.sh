#!/usr/bin/env bash
# Offered = admitted + rejected by one reason + cancelled + waiting, to the last request, by four counts that
# know nothing of each other: the caller's, nginx's log, the gate's, the service's.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_counting_service
free_port
workers=2
connections=4096
start_nginx <<EOC
  loadline_gate api:1m limit=10 queue=20 wait=100ms quota=3000r/m quota_burst=30;
  log_format accounting '\$status \$loadline_status \$loadline_reason';
  access_log $work/accounting.log accounting;
  server {
    listen 127.0.0.1:$port backlog=4096;
    loadline api;
    client_body_buffer_size 64k;
    location / { proxy_pass http://$service; }
    location /quota { loadline api quota=everybody; proxy_pass http://$service; }
    location = /status { access_log off; loadline_stub_status; }
  }
EOC

# load NAME OPTION...: in the background; its report goes to $work/NAME.
load() {
  start "$1" "$LOADLINE_COMMAND" load "${@:2}" --allow-starved --json-file "$work/$1"
  loads+=("$started")
}
loads_end() {
  local pid
  for pid in "${loads[@]}"; do wait "$pid" || fail "the load could not be made"; done
  loads=()
  wait_until "nothing is left" state_is '| .in_flight + .waiting' 0
}
loads=()
counted() { state "| [.classes[] | $1 // 0] | add"; }
log_lines() { grep -c "$1" "$work/accounting.log" || true; }

# adds_up: the gate's count against nginx's log, reason by reason, at rest.
adds_up() {
  local offered reason
  offered=$(($(counted .admitted) + $(counted '(.rejected | add)') + $(counted .cancelled) + $(state .waiting)))
  figure "offered $offered = admitted $(counted .admitted) + rejected $(state '| [.classes[].rejected | to_entries[]] | group_by(.key) | map({(.[0].key): (map(.value) | add)}) | add | tojson') + cancelled $(counted .cancelled) + waiting $(state .waiting)"
  equal "logged as judged" "$offered" "$(log_lines '^[0-9]* [A-Z_]* ')"
  equal "logged as admitted" "$(counted .admitted)" "$(log_lines ' \(ADMITTED\|WAITED\) ')"
  equal "logged as cancelled" "$(counted .cancelled)" "$(log_lines ' CANCELLED ')"
  for reason in $(state '| [.classes[].rejected | keys[]] | unique[]'); do
    equal "logged as $reason" "$(counted ".rejected.$reason")" "$(log_lines " REJECTED $reason\$")"
  done
}

it "counts what callers count, of three classes, by every reason, with bodies: a rejected POST reaches nobody"
url=http://127.0.0.1:$port/
load mixed "$url?ms=50" --rate 250 --duration 5s --seed 1 --timeout 10s --class critical=1,sheddable_plus=1,sheddable=2
load posts "$url?ms=50" --rate 150 --duration 5s --seed 2 --timeout 10s --method POST --body 20000
load limited "${url}quota?ms=10" --rate 100 --duration 5s --seed 3 --timeout 10s
load hurried "$url?ms=30" --rate 50 --duration 5s --seed 4 --timeout 10s --deadline 60ms --deadline-header X-Envoy-Expected-Rq-Timeout-Ms
wait_until "the limit is reached" state_is .in_flight 10
loads_end
adds_up
sent=0 answered_posts=0
for name in mixed posts limited hurried; do
  equal "errors of $name" 0 "$(json "$work/$name" '.errors_total + .timeouts')"
  sent=$((sent + $(json "$work/$name" .sent)))
done
equal "sent by the callers, and logged" "$sent" "$(wc -l <"$work/accounting.log")"
answered_posts=$(json "$work/posts" '.answered."200"')
figure "POSTs: sent $(json "$work/posts" .sent), admitted $answered_posts, received by the service $(service_count posts)"
at_least "rejected POSTs" 100 "$(json "$work/posts" .rejected_total)"
equal "POSTs at the service" "$answered_posts" "$(service_count posts)"
equal "bytes of bodies at the service" $((answered_posts * 20000)) "$(service_count body_bytes)"
equal "admitted, and received by the service" "$(counted .admitted)" "$(service_count received)"
at_least "reasons met" 4 "$(state '| [.classes[].rejected | keys[]] | unique | length')"
equal "most at the service at once" 10 "$(service_most)"

it "counts callers who leave while they wait, and no POST of theirs reaches the service"
received=$(service_count posts)
admitted=$(log_lines ' \(ADMITTED\|WAITED\) ')
logged_before=$(wc -l <"$work/accounting.log")
for _ in $(seq 10); do begin "/?ms=3000"; done
wait_until "the limit is reached" state_is .in_flight 10
load impatient "$url" --rate 200 --duration 2s --seed 5 --timeout 60ms --method POST --body 100
loads_end
adds_up
at_least "left while they waited" 20 "$(counted .cancelled)"
at_most "logged, of what was sent" "$(($(json "$work/impatient" .sent) + 10))" "$(($(wc -l <"$work/accounting.log") - logged_before))"
equal "POSTs at the service" $((received + $(log_lines ' \(ADMITTED\|WAITED\) ') - admitted - 10)) "$(service_count posts)"

it "counts what a dead worker had waiting as cancelled, and loses of its running ones no more than it held"
load dying "$url?ms=400" --rate 200 --duration 4s --seed 6 --timeout 10s
wait_until "the limit is reached" state_is .in_flight 10
enough_wait() { [ "$(state .waiting)" -ge 5 ]; }
wait_until "some wait" enough_wait
victim=$(worker_pids | head -n 1)
cancelled=$(counted .cancelled)
before=$(state .reclaimed_units)
kill -9 "$victim"
loads_end
held=$(($(state .reclaimed_units) - before))
cancelled_by_death=$(($(counted .cancelled) - cancelled))
offered=$(($(counted .admitted) + $(counted '(.rejected | add)') + $(counted .cancelled)))
missing=$((offered - $(log_lines '^[0-9]* [A-Z_]* ')))
figure "held by the dead worker $held, cancelled by its death $cancelled_by_death, missing in the log $missing"
at_least "missing" 1 "$missing"
# One more may have been given back and not yet logged, one rejected and not yet logged.
at_most "missing" $((held + cancelled_by_death + 2)) "$missing"
equal "the callers' errors, no more" 0 "$(json "$work/dying" "if .errors_total >= $missing - 2 and .errors_total <= $missing + 40 then 0 else .errors_total end")"
equal "logged as admitted, and held" "$(counted .admitted)" "$(($(log_lines ' \(ADMITTED\|WAITED\) ') + missing - cancelled_by_death))"
