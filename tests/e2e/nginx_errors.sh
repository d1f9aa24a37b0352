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
refused 'loadline_gate api:256k limit=1 colour=red;' '' 'invalid parameter "colour=red" in "loadline_gate": known are limit=, limit_least=, limit_most=, limit_from=, signals=, queue=, wait=, order=, mode=, classes=, default=, guarantee=, heavy=, tenants=, groups=, quota=, quota_burst=, quota_keys=, exempt=, streams=, retry_after='
refused 'loadline_gate api:256k limit=1 mode=maybe;' '' 'invalid mode "maybe" in "loadline_gate": must be "on", "observe" or "off"'
accepted 'loadline_gate api:512k signals=db_latency:50ms,cpu_pressure:20%,jobs:12.5,x:200us limit=auto;' ''
refused 'loadline_gate api:512k signals=db:1 limit=5;' '' '"signals=db:1" in "loadline_gate" needs a law that finds the limit, as in "limit=auto"'
refused 'loadline_gate api:512k signals=db:0 limit=auto;' '' 'invalid signal "db:0" in "loadline_gate": must be NAME:VALUE, with a value above 0, as in "cpu_pressure:20%", "db_latency:50ms" or "queue:12"'
refused 'loadline_gate api:512k signals=db limit=auto;' '' 'invalid signal "db"'
refused 'loadline_gate api:512k signals=db:1, limit=auto;' '' 'invalid signal ""'
refused 'loadline_gate api:512k signals=db:1h limit=auto;' '' 'invalid signal "db:1h"'
refused 'loadline_gate api:512k signals=d/b:1 limit=auto;' '' 'invalid signal name "d/b" in "loadline_gate": must be 1 to 23 letters, digits, "_", "-" or "."'
refused 'loadline_gate api:512k signals=db:1,db:2 limit=auto;' '' 'duplicate signal "db"'
refused 'loadline_gate api:512k signals=a:1,b:1,c:1,d:1,e:1 limit=auto;' '' 'too many signals in "loadline_gate": at most 4 are allowed'
accepted 'loadline_gate api:256k limit=1 order=lifo heavy=100% exempt=0 retry_after=3600-3600;' ''
accepted 'loadline_gate api:512k guarantee=b:40%,A:50% classes=a,b,c limit=1 order=fifo heavy=1% groups=free:5,paid:1000 tenants=1000 exempt=1000 retry_after=1-1;' ''
accepted 'loadline_gate api:512k limit=1 quota_burst=50 quota_keys=5000 quota=100r/s guarantee=sheddable:10%;' ''
refused 'loadline_gate api:256k limit=1 order=random;' '' 'invalid order "random" in "loadline_gate": must be "adaptive", "fifo" or "lifo"'
refused 'loadline_gate api:256k limit=1 order=fifo order=fifo;' '' 'duplicate parameter "order=fifo" in "loadline_gate"'
refused 'loadline_gate api:512k limit=1 order=lifo tenants=5;' '' 'invalid "loadline_gate api": lifo with tenants: allowed are adaptive and fifo'
for wrong in sheddable sheddable: sheddable:10 sheddable:0% sheddable:91% ''; do
  refused "loadline_gate api:256k limit=1 guarantee=$wrong;" '' "invalid guarantee \"$wrong\" in \"loadline_gate\": must be CLASS:PERCENT%, from 1% to 90%"
done
refused 'loadline_gate api:256k limit=1 guarantee=:5%;' '' 'unknown class "" in "guarantee="'
refused 'loadline_gate api:256k limit=1 guarantee=gold:10%;' '' 'unknown class "gold" in "guarantee=" of "loadline_gate": must be one of critical_plus, critical, sheddable_plus, sheddable'
refused 'loadline_gate api:256k limit=1 guarantee=gold:10% classes=a,b;' '' 'unknown class "gold" in "guarantee=" of "loadline_gate": must be one of a, b'
refused 'loadline_gate api:256k limit=1 classes=a,b guarantee=a:10%,A:20%;' '' 'duplicate class "A" in "guarantee="'
refused 'loadline_gate api:256k limit=1 classes=a,b guarantee=a:50%,b:41%;' '' 'invalid "loadline_gate api": guarantees of 91.0% in all: allowed are 90%'
refused 'loadline_gate api:256k limit=1 queue=off guarantee=sheddable:10%;' '' "class 'sheddable' is guaranteed a share of the queue, but there is none"
for wrong in 0% 101% 50 half ''; do
  refused "loadline_gate api:256k limit=1 heavy=$wrong;" '' "invalid heavy \"$wrong\" in \"loadline_gate\": must be from 1% to 100%"
done
for wrong in 0 100001 -1 many ''; do
  refused "loadline_gate api:256k limit=1 tenants=$wrong;" '' "invalid tenants \"$wrong\" in \"loadline_gate\": must be a whole number from 1 to 100000"
done
refused 'loadline_gate api:512k limit=1 queue=off tenants=5;' '' 'invalid "loadline_gate api": tenants share a queue, but there is none'
refused 'loadline_gate api:512k limit=1 groups=free:5;' '' '"groups=free:5" in "loadline_gate" needs "tenants=N"'
for wrong in free free: free:0 free:1001 free:5% ''; do
  refused "loadline_gate api:512k limit=1 tenants=5 groups=$wrong;" '' "invalid group \"$wrong\" in \"loadline_gate\": must be NAME:N, the number of tenants that it counts as, from 1 to 1000"
done
refused 'loadline_gate api:512k limit=1 tenants=5 groups=a/b:5;' '' 'invalid group name "a/b" in "loadline_gate": must be 1 to 31 letters, digits, "_", "-" or "."'
refused 'loadline_gate api:512k limit=1 tenants=5 groups=a:5,a:6;' '' 'duplicate group "a" in "loadline_gate"'
refused 'loadline_gate api:512k limit=1 tenants=5 groups=a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1;' '' 'too many groups in "loadline_gate": at most 8 are allowed'
for wrong in 100 100/s 100r 100r/ 0r/s 1000001r/h 1.5r/s 100r/d 100r/ms r/s -1r/s ''; do
  refused "loadline_gate api:256k limit=1 quota=$wrong;" '' "invalid quota \"$wrong\" in \"loadline_gate\": must be a rate of 1 to 1000000 requests, as in \"100r/s\", \"600r/m\" or \"3600r/h\""
done
refused 'loadline_gate api:1m limit=1 quota=1000000r/s;' '' 'invalid "loadline_gate api": a quota of one request each 1000 ns: allowed is one each 10 us or less'
refused 'loadline_gate api:1m limit=1 quota=1r/h quota_burst=73;' '' 'invalid "loadline_gate api": a burst of 73 at this rate takes more than 3 days to come back'
refused 'loadline_gate api:1m limit=1 quota_burst=3;' '' '"quota_burst=3" in "loadline_gate" needs "quota=RATE"'
refused 'loadline_gate api:1m limit=1 quota_keys=3;' '' '"quota_keys=3" in "loadline_gate" needs "quota=RATE"'
refused 'loadline_gate api:1m limit=1 quota=1r/s quota_burst=0;' '' 'invalid quota_burst "0" in "loadline_gate": must be a whole number from 1 to 1000000'
refused 'loadline_gate api:1m limit=1 quota=1r/s quota_keys=1000001;' '' 'invalid quota_keys "1000001" in "loadline_gate": must be a whole number from 1 to 1000000'
for wrong in 1001 -1 all ''; do
  refused "loadline_gate api:256k limit=1 exempt=$wrong;" '' "invalid exempt \"$wrong\" in \"loadline_gate\": must be a whole number from 0 to 1000"
done
for wrong in 5 0-5 5-4 1-3601 1-2-3 1s-2s -5 5- ''; do
  refused "loadline_gate api:256k limit=1 retry_after=$wrong;" '' "invalid retry_after \"$wrong\" in \"loadline_gate\": must be MIN-MAX in whole seconds, from 1 to 3600"
done
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
refused "$gate" 'loadline api; loadline off;' '"loadline off" must stand alone on its level'
refused "$gate" 'loadline off; loadline api;' '"loadline off" must stand alone on its level'
refused "$gate" 'loadline api; loadline api;' '"loadline" directive is duplicate'
refused "$gate" 'loadline a; loadline b; loadline c; loadline d; loadline e;' 'too many gates for one request in "loadline": at most 4'
refused "$gate" 'loadline api weight=0;' 'invalid weight "0" in "loadline api" in .*: must be a whole number from 1 to 1000000'
refused "$gate" 'loadline api group=gold;' 'invalid group "gold" in "loadline api" in .*: must be one of the gate.s "groups="'
refused "$gate" 'loadline api tenant=a;' '"tenant=" in "loadline api" in .*, but its gate has no "tenants="'
refused "$gate" 'loadline api quota=a;' '"quota=" in "loadline api" in .*, but its gate has no "quota="'
refused "$gate" 'loadline_phase access;' 'invalid value "access"'
refused "$gate" 'loadline_release never;' 'invalid value "never"'
refused "$gate" 'loadline_read_body much;' 'invalid size "much" in "loadline_read_body": must be on, off or a size from 1, as in 64k'
refused "$gate" 'loadline_read_body 0;' 'invalid size "0"'
refused "$gate" 'loadline_lease 0;' 'invalid time "0" in "loadline_lease": must be off or a time from 1ms to 1d'
refused "$gate" 'loadline_stream_after 2d;' 'invalid time "2d" in "loadline_stream_after"'
# shellcheck disable=SC2016 # nginx's own variables
refused "$gate" 'loadline_exempt off $arg_a;' '"off" must stand alone in "loadline_exempt"'
# shellcheck disable=SC2016
accepted "$gate loadline_gate b:256k limit=1;" 'loadline api; location / { loadline b; loadline api weight=5; loadline_phase precontent; loadline_release end; loadline_lease 1d; loadline_stream_after 1ms; loadline_read_body 64k; loadline_exempt $arg_a $arg_b; loadline_bypass $arg_c; }'
refused "$gate" 'loadline off class=critical;' '"loadline off" takes no parameter'
refused "$gate" 'loadline api class=first;' 'unknown class "first" in "loadline api" in .*nginx.conf:[0-9]*'
refused "$gate" 'loadline api deadline=soon;' 'invalid deadline "soon" in "loadline api"'
refused "$gate" 'loadline api colour=red;' 'invalid parameter "colour=red" in "loadline": class=, deadline=, weight=, tenant=, group= and quota= are known'
refused "$gate" 'loadline_reject_status 200;' 'invalid status "200" in "loadline_reject_status": must be from 400 to 599'
refused "$gate" 'loadline_class_header "a b";' 'invalid header name "a b" in "loadline_class_header"'
refused "$gate" 'loadline_trusted here;' 'invalid peer "here" in "loadline_trusted"'
refused "$gate" 'loadline_trusted off 10.0.0.0/8;' '"off" must stand alone'
refused "$gate" 'loadline_trusted off; loadline_trusted 10.0.0.0/8;' '"off" must stand alone'
refused 'loadline_gate api:256k limit=1 classes=a,b default=a default=b;' '' 'duplicate parameter "default=b"'
refused "$gate loadline_log_level loud;" '' 'invalid level "loud" in "loadline_log_level"'
refused "$gate loadline_log_level notice interval=10ms;" '' 'invalid "interval=10ms" in "loadline_log_level": must be interval=TIME, from 1s to 1h'
refused "$gate" 'loadline_gate late:256k limit=1;' '"loadline_gate" directive is not allowed here'

it "names a size that is enough, and not much more than that"
enough() { # RULES
  write_conf <<<"loadline_gate api:32k $1; server { listen 127.0.0.1:$port; }"
  nginx_command -t >"$work/output" 2>&1 && fail "it was accepted"
  needed=$(sed -n 's/.*and \([0-9]*\)k are needed.*/\1/p' "$work/output")
  accepted "loadline_gate api:${needed}k $1;" ''
  refused "loadline_gate api:$((needed - 4))k $1;" '' "zone of \"loadline_gate api\" is too small: .*and ${needed}k are needed"
}
enough 'limit=1 queue=5000'
enough 'limit=1 tenants=1'
enough 'limit=1 tenants=100000 queue=60000'
enough 'limit=1 quota=1r/s quota_keys=1000000'
enough 'limit=1 quota=1r/s quota_keys=1 tenants=2000 queue=3000'

# ---- Callers ---------------------------------------------------------------------------------------

accepted 'loadline_caller a;' 'location / { loadline_call a; } location /x { loadline_call off; }'
accepted '' 'loadline_call later deadline=2s; } loadline_caller later attempts=100 budget=off budget_saved=10000 budget_floor=off breaker=off breaker_minimum=10000 breaker_row=off breaker_window=1h breaker_open=1h breaker_probes=16 breaker_slow=off; server {'
accepted 'loadline_caller a attempts=1 budget=100% budget_saved=1 budget_floor=10r/s breaker=1% breaker_minimum=1 breaker_row=1 breaker_window=100ms breaker_open=1ms breaker_probes=1 breaker_slow=1h;' ''
# shellcheck disable=SC2016  # nginx's variables, not ours
accepted 'loadline_caller a;' 'loadline_call a deadline=$arg_time;'
refused 'loadline_caller a b=1;' '' 'invalid parameter "b=1" in "loadline_caller": known are attempts=, budget=, budget_saved=, budget_floor=, breaker=, breaker_minimum=, breaker_row=, breaker_window=, breaker_open=, breaker_probes=, breaker_slow='
refused 'loadline_caller off;' '' 'invalid name "off" in "loadline_caller": must be 1 to 63 letters, digits, "_", "-" or ".", and not "off"'
refused 'loadline_caller a:32k;' '' 'invalid name "a:32k" in "loadline_caller"'
refused 'loadline_caller a; loadline_caller a;' '' 'duplicate caller "a" in "loadline_caller"'
refused 'loadline_caller a budget=5% budget=6%;' '' 'duplicate parameter "budget=6%" in "loadline_caller"'
for wrong in 0 101 -1 many ''; do
  refused "loadline_caller a attempts=$wrong;" '' "invalid attempts \"$wrong\" in \"loadline_caller\": must be a whole number from 1 to 100"
done
refused 'loadline_caller a budget=0%;' '' 'invalid budget "0%" in "loadline_caller": must be "off" or a share of the calls that succeed, from 1% to 100%'
refused 'loadline_caller a budget=10;' '' 'invalid budget "10" in "loadline_caller"'
refused 'loadline_caller a budget_saved=0;' '' 'invalid budget_saved "0" in "loadline_caller": must be a whole number from 1 to 10000'
refused 'loadline_caller a budget_floor=11r/s;' '' 'invalid budget_floor "11r/s" in "loadline_caller": must be "off" or a rate of 4r/h to 10r/s, as in "6r/m"'
refused 'loadline_caller a breaker=101%;' '' 'invalid breaker "101%" in "loadline_caller": must be "off" or a share of failures, from 1% to 100%'
refused 'loadline_caller a breaker_row=0;' '' 'invalid breaker_row "0" in "loadline_caller": must be a whole number from 1 to 10000'
refused 'loadline_caller a breaker_window=99ms;' '' 'invalid breaker_window "99ms" in "loadline_caller": must be a time from 100ms to 1h'
refused 'loadline_caller a breaker_open=0;' '' 'invalid breaker_open "0" in "loadline_caller": must be a time from 1ms to 1h'
refused 'loadline_caller a breaker_probes=17;' '' 'invalid breaker_probes "17" in "loadline_caller": must be a whole number from 1 to 16'
refused 'loadline_caller a breaker_slow=0;' '' 'invalid breaker_slow "0" in "loadline_caller": must be "off" or a time from 1ms to 1h'
refused '' 'loadline_call nobody;' 'unknown caller "nobody" in "loadline_call" in .*nginx.conf:[0-9]*: no "loadline_caller nobody ..."'
refused 'loadline_caller a;' 'loadline_call a; loadline_call a;' '"loadline_call" directive is duplicate'
refused 'loadline_caller a;' 'loadline_call off deadline=1s;' '"loadline_call off" takes no parameter, not "deadline=1s"'
refused 'loadline_caller a;' 'loadline_call a class=b;' 'invalid parameter "class=b" in "loadline_call": deadline= is known'
refused 'loadline_caller a;' 'loadline_call a deadline=soon;' 'invalid deadline "soon" in "loadline_call": must be a time, as in 500ms'
refused '' 'loadline_caller a;' '"loadline_caller" directive is not allowed here'
