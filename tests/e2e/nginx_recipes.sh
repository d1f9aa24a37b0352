#!/usr/bin/env bash
# The configurations of examples/nginx, as they stand there: each runs, and does what it is for.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

recipes=$root/examples/nginx

# start_recipe NAME [SED]: with ports, paths and service of this test, and what SED changes: limits that a few requests
# fill. It listens on $port, its status on $admin; $nginx is its master.
start_recipe() {
  local each temporary=
  free_port
  admin=$port
  free_port
  for each in client_body proxy fastcgi uwsgi scgi; do temporary+="${each}_temp_path $work/$each; "; done
  sed -e "s|modules/ngx_http_loadline_module.so|$LOADLINE_MODULE|" \
    -e "s|listen 8080|listen 127.0.0.1:$port|; s|listen 127.0.0.1:8081|listen 127.0.0.1:$admin|; s|listen 8082|listen unix:$work/metrics.sock|" \
    -e "s|127.0.0.1:9000|$service|; s|^http {|http { $temporary access_log $work/access.log;|" -e "${2:-}" \
    "$recipes/$1.conf" >"$work/nginx.conf"
  ! grep -nE '\b(8080|8081|8082|9[0-9]{3})\b' <(sed 's/#.*//' "$work/nginx.conf" | grep -v "$service") ||
    fail "an address of the example is left"
  start nginx run_recipe
  nginx=$started
  wait_until "nginx listens" is_listening "$port"
}
run_recipe() {
  local directives="daemon off; pid $work/nginx.pid;"
  [ "$(id -u)" != 0 ] || directives+=" user root;"
  exec "$LOADLINE_NGINX" -p "$work" -e "$work/error.log" -c "$work/nginx.conf" -g "$directives"
}
stop_recipe() {
  stop "$nginx"
  rm -f "$work/metrics.sock"
  : >"$work/codes"
}

gate_state() { curl -s -m 10 "http://127.0.0.1:$admin/status" | jq -r ".gates[] | select(.name == \"$1\") | $2"; }
gate_is() { [ "$(gate_state "$1" "$2")" = "$3" ]; }
refused() { gate_state "$1" "[.classes[] | select(.name == \"$2\") | .rejected[]] | add // 0"; }

# ---- users-first ---------------------------------------------------------------------------------

it "users-first: checkout and users are served while prefetch and beacons are refused"
start_service --workers 50 --service 5ms
service_pid=$started
# As queues absorb and so blur who may fill what, without one.
start_recipe users-first 's|limit=64|limit=10 queue=off|'
signed_in=(-H 'Cookie: session=1')
prefetch=(-H 'Sec-Purpose: prefetch;prerender')
equal "all are served at rest" "200 200 200 200" \
  "$(code /checkout/pay) $(code / "${signed_in[@]}") $(code / "${prefetch[@]}") $(code /beacon -X POST)"
for _ in $(seq 5); do begin "/sleep?ms=6000" "${signed_in[@]}"; done
wait_until "half of the limit is taken" gate_is shop .in_flight 5
equal "beacons have filled their half" 503 "$(code /beacon/page -X POST)"
equal "prefetch has not" 200 "$(code / "${prefetch[@]}")"
for _ in 1 2; do begin "/sleep?ms=6000" "${signed_in[@]}"; done
wait_until "70 % are taken" gate_is shop .in_flight 7
equal "prefetch is refused, however it says so" "503 503 503" \
  "$(code / "${prefetch[@]}") $(code / -H 'Purpose: prefetch') $(code / -H 'X-Moz: prefetch')"
equal "also where it fetches the checkout" 503 "$(code /checkout/pay "${prefetch[@]}" "${signed_in[@]}")"
equal "and says of itself that it is important" 503 "$(code / "${prefetch[@]}" -H 'X-Request-Criticality: checkout')"
equal "checkout, users and guests are served" "200 200 200" "$(code /checkout/pay) $(code / "${signed_in[@]}") $(code /)"
equal "each as what it is" "5 1 0" "$(refused shop prefetch) $(refused shop beacon) $(refused shop guest)"
stop_recipe

it "users-first: a beacon gives its place in the queue to a checkout"
start_recipe users-first 's|limit=64|limit=1 queue=1 wait=8s|'
begin "/sleep?ms=1500"
wait_until "the limit is reached" gate_is shop .in_flight 1
begin "/beacon/late" -X POST
wait_until "a beacon waits" gate_is shop .waiting 1
equal "the checkout is served" 200 "$(code /checkout/pay)"
wait_until "all have ended" codes_are_in 2
equal "the beacon was displaced" 1 "$(gate_state shop '.classes[] | select(.name == "beacon") | .rejected.displaced')"
stop_recipe

# ---- batch-and-interactive -----------------------------------------------------------------------

it "batch-and-interactive: with all exports running and waiting, a user notices nothing"
stop "$service_pid"
start_service --workers 50 --service 1900ms
service_pid=$started
start_recipe batch-and-interactive 's|limit=48|limit=4|; s|limit=16 queue=32|limit=2 queue=1|'
for _ in 1 2; do begin /exports/all; done
wait_until "the pool of the exports is full" gate_is batch .in_flight 2
begin /reports/monthly
wait_until "and its queue" gate_is batch .waiting 1
answer=$(get /exports/more -i)
matches "one more export" "^HTTP/1.1 503 " "$answer"
retry_after=$(sed -n 's/^Retry-After: \([0-9]*\).*/\1/p' <<<"$answer")
at_least "it is told to come back later than a user would" 5 "$retry_after"
equal "a user is served" 200 "$(code /users)"
equal "in his own pool" 1 "$(gate_state interactive '[.classes[].admitted] | add')"
equal "without a wait" 0 "$(gate_state interactive '[.classes[].rejected[]] | add // 0')"

it "batch-and-interactive: and the other way round"
wait_until "the exports have ended" codes_are_in 3
equal "the one that waited, too" 3 "$(count_codes 200)"
for _ in 1 2 3 4; do begin /users; done
wait_until "the users' pool is full" gate_is interactive .in_flight 4
equal "one more user" 503 "$(code /users)"
equal "an export" 200 "$(code /exports/all)"
at_most "most at the service at once" 6 "$(service_count max_outstanding)"
stop_recipe

# ---- public-api ----------------------------------------------------------------------------------

it "public-api: a key above its quota gets 429 with the RateLimit fields, another does not"
stop "$service_pid"
start_service --workers 50 --service 1ms
service_pid=$started
acme=(-H 'X-Api-Key: key-of-acme')
globex=(-H 'X-Api-Key: key-of-globex')
start_recipe public-api 's|quota=600r/m quota_burst=20|quota=6r/h quota_burst=3|'
equal "its share" "200 200 200" "$(code / "${acme[@]}") $(code / "${acme[@]}") $(code / "${acme[@]}")"
answer=$(get / -i "${acme[@]}" | tr -d '\r' | tr '\n' ' ')
matches "above it" '^HTTP/1.1 429 .*Retry-After: [0-9]+' "$answer"
matches "the policy" 'RateLimit-Policy: "api";q=[0-9]+;w=[0-9]+' "$answer"
matches "what is left" 'RateLimit: "api";r=0;t=[0-9]+' "$answer"
equal "another key" 200 "$(code / "${globex[@]}")"

it "public-api: keys of one's own making are one address"
for n in 1 2 3; do equal "made up $n" 200 "$(code / -H "X-Api-Key: made-up-$n")"; done
equal "made up 4" 429 "$(code / -H 'X-Api-Key: made-up-4')"
equal "nor does a header make one important" 429 "$(code / -H 'X-Request-Criticality: critical_plus')"
stop_recipe

it "public-api: who asks little has its turn before the rest of who asks much"
start_recipe public-api "s|limit=64|limit=1 queue=20 wait=8s|; s|access_log [^ ;]*;|log_format who '\$arg_who'; access_log $work/who.log who;|"
begin "/sleep?ms=1500&who=first"
wait_until "the limit is reached" gate_is api .in_flight 1
for n in 1 2 3 4; do
  begin "/sleep?ms=20&who=acme$n" "${acme[@]}"
  wait_until "it waits" gate_is api .waiting "$n"
done
begin "/sleep?ms=20&who=globex" "${globex[@]}"
wait_until "it waits" gate_is api .waiting 5
wait_until "all have ended" codes_are_in 6
wait_until "all are logged" grep -q acme4 "$work/who.log"
matches "the order" '^first (acme1 globex|globex acme1) acme2 acme3 acme4 $' "$(grep -vx -e - "$work/who.log" | tr '\n' ' ')"
stop_recipe

# ---- kubernetes ----------------------------------------------------------------------------------

it "kubernetes: both probes are answered at overload"
stop "$service_pid"
start_service --workers 50 --service 5ms
service_pid=$started
start_recipe kubernetes 's|limit=64|limit=1 queue=off|'
probes() { echo "$(code /livez -m 3) $(code /readyz -m 3)"; }
begin "/sleep?ms=6000"
wait_until "the limit is reached" gate_is pod .in_flight 1
equal "a request" 503 "$(code /)"
equal "probes" "200 200" "$(probes)"
equal "not by a path that only looks like one" 503 "$(code /readyz/)"

it "kubernetes: and while the gate drains"
curl -s -X POST "http://127.0.0.1:$admin/control?draining=on" >/dev/null
equal "it drains" true "$(gate_state pod .draining)"
equal "probes" "200 200" "$(probes)"

it "kubernetes: SIGQUIT lets what runs finish, and takes nothing new"
curl -s -X POST "http://127.0.0.1:$admin/control?draining=off" >/dev/null
kill -QUIT "$nginx"
is_closed() { ! is_listening "$port"; }
wait_until "nothing new is taken" is_closed
equal "it still runs" 0 "$(wc -l <"$work/codes")"
wait_until "it has ended" codes_are_in 1
equal "well" 1 "$(count_codes 200)"
is_gone() { ! is_running "$nginx"; }
wait_until "nginx is gone" is_gone
rm -f "$work/metrics.sock"
: >"$work/codes"

it "kubernetes: they say that a service that is gone is not ready"
start_recipe kubernetes
equal "probes" "200 200" "$(probes)"
stop "$service_pid"
equal "probes without a service" "502 502" "$(probes)"
stop_recipe

it "kubernetes: the manifest fits the configuration"
manifest=$recipes/kubernetes.yaml
number() { # BEFORE AFTER FILE: what stands between them, and stands there once
  local found
  found=$(sed -nE "s/^.*$1([0-9]+)$2.*$/\1/p" "$3")
  [[ $found =~ ^[0-9]+$ ]] || fail "no number, or several, between '$1' and '$2': $found"
  echo "$found"
}
pause=$(number '"sleep ' '; nginx -s quit' "$manifest")
finish=$(number 'worker_shutdown_timeout ' 's;' "$recipes/kubernetes.conf")
at_least "grace" $((pause + finish + 1)) "$(number 'terminationGracePeriodSeconds: ' '' "$manifest")"
at_least "the service outlives nginx" $((pause + finish)) "$(number '"sleep ' '"]' "$manifest")"

# ---- one-database --------------------------------------------------------------------------------

it "one-database: ten instances at full load, and the database never sees more than its pool"
start_service --workers 50 --service 50ms
service_pid=$started
instances=
for n in $(seq 10); do
  instances+="server { listen unix:$work/app$n.sock; location / { proxy_pass http://$service; } } "
done
# The instances, which have no limit of their own: an nginx beside the one of the recipe.
mkdir "$work/instances"
write_conf <<<"$instances"
sed "s|$work/\([a-z]*\)\(;\|.log\|.pid\)|$work/instances/\1\2|" "$work/nginx.conf" >"$work/instances/nginx.conf"
start instances "$LOADLINE_NGINX" -p "$work/instances" -e "$work/instances/error.log" -c "$work/instances/nginx.conf" -g 'daemon off;'
wait_until "the instances listen" test -S "$work/app10.sock"
start_recipe one-database "s|127.0.0.1:90\([01]\)\([0-9]\)|unix:$work/app\1\2.sock|; s|/app0|/app|"
"$LOADLINE_COMMAND" load "http://127.0.0.1:$port/" --rate 10 --burst 400@500ms --duration 2s --allow-starved --json >"$work/load.json"
at_least "refused" 100 "$(jq '.total.answered."503" // 0' "$work/load.json")"
at_least "served" 100 "$(jq '.total.answered."200" // 0' "$work/load.json")"
equal "most at the database at once" 50 "$(service_count max_outstanding)"
equal "limit" 50 "$(gate_state database .limit)"
stop_recipe

# ---- callers-sidecar -----------------------------------------------------------------------------

it "callers-sidecar: a refusal goes to the other instance, failures open the breaker, each service has its own"
instances=
for n in 1 2 3 4; do
  instances+="server { listen unix:$work/callee$n.sock;
    set \$come_back \"\";
    location / {
      if (-f $work/callee$n.refuse) { set \$come_back 5; return 503 refused; }
      if (-f $work/callee$n.fail) { return 504; }
      return 200 \"$n\";
    }
    add_header Path \$uri always;
    add_header Retry-After \$come_back always;
  } "
done
mkdir "$work/callees"
write_conf <<<"$instances"
sed "s|$work/\([a-z]*\)\(;\|.log\|.pid\)|$work/callees/\1\2|" "$work/nginx.conf" >"$work/callees/nginx.conf"
start callees "$LOADLINE_NGINX" -p "$work/callees" -e "$work/callees/error.log" -c "$work/callees/nginx.conf" -g 'daemon off;'
wait_until "the instances listen" test -S "$work/callee4.sock"
start_recipe callers-sidecar "s|127.0.0.1:900\([0-9]\)|unix:$work/callee\1.sock|"
caller_state() { curl -s -m 10 "http://127.0.0.1:$admin/status" | jq -r ".callers[] | select(.name == \"$1\") | $2"; }
matches "the path at the service" $'\r\nPath: /17\r\n' "$(get /orders/17 -i)"
touch "$work/callee1.refuse"
for _ in 1 2 3 4; do equal "a POST as well" 2 "$(get /orders/ -d body)"; done
at_least "tried at the other" 1 "$(caller_state orders .elsewhere)"
rm "$work/callee1.refuse"
touch "$work/callee1.fail" "$work/callee2.fail"
for _ in $(seq 10); do code /orders/ >/dev/null; done
answer=$(get /orders/ -i)
matches "left alone" $'\r\nx-loadline-refused: breaker_open\r\n' "$answer"
equal "the other service" 200 "$(code /search/)"
rm "$work"/callee?.fail
is_well() { [ "$(code /orders/)" = 200 ] && [ "$(caller_state orders .breaker)" = closed ]; }
wait_until "it is asked again" is_well
stop_recipe

# ---- grpc ----------------------------------------------------------------------------------------

it "grpc: a call at the limit gets UNAVAILABLE and when to come back; the health check passes"
start upstream /usr/bin/python3 "$root/tests/e2e/clients/grpc_pair.py" serve
upstream=$started
wait_until "the service listens" test -s "$work/upstream.log"
service=127.0.0.1:$(cat "$work/upstream.log")
start_recipe grpc 's|limit=64|limit=1 queue=off|'
# An empty message in gRPC's frame; only to what will be let in, as curl forgets an answer that comes before it has sent all.
printf '\0\0\0\0\0' >"$work/message"
message=(--data-binary "@$work/message")
grpc() {
  curl -s -i -m 10 --http2-prior-knowledge -X POST -H 'content-type: application/grpc' -H 'te: trailers' \
    "http://127.0.0.1:$port$1" "${@:2}" | tr -d '\0\r' | tr '\n' ' '
}
matches "a call" '^HTTP/2 200 .*grpc-status: 0' "$(grpc /test.Echo/Say "${message[@]}")"
start holder /usr/bin/python3 "$root/tests/e2e/clients/grpc_pair.py" call "$port" Sleep 4000
wait_until "the limit is reached" gate_is calls .in_flight 1
answer=$(grpc /test.Echo/Say)
matches "a call" '^HTTP/2 200 .*grpc-status: 14 ' "$answer"
matches "when to come back" 'grpc-retry-pushback-ms: [0-9]+000 ' "$answer"
matches "the health check" '^HTTP/2 200 .*grpc-status: 0' "$(grpc /grpc.health.v1.Health/Check "${message[@]}")"
matches "a call whose time is up" 'grpc-status: 4 ' "$(grpc /test.Echo/Say -H 'grpc-timeout: 1n')"
wait_until "the first is served" grep -q '^OK 4000' "$work/holder.log"

it "grpc: a service that is gone is UNAVAILABLE as well, and not HTTP's 502"
stop "$upstream"
matches "status" 'content-type: application/grpc .*grpc-status: 14 ' "$(grpc /test.Echo/Say)"
equal "to a real client" "UNAVAILABLE  service unavailable" \
  "$(/usr/bin/python3 "$root/tests/e2e/clients/grpc_pair.py" call "$port" Say hello)"
stop_recipe
