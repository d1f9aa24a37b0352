#!/usr/bin/env bash
# Whoever interrupts a command, or stops what it waits for, hears about it in a line, and is left with
# nothing to clean up.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# ends_well SIGNAL STATUS STEP: the demo, sent SIGNAL once it has said that this step begins.
ends_well() {
  local status=0 demo
  start demo "$LOADLINE_COMMAND" demo
  demo=$started
  wait_until "step $3 begins" grep -q "^\[$3/" "$work/demo.log"
  kill -"$1" "$demo"
  wait "$demo" || status=$?
  equal "exit code" "$2" "$status"
  matches "its last line" "^loadline: ended by signal .* before there was a result$" "$(tail -n 1 "$work/demo.log")"
  equal "what it leaves" "" "$(ls "$TMPDIR")"
}

it "the demo, interrupted while it measures the capacity"
ends_well INT 130 1

it "the demo, terminated while it overloads the service"
ends_well TERM 143 2

it "the demo says at once that its result cannot be written"
status=0
timeout 5 "$LOADLINE_COMMAND" demo --json /nonexistent/demo.json >"$work/demo.log" 2>&1 || status=$?
equal "exit code" 1 "$status"
equal "what it says" "loadline: cannot write /nonexistent/demo.json: No such file or directory" \
  "$(cat "$work/demo.log")"

start_service --workers 4 --service 500ms
printf 'version: 1\nlimit: 5\n' >"$work/sidecar.yaml"
start_sidecar --config "$work/sidecar.yaml"

it "set says in a line that a stopped nginx does not answer"
pids="$(cat "$work/run/test/nginx.pid") $(pgrep -P "$(cat "$work/run/test/nginx.pid")")"
# shellcheck disable=SC2086
kill -STOP $pids
status=0
set_gate limit=6 >"$work/set.log" 2>&1 || status=$?
# shellcheck disable=SC2086
kill -CONT $pids
equal "exit code" 1 "$status"
equal "what it says" \
  "loadline: $work/run/test/control.sock: no answer within 5s: is the nginx behind it stopped, or very busy?" \
  "$(cat "$work/set.log")"

it "set says that what it found cannot be written"
status=0
set_gate limit=5 >/dev/full 2>"$work/set.log" || status=$?
equal "exit code" 1 "$status"

it "a sidecar whose file has become a pipe goes on, and ends when it is told to"
rm "$work/sidecar.yaml"
mkfifo "$work/sidecar.yaml"
kill -HUP "$sidecar"
wait_until "it has refused it" grep -q 'not reloaded.*is a pipe, a device or a socket' "$work/sidecar.log"
equal "a request" 200 "$(code /)"
begin /
wait_until "a request is under way" gate_is .in_flight 1
kill -TERM "$sidecar"
wait_until "it says that it drains" \
  grep -qx 'loadline: draining, up to 30s; a second signal ends it at once' "$work/sidecar.log"
status=0
wait "$sidecar" || status=$?
equal "exit code" 0 "$status"
equal "its last line" "loadline: ended" "$(tail -n 1 "$work/sidecar.log")"
wait_until "the request has ended" codes_are_in 1
equal "the request" 1 "$(count_codes 200)"
equal "requests that it says it cut off" 0 "$(grep -c 'cutting off' "$work/sidecar.log" || true)"

it "set, while it drains, says so, and a second signal cuts off what still runs"
start_service --service 9s
: >"$work/codes"
start_sidecar --limit 5
begin /
wait_until "a request is under way" gate_is .in_flight 1
kill -TERM "$sidecar"
is_said_to_drain() {
  ! set_gate >"$work/set.log" 2>&1 &&
    grep -qx "loadline: 'test' is draining or starting (pid $sidecar)" "$work/set.log"
}
wait_until "set says that it drains" is_said_to_drain
kill -TERM "$sidecar"
status=0
wait "$sidecar" || status=$?
equal "exit code" 0 "$status"
grep -qx 'loadline: cutting off the requests that still run' "$work/sidecar.log" || fail "it cuts off in silence"
equal "its last line" "loadline: ended" "$(tail -n 1 "$work/sidecar.log")"
status=0
set_gate >"$work/set.log" 2>&1 || status=$?
equal "exit code" 1 "$status"
matches "what set says then" "^loadline: 'test' does not run: " "$(cat "$work/set.log")"
