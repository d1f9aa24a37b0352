# shellcheck shell=bash
# What the tests of the examples share, beside tests/e2e/lib.sh.

: "${work:?}"

# start_server PROGRAM: sets $url.
start_server() {
  start server "$1" 0
  wait_until "it listens" grep -q '^listening on ' "$work/server.log"
  url=http://127.0.0.1:$(sed -n 's/^listening on //p' "$work/server.log")
}

# ask_at_once COUNT PATH: so many requests at the same time; a line each in $work/answers: the status
# and, where there is one, the Retry-After.
ask_at_once() {
  local i config=$work/curl.conf
  : >"$config"
  for ((i = 0; i < $1; ++i)); do
    printf 'next\nurl = "%s%s"\noutput = "/dev/null"\nwrite-out = "%%{http_code} %%header{retry-after}\\n"\n' \
      "$url" "$2" >>"$config"
  done
  sed -i 1d "$config"
  curl --silent --parallel --parallel-immediate --parallel-max "$1" --config "$config" >"$work/answers" 2>/dev/null
}

count() { grep -cE "$1" "$work/answers" || true; }
