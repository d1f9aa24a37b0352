#!/usr/bin/env bash
# Every command in the README does what it says. Ports become free ones, long runs short ones, and
# runtime folders go into the test's own; nothing else is changed. A command that this test does not
# know fails it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

cd "$root"
free_port
service_port=$port
free_port
admin_port=$port
free_port

commands_of() { awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside && NF' "$1"; }

# As it stands in the README, but for where it runs and how long.
here() {
  local line=$1
  line=${line//build\/bin\/loadline/$LOADLINE_COMMAND}
  line=${line//9000/$service_port}
  line=${line//8081/$admin_port}
  line=${line//8080/$port}
  line=${line//\/var\/log\/nginx\/access.log.1/$work/last_night.log}
  line=${line//queue.html/$work/queue.html}
  # How fast this machine is, is not what is tested.
  line=${line//--duration 10s/--duration 1s --allow-starved}
  case $1 in
    *'loadline run '*--config*)
      line+=" --runtime $work/run --listen $port --upstream http://127.0.0.1:$service_port" ;;
    *'loadline run '* | *'loadline set'*) line+=" --runtime $work/run" ;;
  esac
  printf '%s' "$line"
}

# One sidecar at a time, as the README means it.
sidecar=
stop_sidecar() {
  [ -z "$sidecar" ] || stop "$sidecar"
  sidecar=
}
run_sidecar() {
  stop_sidecar
  # shellcheck disable=SC2086 # a command line, in words
  start sidecar $1 --module "$LOADLINE_MODULE"
  sidecar=$started
  wait_until "the sidecar listens" grep -q 'listening on' "$work/sidecar.log"
  equal "a request through it" 200 "$(code /healthz)"
}

# shellcheck disable=SC2086
run_line() {
  local line
  line=$(here "$1")
  case $1 in
    './dev demo' | './dev test') # this is part of the one; the other has a test of its own
      ./dev help | grep -q "^  ${1#./dev } " || fail "./dev help does not know it" ;;
    *--print-config)
      $line >"$work/nginx.out" || fail "exit code $?"
      grep -q "loadline_gate service:" "$work/nginx.out" || fail "printed no configuration" ;;
    *'loadline run '*) run_sidecar "$line" ;;
    *'loadline serve '*) # started before, with these words
      [[ $line == *"--listen $service_port"* ]] || fail "listens elsewhere" ;;
    'curl '*) $line -sf | jq -e '.gates[0].limit == 64' >/dev/null || fail "no status" ;;
    *'loadline set'* | *'loadline check '* | *'loadline burst '* | *'loadline load '* | *'loadline sim '*)
      $line >"$work/out.log" 2>&1 || fail "exit code $?: $(cat "$work/out.log")" ;;
    *) fail "the test does not know this command" ;;
  esac
}

it "the service of the README"
serve=$(commands_of README.md | grep 'loadline serve ')
# shellcheck disable=SC2046
start service $(here "$serve")
wait_until "the service listens" is_listening "$service_port"

# Last night, ten a second, each of 50 ms.
awk 'BEGIN { for (i = 0; i < 600; ++i)
  printf "10.0.0.1 - - [30/Nov/2026:03:00:%02d +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\" rt=0.050\n", i / 10 }' >"$work/last_night.log"

lines=0
while IFS= read -r line; do
  it "$line"
  run_line "$line"
  lines=$((lines + 1))
done < <(commands_of README.md)
at_least "commands in the README" 17 "$lines"
stop_sidecar
