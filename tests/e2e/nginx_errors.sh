#!/usr/bin/env bash
# Configuration errors: each is refused with a line that says what is allowed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

free_port
gate='loadline_gate api:256k limit=4;'

# refused "HTTP" "SERVER" PATTERN: the pattern must stand in an [emerg] line.
refused() {
  it "refuses: $1 $2"
  write_conf <<<"$1 server { listen 127.0.0.1:$port; $2 }"
  if nginx_command -t >"$work/output" 2>&1; then
    fail "it was accepted"
  fi
  grep -q "\[emerg\].*$3" "$work/output" || fail "$(cat "$work/output")"
}

accepted() {
  it "accepts: $1 $2"
  write_conf <<<"$1 server { listen 127.0.0.1:$port; $2 }"
  nginx_command -t >"$work/output" 2>&1 || fail "$(cat "$work/output")"
}

accepted "$gate" 'loadline api;'
accepted '' 'loadline api class=critical deadline=2s; } loadline_gate api:256k limit=1 queue=off wait=1h classes=a,critical:90%,c:90%,d:1% default=c; server {'
# shellcheck disable=SC2016  # nginx's variables, not ours
accepted "$gate" 'location / { loadline off; } location /x { loadline api class=$http_x deadline=$arg_t; }'

it "accepts the example of the documentation"
# shellcheck disable=SC2016  # Markdown's backquotes
sed -n '/^```nginx$/,/^```$/{ /^```/d; p }' "$root/docs/nginx.md" |
  sed "s|modules/ngx_http_loadline_module.so|$LOADLINE_MODULE|; s|/var/log/nginx|$work|; s|listen 8080|listen 127.0.0.1:$port|" \
    >"$work/nginx.conf"
nginx_command -t -g "pid $work/nginx.pid;" >"$work/output" 2>&1 || fail "$(cat "$work/output")"
grep -q 'loadline_gate' "$work/nginx.conf" || fail "there is none"

refused 'loadline_gate api:256k limit=0;' '' 'invalid limit "0" in "loadline_gate": must be a whole number from 1 to 1000000'
refused 'loadline_gate api:256k limit=1000001;' '' 'invalid limit "1000001"'
refused 'loadline_gate api:256k limit=many;' '' 'invalid limit "many"'
refused 'loadline_gate api:256k queue=off;' '' 'no "limit" in "loadline_gate api": it must be given, from 1 to 1000000'
refused 'loadline_gate api:256k limit=1 limit=2;' '' 'duplicate parameter "limit=2"'
refused 'loadline_gate api:256k limit=1 queue=0;' '' 'invalid queue "0" in "loadline_gate": must be "auto", "off" or a whole number from 1 to 60000'
refused 'loadline_gate api:256k limit=1 wait=0;' '' 'invalid wait "0" in "loadline_gate": must be a time from 1ms to 1h'
refused 'loadline_gate api:256k limit=1 wait=2h;' '' 'invalid wait "2h"'
refused 'loadline_gate api:256k limit=1 colour=red;' '' 'invalid parameter "colour=red" in "loadline_gate": limit=, queue=, wait=, mode=, classes= and default= are known'
refused 'loadline_gate api:256k limit=1 mode=maybe;' '' 'invalid mode "maybe" in "loadline_gate": must be "on", "observe" or "off"'
refused 'loadline_gate api limit=1;' '' 'invalid zone size in "loadline_gate api": must be NAME:SIZE'
refused 'loadline_gate api:many limit=1;' '' 'invalid zone size in "loadline_gate api:many"'
refused 'loadline_gate api:32k limit=1;' '' 'zone of "loadline_gate api" is too small: 32768 bytes, and [0-9]*k are needed'
refused 'loadline_gate api:256k limit=1 queue=60000;' '' 'zone of "loadline_gate api" is too small: 262144 bytes, and [0-9]*k are needed'
refused 'loadline_gate off:256k limit=1;' '' 'invalid gate name "off"'
refused 'loadline_gate a/b:256k limit=1;' '' 'invalid gate name "a/b"'
refused "$gate $gate" '' 'duplicate gate "api" in "loadline_gate"'
refused 'loadline_gate api:256k limit=1 classes=a:0%,b;' '' 'invalid share in class "a:0%" in "loadline_gate": must be from 1% to 100%'
refused 'loadline_gate api:256k limit=1 classes=a:101%;' '' 'invalid share in class "a:101%"'
refused 'loadline_gate api:256k limit=1 classes=a:90;' '' 'invalid share in class "a:90"'
refused 'loadline_gate api:256k limit=1 classes=a:50%,b:60%;' '' 'class "b" in "loadline_gate" may fill 60% of the limit, and a more important class only 50%'
refused 'loadline_gate api:256k limit=1 classes=a,,b;' '' 'invalid class name ""'
refused 'loadline_gate api:256k limit=1 classes=a,A;' '' 'duplicate class "A"'
refused 'loadline_gate api:256k limit=1 classes=a,b,c,d,e,f,g,h,i;' '' 'too many classes in "loadline_gate": at most 8'
refused 'loadline_gate api:256k limit=1 default=first;' '' 'unknown class "first" in "default=" of "loadline_gate"'
refused "$gate" 'loadline ipa;' 'unknown gate "ipa" in "loadline" in .*nginx.conf:[0-9]*'
refused "$gate" 'loadline api; loadline off;' '"loadline" directive is duplicate'
refused "$gate" 'loadline off class=critical;' '"loadline off" takes no parameter'
refused "$gate" 'loadline api class=first;' 'unknown class "first" in "loadline api" in .*nginx.conf:[0-9]*'
refused "$gate" 'loadline api deadline=soon;' 'invalid deadline "soon" in "loadline api"'
refused "$gate" 'loadline api weight=3;' 'invalid parameter "weight=3" in "loadline": class= and deadline= are known'
refused "$gate" 'loadline_reject_status 200;' 'invalid status "200" in "loadline_reject_status": must be from 400 to 599'
refused "$gate" 'loadline_class_header "a b";' 'invalid header name "a b" in "loadline_class_header"'
refused "$gate" 'loadline_trusted here;' 'invalid peer "here" in "loadline_trusted"'
refused "$gate" 'loadline_trusted off 10.0.0.0/8;' '"off" must stand alone'
refused "$gate" 'loadline_trusted off; loadline_trusted 10.0.0.0/8;' '"off" must stand alone'
refused 'loadline_gate api:256k limit=1 classes=a,b default=a default=b;' '' 'duplicate parameter "default=b"'
refused "$gate loadline_log_level loud;" '' 'invalid level "loud" in "loadline_log_level"'
refused "$gate loadline_log_level notice interval=10ms;" '' 'invalid "interval=10ms" in "loadline_log_level": must be interval=TIME, from 1s to 1h'
refused "$gate" 'loadline_gate late:256k limit=1;' '"loadline_gate" directive is not allowed here'

it "names a size that is enough"
write_conf <<<"loadline_gate api:32k limit=1 queue=5000; server { listen 127.0.0.1:$port; }"
nginx_command -t >"$work/output" 2>&1 && fail "it was accepted"
needed=$(sed -n 's/.*and \([0-9]*k\) are needed.*/\1/p' "$work/output")
accepted "loadline_gate api:$needed limit=1 queue=5000;" ''
