# shellcheck shell=bash
# What every end-to-end test shares. Sourced first by each of them:
#
#   # shellcheck source=tests/e2e/lib.sh
#   . "$(dirname "$0")/lib.sh"
#
# A test starts real servers on free loopback ports, talks to them with curl, and ends at the first
# thing that is not as it should be. It waits for conditions, with a bound, and never sleeps for a fixed
# time. What it started is stopped, by pid, and its directory removed, however it ends.
#
# What curl cannot do (thousands of connections, HTTP/2 by the frame) is done by the small programs of
# clients/, in Python without any package.
#
# LOADLINE_LONG=1 asks the tests that have a long form for it.
#
# Given by ctest; by hand the files of ./dev build are taken:
#   LOADLINE_COMMAND  the loadline command
#   LOADLINE_MODULE   ngx_http_loadline_module.so
#   LOADLINE_NGINX    the nginx to run
#   LOADLINE_STORM    the program of ./dev demo storm
#   LOADLINE_CURL_ASK one call with the client half (tests/curl/ask.cpp)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LOADLINE_COMMAND=${LOADLINE_COMMAND:-$root/build/bin/loadline}
LOADLINE_MODULE=${LOADLINE_MODULE:-$root/build/modules/ngx_http_loadline_module.so}
LOADLINE_STORM=${LOADLINE_STORM:-$root/build/bin/storm}
LOADLINE_CURL_ASK=${LOADLINE_CURL_ASK:-$root/build/bin/curl_ask}
# By its whole path, which nginx needs to start its own successor.
LOADLINE_NGINX=${LOADLINE_NGINX:-$(command -v nginx || echo /usr/sbin/nginx)}

work=$(mktemp -d)
started_pids=()
current="start"

fail() {
  echo "FAILED: $current: $*" >&2
  if [ -s "$work/error.log" ]; then
    echo "--- nginx's error log, its end:" >&2
    tail -n 20 "$work/error.log" >&2
  fi
  exit 1
}

# Says what is tested now; every failure is reported under it.
it() {
  current=$*
  echo "- $*"
}

# ---- Processes -----------------------------------------------------------------------------------

is_running() { kill -0 "$1" 2>/dev/null; }

stop() {
  local pid=$1
  kill -TERM "$pid" 2>/dev/null || return 0
  for _ in $(seq 100); do
    is_running "$pid" || return 0
    sleep 0.05
  done
  kill -KILL "$pid" 2>/dev/null || true
}

clean_up() {
  local status=$? pid
  trap - EXIT
  for pid in "${started_pids[@]}"; do
    stop "$pid"
  done
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT

# start NAME COMMAND...: in the background, its output in $work/NAME.log; $started is its pid.
start() {
  local name=$1
  shift
  : >"$work/$name.log"  # now, or what an earlier one of that name has said could be taken for its own
  "$@" >"$work/$name.log" 2>&1 &
  started=$!
  started_pids+=("$started")
}

# wait_until WHAT COMMAND...: until the command succeeds; at most 10 seconds.
wait_until() {
  local what=$1 end=$((SECONDS + 10))
  shift
  until "$@"; do
    [ "$SECONDS" -le "$end" ] || fail "waited in vain until $what"
    sleep 0.02
  done
}

# ---- Ports ---------------------------------------------------------------------------------------

is_listening() { grep -qi ":$(printf '%04X' "$1") 00000000:0000 0A" /proc/net/tcp; }
is_taken() { grep -qi ":$(printf '%04X' "$1") " /proc/net/tcp; }

# Sets $port. Below the range from which the system draws ports of outgoing connections.
free_port() {
  for _ in $(seq 100); do
    port=$((20000 + RANDOM % 12000))
    if ! is_taken "$port"; then
      return 0
    fi
  done
  fail "no free port"
}

# ---- Servers -------------------------------------------------------------------------------------

# start_service OPTION...: the demo service; $service is its address (HOST:PORT).
start_service() {
  start service "$LOADLINE_COMMAND" serve --listen 127.0.0.1:0 "$@"
  wait_until "the service listens" grep -q '^listening: ' "$work/service.log"
  service=$(sed -n 's|^listening: http://||p' "$work/service.log")
}

# A number from the demo service's own count.
service_count() { curl -s "http://$service/stats" | jq ".$1"; }
service_count_is() { [ "$(service_count "$1")" = "$2" ]; }

# start_counting_service: clients/upstream.py, which counts the callers that it answers at
# the same time and that are still there; $service is its address.
start_counting_service() {
  start_client service upstream.py --port 0
  wait_until "the service listens" grep -q '^listening: ' "$work/service.log"
  service=$(sed -n 's|^listening: ||p' "$work/service.log")
}
service_most() { service_count most; }

# start_client NAME SCRIPT OPTION...: one of clients/, as `start` does.
start_client() { start "$1" python3 "$root/tests/e2e/clients/$2" "${@:3}"; }
# run_client SCRIPT OPTION...: the same to its end; what it prints is JSON.
run_client() { python3 "$root/tests/e2e/clients/$1" "${@:2}"; }

# write_conf < HTTP: nginx's configuration with the http block's inside from standard input. Set
# $workers, $connections or $main_conf before, if need be.
workers=1
connections=512  # of each worker
main_conf=
write_conf() {
  {
    echo "load_module $LOADLINE_MODULE;"
    [ "$(id -u)" != 0 ] || echo "user root;"
    cat <<CONF
worker_processes $workers;
error_log $work/error.log notice;
pid $work/nginx.pid;
$main_conf
events { worker_connections $connections; }
http {
  log_format loadline '\$status \$loadline_status:\$loadline_reason:\$loadline_class \$loadline_wait \$request_uri';
  access_log $work/access.log loadline;
  client_body_temp_path $work/body;
  proxy_temp_path $work/proxy;
  fastcgi_temp_path $work/fastcgi;
  uwsgi_temp_path $work/uwsgi;
  scgi_temp_path $work/scgi;
$(cat)
}
CONF
  } >"$work/nginx.conf"
}

nginx_command() { "$LOADLINE_NGINX" -p "$work" -e "$work/error.log" -c "$work/nginx.conf" "$@"; }

# start_nginx < HTTP: nginx with that configuration, listening on $port; $nginx is its master.
start_nginx() {
  write_conf
  start nginx run_nginx_in_front
  nginx=$started
  wait_until "nginx listens" is_listening "$port"
}

# The same as a daemon, as it is run in production.
start_daemon() {
  write_conf
  nginx_command -g 'daemon on;'
  wait_until "nginx has written its pid" test -s "$work/nginx.pid"
  nginx=$(cat "$work/nginx.pid")
  started_pids+=("$nginx")
  wait_until "nginx listens" is_listening "$port"
}

run_nginx_in_front() {
  exec "$LOADLINE_NGINX" -p "$work" -e "$work/error.log" -c "$work/nginx.conf" -g 'daemon off;'
}

stop_nginx() {
  stop "$nginx"
  : >"$work/access.log"
}

# Pids of the workers, old and new. Cache managers do not occur here.
worker_pids() { pgrep -P "$nginx" || true; }
worker_count_is() { [ "$(worker_pids | wc -l)" = "$1" ]; }
has_new_worker() { worker_pids | grep -vxF "$1" >/dev/null; }

# reload_nginx < HTTP: with another configuration; returns when a worker of the new generation is there.
reload_nginx() {
  local before
  before=$(worker_pids)
  write_conf
  kill -HUP "$nginx"
  wait_until "the new workers are there" has_new_worker "$before"
}

# ---- Requests ------------------------------------------------------------------------------------

# get PATH OPTION...: the body. code PATH OPTION...: the status.
get() { curl -s -m 10 "http://127.0.0.1:$port$1" "${@:2}"; }
code() { curl -s -m 10 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port$1" "${@:2}" || true; }

# begin PATH OPTION...: a request in the background, its status to $work/codes when it ends.
begin() {
  { curl -s -m 20 -o /dev/null -w '%{http_code} %{time_total}\n' "http://127.0.0.1:$port$1" "${@:2}" || true; } \
    >>"$work/codes" &
  started_pids+=("$!")
}
count_codes() { grep -c "^$1 " "$work/codes" || true; }
codes_are_in() { [ "$(wc -l <"$work/codes")" = "$1" ]; }

# The state of the first gate, read through a location that must be called /status.
state() { get /status | jq -r ".gates[0]$1"; }
state_is() { [ "$(state "$1")" = "$2" ]; }
# The same of the class so named.
class_state() { state ".classes[] | select(.name == \"$1\") | $2"; }

# json FILE FILTER: a number or a word from what a client has printed.
json() { jq -r "$2" "$1"; }

logged() { grep -q "$1" "$work/access.log"; }
error_logged() { grep -q "$1" "$work/error.log"; }

# ---- Assertions ----------------------------------------------------------------------------------

equal() { # WHAT EXPECTED ACTUAL
  [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}
matches() { # WHAT PATTERN ACTUAL
  [[ $3 =~ $2 ]] || fail "$1: '$3' does not match '$2'"
}
at_most() { # WHAT MOST ACTUAL
  [ "$3" -le "$2" ] || fail "$1: at most $2, got $3"
}
# within WHAT MOST ACTUAL: as at_most, for numbers that need not be whole.
within() {
  jq -en --argjson most "$2" --argjson actual "$3" '$actual <= $most' >/dev/null || fail "$1: at most $2, got $3"
}
# Says a figure, so that a log shows how far from its bound it was.
figure() { echo "  $*"; }
long_form() { [ "${LOADLINE_LONG:-0}" != 0 ]; }

at_least() { # WHAT LEAST ACTUAL
  [ "$3" -ge "$2" ] || fail "$1: at least $2, got $3"
}
