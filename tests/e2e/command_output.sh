#!/usr/bin/env bash
# A result that cannot be written is a failure, said in a line, whichever subcommand it is of.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# is_said_when_lost WORD...: that command, with a standard output that takes nothing.
is_said_when_lost() {
  local status=0
  it "loadline $1: a result that nobody gets is said"
  timeout 20 "$LOADLINE_COMMAND" "$@" >/dev/full 2>"$work/said.log" || status=$?
  equal "exit code" 1 "$status"
  equal "lines" 1 "$(wc -l <"$work/said.log")"
  matches "what it says" "loadline: cannot write.*No space left" "$(cat "$work/said.log")"
}

start_service --workers 4
printf 'version: 1\nlimit: 5\nupstream: 9000\n' >"$work/sidecar.yaml"

is_said_when_lost --help
is_said_when_lost --version
is_said_when_lost check "$work/sidecar.yaml"
is_said_when_lost check --keys
is_said_when_lost run --config "$work/sidecar.yaml" --print-config
is_said_when_lost load "http://$service/" --rate 20 --duration 200ms --allow-starved
is_said_when_lost load "http://$service/" --rate 20 --duration 200ms --allow-starved --json
is_said_when_lost burst "http://$service/"
is_said_when_lost burst "http://$service/" -n 2000 --json
is_said_when_lost serve --listen 127.0.0.1:0

it "a closed standard output too"
status=0
"$LOADLINE_COMMAND" --version >&- 2>"$work/said.log" || status=$?
equal "exit code" 1 "$status"

it "what was wrong anyway keeps its exit code"
status=0
"$LOADLINE_COMMAND" check /nonexistent >/dev/full 2>"$work/said.log" || status=$?
equal "exit code" 2 "$status"
