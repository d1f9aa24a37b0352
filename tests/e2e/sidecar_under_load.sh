#!/usr/bin/env bash
# Reloads, changed limits and killed workers while requests come in, at one and a half times what the
# service can do: nobody is lost, and three counts agree to the last request.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

start_service --workers 4 --service 20ms
free_port
metrics_port=$port
start_sidecar --limit 5 --workers 2 --metrics "$metrics_port"

nginx_master() { cat "$work/run/test/nginx.pid"; }
nginx_workers() { pgrep -P "$(nginx_master)"; }

# load SECONDS OPTION...: in the background, at 300/s; $load is its pid, its report $work/load.json.
load() {
  "$LOADLINE_COMMAND" load "http://127.0.0.1:$port/" --rate 300 --duration "$1" --timeout 5s \
    --allow-starved --json-file "$work/load.json" "${@:2}" >"$work/load.log" 2>&1 &
  load=$!
  started_pids+=("$load")
}
report() { jq "$1" "$work/load.json"; }
metric() { # NAME LABELS: the sum of its series that have these labels
  curl -s "http://127.0.0.1:$metrics_port/metrics" | grep "^$1{" | grep -- "$2" | awk '{ sum += $NF } END { printf "%d", sum }'
}
offered_at_least() { [ "$(gate '.classes | map(.admitted) | add')" -ge "$1" ]; }
generation_is_new() { ! nginx_workers | grep -qxF "$1"; }

it "reloads and changes of the limit and the mode lose nobody"
load 6s
wait_until "it is under way" offered_at_least 100
before=$(nginx_workers | head -n 1)
kill -HUP "$sidecar"
wait_until "the old workers are gone" generation_is_new "$before"
set_gate limit=3 >"$work/set.log"
wait_until "requests went on" offered_at_least 400
{
  set_gate off
  set_gate on
  set_gate limit=5
} >>"$work/set.log"
wait "$load" || fail "the generator: $(cat "$work/load.log")"
equal "errors" 0 "$(report '[.total.errors | if type == "object" then .[] else . end] | add // 0')"
equal "timeouts" 0 "$(report .total.timeouts)"

it "the generator, the gate and its metrics agree to the last request"
wait_until "nothing is in flight" gate_is .in_flight 0
sent=$(report .total.sent)
at_least "sent" 1500 "$sent"
served=$(report '.total.answered["200"]')
refused=$(report '.total.answered["503"]')
equal "answers" "$sent" "$((served + refused))"
equal "admitted by the gate" "$served" "$(gate '.classes | map(.admitted) | add')"
equal "rejected by the gate" "$refused" "$(gate '.classes | map(.rejected | add // 0) | add')"
equal "admitted in the metrics" "$served" "$(metric loadline_admitted_total gate=)"
equal "rejected in the metrics" "$refused" "$(metric loadline_rejected_total gate=)"
equal "received by the service" "$served" "$(service_count received)"

it "a killed worker takes its own connections with it and nothing else"
load 6s
wait_until "it is under way" offered_at_least "$((served + 100))"
victim=$(nginx_workers | head -n 1)
kill -KILL "$victim"
wait_until "another has taken its place" generation_is_new "$victim"
wait "$load" || fail "the generator: $(cat "$work/load.log")"
wait_until "all that it held has come back" gate_is .in_flight 0
equal "waiting" 0 "$(gate .waiting)"
equal "reclaimed" 1 "$(gate .reclaimed)"
sent2=$(report .total.sent)
answered2=$(report '[.total.answered[]] | add')
counted=$(gate '.classes | map(.admitted + .cancelled + (.rejected | add // 0)) | add')
# What was on its way to the dead one was offered to no gate, or its answer went with it.
at_least "what the gate counted" "$answered2" "$((counted - sent))"
at_most "what the gate counted" "$sent2" "$((counted - sent))"
at_least "answered" "$((sent2 * 95 / 100))" "$answered2"

it "SIGTERM drains and ends well"
kill -TERM "$sidecar"
status=0
wait "$sidecar" || status=$?
equal "exit code" 0 "$status"
