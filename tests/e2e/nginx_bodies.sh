#!/usr/bin/env bash
# Bodies: the verdict falls on the header, then the body is read, then the permit is taken.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=2 queue=off;
  server {
    listen 127.0.0.1:$port;
    loadline api;
    client_max_body_size 100m;
    location / { proxy_pass http://$service; }
    location /streamed { loadline_read_body off; proxy_request_buffering off; proxy_http_version 1.1; proxy_pass http://$service; }
    location /small { loadline_read_body 8; proxy_pass http://$service; }
    location /dav/ { root $work/files; dav_methods PUT; create_full_put_path on; }
    location = /status { loadline_stub_status; }
  }
EOC
head -c 10000000 /dev/zero >"$work/payload"

# send_slowly PATH LENGTH FRAMING: begins a POST of which one byte comes and no more; $sender is its pid.
send_slowly() {
  start sender bash -c "exec 3<>/dev/tcp/127.0.0.1/$port
    printf 'POST $1 HTTP/1.1\r\nHost: a\r\n$2\r\n\r\n$3' >&3; exec cat <&3"
  sender=$started
}
is_reading() { [ "$(pgrep -cP "$$" -x cat || true)" -ge "$1" ]; }

it "holds no permit for bodies that come slowly, however many"
senders=()
for _ in $(seq 20); do
  send_slowly / 'Content-Length: 5' a
  senders+=("$sender")
  send_slowly / 'Transfer-Encoding: chunked' '1\r\na\r\n'
  senders+=("$sender")
done
connections_are() { [ "$(ss -Htn state established "sport = :$port" | wc -l)" -ge "$1" ]; }
wait_until "all are connected" connections_are 40
equal "in flight" 0 "$(state .in_flight)"
equal "admitted" 0 "$(class_state critical .admitted)"
for path in / / /; do
  equal "another request" 200 "$(code $path)"
done
equal "with a body of its own" 200 "$(code / --data-binary 12345)"
send_slowly / 'Upgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 5' a
senders+=("$sender")
send_slowly / 'Content-Type: application/grpc\r\nContent-Length: 5' a
senders+=("$sender")
send_slowly / 'Content-Type: application/grpc\r\nTransfer-Encoding: chunked' '1\r\na\r\n'
senders+=("$sender")
wait_until "these are connected, too" connections_are 43
equal "whatever they say that they are" 0 "$(state .in_flight)"
for pid in "${senders[@]}"; do stop "$pid"; done
equal "received by the service" 4 "$(service_count received)"

it "streams where it is told to, and then a slow body holds one"
send_slowly /streamed 'Content-Length: 5' a
wait_until "it is in flight" state_is .in_flight 1
stop "$sender"
wait_until "it is free" state_is .in_flight 0
send_slowly /small 'Content-Length: 5' a
wait_until "it is connected" connections_are 1
equal "a short one is read first" 0 "$(state .in_flight)"
stop "$sender"
send_slowly /small 'Content-Length: 9' a
wait_until "a longer one is not" state_is .in_flight 1
stop "$sender"
wait_until "it is free" state_is .in_flight 0

it "leaves a body to who puts it into a file"
equal "created" 201 "$(code /dav/new -X PUT --data-binary "@$work/payload")"
equal "its length" 10000000 "$(wc -c <"$work/files/dav/new")"

it "lets a body through whole"
equal "its length" 10000000 "$(get /echo --data-binary "@$work/payload" | jq .body_bytes)"
equal "of unknown length" 10000000 "$(get /echo -H 'Transfer-Encoding: chunked' --data-binary "@$work/payload" | jq .body_bytes)"
answer=$(get /echo -i -H 'Expect: 100-continue' --expect100-timeout 9 --data-binary 12345)
matches "it was invited" "^HTTP/1.1 100 " "$answer"
matches "and answered" "HTTP/1.1 200 " "$answer"

begin "/sleep?ms=9000"
begin "/sleep?ms=9000"
wait_until "the limit is reached" state_is .in_flight 2
received=$(service_count received)
rejected=$(class_state critical '.rejected.limit // 0')

it "turns a body away by its header, and the caller sees it"
seen=0
for _ in $(seq 20); do
  [ "$(code / --data-binary "@$work/payload")" = 503 ] && seen=$((seen + 1))
done
equal "callers that saw 503" 20 "$seen"
answer=$(get / -i -H 'Expect: 100-continue' --expect100-timeout 9 --data-binary "@$work/payload")
matches "none is invited" "^HTTP/1.1 503 " "$answer"
equal "received by the service" "$received" "$(service_count received)"
equal "each counted once" $((rejected + 21)) "$(class_state critical .rejected.limit)"
[ -z "$(find "$work/body" -type f 2>/dev/null)" ] || fail "something was stored of a rejected body"
