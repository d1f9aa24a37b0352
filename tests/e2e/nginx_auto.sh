#!/usr/bin/env bash
# A limit that is found: by all workers together, through reloads, deaths and another zone; told of at
# the pages; set by hand and given back to its law.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

slots=24
start_service --workers "$slots" --service 20ms
free_port
workers=2

# conf SIZE PARAMETER...
conf() {
  cat <<EOC
  loadline_log_level notice interval=1s;
  loadline_gate api:$1 ${*:2} wait=50ms;
  server {
    listen 127.0.0.1:$port reuseport;
    proxy_read_timeout 400ms;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
    location = /metrics { loadline_metrics; }
    location = /control { loadline_control; }
  }
EOC
}

# overload SECONDS: many more callers than the service has workers, each asking again at once.
overload() {
  "$LOADLINE_COMMAND" load "http://127.0.0.1:$port/" --closed 150 --duration "$1s" --timeout 1s --json \
    --allow-starved >"$work/load.json" 2>&1
}
change() { get "/control?$1" -X POST; }
is_loaded() { [ "$(state .in_flight)" -gt 0 ]; }
# What was being measured as the load went is given up soon.
is_at_rest() { [ "$(state '.limit_events.last[0].ago_ms > 4000')" = true ]; }
last_events() { get /status | jq -c '.gates[0].limit_events.last'; }

it "finds the limit, one for both workers"
start_nginx < <(conf 1m limit=auto)
wait_until "both workers have a seat" state_is .workers 2
equal "law" auto "$(state .law)"
equal "searching" true "$(state .searching)"
equal "the first event" began "$(state '.limit_events.last[-1].cause')"
begun_at=$(state .limit)
overload 8
wait_until "the limit is at rest" is_at_rest
found=$(state .limit)
figure "began at $begun_at, found $found of $slots, in $(state .limit_events.count) steps"
at_least "limit" $((slots / 2)) "$found"
at_most "limit" $((slots * 4)) "$found"
limits=$(for _ in $(seq 20); do state .limit; done | sort -u | wc -l)
equal "answers of two workers about it" 1 "$limits"
at_least "events" 3 "$(state .limit_events.count)"
equal "an event has its numbers" '["ago_ms","from","to","cause","low","high","time_low_ms","time_high_ms","samples","rate","slope","share"]' \
  "$(get /status | jq -c '.gates[0].limit_events.last[0] | keys_unsorted')"
equal "the newest is shown first" true "$(get /status | jq '.gates[0].limit_events.last | .[0].ago_ms <= .[1].ago_ms')"
equal "it leads to the limit" "$found" "$(state '.limit_events.last[0].to')"

it "tells of it at the pages and in the log"
get /metrics >"$work/metrics"
grep -qx 'loadline_law{gate="api",law="auto"} 1' "$work/metrics" || fail "no law among the metrics"
grep -qx 'loadline_law{gate="api",law="fixed"} 0' "$work/metrics" || fail "no other law among the metrics"
grep -qx "loadline_limit_events_total{gate=\"api\"} $(state .limit_events.count)" "$work/metrics" || fail "no count of events"
grep -q '^loadline_searching{gate="api"} [01]$' "$work/metrics" || fail "not whether it searches"
grep -q '^loadline_samples_left_out_total{gate="api"} [0-9]' "$work/metrics" || fail "not what was left out"
wait_until "the log has a line" error_logged "loadline_gate \"api\": limit from $begun_at to [0-9]* in 1s (auto: .*doubled"

it "keeps what it has found through a reload"
old=$(worker_pids)
old_are_gone() { ! worker_pids | grep -qxF "$old"; }
reload_nginx < <(conf 1m limit=auto)
wait_until "the old workers are gone" old_are_gone
equal "limit" "$found" "$(state .limit)"
equal "law" auto "$(state .law)"

it "and through the death of a worker"
kill -KILL "$(worker_pids | head -n 1)"
wait_until "it was noticed" state_is .reclaimed 1
wait_until "another has taken its place" state_is .workers 2
equal "limit" "$found" "$(state .limit)"
for _ in 1 2 3; do
  overload 1 &
  load=$!
  started_pids+=("$load")
  wait_until "it is loaded" is_loaded
  kill -KILL "$(worker_pids | head -n 1)"
  wait "$load" || true  # what the dead worker had is cut off: the load may say so
  wait_until "another has taken its place" state_is .workers 2
done
at_least "limit" $((slots / 2)) "$(state .limit)"
at_most "limit" $((slots * 4)) "$(state .limit)"
wait_until "nothing is in flight" state_is .in_flight 0

it "and into another zone, where it begins with it"
wait_until "the limit is at rest" is_at_rest
found=$(state .limit)
old=$(worker_pids)
reload_nginx < <(conf 2m limit=auto)
wait_until "the old workers are gone" old_are_gone
equal "limit" "$found" "$(state .limit)"
equal "a gate of its own" began "$(state '.limit_events.last[-1].cause')"
equal "which has begun there" "$found" "$(state '.limit_events.last[-1].to')"

it "stays where it was set by hand, until its law is asked again"
change limit=7 >/dev/null
equal "limit" 7 "$(state .limit)"
equal "law" fixed "$(state .law)"
overload 1
equal "limit" 7 "$(state .limit)"
change limit=auto >/dev/null
equal "law" auto "$(state .law)"
overload 5
at_least "limit" 8 "$(state .limit)"

it "keeps within its bounds"
old=$(worker_pids)
reload_nginx < <(conf 2m limit=auto limit_least=3 limit_most=5)
wait_until "the old workers are gone" old_are_gone
equal "limit" 5 "$(state .limit)"
overload 2
at_least "limit" 3 "$(state .limit)"
at_most "limit" 5 "$(state .limit)"

it "does not move while it observes"
old=$(worker_pids)
reload_nginx < <(conf 2m limit=auto mode=observe)
wait_until "the old workers are gone" old_are_gone
before=$(state .limit)
overload 2
equal "limit" "$before" "$(state .limit)"

it "takes answers that come too late as a reason for less"
old=$(worker_pids)
reload_nginx < <(conf 2m limit=auto limit_least=1)
wait_until "the old workers are gone" old_are_gone
overload 3
before=$(state .limit)
# Longer than nginx waits for the upstream: each ends with 504. A generation of them is judged, of which the
# first may still have some in it that were in time.
for _ in 1 2; do
  curl -s -m 20 -Z --parallel-immediate --parallel-max 100 -o /dev/null "http://127.0.0.1:$port/sleep?ms=3000&n=[1-300]" || fail "not every caller was answered"
done
figure "before: $before, then: $(last_events | jq -c 'map([.cause, .from, .to]) | reverse')"
equal "cut at once" true "$(last_events | jq 'map(select(.cause == "late")) | any(.to <= .from / 2 + 1)')"

it "refuses what it does not know"
refuses() { # MESSAGE PARAMETER...
  write_conf < <(conf 1m "${@:2}")
  nginx_command -t >"$work/test.log" 2>&1 && fail "it takes ${*:2}"
  grep -q "$1" "$work/test.log" || fail "${*:2}: $(cat "$work/test.log")"
}
refuses 'invalid limit "guess" in "loadline_gate": must be a whole number from 1 to 1000000, or a law that finds it: auto' limit=guess
refuses 'must be a whole number from 1 to 1000000, or a law that finds it' limit=fixed
refuses '"limit_least=3" in "loadline_gate" needs a law that finds the limit' limit=20 limit_least=3
refuses 'limit_least 9, limit_most 5: allowed is 1 <= least <= most' limit=auto limit_least=9 limit_most=5
refuses 'the limit begins at 3: allowed is limit_least 4 to limit_most 9' limit=auto limit_from=3 limit_least=4 limit_most=9
refuses 'it is a share, as in 20%' limit=auto signals=cpu_pressure:20
refuses 'invalid limit_from "0"' limit=auto limit_from=0
old=$(worker_pids)
reload_nginx < <(conf 1m limit=20)
wait_until "the old workers are gone" old_are_gone
matches "of a gate without room for a law" 'gate "api" was made with a fixed limit: give it limit=auto in the file' "$(change limit=auto)"
matches "of no law" 'invalid limit "some": must be a whole number from 1 to 1000000, or auto' "$(change limit=some)"
