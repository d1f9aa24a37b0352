#!/usr/bin/env bash
# What is admitted and what is counted: once a request, and only what reaches the upstream.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_service --workers 50 --service 10ms
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=2 queue=off;
  limit_req_zone \$binary_remote_addr zone=slowly:64k rate=1r/m;
  upstream service { server $service; keepalive 8; }
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  server {
    listen 127.0.0.1:$port;
    error_page 404 = /fallback;
    location / { loadline api; proxy_pass http://service; }
    location /off/ { loadline off; proxy_pass http://service/; }
    location /inner { internal; loadline api; proxy_pass http://service; }
    location /redirect { loadline api; try_files /none /inner; }
    location /missing { loadline api; root $work/none; }
    location /fallback { loadline api; proxy_pass http://service; }
    location /named { loadline api; try_files /none @named; }
    location @named { loadline api; proxy_pass http://service; }
    location /answered { loadline api; return 200 "here\n"; }
    location /slowly { loadline api; limit_req zone=slowly; limit_req_status 429; proxy_pass http://service; }
    location = /auth { internal; loadline api; proxy_pass http://service; }
    location /guarded { loadline api; auth_request /auth; proxy_pass http://service; }
    location /mirrored { loadline api; mirror /auth; proxy_pass http://service; }
    location = /status { loadline_stub_status; }
    location = /variables {
      loadline api class=sheddable deadline=5s;
      add_header X-Standing "\$loadline_status \$loadline_class \$loadline_limit \$loadline_inflight";
      add_header X-Left "\$loadline_deadline_left";
      proxy_pass http://service/;
    }
  }
EOC

it "admits a request and gives its slot back"
equal "status" 200 "$(code /)"
equal "admitted" 1 "$(class_state critical .admitted)"
equal "in flight" 0 "$(state .in_flight)"
logged "^200 ADMITTED:-:critical 0.000 /$" || fail "access log: $(cat "$work/access.log")"

it "rejects at the limit, at once, and without asking the upstream"
begin "/sleep?ms=600"
begin "/sleep?ms=600"
wait_until "two are in service" service_count_is in_service 2
equal "in flight" 2 "$(state .in_flight)"
equal "status" 503 "$(code /)"
equal "received by the upstream" 3 "$(service_count received)"
equal "rejected" 1 "$(class_state critical .rejected.limit)"
logged "^503 REJECTED:limit:critical 0.000 /$" || fail "access log: $(cat "$work/access.log")"

it "does not gate what is off"
equal "status" 200 "$(code /off/)"
equal "own page" 200 "$(code /status)"

it "does not ask the authorizing subrequest of a request that is rejected"
before=$(service_count received)
equal "status" 503 "$(code /guarded)"
equal "received by the upstream" "$before" "$(service_count received)"

it "lets later requests in when the slots are free"
wait_until "both have ended" codes_are_in 2
wait_until "the slots are free" state_is .in_flight 0
equal "codes" 2 "$(count_codes 200)"
equal "status" 200 "$(code /)"

# PATH, and how many requests the upstream sees of it.
counted_once() {
  local path=$1 upstream=$2 admitted received
  admitted=$(class_state critical .admitted)
  received=$(service_count received)
  equal "status of $path" 200 "$(code "$path")"
  equal "admissions for $path" $((admitted + 1)) "$(class_state critical .admitted)"
  wait_until "the upstream has seen $upstream of $path" service_count_is received $((received + upstream))
  wait_until "its slot is free" state_is .in_flight 0
}

it "counts a request once through internal redirects"
counted_once /redirect 1
counted_once /named 1
counted_once /missing 1

it "does not count subrequests"
counted_once /guarded 2
counted_once /mirrored 2

it "does not count what the rewrite phase has answered"
before=$(class_state critical .admitted)
equal "body" "here" "$(get /answered)"
equal "admitted" "$before" "$(class_state critical .admitted)"

it "comes after limit_req: who is refused there is not counted"
counted_once /slowly 1
before=$(class_state critical .admitted)
equal "status" 429 "$(code /slowly)"
equal "admitted" "$before" "$(class_state critical .admitted)"

it "shows itself in variables"
headers=$(get /variables -i)
matches "standing" "X-Standing: ADMITTED sheddable 2 [01]" "$headers"
matches "deadline" "X-Left: (4[0-9]{3}|5000)" "$headers"

it "knows how long requests take"
for _ in $(seq 25); do code / >/dev/null; done
wait_until "the mean is known" bash -c "[ \"\$(curl -s http://127.0.0.1:$port/status | jq '.gates[0].service_mean_ms > 5')\" = true ]"
