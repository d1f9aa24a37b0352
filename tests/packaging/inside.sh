#!/usr/bin/env bash
# inside.sh install | use: in a fresh Debian, with the packages in /src/packages. suite.sh has it install them where
# there is a network, and then boots that Debian to use them, where there is none but its own.
set -euo pipefail
readonly MODULE=/usr/lib/nginx/modules/ngx_http_loadline_module.so
readonly LINK=/etc/nginx/modules-enabled/50-mod-http-loadline.conf
readonly UNIT=/lib/systemd/system/loadline.service
readonly FILE=/etc/loadline/loadline.yaml

it() { echo "- $*"; }
fail() {
  echo "FAILED: $*" >&2
  tail -n 5 /tmp/*.log >&2
  journalctl -q -n 20 --no-pager >&2 2>/dev/null || true
  exit 1
}
wait_until() { # WHAT COMMAND...: at most 10 seconds
  local what=$1
  shift
  for _ in $(seq 200); do
    if "$@"; then return 0; fi
    sleep 0.05
  done
  fail "waited in vain until $what"
}

install_packages() {
  apt-get install -y -qq --no-install-recommends "$@" >/tmp/apt.log 2>&1 || fail "apt-get install $*"
}

# Whatever of ours is on the machine: files, links to them, words in other files, packages, users.
traces() {
  find / -xdev \( -path /src -o -path /proc -o -path /tmp -o -path /var/log/apt -o -path /var/cache/apt \) -prune \
    -o -iname '*loadline*' -print
  grep -rls loadline /etc /var/lib/systemd || true
  find /etc /usr -lname '*loadline*'
  dpkg-query -W -f '${Package}\n' | grep loadline || true
}

answers() { curl -s -o /dev/null -m 1 "$1"; }

# Ten requests at the same instant: "1x200 9x503".
ten_at_once() {
  curl -sZ --parallel-immediate --max-time 10 -o /dev/null -w '%{http_code}\n' "$1?[1-10]" 2>/tmp/curl.log |
    sort | uniq -c | awk '{ printf "%s%sx%s", (NR > 1 ? " " : ""), $1, $2 }'
}

# ---- Before it is booted --------------------------------------------------------------------------

install_all() {
  apt-get update -qq
  [ -z "$(traces)" ] || fail "it is here already: $(traces)"

  it "apt installs the command with all that it needs"
  install_packages /src/packages/loadline_*.deb /src/packages/libnginx-mod-http-loadline_*.deb
  loadline --version | grep -qE '^loadline [0-9]+\.[0-9]+\.[0-9]+$' || fail "loadline --version: $(loadline --version)"
  [ -f "$MODULE" ] || fail "no $MODULE"
  [ -f /usr/share/man/man1/loadline.1.gz ] || fail "no manual page"
  [ -f /usr/share/bash-completion/completions/loadline ] || fail "no completion"

  it "and the libraries with theirs"
  install_packages /src/packages/libloadline-*.deb
  # What the tests need: also an init, to boot it.
  install_packages curl logrotate systemd-sysv gcc g++ cmake make pkg-config
}

# ---- Booted --------------------------------------------------------------------------------------

test_libraries() {
  it "CMake finds the libraries, and programs in C and C++ run with them"
  cmake -S /src/project -B /tmp/project >/tmp/cmake.log 2>&1 || fail "cmake"
  cmake --build /tmp/project >>/tmp/cmake.log 2>&1 || fail "cmake --build"
  local program
  for program in gate threads c; do
    "/tmp/project/$program" || fail "$program, built with CMake"
  done

  it "so does pkg-config"
  # Flags are words, to be split.
  # shellcheck disable=SC2046
  {
    gcc -std=c11 -Werror /src/project/c.c $(pkg-config --cflags --libs loadline-c) -o /tmp/c
    g++ -std=c++20 /src/project/threads.cpp $(pkg-config --cflags --libs loadline-threads) -o /tmp/threads
  }
  /tmp/c || fail "c, built with pkg-config"
  /tmp/threads || fail "threads, built with pkg-config"
}

test_module() {
  it "nginx loads the module, and knows its directives by that alone"
  cat >/etc/nginx/conf.d/gate.conf <<'CONF'
loadline_gate api:256k limit=1 queue=off;
server {
  listen 127.0.0.1:8080;
  location / { loadline api; proxy_pass http://127.0.0.1:9000; }
}
CONF
  nginx -t -q || fail "nginx -t"
  mv "$LINK" /tmp/link
  ! nginx -t -q 2>/tmp/nginx-t.log || fail "the directives are known without the module"
  grep -q 'unknown directive "loadline_gate"' /tmp/nginx-t.log || fail "nginx -t without the module"
  mv /tmp/link "$LINK"

  it "nginx holds the limit: of ten at once, nine are told 503"
  systemctl restart nginx
  wait_until "nginx answers" answers http://127.0.0.1:8080/
  local codes
  codes=$(ten_at_once http://127.0.0.1:8080/)
  [ "$codes" = "1x200 9x503" ] || fail "ten at once: $codes"
  rm /etc/nginx/conf.d/gate.conf
  systemctl restart nginx
}

is_active() { [ "$(systemctl is-active loadline)" = "$1" ]; }
journal() { journalctl -q -u loadline -o cat --since "$since"; }
said() { journal | grep -q "$1"; }
# Since the last call of this.
listen_to_journal() { since=$(date '+%Y-%m-%d %H:%M:%S.%6N'); }
main_pid() { systemctl show -P MainPID loadline; }

test_service() {
  local codes pid
  it "the service is not enabled, does not start before it is configured, and says why, once"
  ! systemctl -q is-enabled loadline || fail "it is enabled"
  listen_to_journal
  systemctl start loadline
  wait_until "it has failed" is_active failed
  said '^loadline: a limit is needed' || fail "no word on the limit"
  said '^loadline: an upstream is needed' || fail "no word on the upstream"
  [ "$(systemctl show -P NRestarts loadline)" = 0 ] || fail "it is started again"

  it "then it does, on a port below 1024, and holds the limit"
  sed -i 's/^#upstream:/upstream:/; s/^#limit: .*/limit: 1/; s/^#queue: .*/queue: off/
    s/^#listen: .*/listen: 127.0.0.1:81/; s|^#access_log: .*|access_log: /var/log/loadline/access.log|' "$FILE"
  loadline check "$FILE" >/dev/null
  listen_to_journal
  systemctl enable -q --now loadline
  wait_until "it listens" said 'listening on http://127.0.0.1:81'
  codes=$(ten_at_once http://127.0.0.1:81/)
  [ "$codes" = "1x200 9x503" ] || fail "ten at once: $codes"
  # From here to 65519 are the users that systemd makes for a service's life.
  [ "$(stat -c %u "/proc/$(main_pid)")" -ge 61184 ] || fail "it runs as user $(stat -c %u "/proc/$(main_pid)")"
  [ "$(stat -c %u /run/loadline)" = 0 ] || fail "/run/loadline is not root's"

  it "root sees and changes it with loadline set"
  loadline set | grep -q 'limit 1' || fail "loadline set: $(loadline set)"
  loadline set limit=4 >/dev/null
  codes=$(ten_at_once http://127.0.0.1:81/)
  [ "$codes" = "4x200 6x503" ] || fail "ten at once: $codes"

  it "a reload takes up the file"
  sed -i 's/^limit: .*/limit: 3/' "$FILE"
  systemctl reload loadline
  wait_until "the limit is the file's" limit_is 3
  codes=$(ten_at_once http://127.0.0.1:81/)
  [ "$codes" = "3x200 7x503" ] || fail "ten at once: $codes"

  it "its log is rotated, and it goes on with a new one"
  logrotate -f /etc/logrotate.d/loadline
  wait_until "there is a new log" test -e /var/log/loadline/access.log
  answers http://127.0.0.1:81/
  wait_until "something is in it" test -s /var/log/loadline/access.log
  [ -s /var/log/loadline/access.log.1 ] || fail "the old log is empty"

  it "when its nginx is killed, it is started again"
  listen_to_journal
  kill -KILL "$(cat /run/loadline/default/nginx.pid)"
  wait_until "it listens again" said 'listening on http://127.0.0.1:81'
  answers http://127.0.0.1:81/ || fail "it does not answer"

  it "an upgrade starts the new one"
  pid=$(main_pid)
  dpkg -i /src/packages/loadline_*.deb >/tmp/dpkg.log 2>&1 || fail "dpkg -i"
  ! [ "$(main_pid)" = "$pid" ] || fail "it is still the old one"
  is_active active || fail "it does not run"

  it "a stop is no failure"
  systemctl stop loadline
  is_active inactive || fail "it is $(systemctl is-active loadline)"

  it "systemd has nothing against the unit"
  systemd-analyze verify --man=no "$UNIT" >/tmp/verify.log 2>&1 || fail "systemd-analyze verify"
  ! grep loadline /tmp/verify.log || fail "systemd-analyze verify has something to say"
}

limit_is() { loadline set | grep -q "limit $1,"; }

test_purge() {
  it "removed, it stops; purged, nothing of it is left, and nginx is as before"
  systemctl start loadline
  apt-get purge -y -qq loadline libnginx-mod-http-loadline libloadline-dev libloadline-c0 >/tmp/purge.log 2>&1 || fail "purge"
  ! answers http://127.0.0.1:81/ || fail "it still answers"
  [ -z "$(traces)" ] || fail "left behind: $(traces)"
  nginx -t -q || fail "nginx -t"
  systemctl restart nginx || fail "nginx does not start"
}

case ${1:-} in
  install)
    install_all
    ;;
  use)
    loadline serve --listen 127.0.0.1:9000 --workers 10 --service 500ms --distribution fixed >/tmp/serve.log 2>&1 &
    wait_until "the service answers" answers http://127.0.0.1:9000/
    test_libraries
    test_module
    test_service
    test_purge
    ;;
  *)
    fail "install or use?"
    ;;
esac
