#!/usr/bin/env bash
# Several gates on one request: taken as one, given back as one.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
start_nginx <<EOC
  loadline_gate all:256k limit=4 queue=off;
  loadline_gate reports:256k limit=1 queue=2 wait=3s;
  loadline_gate keys:512k limit=9 quota=1r/h;
  loadline_gate closed:256k limit=1 queue=off;
  loadline_gate seen:256k limit=1 queue=off mode=observe;
  loadline_gate narrow:256k limit=1 queue=9 wait=5s;
  server {
    listen 127.0.0.1:$port;
    loadline all class=critical_plus;
    location / { proxy_pass http://$service; }
    location /reports/ {
      loadline reports class=sheddable;
      loadline all class=sheddable;
      add_header X-Gate "\$loadline_gate \$loadline_status \$loadline_class" always;
      proxy_pass http://$service/;
    }
    location /keys/ { loadline keys quota=\$arg_key; loadline closed; proxy_pass http://$service/; }
    location /seen/ { loadline seen; loadline narrow; proxy_pass http://$service/; }
    location = /status { loadline_stub_status; }
    location = /control { loadline_control; }
  }
EOC
gate_state() { get /status | jq -r ".gates[] | select(.name == \"$1\") | $2"; }
gate_is() { [ "$(gate_state "$1" "$2")" = "$3" ]; }
by_class() { gate_state "$1" ".classes[] | select(.name == \"sheddable\") | $2"; }

it "takes a place in each, and gives both back"
begin "/reports/sleep?ms=1500"
wait_until "in the one" gate_is reports .in_flight 1
equal "and in the other" 1 "$(gate_state all .in_flight)"
wait_until "both are free" gate_is all .in_flight 0
equal "the other, too" 0 "$(gate_state reports .in_flight)"
matches "who speaks" "X-Gate: reports ADMITTED sheddable" "$(get /reports/ -i)"

it "waits at the second with the place of the first, and goes on"
begin "/reports/sleep?ms=700"
wait_until "it runs" gate_is reports .in_flight 1
answer=$(get /reports/ -i)
matches "the second" "200 OK.*X-Gate: reports WAITED sheddable" "${answer//$'\n'/ }"
wait_until "both are free" gate_is all .in_flight 0

it "gives the first back where the second says no"
begin "/reports/sleep?ms=8000"
wait_until "it runs" gate_is reports .in_flight 1
begin "/reports/"
begin "/reports/"
wait_until "it is full" gate_is reports .waiting 2
equal "taken in the first" 3 "$(gate_state all .in_flight)"
before=$(by_class reports .rejected.queue_full)
equal "the next" 503 "$(code /reports/)"
equal "counted by the one that refused" $((${before/null/0} + 1)) "$(by_class reports .rejected.queue_full)"
equal "given back by the other" 3 "$(gate_state all .in_flight)"

it "gives the first back to who leaves while waiting, and to who waits too long"
start leaver curl -s -m 20 "http://127.0.0.1:$port/reports/"
wait_until "two have given up" gate_is reports .waiting 0
wait_until "their places are free" gate_is all .in_flight 1
start leaver curl -s -m 20 "http://127.0.0.1:$port/reports/"
wait_until "it waits" gate_is reports .waiting 1
equal "with a place" 2 "$(gate_state all .in_flight)"
stop "$started"
wait_until "it is forgotten" gate_is reports .waiting 0
wait_until "and its place is free" gate_is all .in_flight 1

it "is refused by the first without asking the second"
for _ in 1 2 3; do begin "/sleep?ms=5000"; done
wait_until "the first is full" gate_is all .in_flight 4
offered=$(gate_state reports '[.classes[] | .admitted, .cancelled, (.rejected | add // 0)] | add')
equal "refused" 503 "$(code /reports/)"
equal "the second was not asked" "$offered" \
  "$(gate_state reports '[.classes[] | .admitted, .cancelled, (.rejected | add // 0)] | add')"

it "does not charge a key for what another gate refuses"
code '/control?gate=closed&draining=on' -X POST >/dev/null
equal "refused" "503 503" "$(code '/keys/?key=a') $(code '/keys/?key=a')"
code '/control?gate=closed&draining=off' -X POST >/dev/null
equal "served" 200 "$(code '/keys/?key=a')"
equal "and charged" 429 "$(code '/keys/?key=a')"

it "does not forget after a wait that another gate would have refused"
begin "/seen/sleep?ms=1500"
wait_until "it is full" gate_is narrow .in_flight 1
equal "the next, after its wait" 200 "$(code /seen/)"
logged '^200 OBSERVED:limit:.* /seen/$' || fail "access log: $(tail -n 2 "$work/access.log")"
