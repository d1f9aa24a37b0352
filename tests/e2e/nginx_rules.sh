#!/usr/bin/env bash
# What a gate's rules do, and which of them a reload can change without a new gate.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port

# conf RULES [LIMIT]
conf() {
  cat <<EOC
  loadline_gate api:1m limit=${2:-1} queue=20 wait=1m $1;
  server {
    listen 127.0.0.1:$port;
    loadline_trusted 127.0.0.1;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
    location = /metrics { loadline_metrics; }
  }
EOC
}

# Holds the only slot for as long as its caller stays; $holder is that caller.
hold_slot() {
  curl -s -o /dev/null "http://127.0.0.1:$port/sleep?ms=30000&who=holder" &
  holder=$!
  started_pids+=("$holder")
  wait_until "the slot is taken" state_is .in_flight 1
}

# Has each of the arguments (CLASS:NAME) wait for the slot, one after the other, and prints them in
# the order in which they were served.
served() {
  local each waiting=0
  : >"$work/access.log"
  : >"$work/codes"
  hold_slot
  for each in "$@"; do
    begin "/sleep?ms=20&who=$each" -H "X-Request-Criticality: ${each%:*}"
    waiting=$((waiting + 1))
    wait_until "it waits" state_is .waiting "$waiting"
  done
  kill "$holder"
  wait_until "all have ended" codes_are_in "$waiting"
  equal "served" "$waiting" "$(count_codes 200)"
  sed -n 's/.*who=\([a-z_:0-9]*\)$/\1/p' "$work/access.log" | grep -v holder | tr '\n' ' '
}

# change_to RULES [LIMIT]: reloads with them, and returns when only workers that know them are left.
change_to() {
  reload_nginx < <(conf "$@")
  wait_until "the old worker is gone" worker_count_is 1
}

start_nginx < <(conf order=fifo)

it "serves first come, first served with order=fifo"
equal "order" "critical:1 critical:2 critical:3 " "$(served critical:1 critical:2 critical:3)"
equal "said" fifo "$(state .order)"

it "serves the newest first with order=lifo"
change_to "order=lifo"
equal "order" "critical:3 critical:2 critical:1 " "$(served critical:1 critical:2 critical:3)"
equal "said" lifo "$(state .order)"
equal "newest first" true "$(class_state critical .newest_first)"
matches "metric" 'loadline_newest_first\{gate="api",class="critical"\} 1' "$(get /metrics)"

many=(sheddable:1 sheddable:2 sheddable:3 critical:1 critical:2 critical:3 critical:4 critical:5 critical:6)
it "starves the least important without a guarantee"
change_to "order=fifo"
equal "order" "critical:1 critical:2 critical:3 critical:4 critical:5 critical:6 sheddable:1 sheddable:2 sheddable:3 " \
  "$(served "${many[@]}")"

it "gives it its share of the starts with one"
change_to "order=fifo guarantee=sheddable:50%"
equal "said" 50 "$(class_state sheddable .guarantee_percent)"
order=$(served "${many[@]}")
equal "of the first seven, sheddable in $order" 3 "$(cut -d' ' -f1-7 <<<"$order" | tr ' ' '\n' | grep -c sheddable)"

it "draws Retry-After from its range"
change_to "retry_after=7-9"
equal "said" "[7,9]" "$(state '.retry_after | tojson')"
hold_slot
for _ in $(seq 20); do begin "/sleep?ms=1"; done
wait_until "the queue is full" state_is .waiting 20
for _ in $(seq 12); do get / -o /dev/null -D - | tr -d '\r' | sed -n 's/^Retry-After: //p'; done >"$work/drawn"
equal "drawn" 12 "$(grep -c '^[789]$' "$work/drawn")"
at_least "values" 2 "$(sort -u "$work/drawn" | wc -l)"
kill "$holder"
wait_until "all have ended" state_is '| .in_flight + .waiting' 0

# ---- Reload --------------------------------------------------------------------------------------

admitted() { state '.classes | map(.admitted) | add'; }

# kept RULES STATE VALUE: the gate that is there takes up these rules.
kept() {
  it "keeps the gate for: $1"
  local before
  equal "status" 200 "$(code "/sleep?ms=1")"
  before=$(admitted)
  change_to "$1"
  equal "$2" "$3" "$(state "$2")"
  equal "admitted" "$before" "$(admitted)"
  ! error_logged 'it starts afresh' || fail "it is another gate"
}

# afresh RULES STATE VALUE: another gate, and the log says so.
afresh() {
  it "makes another gate for: $1"
  equal "status" 200 "$(code "/sleep?ms=1")"
  : >"$work/error.log"
  change_to "$1"
  equal "$2" "$3" "$(state "$2")"
  wait_until "the log says so" error_logged \
    'loadline_gate "api": size, classes, the tables of tenants or quota or who finds the limit have changed, so it starts afresh'
  equal "admitted" 0 "$(admitted)"
  : >"$work/error.log"
}

kept "heavy=100%" .heavy.limit 1
kept "exempt=0" .exempt.limit_per_worker 0
kept "guarantee=critical:5%,sheddable:20%" '| [.classes[].guarantee_percent] | join(",")' 0,5,0,20
kept "retry_after=3600-3600" '.retry_after[0]' 3600
afresh "tenants=500" .tenants 500
kept "tenants=1024" .tenants 1024
kept "tenants=1024 groups=free:5,paid:50" '.groups.paid' 50
kept "tenants=1000 groups=paid:7" '.groups | tojson' '{"paid":7}'
kept "tenants=1000 order=fifo" .order fifo
afresh "tenants=1025" .tenants 1025
afresh "tenants=1025 quota=5r/s" .quota.requests 5
kept "tenants=1025 quota=600r/m quota_burst=30" '.quota | [.requests, .per_s, .burst, .keys] | join(",")' 600,60,30,10000
kept "tenants=1025 quota=7r/h quota_keys=10500" '.quota.per_s' 3600
afresh "tenants=1025 quota=7r/h quota_keys=11000" .quota.keys 11000
afresh "quota=7r/h" .tenants 0
afresh "" .quota null

it "says how much of the limit the heavy may hold"
change_to "heavy=30%" 10
equal "limit of the heavy" 3 "$(state .heavy.limit)"
matches "metric" 'loadline_heavy_limit\{gate="api"\} 3' "$(get /metrics)"
