#!/usr/bin/env bash
# A rejection in the middle of a 10 MB upload: the caller sees it, the service sees nothing, nothing is
# stored, and what is still sent is thrown away within nginx's bounds.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

uploads=300
! long_form || uploads=3000

start_counting_service
free_port
workers=2
start_nginx <<EOC
  loadline_gate api:256k limit=2 queue=off;
  server {
    listen 127.0.0.1:$port;
    loadline api;
    client_max_body_size 100m;
    proxy_read_timeout 300s;
    location / { proxy_pass http://$service; }
    location /streamed { proxy_request_buffering off; proxy_http_version 1.1; proxy_pass http://$service; }
    location /bounded { lingering_time 2s; lingering_timeout 1s; proxy_pass http://$service; }
    location = /status { loadline_stub_status; }
  }
EOC
begin "/?ms=290000" -m 300
begin "/?ms=290000" -m 300
wait_until "the limit is reached" state_is .in_flight 2
received=$(service_count received)
rejected() { state ' | [.classes[].rejected[]] | add // 0'; }
resident() { worker_pids | xargs -I{} cat /proc/{}/status | awk '/^VmRSS:/ { sum += $2 } END { print sum }'; }

for path in / /streamed; do
  it "shows the status to every caller that uploads 10 MB to $path"
  before=$(rejected)
  run_client uploads.py "$port" --path "$path" --count "$uploads" >"$work/uploads"
  figure "$(cat "$work/uploads")"
  at_least "saw it, of $uploads" $(((uploads * 999 + 999) / 1000)) "$(json "$work/uploads" .seen)"
  equal "rejected" "$uploads" $(($(rejected) - before))
  equal "neither usable nor closed" 0 "$(json "$work/uploads" .broken)"
  equal "usable or closed" "$(json "$work/uploads" .seen)" "$(json "$work/uploads" '.usable + .closed')"
  equal "received by the service" "$received" "$(service_count received)"
  equal "of bodies" 0 "$(service_count body_bytes)"
done

it "keeps next to nothing of 100 uploads that are on their way at the same time"
before=$(resident)
run_client uploads.py "$port" --count 100 --at-once 100 >"$work/uploads" &
uploading=$!
most=$before
while is_running "$uploading"; do
  now=$(resident)
  most=$((now > most ? now : most))
done
wait "$uploading"
figure "$(((most - before) / 100)) KiB each"
at_most "KiB of memory for 100" 6400 $((most - before))
equal "saw it" 100 "$(json "$work/uploads" .seen)"
[ -z "$(find "$work/body" -type f 2>/dev/null)" ] || fail "something was stored of a rejected body"

it "invites no body with Expect: 100-continue, and ends the connection after the answer"
head -c 10000000 /dev/zero >"$work/payload"
for _ in $(seq 20); do
  curl -s -m 10 -v -o /dev/null --expect100-timeout 9 -H 'Expect: 100-continue' --data-binary "@$work/payload" \
    -w '%{http_code} %{size_upload}\n' "http://127.0.0.1:$port/" >>"$work/expecting" 2>>"$work/talk"
done
equal "answers, and bytes sent" "503 0" "$(sort -u "$work/expecting")"
! grep -q '< HTTP/1.1 100' "$work/talk" || fail "a body was invited"
equal "received by the service" "$received" "$(service_count received)"

it "discards no longer than nginx's lingering bounds say"
run_client senders.py "$port" --path /bounded --count 20 --interval 0 >"$work/silent"
figure "silent senders: $(tail -n 1 "$work/silent")"
equal "saw it" 20 "$(tail -n 1 "$work/silent" | jq .status_503)"
within "seconds for who sends nothing" 2 "$(tail -n 1 "$work/silent" | jq .closed_after)"
run_client senders.py "$port" --path /bounded --count 20 --interval 0.1 >"$work/slow"
figure "slow senders: $(tail -n 1 "$work/slow")"
equal "saw it" 20 "$(tail -n 1 "$work/slow" | jq .status_503)"
within "seconds for who sends slowly" 4 "$(tail -n 1 "$work/slow" | jq .closed_after)"
equal "the limit was reached throughout" 2 "$(state .in_flight)"
