#!/usr/bin/env bash
# The answer to those who are turned away, in all the ways in which a request can come.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=1 queue=off;
  log_format bytes '\$body_bytes_sent \$bytes_sent';
  server {
    listen 127.0.0.1:$port;
    access_log $work/access.log loadline;
    access_log $work/bytes.log bytes;
    loadline api;
    client_max_body_size 10m;
    error_page 503 504 = @sorry;
    location / { proxy_pass http://$service; }
    location /own { loadline_reject_status 429; loadline_body '{"busy":true}' application/json; proxy_pass http://$service; }
    location /empty { loadline_body ""; proxy_pass http://$service; }
    location /page { loadline_error_page on; proxy_pass http://$service; }
    location @sorry { return 200 "sorry\n"; }
    location /filtered { add_header X-Added yes always; sub_filter_types text/plain; sub_filter overloaded busy; proxy_pass http://$service; }
    location /by-nginx { keepalive_timeout 60s 30s; proxy_pass http://$service; }
    location /by-nginx/nameless { server_tokens off; proxy_pass http://$service; }
    location /nameless { server_tokens off; proxy_pass http://$service; }
    location /also { add_header X-Added "\$request_method" always; proxy_pass http://$service; }
    location /by-nginx/also { add_header X-Added "\$request_method" always; proxy_pass http://$service; }
    location /unbuffered { postpone_output 0; proxy_pass http://$service; }
    location /late { loadline api deadline=\$arg_time; proxy_pass http://$service; }
    location /late-page { loadline api deadline=\$arg_time; loadline_error_page on; proxy_pass http://$service; }
    location = /free { loadline off; return 200 "free\n"; }
    location = /status { loadline_stub_status; }
  }
EOC
head -c 300000 /dev/zero >"$work/payload"

begin "/sleep?ms=8000"
wait_until "the slot is taken" state_is .in_flight 1

it "answers 503 with Retry-After, and not to be stored"
answer=$(get / -i)
matches "status line" "^HTTP/1.1 503 Service Temporarily Unavailable" "$answer"
matches "Retry-After" $'\r\nRetry-After: [1-9][0-9]*\r\n' "$answer"
matches "Cache-Control" $'\r\nCache-Control: no-store\r\n' "$answer"
matches "the mark of a refusal" $'\r\nx-loadline-refused: limit\r\n' "$answer"
matches "type" $'\r\nContent-Type: text/plain\r\n' "$answer"
matches "length" $'\r\nContent-Length: 11\r\n' "$answer"
matches "connection" $'\r\nConnection: keep-alive\r\n' "$answer"
matches "body" "overloaded$" "$answer"

it "draws Retry-After, so that those sent away do not come back together"
for _ in $(seq 40); do get / -o /dev/null -D - | sed -n 's/^Retry-After: //p'; done | sort -u >"$work/drawn"
at_least "values of Retry-After" 2 "$(wc -l <"$work/drawn")"

it "takes another status, body and type"
answer=$(get /own -i)
matches "status line" "^HTTP/1.1 429 " "$answer"
matches "type" $'\r\nContent-Type: application/json\r\n' "$answer"
matches "body" '\{"busy":true\}$' "$answer"
equal "empty body" "503 0" "$(get /empty -o /dev/null -w '%{http_code} %{size_download}')"

it "answers HEAD without a body"
answer=$(get / --head)
matches "status line" "^HTTP/1.1 503 " "$answer"
matches "length" $'\r\nContent-Length: 11\r\n' "$answer"

it "answers HTTP/1.0"
equal "status and body" "overloaded 503" "$(get / -0 -w '%{http_code}' | tr '\n' ' ')"

it "passes nginx's filters, whatever they make of it"
answer=$(get /filtered -i)
matches "a header added" $'\r\nX-Added: yes\r\n' "$answer"
matches "a body replaced" $'\r\n\r\n(4\r\n)?busy' "$answer"
equal "a header that does not wait for the body" "overloaded 503" \
  "$(get /unbuffered -w '%{http_code}' | tr '\n' ' ')"

# nginx writes the head itself where it is to say how long a connection is kept.
it "has the head that nginx writes, to the letter"
head_of() { get "$1" "${@:2}" -o /dev/null -D - | grep -v -e '^Date' -e '^Retry-After' -e '^Keep-Alive'; }
for way in "" /nameless /also; do
  equal "head of /$way" "$(head_of "/by-nginx$way")" "$(head_of "$way")"
  equal "closing head of /$way" "$(head_of "/by-nginx$way" -H 'Connection: close')" \
    "$(head_of "$way" -H 'Connection: close')"
done
matches "nginx wrote the other" $'\r\nKeep-Alive: timeout=30\r\n' "$(get /by-nginx -i)"
matches "the date" $'\r\nDate: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT\r\n' "$(get / -i)"

it "is logged with the bytes that were sent"
get / -o "$work/reply" -D "$work/reply_header" >/dev/null
sent="$(wc -c <"$work/reply") $(cat "$work/reply_header" "$work/reply" | wc -c)"
bytes_logged() { [ "$(tail -1 "$work/bytes.log")" = "$sent" ]; }
wait_until "the log says $sent" bytes_logged

# Two requests with one curl; it says how many connections that took.
two_requests() {
  curl -s -m 10 "http://127.0.0.1:$port$1" "${@:2}" -o "$work/first" -w '%{http_code} %{num_connects}\n' \
    --next -s -m 10 "http://127.0.0.1:$port/free" -o "$work/second" -w '%{http_code} %{num_connects}\n'
}

it "keeps the connection"
equal "statuses and new connections" "503 1 200 0" "$(two_requests / | tr '\n' ' ' | sed 's/ $//')"

# post_in_two FRAMING FIRST REST: a POST whose body comes half before and half after the answer, and then
# another request on the same connection. By hand, since curl gives up a connection of its own accord.
post_in_two() {
  local answer
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'POST / HTTP/1.1\r\nHost: a\r\n%b\r\n\r\n%b' "$1" "$2" >&3
  read -r -t 5 answer <&3
  matches "the answer with $1" "^HTTP/1.1 503 " "$answer"
  printf '%bGET /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' "$3" >&3
  answer=$(timeout 10 cat <&3)
  exec 3>&-
  matches "the next answer with $1" "HTTP/1.1 200 .*free$" "${answer//$'\n'/ }"
}

it "keeps it with a body that is not read, and that comes after the answer"
post_in_two 'Content-Length: 10' 'hello' 'world'
post_in_two 'Transfer-Encoding: chunked' '5\r\nhello\r\n' '5\r\nworld\r\n0\r\n\r\n'

it "closes it where the client waits to be asked for its body"
answer=$(get / -i -H 'Expect: 100-continue' --data-binary "@$work/payload")
matches "no 100 before it" "^HTTP/1.1 503 " "$answer"
matches "connection" $'\r\nConnection: close\r\n' "$answer"

it "answers pipelined requests in order"
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' >&3
answer=$(timeout 10 cat <&3)
exec 3>&-
matches "both" "^HTTP/1.1 503 .*overloaded.HTTP/1.1 200 .*free$" "${answer//$'\n'/ }"

it "goes through error_page only where told to"
equal "by default" 503 "$(code /)"
answer=$(get /page -i)
matches "status line" "^HTTP/1.1 200 " "$answer"
matches "Retry-After" $'\r\nRetry-After: [1-9]' "$answer"
matches "body" "sorry$" "$answer"

it "counts a rejection once, whatever error_page does with it"
before=$(class_state critical .rejected.limit)
code /page >/dev/null
equal "rejected" $((before + 1)) "$(class_state critical .rejected.limit)"
logged "^200 REJECTED:limit:critical 0.000 /page$" || fail "access log: $(tail -n 3 "$work/access.log")"

it "answers 504 for a deadline that has passed, without Retry-After"
answer=$(get /late -i -H 'grpc-timeout: 1n')
matches "status line" "^HTTP/1.1 504 " "$answer"
[[ $answer != *Retry-After* ]] || fail "Retry-After: $answer"
matches "reason" $'\r\nx-loadline-refused: deadline_expired\r\n' "$answer"
equal "counted" 1 "$(class_state critical .rejected.deadline_expired)"
matches "through error_page" "sorry" "$(get /late-page -H 'grpc-timeout: 1n')"

it "has let nobody through meanwhile"
equal "received by the upstream" 1 "$(service_count received)"
equal "in flight" 1 "$(state .in_flight)"
