#!/usr/bin/env bash
# Whose a request is, in a sidecar: quotas by header or address, and turns by tenant.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sidecar.sh
. "$(dirname "$0")/sidecar.sh"

start_service --workers 4

it "a quota counts by header, and who sends none by address"
start_sidecar --limit 4 --quota 3r/h --quota-burst 3 --quota-key 'header X-Api-Key'
for key in one two; do
  for n in 1 2 3; do
    equal "request $n of $key" 200 "$(code "/sleep?ms=1" -H "X-Api-Key: $key")"
  done
  equal "one more of $key" 429 "$(code "/sleep?ms=1" -H "X-Api-Key: $key")"
done
for n in 1 2 3; do equal "request $n without" 200 "$(code "/sleep?ms=1")"; done
equal "one more without" 429 "$(code "/sleep?ms=1")"
equal "a header that looks like the address" 200 "$(code "/sleep?ms=1" -H 'X-Api-Key: 127.0.0.1')"
equal "counted" 3 "$(gate '.classes | map(.rejected.quota // 0) | add')"
stop "$sidecar"

it "without a key, the address counts"
start_sidecar --limit 4 --quota 1r/h
equal "the first" 200 "$(code "/sleep?ms=1" -H 'X-Api-Key: one')"
equal "the second" 429 "$(code "/sleep?ms=1" -H 'X-Api-Key: two')"
stop "$sidecar"

it "tenants are served in turns, whoever came first"
start_sidecar --limit 1 --queue 20 --wait 1m --tenants 100 --tenant-key 'header X-Tenant' --access-log "$work/access.log"
curl -s -o /dev/null "http://127.0.0.1:$port/sleep?ms=30000&who=holder" &
holder=$!
started_pids+=("$holder")
wait_until "the slot is taken" gate_is .in_flight 1
waiting=0
for who in many:1 many:2 many:3 many:4 few:1; do
  begin "/sleep?ms=20&who=$who" -H "X-Tenant: ${who%:*}"
  waiting=$((waiting + 1))
  wait_until "it waits" gate_is .waiting "$waiting"
done
kill "$holder"
wait_until "all have ended" gate_is '| .in_flight + .waiting' 0
wait_until "all are logged" logged 'who=many:4'
order=$(sed -n 's/.*who=\([a-z:0-9]*\) .*/\1/p' "$work/access.log" | grep -v holder | tr '\n' ' ')
matches "order" '^(many:1 few:1|few:1 many:1) many:2 many:3 many:4 $' "$order"

it "a weight is believed and the heavy keep to their share"
stop "$sidecar"
cat >"$work/sidecar.yaml" <<EOC
version: 1
weight_header: X-Weight
heavy: 50%
EOC
start_sidecar --config "$work/sidecar.yaml" --limit 10
begin "/sleep?ms=2000" -H 'X-Weight: 4'
wait_until "it holds four" gate_is .heavy.in_flight 4
equal "limit of the heavy" 5 "$(gate .heavy.limit)"
