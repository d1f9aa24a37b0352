#!/usr/bin/env bash
# loadline sim by its options: exit codes, messages, JSON, pictures, and the same bytes twice.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

queue=$root/scenarios/articles/queue.yaml

sim() { timeout 60 "$LOADLINE_COMMAND" sim "$@"; }

# small FILE EXPECTATION: a run of ten seconds of which that is expected.
small() {
  cat >"$work/$1" <<YAML
version: 1
duration: 10s
seeds: 2
service: {workers: 1, work: 10ms}
callers: {all: {arrivals: {poisson: 150/s}}}
policies: {one: {limit: 1}, two: {limit: 2}}
expect: [$2]
YAML
}

it "an expectation that does not hold: exit code 1, and it is named"
small fails.yaml "{policy: one, rejected: 0, useful: {at_least: 1}}"
status=0
sim "$work/fails.yaml" >"$work/out" || status=$?
equal "exit code" 1 "$status"
matches "the table" "^FAILED  one: rejected 0: [0-9]+" "$(grep FAILED "$work/out")"
matches "the count" "1 of 2 expectations held" "$(cat "$work/out")"

it "one of several files that fails fails all, and the others are run"
small holds.yaml "{policy: one, useful: {at_least: 1}}"
status=0
sim "$work/fails.yaml" "$work/holds.yaml" >"$work/out" || status=$?
equal "exit code" 1 "$status"
matches "the last" "1 of 1 expectations held" "$(cat "$work/out")"

it "what is expected of a policy that is not run does not count"
sim --policy two "$work/fails.yaml" >"$work/out"
equal "rows of the other" 0 "$(grep -c '^one' "$work/out" || true)"
status=0
sim --policy three "$work/fails.yaml" >"$work/out" 2>&1 || status=$?
equal "exit code for a policy that is not there" 2 "$status"
matches "what it says" "--policy.*three.*one, two" "$(cat "$work/out")"

it "a bad file: exit code 2, with file, line and column, and nothing is run"
small bad.yaml "{policy: one, usefull: 5}"
status=0
sim "$work/holds.yaml" "$work/bad.yaml" >"$work/out" 2>"$work/err" || status=$?
equal "exit code" 2 "$status"
equal "on standard output" "" "$(cat "$work/out")"
equal "what it says" \
  "$work/bad.yaml:7:24: key 'expect[1].usefull': not known; did you mean 'useful'?" "$(cat "$work/err")"
status=0
sim "$work/none.yaml" >"$work/out" 2>"$work/err" || status=$?
equal "exit code for no file" 2 "$status"
equal "lines" 1 "$(wc -l <"$work/err")"

it "JSON is an array of policies with their figures"
sim --json "$queue" >"$work/queue.json"
python3 - "$work/queue.json" <<'PYTHON'
import json, sys
policies = json.load(open(sys.argv[1]))
assert [p["policy"] for p in policies] == ["unbounded", "lifo", "bounded", "deadline", "loadline"]
for p in policies:
    for key in ("useful", "wasted", "rejected", "expired", "p50_ms", "p99_ms"):
        assert key in p, (p["policy"], key)
assert (policies[0]["useful"], policies[0]["wasted"]) == (590, 6562)
PYTHON

it "the same file and seed are the same bytes, on one core and on all"
small same.yaml "{policy: one, useful: {at_least: 1}}"
sim --json --seeds 5 "$work/same.yaml" >"$work/first.json"
sim --json --seeds 5 "$work/same.yaml" >"$work/second.json"
taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" \
  timeout 60 "$LOADLINE_COMMAND" sim --json --seeds 5 "$work/same.yaml" >"$work/one_core.json"
cmp "$work/first.json" "$work/second.json" || fail "two runs differ"
cmp "$work/first.json" "$work/one_core.json" || fail "one core differs"
sim --json --seeds 5 --seed 2 "$work/same.yaml" >"$work/other.json"
! cmp -s "$work/first.json" "$work/other.json" || fail "another seed is the same"

it "--seeds, --seed: the file's own number is replaced"
python3 - "$work/first.json" "$work/other.json" <<'PYTHON'
import json, sys
first, other = (json.load(open(f))[0]["seeds"] for f in sys.argv[1:])
assert [s["seed"] for s in first] == [1, 2, 3, 4, 5]
assert [s["seed"] for s in other] == [2, 3, 4, 5, 6]
assert [s["useful"] for s in first[1:]] == [s["useful"] for s in other[:-1]]
PYTHON

it "--plot writes a picture, and the result is the same"
for kind in html svg; do
  sim --json --seeds 5 --plot "$work/plot.$kind" "$work/same.yaml" >"$work/plotted.json"
  cmp "$work/first.json" "$work/plotted.json" || fail "the result with --plot differs"
done
python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$work/plot.svg"
matches "the page" "<!doctype html>" "$(head -c 100 "$work/plot.html" | tr '[:upper:]' '[:lower:]')"
status=0
sim --plot "$work/plot.png" "$work/same.yaml" >"$work/out" 2>&1 || status=$?
equal "exit code for another kind" 2 "$status"

it "a result is not written over what is read, nor over another"
for clash in "--json-file $work/holds.yaml" "--plot $work/o.svg --json-file $work/o.svg"; do
  status=0
  # shellcheck disable=SC2086 # several words
  sim "$work/holds.yaml" $clash >"$work/out" 2>"$work/err" || status=$?
  equal "exit code with $clash" 2 "$status"
  matches "what it says" "a file of its own" "$(cat "$work/err")"
done
matches "the scenario is still there" "version: 1" "$(cat "$work/holds.yaml")"

it "a stop is heard while a run drains, and leaves the old result"
cat >"$work/drains.yaml" <<'YAML'
version: 1
duration: 1s
drain: on
service: {workers: 1, work: 1s}
callers: {all: {arrivals: {bursts: 1000000, at: 0s}, tells_deadline: off}}
policies: {one: {gate: off}}
YAML
echo before >"$work/kept.json"
"$LOADLINE_COMMAND" sim "$work/drains.yaml" --json-file "$work/kept.json" >"$work/out" 2>"$work/err" &
run=$!
wait_until "it writes beside it" test -e "$work/kept.json.partial"
kill -INT "$run"
status=0
wait "$run" || status=$?
equal "exit code" 1 "$status"
equal "what it says" "loadline sim: stopped" "$(cat "$work/err")"
equal "the old result" before "$(cat "$work/kept.json")"

it "with --no-oracle what is compared with it does not count"
cat >"$work/oracle.yaml" <<'YAML'
version: 1
duration: 10s
service: {workers: 1, work: 10ms}
callers: {all: {arrivals: {poisson: 150/s}}}
policies: {one: {limit: 1}}
oracle: {limits: 1-2}
expect: [{policy: one, goodput: {at_least: 90%, of: oracle}}]
YAML
sim "$work/oracle.yaml" >"$work/out"
matches "with it" "1 of 1 expectations held" "$(cat "$work/out")"
sim --no-oracle "$work/oracle.yaml" >"$work/out"

it "seeds are not negative"
status=0
sim --seed -1 "$queue" >"$work/out" 2>"$work/err" || status=$?
equal "exit code" 2 "$status"

it "--suite: what is missed fails unless it is listed, and what is listed must not be held"
mkdir -p "$work/suite/limit"
cat >"$work/suite/limit/l1.yaml" <<'YAML'
version: 1
duration: 20s
lengths: {short: 5s}
service: {workers: 10, work: 10ms}
callers: {all: {arrivals: {even: 2000/s}, patience: 1s}}
policies: {auto: {limit: {law: auto, at_least: 5, at_most: 5}}}
oracle: {limits: [5, 10]}
expect:
  - {goodput: {at_least: 400/s}, from: 1s}
  - {goodput: {at_least: 900/s}, from: 1s}
  - {goodput: {at_least: 900/s}, from: 10s}
YAML
suite() { sim --suite limit --scenarios "$work/suite" "$@"; }
status=0
suite --short --json-file "$work/suite.json" >"$work/out" 2>"$work/err" || status=$?
equal "exit code" 1 "$status"
matches "the row that holds" "l1 +goodput from 1s +at least 400/s +500/s +1000/s +held" "$(cat "$work/out")"
matches "the one that is missed" "goodput from 1s +at least 900/s +500/s +1000/s +MISSED" "$(cat "$work/out")"
matches "what has been done" "1/1 +l1 .* 1 of 2 hold" "$(cat "$work/err")"
python3 - "$work/suite.json" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [(r["row"], r["worst"], r["oracle"], r["verdict"]) for r in rows] == [
    ("l1", 500, 1000, "held"), ("l1", 500, 1000, "MISSED")], rows
PYTHON
suite --short --accept >"$work/out" 2>"$work/err"
matches "once it is listed" "1 figures held, 1 are open" "$(cat "$work/out")"
suite --short >"$work/out" 2>"$work/err"
status=0
suite >"$work/out" 2>"$work/err" || status=$?
equal "exit code of another length" 1 "$status"
sed -i 's/at_least: 5, at_most: 5/at_least: 10, at_most: 10/' "$work/suite/limit/l1.yaml"
status=0
suite --short >"$work/out" 2>"$work/err" || status=$?
equal "exit code where what is listed holds" 1 "$status"
matches "what it says" "HELD, BUT LISTED" "$(cat "$work/out")"
suite --short --seed 7 >"$work/out" 2>"$work/err"

it "--suite: the page, rows by name, and what is not there"
suite --short --seed 7 --page "$work/page.md" --row L1 >"$work/out" 2>"$work/err"
matches "the page" "\| l1 \| goodput from 1s \| at least 400/s \| 1000/s \| 1000/s \| held \|" "$(cat "$work/page.md")"
for fault in "--row l2" "--part some" "--laws some" "--suite other"; do
  status=0
  # shellcheck disable=SC2086 # several words
  suite $fault >"$work/out" 2>"$work/err" || status=$?
  equal "exit code of $fault" 2 "$status"
done
