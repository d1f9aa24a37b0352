#!/usr/bin/env bash
# nginx as the one who calls: another peer is tried within a budget, nobody is asked who is left alone, and a client is
# told whose failure it was.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

free_port
one=$port
free_port
other=$port
free_port
workers=2

# conf PARAMETERS...: of the caller. Each peer does as a file says that is named after it: fail (503, without a word),
# refuse (as a gate of Loadline's does), marked (a failure from further down), broken (500).
peer() {
  cat <<EOC
  server {
    listen 127.0.0.1:$2;
    access_log $work/$1.log loadline;
    set \$after "";
    set \$refused "";
    set \$marked "";
    location / {
      if (-f $work/$1.refuse) { set \$after 7; set \$refused limit; return 503 "refused\n"; }
      if (-f $work/$1.marked) { set \$marked 1; return 503 "marked\n"; }
      if (-f $work/$1.fail) { return 503 "failed\n"; }
      if (-f $work/$1.broken) { return 500 "broken\n"; }
      return 200 "$1\n";
    }
    location /gated { loadline $1; root $work/pages/$1; }
    add_header Retry-After \$after always;
    add_header X-Loadline-Refused \$refused always;
    add_header X-Loadline-Further-Down \$marked always;
  }
EOC
}
conf() {
  cat <<EOC
  log_format call '\$status \$loadline_call:\$loadline_call_reason \$upstream_status \$request_uri';
  loadline_caller peers $*;
  loadline_gate one:256k limit=1 queue=off;
  loadline_gate other:256k limit=1 queue=off;
  upstream peers { server 127.0.0.1:$one max_fails=0; server 127.0.0.1:$other max_fails=0; }
  $(peer one "$one")
  $(peer other "$other")
  server {
    listen 127.0.0.1:$port;
    access_log $work/calls.log call;
    keepalive_requests 100000;
    proxy_next_upstream error timeout http_500 http_502 http_503 http_504 non_idempotent;
    error_page 502 503 504 = /sorry;
    location = /sorry { return 200 "sorry\n"; }
    location / { loadline_call peers; proxy_pass http://peers; }
    location /bare { loadline_call off; proxy_pass http://peers; }
    location = /control { loadline_control; }
    location = /status { loadline_stub_status; }
    location = /metrics { loadline_metrics; }
  }
EOC
}
peers_do() { # WHAT: both
  rm -f "$work"/{one,other}.{refuse,marked,fail,broken}
  [ -z "${1:-}" ] || touch "$work/one.$1" "$work/other.$1"
}
attempts() { cat "$work/one.log" "$work/other.log" | wc -l; }
attempts_are() { [ "$(attempts)" = "$1" ]; }
forget_attempts() { : >"$work/one.log"; : >"$work/other.log"; }
last_call() { tail -n 1 "$work/calls.log"; }
# calls COUNT PATH: one after the other, on one connection.
calls() { curl -s -m 120 -o /dev/null "http://127.0.0.1:$port$2?[1-$1]"; }

# renew PARAMETERS...: reload, until the new workers are the only ones.
renew() {
  reload_nginx < <(conf "$@")
  wait_until "the old workers are gone" worker_count_is 2
}
caller_state() { get /status | jq -r ".callers[0]$1"; }
caller_is() { [ "$(caller_state "$1")" = "$2" ]; }

caller_of_quiet_is_idle() { [ "$(state_of quiet '.active, .ended.cancelled' | tr '\n' ' ')" = "0 1 " ]; }

start_nginx < <(conf breaker=off)

it "tries the other peer when one fails"
touch "$work/one.fail"
for _ in 1 2 3 4; do equal "answer" other "$(get /)"; done
call_logged() { grep -qE "$1" "$work/calls.log"; }
wait_until "it was tried again" call_logged '^200 ANSWERED:- 503, 200 /$'

it "gives the last answer to the client as it is, marked, when both fail"
peers_do fail
answer=$(get / -i)
matches "status line" "^HTTP/1.1 503 " "$answer"
matches "mark" $'\r\nx-loadline-further-down: 1\r\n' "$answer"
matches "body" "failed$" "$answer"
wait_until "both were asked" call_logged '^503 FAILED:.* 503, 503 /$'

it "keeps attempts within the budget: ten saved up, and one in ten seconds"
stop_nginx
forget_attempts
start_nginx < <(conf breaker=off)
peers_do fail
begun=$SECONDS
calls 10000 /
took=$((SECONDS - begun))
figure "10,000 calls in $took s, $(attempts) attempts"
wait_until "all are logged" test "$(wc -l <"$work/calls.log")" -ge 10000
at_least "attempts" 10010 "$(attempts)"
at_most "attempts" $((10011 + took / 10)) "$(attempts)"
equal "not tried again for want of budget" "503 FAILED:budget 503 /?10000" "$(last_call)"

equal "the status's count of attempts" "$(attempts)" "$(caller_state .attempts)"
equal "and of retries" "$(($(attempts) - 10000))" "$(caller_state .retries)"
equal "none is left over" 0 "$(caller_state .active)"

it "lets both workers spend from one budget, and a reload change nothing about it"
before=$(attempts)
renew breaker=off
equal "counted before the reload" "$before" "$(caller_state .attempts)"
for _ in $(seq 20); do get / >/dev/null; done
at_most "retries of ten seconds more" 12 "$(caller_state .retries)"

it "opens the breaker, asks nobody, and says so"
renew breaker_open=1h
calls 12 /
equal "breaker" open "$(caller_state .breaker)"
forget_attempts
answer=$(get / -i)
matches "status line" "^HTTP/1.1 503 " "$answer"
matches "reason" $'\r\nx-loadline-refused: breaker_open\r\n' "$answer"
matches "Retry-After" $'\r\nRetry-After: [0-9]+\r\n' "$answer"
matches "mark" $'\r\nx-loadline-further-down: 1\r\n' "$answer"
matches "connection" $'\r\nConnection: keep-alive\r\n' "$answer"
matches "body" "overloaded$" "$answer"
for _ in 1 2 3 4; do equal "of either worker" 503 "$(code /)"; done
equal "a POST" 503 "$(code / -d body)"
equal "HEAD" "503" "$(code / --head)"
equal "attempts" 0 "$(attempts)"
matches "a gRPC client" $'\r\ngrpc-status: 14\r\n.*x-loadline-refused: breaker_open' \
  "$(get / -i -H 'Content-Type: application/grpc' | tr -d '\n' | sed 's/\r/\r\n/g')"
# Ten failures in a row are five calls of two attempts; so seven of the twelve, and the eight from above.
equal "refused" 15 "$(caller_state .refused.breaker_open)"
equal "elsewhere it is as ever" 503 "$(code /bare)"
at_least "attempts without a caller" 2 "$(attempts)"
peers_do
renew breaker_open=1h
equal "after a reload it is still open" open "$(caller_state .breaker)"
wait_until "the log says why" error_logged 'loadline_caller "peers": breaker_opened: too many results in a row were bad'

it "lets a few ask after a while, and then all"
renew breaker_open=50ms
peers_do fail
calls 12 /
matches "breaker" '^(open|half_open)$' "$(caller_state .breaker)"
peers_do
served() { [ "$(code /)" = 200 ]; }
wait_until "a probe passes" served
wait_until "a second one does" served
wait_until "a third one does" served
equal "breaker" closed "$(caller_state .breaker)"

it "takes a refusal to the other peer, once, and does not count it as a failure"
renew breaker_open=1h
touch "$work/one.refuse"
for _ in $(seq 4); do equal "answer" other "$(get /)"; done
peers_do refuse
: >"$work/calls.log"
answer=$(get / -i)
matches "reason" $'\r\nX-Loadline-Refused: limit\r\n' "$answer"
matches "mark" $'\r\nx-loadline-further-down: 1\r\n' "$answer"
wait_until "both were asked" call_logged '^503 FAILED:- 503, 503 /$'
calls 40 /
equal "breaker" closed "$(caller_state .breaker)"

it "knows a gate's refusal, and in gRPC's way as well"
mkdir -p "$work/pages/one" "$work/pages/other"
echo "gated one" >"$work/pages/one/gated"
echo "gated other" >"$work/pages/other/gated"
peers_do
calls 80 /  # they pay for eight retries
get '/control?gate=one&draining=on' -X POST >/dev/null
for _ in 1 2 3 4; do equal "answer" "gated other" "$(get /gated)"; done
get '/control?gate=other&draining=on' -X POST >/dev/null
matches "reason" $'\r\nx-loadline-refused: draining\r\n' "$(get /gated -i)"
failures=$(caller_state .ended.unavailable)
refusals=$(caller_state .ended.refused)
answer=$(get /gated -i -H 'Content-Type: application/grpc')
matches "gRPC's status" $'\r\ngrpc-status: 14\r\n' "$answer"
matches "mark" $'\r\nx-loadline-further-down: 1\r\n' "$answer"
equal "refusals" $((refusals + 1)) "$(caller_state .ended.refused)"
equal "failures" "$failures" "$(caller_state .ended.unavailable)"

it "does not try again what failed further down, nor what was processed"
peers_do marked
forget_attempts
answer=$(get / -i)
matches "mark" $'\r\nX-Loadline-Further-Down: 1\r\n' "$answer"
equal "marks" 1 "$(grep -ci further-down <<<"$answer")"
equal "attempts" 1 "$(attempts)"
peers_do broken
equal "500" 500 "$(code /)"
equal "attempts" 2 "$(attempts)"

it "does not send a POST twice unless it was refused, though nginx would"
peers_do fail
forget_attempts
equal "failed" 503 "$(code / -d body)"
equal "attempts" 1 "$(attempts)"
peers_do
calls 80 /  # they pay for eight retries
touch "$work/one.refuse"
forget_attempts
for _ in 1 2 3 4; do equal "refused by one" other "$(get / -d body)"; done
at_least "attempts" 5 "$(attempts)"
peers_do

it "shows all that in the metrics"
get /metrics >"$work/metrics"
for metric in 'loadline_calls_total{caller="peers"}' 'loadline_call_attempts_total{caller="peers"}' \
  'loadline_call_refused_total{caller="peers",reason="breaker_open"}' 'loadline_call_budget{caller="peers"}' \
  'loadline_call_gave_up_total{caller="peers",reason="further_down"}' 'loadline_call_ended_total{caller="peers",ended="refused"}' \
  'loadline_call_breaker{caller="peers",state="closed"}'; do
  grep -qF "$metric " "$work/metrics" || fail "no $metric"
done
equal "calls = refused + answered + gave up + not made" "$(caller_state .calls)" \
  "$(caller_state ' | ([.refused[]] | add // 0) + .answered + ([.gave_up[]] | add // 0) + .not_made')"
equal "attempts, by how they ended" "$(caller_state .attempts)" "$(caller_state ' | [.ended[]] | add')"
stop_nginx

# ---- Peers that do not answer --------------------------------------------------------------------

# Takes connections and says nothing.
start silent python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0), backlog=500)
print(s.getsockname()[1], flush=True)
time.sleep(600)'
wait_until "it listens" test -s "$work/silent.log"
silent=$(cat "$work/silent.log")
free_port
nobody=$port  # no one listens there
free_port
conf_of_silence() {
  cat <<EOC
  log_format call '\$status \$loadline_call:\$loadline_call_reason \$upstream_status \$request_uri';
  proxy_cache_path $work/cache keys_zone=pages:64k;
  loadline_caller quiet attempts=5 breaker=off;
  loadline_caller gone breaker_open=1h breaker_row=3;
  loadline_caller half budget=20% budget_saved=1 budget_floor=off breaker=off;
  loadline_caller shy attempts=1 breaker_row=2 breaker_open=50ms;
  loadline_caller stale breaker_open=1h breaker_row=1;
  loadline_gate api:256k limit=10;
  loadline_gate one:256k limit=1 queue=off;
  upstream quiet { server 127.0.0.1:$silent max_fails=0; server 127.0.0.1:$silent max_fails=0; }
  upstream gone { server 127.0.0.1:$nobody max_fails=0; server 127.0.0.1:$nobody max_fails=0; }
  upstream half { server 127.0.0.1:$one max_fails=0; server 127.0.0.1:$nobody max_fails=0; }
  upstream stale { server 127.0.0.1:$one max_fails=0; keepalive 4; }
  $(peer one "$one")
  server {
    listen 127.0.0.1:$port;
    access_log $work/calls.log call;
    keepalive_requests 100000;
    proxy_next_upstream_tries 0;
    location /quiet { loadline_call quiet deadline=400ms; proxy_pass http://quiet; }
    location /impatient { loadline_call quiet deadline=900ms; proxy_read_timeout 300ms; proxy_pass http://quiet; }
    location /variable { loadline_call quiet deadline=\$arg_time; proxy_pass http://quiet; }
    location /gated { loadline api deadline=300ms; loadline_call quiet; proxy_pass http://quiet; }
    location /shy { loadline_call shy deadline=\$arg_time; proxy_pass http://quiet; }
    location /gone { loadline_call gone; proxy_pass http://gone; }
    location /fallback { loadline_call gone; loadline_error_page on; error_page 502 = @fallback; proxy_pass http://gone; }
    location @fallback { return 200 "fallback\n"; }
    location /half { loadline_call half; proxy_pass http://half; }
    location /stale {
      loadline_call stale;
      proxy_cache pages; proxy_cache_valid 200 1s; proxy_cache_use_stale error timeout http_503;
      proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_pass http://stale/;
    }
    location = /status { loadline_stub_status; }
  }
EOC
}
workers=1
start_nginx < <(conf_of_silence)
state_of() { get /status | jq -r ".callers[] | select(.name == \"$1\") | $2"; }
took() { get "$1" -o "$work/answer" -w '%{http_code} %{time_total}\n'; }

it "cuts a call off at its deadline, and does not try again what could not finish"
read -r status seconds < <(took /quiet)
equal "status" 504 "$status"
within "seconds" 0.8 "$seconds"
within "not too early: -seconds" -0.38 "-$seconds"
wait_until "one attempt" call_logged '^504 FAILED:deadline_unmeetable 504 /quiet$'
read -r status seconds < <(took /gated)
equal "status with the gate's deadline" 504 "$status"
within "seconds" 0.7 "$seconds"
read -r status seconds < <(took "/variable?time=200ms")
equal "status with one of the request's own" 504 "$status"
within "seconds" 0.6 "$seconds"

it "tries again within the deadline, and no further"
read -r status seconds < <(took /impatient)
equal "status" 504 "$status"
within "seconds" 1.3 "$seconds"
wait_until "the second attempt was nginx's last" call_logged '^504 FAILED:- 504, 504 /impatient$'
equal "calls that are not over" 0 "$(state_of quiet .active)"

it "refuses at once what has no time left"
head -c 400000 /dev/zero >"$work/payload"
# Its body takes longer to come than it has.
answer=$(get "/variable?time=50ms" -i -H 'Expect:' --limit-rate 400k --data-binary "@$work/payload")
matches "status line" "^HTTP/1.1 504 " "$answer"
matches "reason" $'\r\nx-loadline-refused: deadline_expired\r\n' "$answer"
[[ $answer != *Retry-After* ]] || fail "Retry-After: $answer"

it "counts who cannot be reached, and opens the breaker for them"
for _ in 1 2; do equal "nginx's own answer" 502 "$(code /gone)"; done
matches "marked" $'\r\nx-loadline-further-down: 1\r\n' "$(get /gone -i)"
equal "not asked any more" 503 "$(code /gone)"
equal "breaker" open "$(state_of gone .breaker)"
equal "unreached" 3 "$(state_of gone .ended.unreached)"
equal "through error_page where told to" "fallback" "$(get /fallback)"

it "lets no more than the probes through to who may not be well yet"
for _ in 1 2; do equal "no answer" 504 "$(code "/shy?time=60ms")"; done
may_be_probed() { [ "$(state_of shy .breaker)" != open ]; }
wait_until "its time is over" may_be_probed
: >"$work/codes"
for _ in $(seq 12); do begin "/shy?time=3s"; done
wait_until "all others are refused" codes_are_in 9
equal "refused" 9 "$(count_codes 503)"
equal "probes" 3 "$(state_of shy .active)"
wait_until "the probes have had their time" codes_are_in 12
equal "probes that failed" 3 "$(count_codes 504)"

it "pays retries from what succeeds: a fifth of a retry for each, and one saved up"
rm -f "$work"/one.*
: >"$work/one.log"
calls 1000 /half
good=$(state_of half .answered)
retries=$(state_of half .retries)
figure "$good answered, $retries retries"
at_most "retries" $((1 + good / 5)) "$retries"
at_least "retries" $((good / 5 - 1)) "$retries"
equal "calls" 1000 "$(state_of half .calls)"
equal "answered + given up" 1000 "$(state_of half '.answered + .gave_up.budget')"

it "lets a cache answer for those who are left alone"
equal "fresh" one "$(get /stale)"
touch "$work/one.fail"
page_is_stale() { [ "$(get /stale)" = one ] && [ "$(state_of stale .breaker)" = open ]; }
wait_until "stale, since it fails" page_is_stale
: >"$work/one.log"
equal "stale, since it is not asked" one "$(get /stale)"
equal "asked" 0 "$(wc -l <"$work/one.log")"
equal "refused" 1 "$(state_of stale .refused.breaker_open)"

it "ends its count when a client leaves"
# It leaves before there is an answer, which is what curl fails for.
curl -s -m 0.2 -o /dev/null "http://127.0.0.1:$port/variable?time=60s" || true
wait_until "the call is over" caller_of_quiet_is_idle
