#!/usr/bin/env bash
# A flood at five times the capacity from a peer that nobody trusts and that claims the highest class: the
# trusted ones do not notice, and the claim counts as the default class at most.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=10
! long_form || seconds=120

# 200/s are what it can do.
start_service --workers 8 --service 40ms
free_port
workers=2
connections=4096
start_nginx <<EOC
  loadline_gate api:256k limit=8 default=sheddable_plus;
  server {
    listen 127.0.0.1:$port backlog=4096;
    set_real_ip_from 127.0.0.1;
    real_ip_header X-From;
    loadline_trusted 10.0.0.0/8;
    location / { loadline api; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
  }
EOC
load() { # NAME OPTION...
  start "$1" "$LOADLINE_COMMAND" load "http://127.0.0.1:$port/$1" "${@:2}" --allow-starved --json-file "$work/$1"
}

it "serves 99.9 % of the trusted through a flood that claims critical_plus"
load flood --rate 1000 --duration "$((seconds + 2))s" --seed 1 --header 'X-Request-Criticality: critical_plus'
flood=$started
wait_until "the limit is reached" state_is .in_flight 8
load trusted --rate 80 --duration "${seconds}s" --seed 2 --header 'X-From: 10.1.2.3' --header 'X-Request-Criticality: critical'
wait "$started" || fail "no load"
is_running "$flood" || fail "the flood has ended before"
wait "$flood" || fail "no flood"
figure "trusted: $(json "$work/trusted" '{sent, answered, timeouts, errors} | tojson')"
figure "flood: $(json "$work/flood" '{sent, answered, share_rejected} | tojson')"
within "trusted who were not served, per mille" 1 "$(json "$work/trusted" '1000 * (1 - .good / .sent)')"
within "of the flood, served" 0.2 "$(json "$work/flood" '1 - .share_rejected')"

it "takes the claim for the default class at most"
equal "critical_plus" 0 "$(class_state critical_plus '.admitted + ([.rejected[]] | add // 0)')"
equal "the flood, as sheddable_plus" "$(json "$work/flood" .sent)" \
  "$(class_state sheddable_plus '.admitted + .cancelled + ([.rejected[]] | add // 0)')"
equal "the trusted, as critical" "$(json "$work/trusted" .sent)" \
  "$(class_state critical '.admitted + .cancelled + ([.rejected[]] | add // 0)')"
