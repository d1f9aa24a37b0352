# shellcheck shell=bash
# What the tests of `loadline run` share, beside lib.sh. Sourced after it.
# shellcheck disable=SC2154,SC2034 # variables of lib.sh, and one for whoever sources this

# start_sidecar OPTION...: in front of $service; listens on $port. $sidecar is its pid.
start_sidecar() {
  free_port
  start sidecar "$LOADLINE_COMMAND" run --name test --runtime "$work/run" --module "$LOADLINE_MODULE" \
    --nginx "$LOADLINE_NGINX" --upstream "http://$service" --listen "127.0.0.1:$port" "$@"
  sidecar=$started
  wait_until "the sidecar says that it listens" grep -q 'listening on' "$work/sidecar.log"
}

set_gate() { "$LOADLINE_COMMAND" set --name test --runtime "$work/run" "$@"; }

control() { curl -s -m 10 --unix-socket "$work/run/test/control.sock" "http://localhost$1"; }
gate() { control /status | jq -r ".gates[0]$1"; }
gate_is() { [ "$(gate "$1")" = "$2" ]; }

burst() { "$LOADLINE_COMMAND" burst "$@" --json >"$work/burst.json"; }
# burst_count STATUS FROM TO: answers of that status in these 100 ms slices.
burst_count() {
  jq "[.groups[] | select(.status == $1 and .slice >= $2 and .slice <= $3) | .count] | add // 0" \
    "$work/burst.json"
}
