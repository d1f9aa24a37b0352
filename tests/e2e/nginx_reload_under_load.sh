#!/usr/bin/env bash
# Reloads under load, with another limit and another queue: no request is lost, and the limit holds across
# the generations of workers; where the memory cannot be kept, the log says so.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_counting_service
free_port
workers=2
connections=4096
# conf SIZE LIMIT QUEUE
conf() {
  cat <<EOC
  loadline_gate api:$1 limit=$2 queue=$3 wait=300ms;
  log_format pids '\$status \$loadline_status \$pid';
  access_log $work/pids.log pids;
  server {
    listen 127.0.0.1:$port backlog=4096;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { access_log off; loadline_stub_status; }
  }
EOC
}
start_nginx < <(conf 256k 20 50)
service_now_at_most() { [ "$(service_count now)" -le "$1" ]; }

# reload_to SIZE LIMIT QUEUE: and when the limit has got smaller, returns when no more are at the service.
reload_to() {
  reload_nginx < <(conf "$@")
  wait_until "the new limit holds" state_is .limit "$2"
}
# settles_at LIMIT: what was let in before has ended, and the limit is reached and not exceeded from now on.
settles_at() {
  wait_until "no more than $1 run" service_now_at_most "$1"
  curl -s -X POST -o /dev/null "http://$service/reset"
  wait_until "$1 run" service_most_is "$1"
}
service_most_is() { [ "$(service_most)" = "$1" ]; }

# Each on a connection of its own: nginx closes idle ones as it reloads, and a request that arrives on
# one in that moment is lost with or without a gate. One request takes 100 ms: at 20, 200/s can be done, and 300/s are asked.
begin_load() {
  start load "$LOADLINE_COMMAND" load "http://127.0.0.1:$port/?ms=100" --rate 300 --duration "$1" --timeout 10s --header "Connection: close" --seed 3 --allow-starved --json-file "$work/load"
  load=$started
}
# Every request was answered, and with 200 or 503; nginx and the caller count the same.
end_load() {
  wait "$load" || fail "the load could not be made: $(cat "$work/load.log")"
  figure "$(json "$work/load" '{sent, answered, timeouts, errors} | tojson')"
  equal "timeouts" 0 "$(json "$work/load" .timeouts)"
  equal "errors" 0 "$(json "$work/load" .errors_total)"
  equal "answered" "$(json "$work/load" .sent)" "$(json "$work/load" '[.answered[]] | add')"
  equal "other answers" 0 "$(json "$work/load" '[.answered | to_entries[] | select(.key != "200" and .key != "503") | .value] | add // 0')"
  equal "logged" "$(json "$work/load" .sent)" "$(wc -l <"$work/pids.log")"
}

it "loses nobody, and holds each limit, while it is reloaded six times"
begin_load 9s
settles_at 20
for rules in "20 50" "12 50" "12 5" "30 5" "30 200" "20 auto"; do
  read -r limit queue <<<"$rules"
  most_before=$(state .limit)
  curl -s -X POST -o /dev/null "http://$service/reset"
  reload_to 256k "$limit" "$queue"
  at_most "at the service through the reload to $rules" "$((limit > most_before ? limit : most_before))" "$(service_most)"
  settles_at "$limit"
  at_most "at the service after the reload to $rules" "$limit" "$(service_most)"
done
end_load
equal "generations that served" 14 "$(cut -d' ' -f3 "$work/pids.log" | sort -u | wc -l)"
settled() { state '| .classes[1] | .admitted + .cancelled + ([.rejected[]] | add // 0)'; }
equal "counted by the gate" "$(json "$work/load" .sent)" "$(settled)"
wait_until "nothing is in flight" state_is .in_flight 0
! error_logged 'starts afresh' || fail "the memory was not kept"

it "loses nobody either where the memory cannot be kept, says so, and admits old and new at most"
: >"$work/pids.log"
begin_load 6s
settles_at 20
reload_to 512k 20 50
error_logged 'size, classes, the tables of tenants or quota or who finds the limit have changed, so it starts afresh' || fail "no notice"
wait_until "the old workers are gone" worker_count_is 2
at_most "at the service, old and new" 40 "$(service_most)"
figure "at the service, old and new: $(service_most)"
settles_at 20
end_load
equal "at the service in the end" 0 "$(service_count now)"
