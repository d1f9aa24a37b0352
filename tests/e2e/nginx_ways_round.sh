#!/usr/bin/env bash
# Odd requests and odd answers that once led round the gate, or kept its slots.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
mkdir -p "$work/files"
echo here >"$work/files/file"
start_nginx <<EOC
  loadline_gate api:256k limit=1 wait=50ms;
  server {
    listen unix:$work/odd.sock;
    location /hints { return 103; }
  }
  server {
    listen 127.0.0.1:$port;
    loadline api;
    error_page 400 = /errors/400;
    location / { proxy_pass http://$service; }
    location /hints { proxy_pass http://unix:$work/odd.sock; }
    location /files { root $work; }
    location /page {
      loadline_stub_status;
      location /page/nested { proxy_pass http://$service/; }
    }
    location = /status { loadline_stub_status; }
  }
EOC

# send TEXT: as it stands, on a connection of its own; the first line of the answer.
send() {
  local line
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf '%b' "$1" >&3
  read -r -t 10 line <&3 || line="no answer"
  exec 3>&-
  printf '%s' "${line%$'\r'}"
}

it "an interim answer, which nginx takes for the last one, does not keep the slot"
begin /hints
wait_until "it was admitted" state_is '.classes[1].admitted' 1
wait_until "the slot is free" state_is .in_flight 0

it "a rejected request with a malformed body is rejected, and asked once"
before=$(service_count received)
begin "/sleep?ms=3000"
wait_until "the slot is taken" state_is .in_flight 1
malformed='POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n'
matches "after a wait" '^HTTP/1.1 503 ' "$(send "$malformed")"
equal "reached the service" "$((before + 1))" "$(service_count received)"
equal "rejected" 1 "$(state ' | [.classes[].rejected[]] | add')"
wait_until "the slot is free again" state_is .in_flight 0

it "a page of ours asks no gate, what is nested in it does"
admitted=$(class_state critical .admitted)
equal "page" 200 "$(code /page)"
equal "admitted" "$admitted" "$(class_state critical .admitted)"
equal "nested" 200 "$(code /page/nested)"
equal "admitted" "$((admitted + 1))" "$(class_state critical .admitted)"

it "a request that a filter ends is still known as admitted"
equal "precondition" 412 "$(code /files/file -H 'If-Match: "other"')"
wait_until "it is logged" logged '^412 ADMITTED:-:critical'
