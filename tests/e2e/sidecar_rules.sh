#!/usr/bin/env bash
# The gate's rules in a sidecar's file: what they do, and that a reload changes them.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

start_service --workers 4

file() {
  cat >"$work/sidecar.yaml" <<EOC
version: 1
limit: 1
queue: 20
wait: 1m
trusted: 127.0.0.1
$1
EOC
}
change_to() {
  local before
  before=$(control /generation)
  file "$1"
  kill -HUP "$sidecar"
  is_another() { [ "$(control /generation)" != "$before" ]; }
  wait_until "it has reloaded" is_another
}

file "order: lifo
reject: {retry_after: 7-9}"
start_sidecar --config "$work/sidecar.yaml" --workers 1

it "serves in the order of the file, and draws Retry-After from its range"
equal "order" lifo "$(gate .order)"
equal "range" "[7,9]" "$(gate '.retry_after | tojson')"
curl -s -o /dev/null "http://127.0.0.1:$port/sleep?ms=30000" &
holder=$!
started_pids+=("$holder")
wait_until "the slot is taken" gate_is .in_flight 1
for n in $(seq 20); do
  begin "/sleep?ms=1"
  wait_until "it waits" gate_is .waiting "$n"
done
matches "Retry-After" $'\r\nRetry-After: [789]\r\n' "$(get / -i)"
kill "$holder"
wait_until "all have ended" gate_is '| .in_flight + .waiting' 0

it "takes up guarantees at a reload, and counts on"
admitted=$(gate '.classes | map(.admitted) | add')
equal "admitted" 21 "$admitted"
change_to "guarantees: {sheddable: 30%, sheddable_plus: 5%}"
# What is asked just now may still be answered by a worker of before, with the rules that it knows.
wait_until "the new guarantees are told" gate_is '.classes | map(.guarantee_percent) | tojson' "[0,0,5,30]"
wait_until "the old worker is gone" gate_is .workers 1
equal "order" adaptive "$(gate .order)"
equal "admitted" 21 "$(gate '.classes | map(.admitted) | add')"

it "says what is wrong with a file, and goes on with what it has"
file "guarantees: {sheddable: 95%}"
kill -HUP "$sidecar"
wait_until "it says so" grep -q "key 'guarantees': value 'sheddable:95%': allowed is" "$work/sidecar.log"
equal "guarantees" "[0,0,5,30]" "$(gate '.classes | map(.guarantee_percent) | tojson')"
equal "status" 200 "$(code "/sleep?ms=1")"
