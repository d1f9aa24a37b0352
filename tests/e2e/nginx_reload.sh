#!/usr/bin/env bash
# Reload and binary upgrade: whose limit is it, and who is dropped? (Nobody.)
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 200
free_port

# conf LIMIT [CLASSES]
conf() {
  cat <<EOC
  loadline_gate api:256k limit=$1 queue=20 wait=4s ${2:-};
  server {
    listen 127.0.0.1:$port;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
    location = /control { loadline_control; }
  }
EOC
}

start_nginx < <(conf 2)

it "shares the limit between the old workers and the new"
old=$(worker_pids)
begin "/sleep?ms=1500"
begin "/sleep?ms=1500"
wait_until "two are in service" service_count_is in_service 2
begin "/sleep?ms=10"
begin "/sleep?ms=10"
wait_until "two wait in the old worker" state_is .waiting 2
reload_nginx < <(conf 2)
new_worker_answers() { [ "$(state .workers)" = 2 ]; }
wait_until "the new worker has a seat" new_worker_answers
begin "/sleep?ms=10"
wait_until "three wait" state_is .waiting 3
equal "in flight" 2 "$(state .in_flight)"

it "drops nobody: who waited in the old worker is served by it"
wait_until "all have ended" codes_are_in 5
equal "served" 5 "$(count_codes 200)"
equal "most at the upstream at once" 2 "$(service_count max_outstanding)"
wait_until "the old worker is gone" worker_count_is 1
[ "$(worker_pids)" != "$old" ] || fail "it is the old one that is left"
wait_until "its seat is free" state_is .workers 1
equal "in flight" 0 "$(state .in_flight)"
! error_logged 'open socket' || fail "the old worker left connections"

it "lets the file replace what was set at run time"
equal "set" 7 "$(get '/control?limit=7&mode=observe&draining=on' -X POST | jq '.gates[0].limit')"
equal "limit" 7 "$(state .limit)"
reload_nginx < <(conf 3)
wait_until "the file's limit holds" state_is .limit 3
equal "mode" on "$(state .mode)"
equal "draining" false "$(state .draining)"

it "starts afresh, and says so, when the classes have changed"
begin "/sleep?ms=700"
wait_until "one is in flight" state_is .in_flight 1
reload_nginx < <(conf 3 classes=gold,silver)
wait_until "it is another gate" state_is '.classes | map(.name) | join(" ")' "gold silver"
error_logged 'loadline_gate "api": size, classes, the tables of tenants or quota or who finds the limit have changed, so it starts afresh' || fail "no notice"
wait_until "the old worker is gone" worker_count_is 1
equal "served" 6 "$(count_codes 200)"

it "refuses a wrong file and goes on"
write_conf < <(conf 0)
kill -HUP "$nginx"
wait_until "it is refused" error_logged 'invalid limit "0" in "loadline_gate"'
equal "limit" 3 "$(state .limit)"
equal "status" 200 "$(code "/sleep?ms=1")"

it "survives many reloads without using up anything"
descriptors() { find "/proc/$nginx/fd" -mindepth 1 | wc -l; }
reload_nginx < <(conf 3)
wait_until "the old worker is gone" worker_count_is 1
before=$(descriptors)
for limit in 4 5 6 7 8; do
  reload_nginx < <(conf "$limit" "classes=a$limit,b")
  wait_until "the old worker is gone" worker_count_is 1
done
equal "file descriptors of the master" "$before" "$(descriptors)"
wait_until "one seat is taken" state_is .workers 1
equal "limit" 8 "$(state .limit)"

it "hands over to a new binary"
stop_nginx
start_daemon < <(conf 3)
: >"$work/codes"
begin "/sleep?ms=800"
wait_until "one is in flight" state_is .in_flight 1
kill -USR2 "$nginx"
wait_until "the new master is there" test -s "$work/nginx.pid.oldbin"
new_master_is_there() { [ -s "$work/nginx.pid" ] && [ "$(cat "$work/nginx.pid")" != "$nginx" ]; }
wait_until "the new master has written its pid" new_master_is_there
new=$(cat "$work/nginx.pid")
started_pids+=("$new")
kill -QUIT "$nginx"
gone() { ! is_running "$1"; }
wait_until "the old master is gone" gone "$nginx"
equal "served" 1 "$(count_codes 200)"
equal "status" 200 "$(code "/sleep?ms=1")"
equal "in flight" 0 "$(state .in_flight)"
