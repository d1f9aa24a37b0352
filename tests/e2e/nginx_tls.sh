#!/usr/bin/env bash
# Over TLS, with HTTP/1.1 and HTTP/2: the same verdicts, and the same way back.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
start_service --workers 50
free_port
tls=$port
free_port
start_nginx <<EOC
  loadline_gate api:256k limit=1 queue=4 wait=2s;
  server {
    listen 127.0.0.1:$tls ssl http2;
    ssl_certificate $work/cert.pem;
    ssl_certificate_key $work/key.pem;
    ssl_buffer_size 1k;
    client_max_body_size 10m;
    loadline api;
    location / { proxy_pass http://$service; }
    location /impatient/ { loadline none; proxy_pass http://$service/; }
  }
  loadline_gate none:256k limit=1 queue=off;
  server { listen 127.0.0.1:$port; location = /status { loadline_stub_status; } }
EOC
secure() { curl -s -m 10 --cacert "$work/cert.pem" "https://127.0.0.1:$tls$1" "${@:2}"; }
status() { secure "$@" -o /dev/null -w '%{http_version} %{http_code}'; }
gate_state() { get /status | jq -r ".gates[] | select(.name == \"$1\") | $2"; }
gate_is() { [ "$(gate_state "$1" "$2")" = "$3" ]; }
head -c 3000000 /dev/zero >"$work/payload"

it "lets through what fits, bodies too"
equal "HTTP/1.1" "1.1 200" "$(status / --http1.1)"
equal "HTTP/2" "2 200" "$(status / --http2)"
equal "a body" 3000000 "$(secure /echo --http1.1 --data-binary "@$work/payload" | jq .body_bytes)"
equal "a body over HTTP/2" 3000000 "$(secure /echo --http2 --data-binary "@$work/payload" | jq .body_bytes)"

it "lets one wait for its turn"
start holder curl -s -m 10 --cacert "$work/cert.pem" "https://127.0.0.1:$tls/sleep?ms=500"
wait_until "it is full" gate_is api .in_flight 1
equal "HTTP/2, after its wait" "2 200" "$(status / --http2)"

it "turns away, and says when to come back"
start holder curl -s -m 20 --cacert "$work/cert.pem" "https://127.0.0.1:$tls/impatient/sleep?ms=6000"
wait_until "it is full" gate_is none .in_flight 1
received=$(service_count received)
for http in --http1.1 --http2; do
  answer=$(secure /impatient/ "$http" -i)
  matches "the status, $http" "^HTTP/[12.]+ 503" "$answer"
  matches "when to come back, $http" $'\r\n[Rr]etry-[Aa]fter: [0-9]+\r\n' "$answer"
  matches "the body, $http" "overloaded$" "$answer"
  equal "with a body of its own, $http" 503 "$(secure /impatient/ "$http" -o /dev/null -w '%{http_code}' --data-binary "@$work/payload")"
done
equal "over one connection" "503 1 503 0" \
  "$(secure /impatient/ --http1.1 -o /dev/null -w '%{http_code} %{num_connects} ' --next -s -m 10 --http1.1 \
    --cacert "$work/cert.pem" "https://127.0.0.1:$tls/impatient/" -o /dev/null -w '%{http_code} %{num_connects}')"
equal "received by the service" "$received" "$(service_count received)"
