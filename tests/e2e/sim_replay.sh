#!/usr/bin/env bash
# loadline sim --replay: a log of last night becomes a table of what limits would have made of it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$work"
sim() { "$LOADLINE_COMMAND" sim "$@"; }

# is_refused WHAT-IT-SAYS WORD...: exit code 2, that on stderr, and nothing on stdout.
is_refused() {
  local said=$1 status=0
  shift
  sim "$@" >out 2>err || status=$?
  equal "exit code" 2 "$status"
  matches "what it says" "$said" "$(cat err)"
  equal "stdout" "" "$(cat out)"
}

# One each 100 ms, each of 40 ms.
awk 'BEGIN { print "arrival,service"; for (i = 0; i < 100; ++i) printf "%.1f,0.040\n", i / 10 }' >even.csv

it "the trace is described, and gates of its concurrency compared with none"
sim --replay even.csv >out
equal "first line" "100 requests in 9.9s (csv)" "$(head -n 1 out)"
matches "in flight" "p50 1, p90 1, p99 1, most 1" "$(cat out)"
matches "policies" "no gate" "$(cat out)"
matches "policies" "limit 1" "$(cat out)"

it "four times as fast, one worker has had enough at every other request"
sim --replay even.csv --workers 1 --limit 1 --queue off --faster 4 --json >out
equal "policies" "no gate,limit 1" "$(jq -r '[.[].policy] | join(",")' out)"
equal "useful, rejected, p50" "50 50 40" "$(jq -r '.[1] | "\(.useful) \(.rejected) \(.p50_ms)"' out)"
equal "left until no deadline" null "$(jq '.[1].least_left_ms' out)"

it "the same of a gzipped log, with a picture and a file of JSON"
awk 'BEGIN { for (i = 0; i < 200; ++i)
  printf "10.0.0.1 - - [30/Nov/2026:10:00:%02d +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\" rt=0.050\n", i / 4 }' | gzip >access.log.gz
sim --replay access.log.gz --limit 1,2 --limit 3 --json-file out.json --plot out.html >out
matches "format" "(nginx)" "$(head -n 1 out)"
equal "policies" "no gate,limit 1,limit 2,limit 3" "$(jq -r '[.[].policy] | join(",")' out.json)"
grep -q '</html>' out.html || fail "no page"
grep -q '(nginx); 4.' out.html || fail "no description in the page"

it "seeds are for what is drawn"
sim --replay even.csv --seeds 3 --seed 7 --policy 'limit 1' >out
matches "seeds" "seeds 7 to 9" "$(cat out)"
if grep -q 'no gate' out; then fail "another policy"; fi

it "a request whose time is not known takes what --work says"
printf 'arrival,service\n0,\n1,\n2,\n' >unknown.csv
is_refused "unknown.csv: .*say how long they take" --replay unknown.csv
sim --replay unknown.csv --work 30ms --limit 1 --json >out
equal "p50" 30 "$(jq -r '.[1] | .p50_ms' out)"
sim --replay unknown.csv --work '{exponential: 30ms}' --limit 1 >/dev/null

it "tokens take the time that they are said to take"
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,100,10\n2023-11-16 18:15:50.96,100,10\n' >azure.csv
sim --replay azure.csv --context-token 1ms --generated-token 20ms --limit 1 --json >out
equal "p50" 300 "$(jq -r '.[1] | .p50_ms' out)"

it "single lines that cannot be read are said, and left out"
awk 'BEGIN { print "arrival,service"; for (i = 0; i < 1000; ++i) print i ",0.040"; print "nonsense" }' >many.csv
sim --replay many.csv >out 2>err || fail "exit code $?: $(cat err)"
matches "stderr" "many.csv:1002:1: " "$(cat err)"

it "what cannot be used is refused"
printf 'nothing\nof\nuse\n' >nonsense
is_refused "nonsense: " --replay nonsense
is_refused "no_such_file: cannot be read" --replay no_such_file

equal "lines on stderr" 1 "$(wc -l <err)"
is_refused "replayed with --replay even.csv" even.csv

it "wrong options are said"
is_refused "say what to run: FILE, a scenario, or --replay FILE" --json
is_refused "one of the two at a time" "$root/scenarios/articles/queue.yaml" --replay even.csv
is_refused "requires --replay" "$root/scenarios/articles/queue.yaml" --workers 3
is_refused "'odd' is not one of auto, nginx" --replay even.csv --format odd
is_refused "'0' is not auto, off or a whole number" --replay even.csv --queue 0
is_refused "'1us' is not a time from 1ms" --replay even.csv --wait 1us
is_refused "'soon' is not a time from 1us" --replay even.csv --patience soon
is_refused "work.*cv" --replay even.csv --work '{lognormal: 3ms}'
is_refused "'limit 9' is not one of its policies: no gate, limit 1" --replay even.csv --policy 'limit 9'
is_refused "'0' is not a number from 0.001 to 1000" --replay even.csv --faster 0
